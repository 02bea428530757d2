"""One column of a table: its kind, and its cells as numbers or words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from pnml.columns.times import days, has_zone, seconds, seconds_of, stamps_of
from pnml.columns.words import BoolArray, Words, word_of
from pnml.core.arrays import FloatArray
from pnml.errors import InputError, shorten

# Kinds of columns, and how a message calls their cells. All but words are kept as numbers. Truth
# values are numbers (0 and 1) because models take them so: a column of booleans and the same column
# in an array of floats then mean the same. A leaf's cell tells False from True all the same.
KINDS = {
    "number": "numbers",
    "truth": "truth values",
    "date": "dates",  # days since 1970
    "instant": "dates with a time zone",  # days since 1970, UTC
    "span": "durations",  # seconds
    "word": "words",
    "gap": "no value",  # all cells are missing, so the column may be of any kind
    "unread": "anything",  # the model does not read the column, nor does anything here
}

_WORD_LIKE = {"word", "number", "truth"}  # what may be mixed in a column of words
_PLAIN_NUMBERS = {int, float, type(None)}
_GAP_TYPES = frozenset({"NoneType", "NAType", "NaTType"})  # None, pandas.NA, pandas.NaT


@dataclass(frozen=True)
class Column:
    """One column of n cells: its kind, a key of `KINDS`, and its cells as numbers or words."""

    kind: str
    cells: FloatArray | Words  # (n,)  NaN for gaps among numbers

    @property
    def gaps(self) -> BoolArray:
        """Whether each cell is missing, (n,)."""
        return self.cells.gaps if isinstance(self.cells, Words) else np.isnan(self.cells)


def number_column(kind: str, numbers: FloatArray) -> Column:
    """Column of this kind with these numbers (n,); of kind "gap" if all of them are missing."""
    empty = bool(np.isnan(numbers[0])) and bool(np.isnan(numbers).all())
    return Column("gap" if empty else kind, numbers)


def read_column(values: npt.NDArray[Any], name: str, known: str | None = None) -> Column:
    """Column of cells (n,): of the kind `known` if given, else of the kind the cells show.

    Kinds are the keys of `KINDS`; `name` is the column's, for messages. Raises InputError for cells
    that cannot be read as one kind.
    """
    dtype = values.dtype.kind
    if dtype in "biuf":
        if known == "word":
            return Column("word", Words.of_values(values))
        numbers = values.astype(np.float64)
        return agreeing(number_column("truth" if dtype == "b" else "number", numbers), known, name)
    if dtype == "M":
        return agreeing(number_column("date", days(values)), known, name)
    if dtype == "m":
        return agreeing(number_column("span", seconds(values)), known, name)
    if dtype == "c":
        raise _complex_numbers(name)
    if dtype in "OU":
        return agreeing(_objects(values.tolist(), name, known), known, name)
    raise InputError(
        f"Column {shorten(name)!r} holds cells of dtype {shorten(values.dtype)}, which are neither "
        "numbers, words nor dates; turn them into one of these or leave the column out."
    )


def agreeing(column: Column, known: str | None, name: str) -> Column:
    """The column as the kind `known` of the training rows; raises InputError if it cannot be.

    A `known` of None accepts any kind; `name` is the column's, for the message.
    """
    if known is None or known == column.kind:
        return column
    cells, gaps = column.cells, column.gaps
    if column.kind == "gap":
        return Column(known, Words(np.full(len(gaps), -1), ()) if known == "word" else cells)
    if known == "gap":
        return Column(known, np.where(gaps, np.nan, 0.0))  # any value is new
    if {known, column.kind} == {"number", "truth"}:
        return Column(known, cells)
    row = int(np.argmin(gaps))
    cell = cells.levels[cells.codes[row]] if isinstance(cells, Words) else None
    raise unlike_training(name, row, cell, column.kind, known)


def unlike_training(name: str, row: int, cell: str | None, kind: str, known: str) -> InputError:
    """InputError to raise for a column of another kind than in training.

    `cell` is the text of the first cell that has the new `kind`, in `row`, or None if it is no
    word; `known` is the kind in training.
    """
    what = KINDS[kind] if cell is None else f"{shorten(cell)!r}"
    return InputError(
        f"Column {shorten(name)!r} holds {what} in row {row} (counted from 0), but {KINDS[known]} "
        f"in training; pass {KINDS[known]} or a missing value there."
    )


def _objects(cells: list[Any], name: str, known: str | None) -> Column:
    """Read Python objects: the kind is that of all cells that are not missing."""
    types = set(map(type, cells))
    if types == {str}:
        return Column("word", Words.of(cells))
    if types <= _PLAIN_NUMBERS and known != "word":
        present = [cell for cell in cells if cell is not None] if type(None) in types else cells
        return _filled("number", present, np.array([cell is None for cell in cells]), name)
    gap = np.array([cell.__class__ is not str and _is_gap(cell) for cell in cells], dtype=bool)
    present = [cell for cell, missing in zip(cells, gap.tolist(), strict=True) if not missing]
    families: dict[str, type] = {}
    for kind in dict.fromkeys(map(type, present)):
        families.setdefault(_family(kind, name), kind)
    found = families.keys()
    if not found:
        return Column("gap", np.full(len(cells), np.nan))
    if found <= _WORD_LIKE and ("word" in found or known == "word"):
        if known not in (None, "word", "gap"):
            row = next(i for i, cell in enumerate(cells) if isinstance(cell, str))
            raise unlike_training(name, row, cells[row], "word", known)
        words = [None if m else word_of(c) for c, m in zip(cells, gap.tolist(), strict=True)]
        return Column("word", Words.of(words))
    if found == {"truth", "number"}:
        found = {"number": float}.keys()
    if len(found) > 1:
        first, second = sorted(KINDS[family] for family in found)[:2]
        raise InputError(
            f"Column {shorten(name)!r} mixes {first} and {second}; turn all its cells into one "
            "kind, for instance with astype(str)."
        )
    return _filled(next(iter(found)), present, gap, name)


def _filled(kind: str, present: list[Any], gap: BoolArray, name: str) -> Column:
    """Numbers, dates or durations at the places that are not gaps."""
    numbers = np.full(len(gap), np.nan)
    if kind == "date":
        zoned = {has_zone(cell) for cell in present}
        if len(zoned) > 1:
            raise InputError(
                f"Column {shorten(name)!r} mixes dates with and without a time zone; give all of "
                "them a zone, or none."
            )
        kind = "instant" if zoned == {True} else "date"
        numbers[~gap] = days(stamps_of(present))
    elif kind == "span":
        numbers[~gap] = seconds_of(present)
    else:
        try:
            numbers[~gap] = np.array(present, dtype=object).astype(np.float64)
        except (OverflowError, ValueError) as error:
            raise InputError(
                f"Column {shorten(name)!r} holds a number that float64 cannot hold ({error}); "
                "pass smaller numbers or a missing value."
            ) from error
    return number_column(kind, numbers)


def _is_gap(cell: Any) -> bool:
    if type(cell).__name__ in _GAP_TYPES:
        return True
    if isinstance(cell, float | np.floating | Decimal):
        return bool(cell != cell)
    return isinstance(cell, np.datetime64 | np.timedelta64) and bool(np.isnat(cell))


_FAMILIES: dict[str, Callable[[type], bool]] = {
    "word": lambda kind: issubclass(kind, str),
    "truth": lambda kind: issubclass(kind, bool | np.bool_),
    "date": lambda kind: issubclass(kind, date | np.datetime64),
    "span": lambda kind: issubclass(kind, timedelta | time | np.timedelta64),
    "number": lambda kind: issubclass(kind, Real | Decimal),
}


def _family(kind: type, name: str) -> str:
    for family, holds in _FAMILIES.items():
        if holds(kind):
            return family
    if issubclass(kind, complex | np.complexfloating):
        raise _complex_numbers(name)
    if issubclass(kind, bytes):
        raise InputError(
            f"Column {shorten(name)!r} holds bytes, which are not words; decode them to text "
            "first, for instance with .decode()."
        )
    raise InputError(
        f"Column {shorten(name)!r} holds a cell of type {shorten(kind.__name__)}, but a cell must "
        "be one number, word, truth value, date or duration; spread it over columns of these, or "
        "leave the column out."
    )


def _complex_numbers(name: str) -> InputError:
    return InputError(
        f"Column {shorten(name)!r} holds complex numbers (Complex data not supported); pass real "
        "numbers, such as the real and the imaginary part as two columns."
    )
