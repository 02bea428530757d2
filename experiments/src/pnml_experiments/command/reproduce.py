"""``pnml reproduce``: run experiments and print them beside what was printed."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pnml.cli.options import Json

if TYPE_CHECKING:
    from pnml_experiments.framework.experiment import Experiment
    from pnml_experiments.framework.result import Result, Row


class ScaleName(StrEnum):
    """How much is run; `full` is the old name of the largest scale."""

    small = "small"
    medium = "medium"
    stored = "stored"
    printed = "printed"
    full = "full"


def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="ID",
            help="A figure, a table or an experiment to run; without it, all are listed.",
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Run all that can be run here, and go on after a failure.")
    ] = False,
    listed: Annotated[
        bool, typer.Option("--list", help="List all, what they cost and need, and what is done.")
    ] = False,
    scale: Annotated[
        ScaleName,
        typer.Option(
            help="small takes minutes, medium (a few entries) hours; stored is the most that "
            "the data at hand give in reasonable time, and the first line of its page says what it "
            "leaves out of what the thesis had; printed has the size that the thesis had. full is "
            "the old name of the larger of the two."
        ),
    ] = ScaleName.small,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the results.")] = Path(
        "pnml-results"
    ),
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            "-j",
            min=1,
            help="With --all, how many to run side by side: the cores, but at most 4.",
            show_default=False,
        ),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Forget what an earlier run has finished.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Run a table or a figure of the thesis again and print it beside what was printed there."""
    from pnml.errors import InputError
    from pnml_experiments.command.listing import show_list
    from pnml_experiments.command.run_all import usual_jobs
    from pnml_experiments.framework.catalogue import asked

    if name is not None and (everything or listed):
        other = "--all" if everything else "--list"
        raise InputError(f"{name} was asked for and {other} too; pass one of them.")
    if everything and listed:
        raise InputError("--all was asked for and --list too; pass one of them.")
    if jobs is not None and not everything:
        raise InputError("--jobs was passed without --all, and one experiment runs by itself.")
    if name is None and not everything:
        show_list(output, as_json)
    elif name is None:
        _run_all(scale.value, output, fresh, jobs or usual_jobs(), as_json)
    else:
        documents = []
        for experiment in asked(name):
            outcome = _run(experiment, scale.value, output, fresh)
            documents.append(_show(experiment, *outcome, quiet=as_json))
        _close(documents, [], [], as_json)


def _run(
    experiment: Experiment, scale: str, output: Path, fresh: bool
) -> tuple[Result, Path, float]:
    """Result, page and seconds of one run."""
    from pnml.runtime.progress import terminal_bar
    from pnml_experiments.framework.running import reproduce as run

    start = perf_counter()
    with terminal_bar(experiment.id) as tell:
        result, page = run(experiment, scale, output, tell, fresh=fresh)
    return result, page, perf_counter() - start


def _run_all(scale: str, output: Path, fresh: bool, jobs: int, as_json: bool) -> None:
    """Run all that can run and print a line for each; exit code 1 if one fails."""
    from pnml.cli.console import print_words
    from pnml_experiments.command.run_all import finished, split

    tasks, skipped = split(scale, output, fresh)
    done: dict[str, dict[str, Any]] = {}
    failed = []
    for experiment, document, reason in finished(tasks, jobs):
        if document is None:
            failed.append((experiment.id, reason))
            line = f"  {experiment.id}: failed"
        else:
            done[experiment.id] = document
            line = f"  {experiment.id}: {document['seconds']:.0f} s, {document['page']}"
        if not as_json:
            print_words(line)
    in_order = [done[task.experiment.id] for task in tasks if task.experiment.id in done]
    _close(in_order, skipped, failed, as_json)


def _show(
    experiment: Experiment, result: Result, page: Path, seconds: float, *, quiet: bool
) -> dict[str, Any]:
    """Print the result in words, unless quiet; the result as plain values."""
    from pnml.cli.console import print_words
    from pnml_experiments.command.run_all import document

    if not quiet:
        print_words(*_words(experiment, result, page))
    return document(experiment, result, page, seconds)


def _close(
    documents: list[dict[str, Any]],
    skipped: list[tuple[str, str]],
    failed: list[tuple[str, str]],
    as_json: bool,
) -> None:
    from pnml.cli.console import print_json, print_words

    if as_json:
        apart = {
            key: [{"id": name, "reason": reason} for name, reason in these]
            for key, these in (("skipped", skipped), ("failed", failed))
        }
        print_json({"done": documents, **apart})
    else:
        if skipped:
            print_words("Skipped:", *(f"  {reason}" for _, reason in skipped))
        if failed:
            print_words("Failed:", *(f"  {name}: {reason}" for name, reason in failed))
    if failed:
        raise typer.Exit(1)


def _words(experiment: Experiment, result: Result, page: Path) -> list[Any]:
    from pnml.cli.console import grid
    from pnml_experiments.framework.page import cells, value_only

    lines: list[Any] = [experiment.title, *result.remarks]
    for table in result.tables:
        headings, body, notes = cells(table, value_only)
        lines += ["", table.title, *[table.about] * bool(table.about)]
        numbers = frozenset(i for i, name in enumerate(headings) if name not in table.headings)
        lines.append(grid(headings, body, numbers))
        lines += [f"{i}. {note}" for i, note in enumerate(notes, 1)]
    pictures = ", ".join(f"{figure.name}.png" for figure in result.figures)
    beside = f" with {pictures}" if pictures else ""
    wrote = f"Wrote {page}, which has the intervals too,{beside} and rows.jsonl beside it."
    if not any(_has_interval(row) for table in result.tables for row in table.rows):
        wrote = f"Wrote {page}{beside} and rows.jsonl beside it."
    return [*lines, wrote, ""]


def _has_interval(row: Row) -> bool:
    return row.ours is not None and row.ours.low < row.ours.high
