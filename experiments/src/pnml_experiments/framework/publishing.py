"""Publish finished results as pages of the documentation, each written from its rows."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pnml.errors import InputError
from pnml.runtime.atomic import write_whole
from pnml_experiments.framework.catalogue import Entry, beyond, finished, thesis
from pnml_experiments.framework.claims import claims_page, evidence_of, judged
from pnml_experiments.framework.evidence import Word
from pnml_experiments.framework.experiment import ROWS
from pnml_experiments.framework.extent import extent
from pnml_experiments.framework.page import page
from pnml_experiments.framework.printed_cells import cells_page
from pnml_experiments.framework.registry import EXPERIMENTS
from pnml_experiments.framework.result import Table
from pnml_experiments.framework.rows import Stored, stored
from pnml_experiments.framework.scales import SCALES
from pnml_experiments.framework.unfinished import how_far, so_far, titled

_SAID: dict[Word, str] = {
    "holds": "That holds.",
    "holds in part": "That holds in part.",
    "does not hold": "That does not hold.",
    "not settled": "That is not settled.",
}
_HEAD = (
    "# Results\n\n"
    "Every figure, table and algorithm of the thesis, and what stands beside it here. Each page "
    "is written from its rows in the folder `data`, never typed: printed, ours, the difference and "
    "why. `pnml reproduce ID` runs any of them again; `pnml reproduce --list` says what it takes."
    "\n\n"
    "Beside a page is the scale of its run: `printed` has the size that the thesis had, `stored` "
    "the most that the data at hand give in reasonable time, `medium` and `small` less than that. "
    "The first line of a page says what its run leaves out of what the thesis had, and which "
    "other data stand in its place. [Which claims hold](claims.md), and [which printed numbers "
    "were made again](printed-cells.md), are pages of their own."
)


def page_from_rows(path: Path, said: Sequence[str] = (), more: Sequence[Table] = ()) -> str:
    """The page of a result from its file of rows: `said` in front, `more` tables at the end."""
    rows = stored(path)
    result = replace(rows.result, tables=(*rows.result.tables, *more))
    return page(rows.experiment, rows.scale, result, rows.release, said)


def published_page(name: str, docs: Path) -> str:
    """The page of a published result: verdicts on its claims, a comment, runs that go on, tables.

    The comment is in ``data/NAME.txt``, so that it outlives the rows.
    """
    said = [
        f"**“{one.claim.words}”** {_SAID[one.verdict.word]} {evidence_of(one.verdict)}"
        for one in judged(docs, name)
    ]
    words = docs / "data" / f"{name}.txt"
    if words.is_file():
        said.append(words.read_text(encoding="utf-8").strip())
    said += how_far(name, docs)
    return page_from_rows(docs / "data" / f"{name}.jsonl", said, titled(so_far(name, docs)))


def publish(results: Path, docs: Path) -> list[str]:
    """Copy finished results to the documentation and return their ids.

    The largest scale wins, also over this run if the documentation already has a larger one.
    Every page is written again from its rows.
    """
    copied = []
    for experiment in EXPERIMENTS:
        done = finished(experiment, results)
        here = docs / "data" / f"{experiment.id}.jsonl"
        if not done or (here.is_file() and _size(stored(here).scale) > _size(done[-1])):
            continue
        copy(experiment.place(results, done[-1]), docs)
        copied.append(experiment.id)
    for rows in sorted((docs / "data").glob("*.jsonl")):
        write_whole(docs / f"{rows.stem}.md", [published_page(rows.stem, docs).encode()])
    write_whole(docs / "index.md", [index_page(docs).encode()])
    write_whole(docs / "claims.md", [claims_page(docs).encode()])
    write_whole(docs / "printed-cells.md", [cells_page(docs).encode()])
    return copied


def copy(folder: Path, docs: Path) -> None:
    """Copy the rows and the figures of one finished result."""
    rows = stored(folder / ROWS)
    (docs / "data").mkdir(parents=True, exist_ok=True)
    kept = docs / "data" / f"{rows.experiment.id}.jsonl"
    write_whole(kept, [(folder / ROWS).read_bytes()])
    for figure in rows.result.figures:
        picture = folder / f"{figure.name}.png"
        write_whole(docs / picture.name, [picture.read_bytes()])


def index_page(docs: Path) -> str:
    """All entries of the catalogue with a link to the page of each that has one."""
    parts = [_HEAD]
    for title, entries in (
        ("Figures", [entry for entry in thesis() if entry.kind == "figure"]),
        ("Tables", [entry for entry in thesis() if entry.kind == "table"]),
        ("Algorithms", [entry for entry in thesis() if entry.kind == "algorithm"]),
        ("Beyond the thesis", beyond()),
    ):
        parts += [f"## {title}", _index(entries, docs)]
    return "\n\n".join(parts) + "\n"


def _index(entries: Sequence[Entry], docs: Path) -> str:
    lines = ["| number | what | id | page |", "| --- | --- | --- | --- |"]
    for entry in entries:
        pages = ", ".join(
            _link(experiment.id, docs) or _reason(experiment.own, experiment.gpu)
            for experiment in entry.experiments
        )
        number = entry.number or f"chapter {entry.chapter}"
        lines.append(f"| {number} | {entry.title} | `{entry.id}` | {pages} |")
    return "\n".join(lines)


def _link(name: str, docs: Path) -> str:
    rows = docs / "data" / f"{name}.jsonl"
    if rows.is_file():
        result = stored(rows)
        return f"[{name}]({name}.md), {_how_much(result)}"
    return f"[{name}]({name}.md)" if (docs / f"{name}.md").is_file() else ""


def _reason(own: tuple[str, ...], gpu: bool) -> str:
    if gpu:
        return "not run: needs a GPU"
    return f"not run: needs {own[0]}" if own else "not run yet"


def _how_much(rows: Stored) -> str:
    """The scale of a result, and whether it has other data than the thesis."""
    kind = extent(rows.experiment, rows.scale, rows.result)
    if kind == "printed numbers alone":
        return kind
    return f"{rows.scale}, other data" if kind == "other data" else rows.scale


def _size(scale: str) -> int:
    names: list[str] = [*SCALES]
    return names.index(scale)


def main(arguments: Sequence[str]) -> None:
    """``python -m pnml_experiments.framework.publishing RESULTS DOCS``."""
    if len(arguments) != 2:
        raise InputError(
            f"{len(arguments)} folders were given; pass the folder of the results and that of the "
            "pages."
        )
    results, docs = map(Path, arguments)
    sys.stdout.write("\n".join(publish(results, docs)) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
