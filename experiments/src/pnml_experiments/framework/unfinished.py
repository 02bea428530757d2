"""Unfinished runs: their journals in the documentation, how far they are, what they show."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from pnml.errors import InputError
from pnml_experiments.framework.experiment import Experiment
from pnml_experiments.framework.registry import EXPERIMENTS
from pnml_experiments.framework.result import Table
from pnml_experiments.framework.scales import SCALES, Offered

# Below the folder of the pages; as an output folder it goes on with the runs in it.
UNFINISHED = Path("data", "unfinished")


def how_far(name: str, docs: Path) -> list[str]:
    """A sentence on every unfinished run of an experiment whose journal is below `docs`.

    The module of such an experiment has a function `how_far` from the finished pieces to words.
    """
    return [
        f"**A run at the scale {run.scale} is unfinished.** {run.told('how_far')} It goes "
        f"on with `pnml reproduce {name} --scale {run.scale} -o docs/results/{UNFINISHED}`."
        + " What it shows so far is at the end of this page."
        * bool(run.tables())
        for run in _runs(name, docs)
    ]


def so_far(name: str, docs: Path) -> dict[Offered, tuple[Table, ...]]:
    """Tables of what the unfinished runs of an experiment show so far, by scale."""
    return {run.scale: tables for run in _runs(name, docs) if (tables := run.tables())}


def titled(shown: Mapping[Offered, Sequence[Table]]) -> list[Table]:
    """Tables of unfinished runs for the end of a page, with titles that say so.

    >>> [table.title for table in titled({"printed": [Table("Labels", ())]})]
    ['Labels: unfinished run at the scale printed']
    """
    return [
        replace(table, title=f"{table.title}: unfinished run at the scale {scale}")
        for scale, tables in shown.items()
        for table in tables
    ]


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

    def tables(self) -> tuple[Table, ...]:
        """What the run shows so far, where the experiment's module has `so_far`."""
        return self.told("so_far") if hasattr(self._module, "so_far") else ()

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
