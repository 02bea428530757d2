"""``pnml reproduce --list``: every entry with its cost, its data and its state."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

    from pnml_experiments.framework.catalogue import Entry
    from pnml_experiments.framework.experiment import Experiment

# Width of all number columns with their gaps, and of the longest id.
_NUMBERS, _LONGEST = 37, 26


def show_list(output: Path, as_json: bool) -> None:
    """Print all entries of the thesis, and the experiments beyond it."""
    from pnml.cli.console import print_json, print_words
    from pnml_experiments.framework.catalogue import beyond, thesis
    from pnml_experiments.framework.registry import EXPERIMENTS

    if as_json:
        entries = [_document(entry, output) for entry in (*thesis(), *beyond())]
        experiments = [_experiment(experiment, output) for experiment in EXPERIMENTS]
        print_json({"entries": entries, "experiments": experiments})
        return
    for title, part in (("The thesis", thesis()), ("Beyond the thesis", beyond())):
        print_words(title, _grid([_cells(entry, output) for entry in part]))
    print_words(
        "Columns small and largest are minutes of one core, about; printed is a run of the size "
        "that the thesis had, stored the most that the data at hand give in reasonable time. Run "
        "one with pnml reproduce ID, all with pnml reproduce --all."
    )


def _grid(rows: list[list[str]]) -> Table:
    """A name with its title below, and numbers; fits a narrow window."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    rest = max(Console().width - _NUMBERS, 42)
    name = max(_LONGEST, rest // 2)
    data = (rest - name) * 2 // 5
    table.add_column("id, title", width=name, overflow="fold")
    table.add_column("thesis", no_wrap=True)
    for heading in ("small", "largest"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("data", width=data, overflow="fold")
    table.add_column("state", width=rest - name - data, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _cells(entry: Entry, output: Path) -> list[str]:
    return [
        f"{entry.id}\n{entry.title}",
        _short(entry.number) or f"ch. {entry.chapter}",
        _minutes(entry.cost("small")),
        "\n".join(f"{_minutes(entry.cost(scale))}\n{scale}" for scale in entry.large),
        ", ".join(entry.data) or "none",
        entry.state(output),
    ]


def _short(number: str) -> str:
    for word in ("Figure", "Table", "Algorithm"):
        number = number.replace(word, f"{word[:3]}.")
    return number


def _minutes(value: float | None) -> str:
    return "–" if value is None else f"{value:.2g}" if value < 10 else f"{value:.0f}"


def _document(entry: Entry, output: Path) -> dict[str, Any]:
    scales = list(
        dict.fromkeys(scale for experiment in entry.experiments for scale in experiment.scales)
    )
    return {
        "id": entry.id,
        "kind": entry.kind,
        "number": entry.number,
        "chapter": entry.chapter,
        "title": entry.title,
        "experiments": [experiment.id for experiment in entry.experiments],
        "minutes": {scale: entry.cost(scale) for scale in scales},
        "data": list(entry.data),
        "state": entry.state(output),
    }


def _experiment(experiment: Experiment, output: Path) -> dict[str, Any]:
    from pnml_experiments.framework.catalogue import state

    lack = experiment.lacking()
    return {
        "id": experiment.id,
        "chapter": experiment.chapter,
        "title": experiment.title,
        "scales": list(experiment.scales),
        "minutes": {scale: experiment.cost(scale) for scale in experiment.scales},
        "beyond": experiment.beyond,
        "ready": lack is None,
        "lacking": lack and lack.sentence,
        "state": state(experiment, output),
    }
