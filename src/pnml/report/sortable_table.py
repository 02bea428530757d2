"""A table of the page that its headings sort."""

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
        """Whether any cell says something."""
        return any(cell.text or cell.parts for cell in self.cells)


@dataclass(frozen=True)
class SortableTable:
    """Columns of one length, and the rows among them that are marked."""

    label: str  # what the table holds, for readers who do not see it
    columns: tuple[Column, ...]
    marked: tuple[bool, ...]

    @classmethod
    def of(cls, label: str, columns: tuple[Column, ...], marked: tuple[bool, ...]) -> SortableTable:
        """The table without the columns that say nothing."""
        return cls(label, tuple(column for column in columns if column.is_filled), marked)


def numbers(name: str, cells: tuple[tuple[str, float], ...], below: tuple[str, ...] = ()) -> Column:
    """A column of a sortable table that holds numbers, as (text, number)."""
    second = below or ("",) * len(cells)
    made = tuple(
        Cell(text, _key(value), under) for (text, value), under in zip(cells, second, strict=True)
    )
    return Column(name, made, numeric=True)


def words(name: str, texts: tuple[str, ...], *, wide: bool = False) -> Column:
    """A column of a sortable table that holds text."""
    return Column(name, tuple(Cell(text) for text in texts), wide=wide)


def words_or_numbers(name: str, texts: tuple[str, ...]) -> Column:
    """A column of a sortable table: of numbers where every text is a number, else of text."""
    values = [sort_value(text) for text in texts]
    known = [value for value in values if value is not None]
    if len(known) < len(texts):
        return words(name, texts)
    made = tuple(Cell(text, _key(value)) for text, value in zip(texts, known, strict=True))
    return Column(name, made, numeric=True)


def falling(column: Column, values: tuple[float, ...]) -> Column:
    """The column, said to be sorted in the table if its values come the largest first."""
    sort = "descending" if all(a >= b for a, b in pairwise(values)) else "none"
    return replace(column, sort=sort)


def _key(value: float) -> str:
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return "NaN" if math.isnan(value) else repr(value)
