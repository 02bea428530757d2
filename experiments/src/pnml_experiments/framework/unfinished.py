"""Runs that go on: journals of unfinished runs in the documentation, and how far they are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from pnml.errors import InputError
from pnml_experiments.framework.experiment import Experiment
from pnml_experiments.framework.registry import EXPERIMENTS
from pnml_experiments.framework.scales import SCALES, Offered, size_of

# Below the folder of the pages; as an output folder it goes on with the runs in it.
UNFINISHED = Path("data", "unfinished")


def how_far(name: str, docs: Path) -> list[str]:
    """A sentence on every unfinished run of an experiment whose journal is below `docs`.

    The module of such an experiment has a function `how_far` that reads the keys of the finished
    pieces.
    """
    return [
        f"**A run at the scale {scale} is unfinished.** {_told(experiment, scale, keys)} It goes "
        f"on with `pnml reproduce {name} --scale {scale} -o docs/results/{UNFINISHED}`."
        for experiment in EXPERIMENTS
        if experiment.id == name
        for scale in SCALES
        if (keys := _finished(docs / UNFINISHED / name / scale))
    ]


def _told(experiment: Experiment, scale: Offered, keys: Sequence[str]) -> str:
    module = import_module(f"pnml_experiments.{experiment.module}")
    case = [experiment.case] * bool(experiment.case)
    told: str = module.how_far(*case, size_of(scale), keys)
    return told


def _finished(folder: Path) -> list[str]:
    """Keys of the finished pieces in the journals of a folder."""
    return [key for journal in sorted(folder.glob("*-*.jsonl")) for key in _keys(journal)]


def _keys(path: Path) -> list[str]:
    """Keys of the finished pieces of a journal."""
    try:
        _, *records = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        return [str(record["piece"]) for record in records]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path} is not a journal of finished pieces ({type(error).__name__}); restore it, or "
            "delete it."
        ) from error
