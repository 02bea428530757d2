"""The table of the least trusted rows, with sort keys of its cells."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from pnml.report.formats import number, percent, sort_value

if TYPE_CHECKING:
    from pnml.report.findings import Findings, Row


@dataclass(frozen=True)
class Cell:
    """The text of a cell in the table of rows, and its sort key where that is not the text."""

    text: str
    key: str = ""  # a number as JavaScript reads it; "" sorts by the text
    parts: tuple[tuple[str, str], ...] = ()  # (column, value), shown instead of the text


@dataclass(frozen=True)
class Column:
    """A heading with its cells, one per row of the table of rows."""

    name: str
    cells: tuple[Cell, ...]
    numeric: bool  # shown at the right, sorted as numbers
    sort: str = "none"  # as in aria-sort: the order in which the rows come


def rows_table(findings: Findings) -> tuple[Column, ...]:
    """Table of the least trusted rows: columns that are not empty, () without rows."""
    rows = findings.least_trusted
    interval = f"{percent(findings.coverage)} interval"
    columns = (
        _numeric_column("row", tuple((str(row.number), float(row.number)) for row in rows)),
        _text_or_numeric_column("id", tuple(row.id for row in rows)),
        _numeric_column(
            "regret", tuple((number(row.regret), row.regret) for row in rows), _order(rows)
        ),
        _text_or_numeric_column("prediction", tuple(row.prediction for row in rows)),
        _text_or_numeric_column(interval, tuple(row.interval for row in rows)),
        Column("trusted", tuple(Cell("yes" if row.trusted else "no") for row in rows), False),
        Column("because", tuple(Cell(row.because) for row in rows), False),
        Column("cells that drive it", tuple(_driving(row) for row in rows), False),
    )
    return tuple(column for column in columns if _is_filled(column))


def _numeric_column(name: str, values: tuple[tuple[str, float], ...], sort: str = "none") -> Column:
    return Column(name, tuple(Cell(text, _key(value)) for text, value in values), True, sort)


def _text_or_numeric_column(name: str, texts: tuple[str, ...]) -> Column:
    """A column of numbers where every text is a number, else a column of text."""
    values = [sort_value(text) for text in texts]
    known = [value for value in values if value is not None]
    if len(known) < len(texts):
        return Column(name, tuple(Cell(text) for text in texts), False)
    return _numeric_column(name, tuple(zip(texts, known, strict=True)))


def _order(rows: tuple[Row, ...]) -> str:
    falling = all(a.regret >= b.regret for a, b in pairwise(rows))
    return "descending" if falling else "none"


def _driving(row: Row) -> Cell:
    return Cell(", ".join(f"{column} {value}" for column, value in row.cells), parts=row.cells)


def _key(value: float) -> str:
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return "NaN" if math.isnan(value) else repr(value)


def _is_filled(column: Column) -> bool:
    return any(cell.text or cell.parts for cell in column.cells)
