"""Unfinished runs: their journals in the documentation, how far they are, what they show."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from pnml.errors import InputError
from pnml_experiments.framework.experiment import Experiment
from pnml_experiments.framework.page import with_interval
from pnml_experiments.framework.registry import EXPERIMENTS
from pnml_experiments.framework.result import Table
from pnml_experiments.framework.rows import stored
from pnml_experiments.framework.scales import SCALES, Offered

# Below the folder of the pages; as an output folder it goes on with the runs in it.
UNFINISHED = Path("data", "unfinished")


class Shown(NamedTuple):
    """What an unfinished run shows so far."""

    how_much: str  # is behind it, such as "up to 40 labels"
    tables: tuple[Table, ...]


def how_far(name: str, docs: Path) -> list[str]:
    """A sentence on every unfinished run of an experiment whose journal is below `docs`.

    The module of such an experiment has a function `how_far` from the finished pieces to words.
    """
    shown = so_far(name, docs)
    return [
        f"**A run at the scale {run.scale} is unfinished.** {run.told('how_far')} It goes "
        f"on with `pnml reproduce {name} --scale {run.scale} -o docs/results/{UNFINISHED}`."
        + " What it shows so far is at the end of this page."
        * (run.scale in shown)
        for run in _runs(name, docs)
    ]


def so_far(name: str, docs: Path) -> dict[Offered, Shown]:
    """What the unfinished runs of an experiment show that its page does not have, by scale.

    The module of an experiment that shows something has a function `so_far`, which gives it or
    None.
    """
    rows = docs / "data" / f"{name}.jsonl"
    known = _numbers(stored(rows).result.tables) if rows.is_file() else set()
    found = {run.scale: run.shown() for run in _runs(name, docs)}
    return {
        scale: shown
        for scale, shown in found.items()
        if shown is not None and _numbers(shown.tables) - known
    }


def titled(found: Mapping[Offered, Shown]) -> list[Table]:
    """Tables of unfinished runs for the end of a page, which say so.

    >>> (table,) = titled({"printed": Shown("up to 40 labels", (Table("Labels", ()),))})
    >>> table.title, table.about
    ('Labels: unfinished run at the scale printed', 'Up to 40 labels.')
    """
    return [
        replace(
            table,
            title=f"{table.title}: unfinished run at the scale {scale}",
            about=f"{shown.how_much[:1].upper()}{shown.how_much[1:]}. {table.about}".strip(),
        )
        for scale, shown in found.items()
        for table in shown.tables
    ]


def _numbers(tables: Sequence[Table]) -> set[tuple[str, frozenset[tuple[str, str]], str]]:
    """Every number of our own, as a page shows it, with its table and its labels."""
    return {
        (table.title, frozenset(row.labels.items()), with_interval(row.ours, table.digits))
        for table in tables
        for row in table.rows
        if row.ours is not None
    }


@dataclass(frozen=True)
class _Run:
    """An unfinished run and its finished pieces."""

    experiment: Experiment
    scale: Offered
    pieces: Mapping[str, Any]

    def told(self, function: str) -> Any:
        """What a function of the experiment's module makes of the pieces."""
        case = [self.experiment.case] * bool(self.experiment.case)
        return getattr(self._module, function)(*case, self.experiment.size(self.scale), self.pieces)

    def shown(self) -> Shown | None:
        """What the run shows so far, where the experiment's module has `so_far`."""
        return self.told("so_far") if hasattr(self._module, "so_far") else None

    @property
    def _module(self) -> ModuleType:
        return import_module(f"pnml_experiments.{self.experiment.module}")


def _runs(name: str, docs: Path) -> list[_Run]:
    return [
        _Run(experiment, scale, pieces)
        for experiment in EXPERIMENTS
        if experiment.id == name
        for scale in SCALES
        if (pieces := _finished(docs / UNFINISHED / name / scale))
    ]


def _finished(folder: Path) -> dict[str, Any]:
    """Finished pieces in the journals of a folder."""
    return {
        key: value
        for journal in sorted(folder.glob("*-*.jsonl"))
        for key, value in _pieces(journal)
    }


def _pieces(path: Path) -> list[tuple[str, Any]]:
    """Finished pieces of a journal."""
    try:
        _, *records = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        return [(str(record["piece"]), record["value"]) for record in records]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path} is not a journal of finished pieces ({type(error).__name__}); restore it, or "
            "delete it."
        ) from error
