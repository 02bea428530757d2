"""``pnml reproduce``: a table or a figure of the thesis, beside what was printed."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pnml.cli.options import Json

if TYPE_CHECKING:
    from pnml.experiments.experiment import Experiment
    from pnml.experiments.result import Result, Row


class ScaleName(StrEnum):
    """How much is run: minutes, hours where that is offered, or all of the data at hand."""

    small = "small"
    medium = "medium"
    full = "full"


def reproduce(
    name: Annotated[
        str | None, typer.Argument(metavar="ID", help="What to run; without it, all are listed.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Run all that can be run here.")
    ] = False,
    scale: Annotated[
        ScaleName,
        typer.Option(
            help="small takes minutes, medium (a few entries) hours, full all of the data."
        ),
    ] = ScaleName.small,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the results.")] = Path(
        "pnml-results"
    ),
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Forget what an earlier run has finished.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Run a table or a figure of the thesis again and print it beside what was printed there."""
    from pnml.core.errors import InputError
    from pnml.experiments.registry import EXPERIMENTS, find

    if name is not None and everything:
        raise InputError(f"{name} was asked for and --all too; pass one of them.")
    if name is None and not everything:
        _list(EXPERIMENTS, as_json)
        return
    asked = EXPERIMENTS if name is None else (find(name),)
    lacking = [(e, e.lacking()) for e in asked] if everything else []
    skipped = [(e.id, lack.sentence) for e, lack in lacking if lack is not None]
    left_out = {skipped_id for skipped_id, _ in skipped}
    documents = []
    for experiment in asked:
        if experiment.id not in left_out:
            done = _run(experiment, scale.value, output, fresh)
            documents.append(_show(*done, quiet=as_json))
    _close(documents, skipped, as_json)


def _run(
    experiment: Experiment, scale: str, output: Path, fresh: bool
) -> tuple[Experiment, Result, Path]:
    from pnml.cli.talk import progress
    from pnml.experiments.running import reproduce as run

    with progress(experiment.id) as tell:
        result, page = run(experiment, scale, output, tell, fresh=fresh)
    return experiment, result, page


def _list(experiments: tuple[Experiment, ...], as_json: bool) -> None:
    from pnml.cli.talk import grid, print_json, print_words

    listed = [(experiment, experiment.lacking()) for experiment in experiments]
    if as_json:
        documents = [
            {
                "id": e.id,
                "chapter": e.chapter,
                "title": e.title,
                "scales": list(e.scales),
                "ready": lack is None,
                "lacking": lack and lack.sentence,
            }
            for e, lack in listed
        ]
        print_json({"experiments": documents})
        return
    rows = [
        [e.id, str(e.chapter), e.title, "no" if lack else "yes", lack.what if lack else ""]
        for e, lack in listed
    ]
    print_words(
        grid(["id", "chapter", "", "ready", "lacking"], rows, frozenset({1})),
        "Run one with pnml reproduce ID, all with pnml reproduce --all.",
    )


def _show(experiment: Experiment, result: Result, page: Path, *, quiet: bool) -> dict[str, Any]:
    """The result as plain values, which people see as words as soon as it is there."""
    from pnml.cli.talk import print_words

    if not quiet:
        print_words(*_words(experiment, result, page))
    return _document(experiment, result, page)


def _close(documents: list[dict[str, Any]], skipped: list[tuple[str, str]], as_json: bool) -> None:
    from pnml.cli.talk import print_json, print_words

    if as_json:
        reasons = [{"id": name, "reason": reason} for name, reason in skipped]
        print_json({"done": documents, "skipped": reasons})
    elif skipped:
        print_words("Skipped:", *(f"  {reason}" for _, reason in skipped))


def _words(experiment: Experiment, result: Result, page: Path) -> list[Any]:
    from pnml.cli.talk import grid
    from pnml.experiments.page import cells, value_only

    lines: list[Any] = [experiment.title, *result.remarks]
    for table in result.tables:
        headings, body, notes = cells(table, value_only)
        left = len(table.headings)
        lines += ["", table.title, *[table.about] * bool(table.about)]
        lines.append(grid(headings, body, frozenset(range(left, len(headings)))))
        lines += [f"{i}. {note}" for i, note in enumerate(notes, 1)]
    pictures = ", ".join(f"{figure.name}.png" for figure in result.figures)
    beside = f" with {pictures}" if pictures else ""
    wrote = f"Wrote {page}, which has the intervals too,{beside} and rows.jsonl beside it."
    if not any(_has_interval(row) for table in result.tables for row in table.rows):
        wrote = f"Wrote {page}{beside} and rows.jsonl beside it."
    return [*lines, wrote, ""]


def _has_interval(row: Row) -> bool:
    return row.ours is not None and row.ours.low < row.ours.high


def _document(experiment: Experiment, result: Result, page: Path) -> dict[str, Any]:
    return {
        "id": experiment.id,
        "page": str(page),
        "seeds": list(result.seeds),
        "repeats": result.repeats,
        "interval": result.interval,
        "remarks": list(result.remarks),
        "tables": [
            {"title": table.title, "rows": [row.record() for row in table.rows]}
            for table in result.tables
        ],
    }
