"""A table of the page that the reader sorts by clicking its headings."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise

from pnml.report.formats import sort_value
from pnml.report.listed_rows import DrivingCell


@dataclass(frozen=True)
class Cell:
    """The text of a cell in a sortable table, and its sort key where that is not the text."""

    text: str
    key: str = ""  # a number as JavaScript reads it; "" sorts by the text
    below: str = ""  # a second line
    parts: tuple[DrivingCell, ...] = ()  # shown instead of the text


@dataclass(frozen=True)
class Column:
    """A heading with its cells, one per row of the sortable table."""

    name: str
    cells: tuple[Cell, ...]
    numeric: bool = False  # shown at the right, sorted as numbers
    wide: bool = False  # holds sentences
    sort: str = "none"  # as in aria-sort: the order in which the rows come

    @property
    def is_filled(self) -> bool:
        """Whether any cell holds text or parts."""
        return any(cell.text or cell.parts for cell in self.cells)


@dataclass(frozen=True)
class SortableTable:
    """A sortable table of the page: columns of one length, and which rows are highlighted."""

    label: str  # what the table holds, for readers who do not see it
    columns: tuple[Column, ...]
    marked: tuple[bool, ...]  # one per row

    @classmethod
    def of(cls, label: str, columns: tuple[Column, ...], marked: tuple[bool, ...]) -> SortableTable:
        """A table of these columns without those whose cells are all empty."""
        return cls(label, tuple(column for column in columns if column.is_filled), marked)


def numbers(name: str, cells: tuple[tuple[str, float], ...], below: tuple[str, ...] = ()) -> Column:
    """A column of numbers for a sortable table: cells are (text shown, number to sort by).

    `below` has a second line of text for each cell.
    """
    second = below or ("",) * len(cells)
    made = tuple(
        Cell(text, _key(value), under) for (text, value), under in zip(cells, second, strict=True)
    )
    return Column(name, made, numeric=True)


def words(name: str, texts: tuple[str, ...], *, wide: bool = False) -> Column:
    """A column of texts for a sortable table; `wide` leaves room for sentences."""
    return Column(name, tuple(Cell(text) for text in texts), wide=wide)


def words_or_numbers(name: str, texts: tuple[str, ...]) -> Column:
    """A column for a sortable table: of numbers if every text begins with one, else of text."""
    values = [sort_value(text) for text in texts]
    known = [value for value in values if value is not None]
    if len(known) < len(texts):
        return words(name, texts)
    made = tuple(Cell(text, _key(value)) for text, value in zip(texts, known, strict=True))
    return Column(name, made, numeric=True)


def falling(column: Column, values: tuple[float, ...]) -> Column:
    """A copy of the column, declared as sorted if its `values` come in falling order."""
    sort = "descending" if all(a >= b for a, b in pairwise(values)) else "none"
    return replace(column, sort=sort)


def _key(value: float) -> str:
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return "NaN" if math.isnan(value) else repr(value)
