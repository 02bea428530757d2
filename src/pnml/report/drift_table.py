"""The table of drift, column by column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pnml.report.formats import count, number, percent
from pnml.report.sortable_table import Column, SortableTable, numbers, words

if TYPE_CHECKING:
    from pnml.report.findings import Findings
    from pnml.tables.drift import DriftRow


def drift_table(findings: Findings, most: int) -> SortableTable | None:
    """Table of drift with a row for each of at most `most` columns, drifted ones first, or None.

    None if the findings know nothing of drift.
    """
    if not findings.drift:
        return None
    rows = sorted(findings.drift, key=lambda row: not row.flagged)[:most]
    columns = (
        words("column", tuple(row.column for row in rows)),
        words("drifted", tuple("yes" if row.flagged else "no" for row in rows)),
        words("in training", tuple(row.training for row in rows)),
        words("now", tuple(row.new for row in rows)),
        _shares("outside", tuple(row.outside for row in rows)),
        _shares("missing then", tuple(row.missing_before for row in rows)),
        _shares("missing now", tuple(row.missing_now for row in rows)),
        _new_words(rows),
        numbers("PSI", tuple((number(row.psi), row.psi) for row in rows)),
        numbers("p-value", tuple((number(row.p_value), row.p_value) for row in rows)),
        words("kind", tuple(row.kind for row in rows)),
        words("remark", tuple(row.remark for row in rows), wide=True),
    )
    marked = tuple(row.flagged for row in rows)
    return SortableTable.of("Drift of each column", columns, marked)


def drift_sentence(findings: Findings) -> str:
    """How many columns of the table drifted, and which, in one sentence."""
    flagged = [row.column for row in findings.drift if row.flagged]
    total = count(len(findings.drift), "column")
    if not flagged:
        return f"None of {total} has drifted."
    named = ", ".join(flagged[:5]) + (", …" if len(flagged) > 5 else "")
    verb = "has" if len(flagged) == 1 else "have"
    return f"{len(flagged):,} of {total} {verb} drifted: {named}."


def _shares(name: str, values: tuple[float, ...]) -> Column:
    return numbers(name, tuple((percent(value), value) for value in values))


def _new_words(rows: list[DriftRow]) -> Column:
    return numbers("new words", tuple((f"{row.new_words:,}", float(row.new_words)) for row in rows))
