"""Tables of rows: the least trusted ones by reason, and the examples of a reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pnml.report.formats import count, number, percent
from pnml.report.regret_rank import short_rank
from pnml.report.sortable_table import (
    Cell,
    Column,
    SortableTable,
    falling,
    numbers,
    words,
    words_or_numbers,
)

if TYPE_CHECKING:
    from pnml.report.findings import Findings
    from pnml.report.listed_rows import Row

_TRUSTED = "trusted, though less than all others"
_TRUSTED_LISTED = 10  # where there are others to look at
_SINGLE = "reasons of one listed row each"


@dataclass(frozen=True)
class RowGroup:
    """The least trusted rows that share one reason, as a table."""

    title: str  # the reason
    rows: int  # number of rows listed
    table: SortableTable


def row_groups(findings: Findings, most: int) -> tuple[RowGroup, ...]:
    """Tables of the `most` least trusted rows, one for each reason, worst rows first.

    Reasons of a single row are put together; rows that are trusted after all come last.
    """
    groups: dict[str, list[Row]] = {}
    for row in findings.least_trusted[:most]:
        title = _TRUSTED if row.trusted else row.reason or row.because
        groups.setdefault(title, []).append(row)
    single = [title for title, rows in groups.items() if len(rows) == 1 and title != _TRUSTED]
    if len(single) > 1:
        merged = [row for title in single for row in groups.pop(title)]
        groups[_SINGLE] = merged
    trusted = groups.pop(_TRUSTED, [])
    if trusted:
        groups[_TRUSTED] = trusted[:_TRUSTED_LISTED] if groups else trusted
    return tuple(
        RowGroup(title, len(rows), _table(f"Rows: {title}", tuple(rows), findings))
        for title, rows in groups.items()
    )


def example_table(text: str, rows: tuple[Row, ...], findings: Findings) -> SortableTable:
    """Table of example rows of the reason `text`: their values beside those of training."""
    columns = (
        *_first_columns(rows),
        _driving(rows),
        _regrets(rows, findings),
        words_or_numbers("prediction", tuple(row.prediction for row in rows)),
    )
    return SortableTable.of(f"Examples: {text}", columns, tuple(not row.trusted for row in rows))


def example_text(row: Row) -> str:
    """One example row in words: its number, the value that stands out, and training's values."""
    where = f"row {row.number:,}" + (f" ({row.id})" if row.id else "")
    if not row.cells:
        return f"{where}: {row.because}"
    cell = row.cells[0]
    training = f"; in training {cell.training}" if cell.training else ""
    return f"{where}: {cell.column} {cell.value}{training}"


def reason_count(rows: int, share: float) -> str:
    """Text for the number of rows that have a reason, and their share of the table.

    >>> reason_count(412, 0.0412)
    '412 rows (4.1 %)'
    """
    return f"{count(rows, 'row')} ({percent(share)})"


def _table(label: str, rows: tuple[Row, ...], findings: Findings) -> SortableTable:
    interval = f"{percent(findings.coverage)} interval"
    columns = (
        *_first_columns(rows),
        _driving(rows),
        _regrets(rows, findings),
        words_or_numbers("prediction", tuple(row.prediction for row in rows)),
        words_or_numbers(interval, tuple(row.interval for row in rows)),
        words("because", tuple(row.because for row in rows), wide=True),
    )
    return SortableTable.of(label, columns, tuple(not row.trusted for row in rows))


def _first_columns(rows: tuple[Row, ...]) -> tuple[Column, Column]:
    place = numbers("row", tuple((f"{row.number:,}", float(row.number)) for row in rows))
    ids = words_or_numbers("id", tuple(row.id for row in rows))
    return place, ids


def _driving(rows: tuple[Row, ...]) -> Column:
    cells = tuple(
        Cell(", ".join(f"{c.column} {c.value}" for c in row.cells), parts=row.cells) for row in rows
    )
    return Column("value, and that of training", cells, wide=True)


def _regrets(rows: tuple[Row, ...], findings: Findings) -> Column:
    """The regrets by their rank among those of training rows; the nats stand below."""
    training = findings.model.regrets
    cells = tuple((short_rank(row.regret, training), row.regret) for row in rows)
    below = tuple(f"{number(row.regret)} nats" for row in rows)
    return falling(numbers("regret", cells, below), tuple(row.regret for row in rows))
