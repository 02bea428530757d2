"""A result as a page in Markdown."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import TYPE_CHECKING

from pnml.experiments.result import Result, Row, Table
from pnml.metrics import Estimate

if TYPE_CHECKING:
    from pnml.experiments.experiment import Experiment

_NOTHING = "–"


def page(experiment: Experiment, scale: str, result: Result, release: str | None = None) -> str:
    """The whole page: how it was run, tables with notes below them, figures.

    The release is that of this package by which it was run, where that is another.
    """
    seeds = ", ".join(map(str, result.seeds)) or "none"
    how = [
        f"`pnml reproduce {experiment.id} --scale {scale}`",
        f"chapter {experiment.chapter}",
        f"pnml {release or version('pnml')}",
        f"seeds: {seeds}",
        f"repeats: {result.repeats}",
        f"intervals: {result.interval}",
    ]
    parts = [f"# {experiment.title}", " · ".join(how), *result.remarks]
    for table in result.tables:
        parts += [f"## {table.title}", table.about, *_markdown(table)]
    for figure in result.figures:
        parts.append(f"![{figure.caption}]({figure.name}.png)\n\n*{figure.caption}*")
    return "\n\n".join(part for part in parts if part) + "\n"


def value_only(found: Estimate | None, digits: int) -> str:
    """A number without its interval."""
    return _number(None if found is None else found.value, digits)


def with_interval(found: Estimate | None, digits: int) -> str:
    """A number with its interval, where that has a width."""
    value = value_only(found, digits)
    if found is None or found.low == found.high:
        return value
    return f"{value} [{found.low:.{digits}f}, {found.high:.{digits}f}]"


def cells(
    table: Table, shown: Callable[[Estimate | None, int], str] = with_interval
) -> tuple[list[str], list[list[str]], list[str]]:
    """Headings, cells and notes; a row points to its note by number.

    >>> rows = (Row({"p": "0.5"}, 1.0, Estimate(2.0, 2.0, 2.0), note="Rounded."),)
    >>> headings, body, notes = cells(Table("One", rows))
    >>> headings
    ['p', 'printed', 'ours', 'difference', 'note']
    >>> body, notes
    ([['0.5', '1.0', '2.0', '+1.0', '1']], ['Rounded.'])
    """
    notes = list(dict.fromkeys(row.note for row in table.rows if row.note))
    fair = any(row.fair is not None for row in table.rows)
    headings = [*table.headings, "printed", "ours", "difference"]
    headings += ["fair"] * fair + ["note"] * bool(notes)
    body = []
    for row in table.rows:
        line = [row.labels.get(name, "") for name in table.headings]
        line += [_number(row.printed, table.digits), shown(row.ours, table.digits)]
        line.append(_number(row.difference, table.digits, "+"))
        line += [shown(row.fair, table.digits)] * fair
        line += [_pointer(row, notes)] * bool(notes)
        body.append(line)
    return headings, body, notes


def _markdown(table: Table) -> list[str]:
    headings, body, notes = cells(table)
    left = len(table.headings)
    rule = ["---" if j < left else "---:" for j in range(len(headings))]
    grid = "\n".join("| " + " | ".join(line) + " |" for line in (headings, rule, *body))
    listed = "\n".join(f"{i}. {note}" for i, note in enumerate(notes, 1))
    return [grid, listed]


def _pointer(row: Row, notes: list[str]) -> str:
    return str(notes.index(row.note) + 1) if row.note else ""


def _number(value: float | None, digits: int, sign: str = "") -> str:
    return _NOTHING if value is None else f"{value:{sign}.{digits}f}"
