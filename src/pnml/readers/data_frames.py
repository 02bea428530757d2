"""Data frames in memory: which kinds there are, and how to give a table back as one of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa

from pnml.errors import InputError, shorten
from pnml.readers.file_errors import brief_reason
from pnml.readers.pandas_columns import Spare, none_spare, pandas_names, pandas_table


class FrameKind(Enum):
    """The kinds of data that a table can be read from."""

    FILES = "files"
    PANDAS = "pandas"
    POLARS = "polars"
    ARROW = "pyarrow"
    STREAM = "Arrow stream"


_HOW = (
    "give a path, a pattern, an address, or a data frame of pandas, polars, pyarrow or anything "
    "with __arrow_c_stream__"
)


def kind_of(source: Any) -> FrameKind:
    """The kind of data of a table source; raises where no table can be read from it.

    >>> kind_of("new.csv"), kind_of(pa.table({"x": [1]}))
    (<FrameKind.FILES: 'files'>, <FrameKind.ARROW: 'pyarrow'>)
    """
    if isinstance(source, str | Path):
        return FrameKind.FILES
    if source is None:
        raise InputError(f"There is no table, only None; {_HOW}.")
    name, package = type(source).__name__, type(source).__module__.partition(".")[0]
    if package in ("dask", "dask_expr") and hasattr(source, "compute"):
        raise InputError(
            f"A Dask {name} lies in several processes, and is not read as a table; pass its "
            ".compute(), or use pnml.scale.fit_dask."
        )
    if package in ("pandas", "polars") and name == "Series":
        raise InputError(
            f"A {package} Series is one column and no table; pass a DataFrame, such as its "
            ".to_frame()."
        )
    if _is_a(source, "pandas", "DataFrame"):
        return FrameKind.PANDAS
    if _is_a(source, "polars", "DataFrame") or _is_a(source, "polars", "LazyFrame"):
        return FrameKind.POLARS
    if isinstance(source, pa.Table | pa.RecordBatch):
        return FrameKind.ARROW
    if hasattr(source, "__arrow_c_stream__"):
        return FrameKind.STREAM
    raise InputError(f"No table can be read from {_article(name)}; {_HOW}.")


def frame_table(source: Any, spare: Spare = none_spare) -> pa.Table:
    """A pandas, polars or pyarrow frame as an arrow table; the frame itself stays as it is.

    `spare` tells by name whether the cells of a column are not needed; such a column has nulls if
    it cannot be read, for instance if it holds Python objects.

    >>> frame_table(pa.record_batch({"x": [1]})).num_rows
    1
    """
    kind = kind_of(source)
    if kind is FrameKind.PANDAS:
        return pandas_table(source, spare)
    if kind is FrameKind.POLARS:
        with _converting(source):
            frame = source.collect() if hasattr(source, "collect") else source
            nulls = sys.modules["polars"].lit(None)
            lost = [name for name in _objects(frame) if spare(name)]
            table: pa.Table = frame.with_columns(nulls.alias(name) for name in lost).to_arrow()
            return table
    return source if isinstance(source, pa.Table) else pa.Table.from_batches([source])


def width(source: Any) -> int:
    """Number of columns of a pandas, polars or pyarrow data frame.

    >>> width(pa.table({"x": [1], "y": [2]}))
    2
    """
    if hasattr(source, "collect_schema"):  # a lazy frame of polars warns where it is asked directly
        with _converting(source):
            return len(source.collect_schema())
    return int(source.num_columns) if hasattr(source, "num_columns") else len(source.columns)


def stream_reader(source: Any) -> pa.RecordBatchReader:
    """The rows of an object with an Arrow stream, such as a DuckDB relation, in batches.

    >>> stream_reader(pa.table({"x": [1]})).read_all().num_rows
    1
    """
    with _converting(source):
        return pa.RecordBatchReader.from_stream(source)


def as_kind(table: pa.Table, like: Any) -> Any:
    """An arrow table as a data frame of the same kind as `like`.

    If `like` is a pandas frame with as many rows, its index and those of its columns that the table
    has too are given back as they are. Files give a pandas frame if pandas is installed, else the
    table; streams of other libraries give the table itself.

    >>> as_kind(pa.table({"x": [1]}), pa.table({"y": [2]})).column_names
    ['x']
    """
    kind = kind_of(like)
    if kind is FrameKind.PANDAS or (kind is FrameKind.FILES and find_spec("pandas") is not None):
        frame = table.to_pandas()
        if kind is FrameKind.PANDAS:
            labels = dict(zip(pandas_names(like), like.columns, strict=True))
            frame.columns = [labels.get(name, name) for name in table.column_names]
            if len(frame) == len(like):
                frame.index = like.index
                return _with_columns_of(like, frame)
        return frame
    if kind is FrameKind.POLARS:
        frame = sys.modules["polars"].from_arrow(table)
        if not hasattr(like, "collect") and len(frame) == len(like):
            frame = frame.with_columns(like[name] for name in _objects(like))
        return frame
    return table


def _with_columns_of(like: Any, frame: Any) -> Any:
    """`frame`, with columns that `like` has too taken from it, so that they keep their types."""
    new = frame[[name for name in frame.columns if name not in like.columns]]
    same = like[[name for name in frame.columns if name in like.columns]]
    both = sys.modules["pandas"].concat([same, new], axis=1)
    return both[list(frame.columns)]


def _objects(frame: Any) -> list[str]:
    """Columns of a polars frame that hold Python objects, which arrow does not know."""
    return [name for name, kind in frame.schema.items() if str(kind) == "Object"]


def _is_a(source: Any, package: str, name: str) -> bool:
    """Whether a source is of the class `name` of a package, which is not imported for that."""
    kind = getattr(sys.modules.get(package), name, None)
    return kind is not None and isinstance(source, kind)


def _article(name: str) -> str:
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {shorten(name)}"


@contextmanager
def _converting(source: Any) -> Iterator[None]:
    """Turn errors of a library about its own frame into one sentence."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:  # every library has errors of its own
        name, first = shorten(type(source).__name__), str(error).strip().partition("\n")[0]
        reason = brief_reason(ValueError(first))
        raise InputError(
            f"{name} cannot be read as a table ({reason}); turn it into a pandas, polars or "
            "pyarrow frame."
        ) from error
