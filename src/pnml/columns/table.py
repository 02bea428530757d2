"""Rows of an array, a data frame or a list as columns of numbers and columns of words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sized
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from pnml.columns.column import Column, agreeing, number_column, read_column
from pnml.columns.names import check_count, check_names, place_names, read_names
from pnml.columns.words import BoolArray, IntArray, Words, word_of
from pnml.core.arrays import FloatArray
from pnml.errors import InputError, shorten


@dataclass(frozen=True)
class Table:
    """Rows as columns of numbers and columns of words; `KINDS` in `column.py` lists the kinds.

    Dates are days since 1970 (UTC if they have a time zone), durations seconds, truth values 0 and
    1. Infinite numbers stay as they are: whoever uses the table decides about them. The numbers may
    be the very memory of the rows given.
    """

    names: tuple[str, ...]
    named: bool  # whether the names were given as text, so that new rows must have them
    kinds: tuple[str, ...]
    numbers: FloatArray  # (n, q)  NaN for gaps
    words: tuple[Words, ...]  # c columns

    def __len__(self) -> int:
        return len(self.numbers)

    @cached_property
    def number_places(self) -> IntArray:
        """Position (q,) among all columns of each column of numbers."""
        places = [j for j, kind in enumerate(self.kinds) if kind not in ("word", "unread")]
        return np.array(places, dtype=np.int64)

    def __getitem__(self, rows: BoolArray) -> Table:
        words = tuple(column[rows] for column in self.words)
        return Table(self.names, self.named, self.kinds, self.numbers[rows], words)


class Known(Protocol):
    """Protocol of a known table: names and kinds of columns, and whether names must agree."""

    @property
    def names(self) -> tuple[str, ...]: ...  # noqa: D102

    @property
    def named(self) -> bool: ...  # noqa: D102

    @property
    def kinds(self) -> tuple[str, ...]: ...  # noqa: D102


def read_columns(X: Any, like: Known | None = None) -> Table:
    """The table of a numpy array, a pandas or polars data frame or a list of lists.

    `like` has the `names`, `named` and `kinds` of the training rows: the columns are then read as
    those kinds, and rows that cannot be are refused.

    >>> table = read_columns([[1, "red"], [None, "blue"]])
    >>> table.kinds, table.numbers.tolist(), table.words[0].cells.tolist()
    (('number', 'word'), [[1.0], [nan]], ['red', 'blue'])
    """
    _refuse(X)
    read: Callable[[Any, tuple[str, ...], Known | None], Iterator[Column]] = _columns
    if hasattr(X, "iloc") or hasattr(X, "get_columns"):
        names, named = read_names(list(X.columns))
        read = _pandas if hasattr(X, "iloc") else _polars
    else:
        X = _array(X, like)
        names, named = place_names(X.shape[1]), False
    _check(X.shape, names, named, like)
    if like is not None:
        names = like.names
    if isinstance(X, np.ndarray) and X.dtype.kind in "biuf" and _all_numbers(like):
        return _matrix(X, names, like)
    columns = list(read(X, names, like))
    kinds = ["unread"] * len(names)
    for place, column in zip(_read_places(like, len(names)), columns, strict=True):
        kinds[place] = column.kind
    numbers = [column.cells for column in columns if not isinstance(column.cells, Words)]
    return Table(
        names,
        named,
        tuple(kinds),
        np.column_stack(numbers) if numbers else np.empty((X.shape[0], 0)),
        tuple(column.cells for column in columns if isinstance(column.cells, Words)),
    )


def _check(shape: tuple[int, int], names: tuple[str, ...], named: bool, like: Known | None) -> None:
    for count, what, advice in (
        (shape[0], "sample(s)", "at least one row"),
        (shape[1], "feature(s)", "at least one column"),
    ):
        if not count:
            raise InputError(
                f"Found array with 0 {what} (shape={tuple(shape)}) while a minimum of 1 is "
                f"required; pass {advice}."
            )
    if like is None:
        return
    if named and like.named:
        check_names(names, like.names)
    check_count(len(names), len(like.kinds))


def _matrix(X: npt.NDArray[Any], names: tuple[str, ...], like: Known | None) -> Table:
    """A matrix of numbers, without a look at each column unless its first cell is a gap."""
    numbers = np.asarray(X, dtype=np.float64)
    if like is not None:
        if "unread" in like.kinds:
            numbers = numbers[:, _read_places(like, len(names))]
        return Table(names, False, like.kinds, numbers, ())
    kinds = ["truth" if X.dtype.kind == "b" else "number"] * X.shape[1]
    for j in np.flatnonzero(np.isnan(numbers[0])):
        kinds[j] = number_column(kinds[j], numbers[:, j]).kind
    return Table(names, False, tuple(kinds), numbers, ())


def _all_numbers(like: Known | None) -> bool:
    return like is None or set(like.kinds) <= {"number", "truth", "unread"}


def _read_places(like: Known | None, count: int) -> list[int]:
    """Places of the columns that are read: all but those of kind "unread"."""
    return [j for j in range(count) if like is None or like.kinds[j] != "unread"]


def _known(like: Any, j: int) -> str | None:
    return None if like is None else like.kinds[j]


def _columns(X: npt.NDArray[Any], names: tuple[str, ...], like: Known | None) -> Iterator[Column]:
    for j in _read_places(like, len(names)):
        yield read_column(X[:, j], names[j], _known(like, j))


def _pandas(X: Any, names: tuple[str, ...], like: Known | None) -> Iterator[Column]:
    for j in _read_places(like, len(names)):
        name, series, known = names[j], X.iloc[:, j], _known(like, j)
        dtype = series.dtype
        if isinstance(dtype, np.dtype):
            yield read_column(series.to_numpy(), name, known)
        elif hasattr(series, "cat"):
            levels = tuple(word_of(level) for level in series.cat.categories)
            codes = series.cat.codes.to_numpy().astype(np.int64)
            yield _category(Words(codes, levels), known, name)
        elif dtype.kind in "biuf" and known != "word":
            numbers = series.to_numpy(dtype=np.float64, na_value=np.nan)
            kind = "truth" if dtype.kind == "b" else "number"
            yield agreeing(number_column(kind, numbers), known, name)
        elif getattr(dtype, "tz", None) is not None:
            column = read_column(series.dt.tz_convert(None).to_numpy(), name)
            yield agreeing(_zoned(column), known, name)
        else:
            yield read_column(series.to_numpy(dtype=object), name, known)


def _polars(X: Any, names: tuple[str, ...], like: Known | None) -> Iterator[Column]:
    every = X.get_columns()
    for j in _read_places(like, len(names)):
        name, series, known = names[j], every[j], _known(like, j)
        values = series.to_numpy()
        if series.dtype.is_integer() and values.dtype.kind == "f" and known == "word":
            values = np.array(series.to_list(), dtype=object)  # long integers keep their digits
        if getattr(series.dtype, "time_zone", None) is not None:
            yield agreeing(_zoned(read_column(values, name)), known, name)
        else:
            yield read_column(values, name, known)


def _category(words: Words, known: str | None, name: str) -> Column:
    """A column of categories: words, whatever its categories are."""
    if len(set(words.levels)) < len(words.levels):  # such as 1 and "1"
        words = Words.of(words.cells)
    if words.gaps.all():
        return agreeing(Column("gap", np.full(len(words.codes), np.nan)), known, name)
    return agreeing(Column("word", words), known, name)


def _zoned(column: Column) -> Column:
    return Column("instant" if column.kind == "date" else column.kind, column.cells)


def _array(X: Any, like: Known | None) -> npt.NDArray[Any]:
    """A matrix; lists become objects, so that each cell stays what it is."""
    if isinstance(X, list | tuple) and (like is None or not _all_numbers(like)):
        values = _objects(X)
    else:
        try:
            values = np.asarray(X)
        except ValueError:  # rows, or cells, of several lengths
            values = _objects(X)
        if isinstance(X, list | tuple) and values.dtype.kind not in "biuf":
            values = _objects(X)
    if values.ndim != 2:
        raise InputError(
            f"Expected 2D array, but X has shape {values.shape}: every sample is a row and every "
            "feature a column. Reshape your data with .reshape(-1, 1) if it is one feature or "
            ".reshape(1, -1) if it is one row."
        )
    if values.dtype.kind == "c":
        raise InputError("X holds Complex data not supported here; pass real numbers.")
    return values


def _objects(X: Any) -> npt.NDArray[Any]:
    """Rows of unlike cells, each as it is."""
    refuse_ragged(X)
    return np.array(X, dtype=object)


def refuse_ragged(X: Any) -> None:
    """Raise InputError if the rows of a list have different numbers of cells."""
    rows = [row for row in X if isinstance(row, Sized) and not isinstance(row, str | dict)]
    lengths = {len(row) for row in rows if getattr(row, "ndim", 1)}
    if len(lengths) > 1:
        raise InputError(
            f"X has rows of {min(lengths)} and of {max(lengths)} cells, but every row needs one "
            "cell for each column; fill the gaps with None."
        )


def _refuse(X: Any) -> None:
    """Raise for what is no table in memory."""
    kind = shorten(type(X).__name__)
    if hasattr(X, "__dask_graph__"):
        raise InputError(
            f"X is a Dask {kind}, whose rows may not fit in memory; pass X.compute() where it is "
            "small."
        )
    if hasattr(X, "tocsr") or hasattr(X, "tocoo"):
        raise InputError(
            f"X is a sparse matrix ({kind}), but columns are read as dense numbers and words; pass "
            "X.toarray() where it fits in memory."
        )
    if hasattr(X, "collect") and not hasattr(X, "get_columns"):
        raise InputError(f"X is a {kind}, which has no rows yet; pass X.collect().")
    if hasattr(X, "to_frame") and not hasattr(X, "get_columns"):
        raise InputError(
            f"Expected 2D array, but X is one column ({kind}); pass X.to_frame() if it is one "
            "feature."
        )
    if hasattr(X, "column_names") and hasattr(X, "to_pandas"):
        raise InputError(f"X is a {kind} of pyarrow, which is not read here; pass X.to_pandas().")
    if isinstance(X, np.ma.MaskedArray):
        raise InputError(
            "X is a masked array, whose mask models ignore; pass X.filled(np.nan) to mark gaps."
        )
    if X is None or isinstance(X, str | bytes | dict | set):
        raise InputError(
            f"Expected 2D array, but X is a {kind}; pass an array, a data frame or a list of rows."
        )
