"""A table to read: a file, a folder, a pattern or standard input, batch by batch."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Generator, Iterator
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import pyarrow as pa

from pnml.io.tables.ahead import ahead
from pnml.io.tables.batches import resized
from pnml.io.tables.columns import Part, common_schema, wanted_schema, widened_schema
from pnml.io.tables.csv_part import CsvPart
from pnml.io.tables.csv_text import ReadOptions
from pnml.io.tables.finding import Found, find
from pnml.io.tables.kinds import Kind
from pnml.io.tables.typed_part import TypedPart

_MOST_WORKERS = 4

Progress = Callable[[int, int], None]
T = TypeVar("T")


class _Retyped(Exception):  # noqa: N818 - no error, but news for the caller
    """Columns need other types than those they were read with."""

    def __init__(self, schema: pa.Schema) -> None:
        super().__init__("The table is read again with other types.")
        self.schema = schema


def open_table(source: str | Path, options: ReadOptions | None = None) -> TableSource:
    r"""A table that can be read, as often as needed, in bounded memory.

    Parameters
    ----------
    source : str or path
        A CSV, TSV, Parquet or Arrow file (also compressed CSV), a folder of them, a pattern such
        as ``"part-*.csv"``, or ``"-"`` for standard input.
    options : ReadOptions
        What is to be known about text files.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "new.csv")
    ...     _ = path.write_text("age,name\n7,Ann\n9,Bob\n")
    ...     table = open_table(path)
    ...     table.schema.names, table.read(lambda batches: sum(b.num_rows for b in batches))
    (['age', 'name'], 2)
    """
    found = find(source)
    try:
        options = options or ReadOptions()
        parts: list[Part] = [
            CsvPart(file, options) if file.kind is Kind.TEXT else TypedPart(file)
            for file in found.files
        ]
        return TableSource(found, parts)
    except BaseException:
        if found.temporary is not None:
            found.temporary.unlink(missing_ok=True)
        raise


class TableSource:
    """Where a table comes from; see `open_table`.

    >>> open_table("missing.csv")
    Traceback (most recent call last):
    ...
    pnml.core.errors.InputError: missing.csv is not there; check the path.
    """

    name: str  # for messages
    files: tuple[Path, ...]
    size: int  # bytes on disk
    schema: pa.Schema  # by a first look; CSV columns may turn out to be of wider types

    def __init__(self, found: Found, parts: list[Part]) -> None:
        self.name = found.name
        self.files = tuple(file.path for file in found.files)
        self.size = sum(file.size for file in found.files)
        self.schema = common_schema(parts, self.name)
        self._parts = parts
        self._remove = None
        if found.temporary is not None:
            self._remove = weakref.finalize(self, found.temporary.unlink, missing_ok=True)

    def close(self) -> None:
        """Remove what was put on disk to read standard input; else nothing is to be done."""
        if self._remove is not None:
            self._remove()

    def __enter__(self) -> TableSource:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def read(
        self,
        consume: Callable[[Iterator[pa.RecordBatch]], T],
        *,
        numeric: Collection[str] = (),
        text: Collection[str] = (),
        progress: Progress | None = None,
    ) -> T:
        """What `consume` makes of all the rows, which it is given in batches of one schema.

        `consume` may be CALLED TWICE: where cells far down a CSV file do not fit the type that
        its beginning suggests, an exception passes through the first call and a second one gets
        all the rows again with types that fit. So it must start afresh, keep nothing outside, and
        let exceptions that are not its own pass.

        Parameters
        ----------
        consume : function of an iterator of record batches
        numeric : names of columns
            Text in these columns of a CSV file is refused.
        text : names of columns
            These columns of a CSV file are read as text, so 007 keeps its zeros.
        progress : function of the bytes read so far and of all bytes
            Called before each batch; the first number falls back where rows are read again.
        """
        schema = self.schema
        if self._is_text():
            schema = wanted_schema(schema, set(numeric), set(text))
        while True:
            with closing(self._converted(schema, set(numeric), progress)) as stream:
                try:
                    return consume(resized(stream))
                except _Retyped as news:
                    schema = news.schema

    def codes(self) -> list[str]:
        """Columns of a CSV table that look like numbers but have zeros or digits to lose."""
        first = self._parts[0]
        return first.codes() if isinstance(first, CsvPart) else []

    def _pieces(self) -> Generator[tuple[Part, Any, int], None, None]:
        """Part, piece of it, and bytes read with it; runs in a thread of its own."""
        done = 0
        for part in self._parts:
            part.file.check_unchanged()
            with closing(part.pieces()) as pieces:
                for piece in pieces:
                    yield part, piece, done + piece.position
            part.file.check_unchanged()
            done += part.file.size

    def _converted(
        self, schema: pa.Schema, numeric: set[str], progress: Progress | None
    ) -> Generator[pa.RecordBatch, None, None]:
        """Rows of one schema; raises what schema they need instead, found by reading to the end."""
        wider = schema

        def work(task: tuple[Part, Any, int]) -> tuple[tuple[Part, Any, int], Any]:
            return task, task[0].converted(task[1], schema)

        workers = min(_MOST_WORKERS, pa.cpu_count()) if self._is_text() else 1
        with closing(ahead(self._pieces(), work, workers)) as results:
            for (part, piece, done), result in results:
                if progress is not None:
                    progress(done, self.size)
                if isinstance(part, CsvPart) and isinstance(result, pa.Schema):
                    wider = widened_schema(wider, result, part, piece, numeric)
                elif wider is schema:
                    yield result
        if wider is not schema:
            raise _Retyped(wider)

    def _is_text(self) -> bool:
        return isinstance(self._parts[0], CsvPart)
