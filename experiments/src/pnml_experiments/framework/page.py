"""Write a result as a page in Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING

from pnml.metrics import Estimate
from pnml_experiments.framework.extent import extent_line
from pnml_experiments.framework.result import Result, Row, Table

if TYPE_CHECKING:
    from pnml_experiments.framework.experiment import Experiment

_NOTHING = "–"
_WIDEST = 8  # columns of numbers side by side
_FILLED = 0.5  # cells of a spread table that must have a number


def page(
    experiment: Experiment,
    scale: str,
    result: Result,
    release: str | None = None,
    said: Sequence[str] = (),
) -> str:
    """The page: how it was run, the verdicts in `said`, figures, tables with notes below.

    Its first line says where the result has less than the thesis, or other data.

    `release` is the version of pnml that made the result, this one by default.
    """
    seeds = ", ".join(map(str, result.seeds)) or "none"
    how = [
        f"`pnml reproduce {experiment.id} --scale {scale}`",
        f"chapter {experiment.chapter}",
        f"pnml {release or version('pnml')}",
        f"seeds: {seeds}",
        f"repeats: {result.repeats}",
        f"intervals: {result.interval}",
        *_cost(experiment.cost(scale)),
    ]
    first = extent_line(experiment, scale, result)
    parts = [f"# {experiment.title}", first, " · ".join(how), *said, *result.remarks]
    parts += [
        f"![{figure.caption}]({figure.name}.png)\n\n*{figure.caption}*" for figure in result.figures
    ]
    for table in result.tables:
        parts += [f"## {table.title}", table.about, *_markdown(table)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _cost(minutes: float | None) -> list[str]:
    """What a run takes, for the reader; nothing where that is not known.

    >>> _cost(0.1), _cost(20.0), _cost(600.0)
    (['cost: under a core-minute'], ['cost: about 20 core-minutes'], ['cost: about 10 core-hours'])
    """
    if minutes is None:
        return []
    if minutes < 1:
        return ["cost: under a core-minute"]
    if minutes < 1.5:
        return ["cost: about a core-minute"]
    size = f"{minutes / 60:.0f} core-hours" if minutes >= 120 else f"{minutes:.0f} core-minutes"
    return [f"cost: about {size}"]


def value_only(estimate: Estimate | None, digits: int) -> str:
    """A number without its interval."""
    return _number(None if estimate is None else estimate.value, digits)


def with_interval(estimate: Estimate | None, digits: int) -> str:
    """A number with its interval, unless that has no width."""
    value = value_only(estimate, digits)
    if estimate is None or estimate.low == estimate.high:
        return value
    return f"{value} [{estimate.low:.{digits}f}, {estimate.high:.{digits}f}]"


def cells(
    table: Table, shown: Callable[[Estimate | None, int], str] = with_interval
) -> tuple[list[str], list[list[str]], list[str]]:
    """Headings, cells and notes; a row points to its note by number.

    Columns without a number are left out. A table of one column of numbers is spread: a column
    for every value of one of its labels.

    >>> rows = (Row({"p": "0.5"}, 1.0, Estimate(2.0, 2.0, 2.0), note="Rounded."),)
    >>> headings, body, notes = cells(Table("One", rows))
    >>> headings
    ['p', 'printed', 'ours', 'difference', 'note']
    >>> body, notes
    ([['0.5', '1.0', '2.0', '+1.0', '1']], ['Rounded.'])
    """
    notes = list(dict.fromkeys(row.note for row in table.rows if row.note))
    digits = table.digits
    columns: dict[str, Callable[[Row], str]] = {}
    if any(row.printed is not None for row in table.rows):
        columns["printed"] = lambda row: _number(row.printed, digits)
    if any(row.ours is not None for row in table.rows):
        columns["ours"] = lambda row: shown(row.ours, digits)
    if any(row.difference is not None for row in table.rows):
        columns["difference"] = lambda row: _number(row.difference, digits, "+")
    if any(row.fair is not None for row in table.rows):
        columns["fair"] = lambda row: shown(row.fair, digits)
    if len(columns) == 1 and (across := _to_spread(table)):
        (number,) = columns.values()
        return *_spread(table, across, number, notes), notes
    if notes:
        columns["note"] = lambda row: _pointer(row, notes)
    labels = table.headings
    body = [
        [*(row.labels.get(name, "") for name in labels), *(cell(row) for cell in columns.values())]
        for row in table.rows
    ]
    return [*labels, *columns], body, notes


def _to_spread(table: Table) -> str:
    """The label whose values become columns: `number`, or else the last that fits.

    It fits where it has few values and most cells of the grid that it makes are filled.
    """
    labels = table.headings
    by_choice = [name for name in labels if name == "number"] + [*labels[::-1]]
    for name in by_choice if len(labels) > 1 else ():
        values = {row.labels.get(name, "") for row in table.rows}
        others = {_others(row, labels, name) for row in table.rows}
        places = {(row.labels.get(name, ""), _others(row, labels, name)) for row in table.rows}
        full = len(places) == len(table.rows) >= _FILLED * len(values) * len(others)
        if 1 < len(values) <= _WIDEST and full:
            return name
    return ""


def _spread(
    table: Table, across: str, number: Callable[[Row], str], notes: list[str]
) -> tuple[list[str], list[list[str]]]:
    """Headings and cells with a column for every value of one label."""
    labels = table.headings
    values = list(dict.fromkeys(row.labels.get(across, "") for row in table.rows))
    lines: dict[tuple[str, ...], dict[str, str]] = {}
    for row in table.rows:
        pointer = f" ({_pointer(row, notes)})" if row.note else ""
        line = lines.setdefault(_others(row, labels, across), {})
        line[row.labels.get(across, "")] = number(row) + pointer
    body = [[*left, *(line.get(value, "") for value in values)] for left, line in lines.items()]
    return [*(name for name in labels if name != across), *values], body


def _others(row: Row, labels: Sequence[str], across: str) -> tuple[str, ...]:
    return tuple(row.labels.get(name, "") for name in labels if name != across)


def _markdown(table: Table) -> list[str]:
    headings, body, notes = cells(table)
    rule = ["---" if name in table.headings else "---:" for name in headings]
    grid = "\n".join("| " + " | ".join(line) + " |" for line in (headings, rule, *body))
    listed = "\n".join(f"{i}. {note}" for i, note in enumerate(notes, 1))
    return [grid, listed]


def _pointer(row: Row, notes: list[str]) -> str:
    return str(notes.index(row.note) + 1) if row.note else ""


def _number(value: float | None, digits: int, sign: str = "") -> str:
    return _NOTHING if value is None else f"{value:{sign}.{digits}f}"
