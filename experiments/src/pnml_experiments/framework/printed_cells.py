"""Which numbers that the thesis prints were made again at its own size, and what others lack."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pnml_experiments.framework.catalogue import Entry, thesis
from pnml_experiments.framework.extent import extent
from pnml_experiments.framework.printed_groups import GROUPS, Group
from pnml_experiments.framework.result import Row
from pnml_experiments.framework.rows import Stored, stored

_COUNTS = re.compile(r"([\d,]+) of ([\d,]+) (?:(?:training|test) images|outliers)")
_HEAD = (
    "# Printed numbers made again\n\n"
    "Every table of the thesis, and how many of its cells were made again at the printed size. A "
    "cell is obtainable if its data can be had, and the weights of its networks too. Weights are "
    "not needed where training is part of the experiment (active learning), or takes a processor "
    "hours and not weeks (MNIST). Where something cannot be had, it stands beside the cells. "
    "A cell counts as made at the printed size if its rows have "
    "all of the images, sets, seeds and steps that the thesis had; whether the same number came "
    "out is on the page that the line links to. Where print does not say the size, no cell counts "
    "as made at it; those in brackets were made at the size that comes nearest. Counted from the "
    "rows in the folder `data`."
)
_BEFORE = 94  # cells at the printed size before the long runs, in the rows of commit d17e387
_HEADINGS = ("table", "cells", "obtainable", "at the printed size", "missing", "page")


@dataclass(frozen=True)
class Count:
    """Cells of one group of a printed table, and how many were made again."""

    group: Group
    made: int  # at the printed size, or at one near it where print does not say it

    @property
    def done(self) -> int:
        """Cells that were made at the printed size."""
        return 0 if self.group.unsaid else self.made

    @property
    def obtainable(self) -> int:
        """Cells whose data and weights can be had."""
        return 0 if self.group.missing else self.group.cells


def counts(docs: Path) -> Iterator[Count]:
    """Every group of printed cells, with how many were made again."""
    read: dict[str, Stored | None] = {}
    for group in GROUPS:
        path = docs / "data" / f"{group.experiment}.jsonl"
        if group.experiment not in read:
            read[group.experiment] = stored(path) if path.is_file() else None
        yield Count(group, made(group, read[group.experiment]))


def made(group: Group, rows: Stored | None) -> int:
    """Cells of the group that the rows have, at the printed size as far as print says it."""
    if rows is None or group.missing or rows.scale not in group.scales:
        return 0
    found = (row for row in cells_of(group, rows) if row.ours is not None)
    return min(group.cells, sum(1 for row in found if whole(row)))


def cells_of(group: Group, rows: Stored) -> list[Row]:
    """The rows that hold the printed cells of a group."""
    return [
        row
        for table in rows.result.tables
        if table.title.startswith(group.table)
        for row in table.rows
        if row.printed is not None
        and all(row.labels.get(name) in values for name, values in group.where.items())
    ]


def whole(row: Row) -> bool:
    """Whether the note of a row counts fewer images than the thesis had.

    >>> whole(Row({}, note="2,500 of 50,000 training images.")), whole(Row({}))
    (False, True)
    """
    return all(int(a.replace(",", "")) >= int(b.replace(",", "")) for a, b in _found(row.note))


def _found(note: str) -> list[tuple[str, str]]:
    return [(one[1], one[2]) for one in _COUNTS.finditer(note)]


def cells_page(docs: Path) -> str:
    """The page: cells of all tables, then figures and algorithms."""
    found = list(counts(docs))
    every = sum(one.group.cells for one in found)
    can = sum(one.obtainable for one in found)
    unsaid = [one for one in found if one.group.unsaid]
    sized, done = can - sum(one.obtainable for one in unsaid), sum(one.done for one in found)
    share = f"{100 * done / sized:.0f} %" if sized else "none"
    summary = (
        f"Of {every:,} printed cells {can:,} are obtainable. Print says the size of {sized:,} of "
        f"these, and {done:,}, {share}, were made again at it; {_BEFORE} were, before the runs of "
        f"days that began on 17 November 2026. Of {can - sized:,} it does not; "
        f"{sum(one.made for one in unsaid):,} of these were made again at a size near it."
    )
    head = [f"| {' | '.join(_HEADINGS)} |", "| --- | ---: | ---: | ---: | --- | --- |"]
    body = [_line(one, docs) for one in found]
    figures = [entry for entry in thesis() if entry.kind != "table"]
    rows = ["| number | what | rows |", "| --- | --- | --- |"]
    rows += [_figure_line(entry, docs) for entry in figures]
    parts = [_HEAD, summary, "## Tables", "\n".join([*head, *body])]
    return "\n\n".join([*parts, "## Figures and algorithms", "\n".join(rows)]) + "\n"


def _line(one: Count, docs: Path) -> str:
    group = one.group
    entry = next(each for each in thesis() if each.id == group.entry)
    missing = group.missing or (group.needed if one.done < group.cells else "")
    if group.unsaid:
        missing = f"{group.unsaid}, which print does not say"
    done = f"({one.made})" if group.unsaid else one.done
    name = f"{entry.number}, {group.part}" if group.part else f"{entry.number}, {entry.title}"
    page = _link(group.experiment, docs)
    return f"| {name} | {group.cells} | {one.obtainable} | {done} | {missing} | {page} |"


def _figure_line(entry: Entry, docs: Path) -> str:
    said = []
    for experiment in entry.experiments:
        path = docs / "data" / f"{experiment.id}.jsonl"
        if path.is_file():
            rows = stored(path)
            kind = extent(rows.experiment, rows.scale, rows.result)
            said.append(f"{_link(experiment.id, docs)}, {kind}")
        else:
            said.append(f"{experiment.id}, not run")
    return f"| {entry.number} | {entry.title} | {'; '.join(said)} |"


def _link(name: str, docs: Path) -> str:
    return f"[{name}]({name}.md)" if (docs / "data" / f"{name}.jsonl").is_file() else name
