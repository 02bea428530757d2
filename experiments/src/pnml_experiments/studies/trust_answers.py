"""Answers of every method to the rows of a table, stored so that each is computed once.

Answers of rivals are stored apart from ours: they depend on the rows, on this study's code and on
the release of their package, ours on the code of this package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.metadata import packages_distributions, version
from typing import Any

import numpy as np
import numpy.typing as npt

from pnml_experiments.framework.output import Arrays, Output
from pnml_experiments.studies.trust_class_rivals import (
    CLASS_RIVALS,
    ENTROPY,
    MAX_PROBABILITY,
)
from pnml_experiments.studies.trust_files import ShiftedTable
from pnml_experiments.studies.trust_ours import (
    CELLS,
    CLASS_OURS,
    EXPECTED,
    NOISE,
    OURS,
    PARTS,
    REGRET,
    TRUSTED,
    TRUSTED_CLASSES,
    own_code,
)
from pnml_experiments.studies.trust_rivals import (
    BAGGED,
    BAGGED_LOF,
    CATBOOST,
    LOF,
    MODEL,
    RIVALS,
)
from pnml_experiments.studies.trust_scorers import Fit, Scorer

_BETWEEN = "/"  # of a set and an answer, in the names of stored arrays
# Method and its answer → name in the tables of results.
_SCORES = {
    (TRUSTED, "regret"): REGRET,
    (TRUSTED, "expected"): EXPECTED,
    (TRUSTED_CLASSES, "regret"): REGRET,
    (TRUSTED_CLASSES, "expected"): EXPECTED,
    (PARTS, "cells"): CELLS,
    (PARTS, "noise"): NOISE,
    (CATBOOST, "knowledge"): f"{CATBOOST}, knowledge",
    (CATBOOST, "total"): f"{CATBOOST}, knowledge and data",
    (MODEL, "max"): MAX_PROBABILITY,
    (MODEL, "entropy"): ENTROPY,
}

# set → answer
BySet = dict[str, npt.NDArray[Any]]


class TableAnswers:
    """What all methods say of the rows of one table.

    Parameters
    ----------
    table : the rows
    stored : method → arrays by ``set/answer``
    """

    def __init__(self, table: ShiftedTable, stored: Mapping[str, Arrays]) -> None:
        self.table = table
        self.scores: dict[str, BySet] = {}
        self.rejected: dict[str, BySet] = {}
        self.intervals: dict[str, BySet] = {}
        for method, arrays in stored.items():
            names = dict.fromkeys(key.partition(_BETWEEN)[2] for key in arrays)
            for name in names:
                found = {kind: arrays[f"{kind}{_BETWEEN}{name}"] for kind in table.sets}
                if name == "prediction":
                    self._prediction = found
                elif name == "rejected":
                    self.rejected[method] = found
                elif name == "interval":
                    self.intervals[method] = found
                else:
                    self.scores[_SCORES.get((method, name), method)] = found
        if BAGGED in self.scores and LOF in self.scores:
            both = (self.scores[BAGGED], self.scores[LOF])
            self.scores[BAGGED_LOF] = {kind: both[0][kind] * both[1][kind] for kind in table.sets}

    def losses(self, kind: str) -> npt.NDArray[np.float64]:
        """|error| of the model on the rows of one set; of classes, whether it is wrong."""
        truth, found = self.table.sets[kind].y, self._prediction[kind]
        wrong = found != truth if self.table.classes else np.abs(found - truth)
        return np.asarray(wrong, dtype=np.float64)


def methods_of(table: ShiftedTable) -> dict[str, Scorer]:
    """All methods that are installed, rivals first."""
    return rivals_of(table) | ours_of(table)


def rivals_of(table: ShiftedTable) -> dict[str, Scorer]:
    """The installed methods that this package has no part in."""
    return _installed(CLASS_RIVALS if table.classes else RIVALS)


def ours_of(table: ShiftedTable) -> dict[str, Scorer]:
    """The methods of this package."""
    return _installed(CLASS_OURS if table.classes else OURS)


def _installed(methods: Mapping[str, Scorer]) -> dict[str, Scorer]:
    return {name: method for name, method in methods.items() if method.installed}


def rival_answers(table: ShiftedTable, out: Output, tell: Callable[[int], None]) -> dict[str, Any]:
    """Answers of the rivals alone, computed where they are not stored."""
    return _stored(table, rivals_of(table), (), out, tell, ours=False)


def answers(table: ShiftedTable, out: Output, tell: Callable[[int], None]) -> TableAnswers:
    """Answers of all methods, computed where they are not stored."""
    rivals = rival_answers(table, out, tell)
    ours = _stored(table, ours_of(table), (own_code(),), out, tell, ours=True)
    return TableAnswers(table, rivals | ours)


def _stored(
    table: ShiftedTable,
    methods: Mapping[str, Scorer],
    depends: Iterable[str],
    out: Output,
    tell: Callable[[int], None],
    *,
    ours: bool,
) -> dict[str, Arrays]:
    found = {}
    for name, method in methods.items():
        settings = [table.digest, name, *_releases(method.package), *depends]
        compute = _answering(table, method.fit)
        found[name] = out.arrays(f"trust-{table.file}", settings, compute, ours=ours)
        tell(1)
    return found


def _answering(table: ShiftedTable, fit: Fit) -> Callable[[], Arrays]:
    """Fits a method to the training rows; its answers to every set."""

    def compute() -> Arrays:
        answer = fit(table.train.X, table.train.y)
        return {
            f"{kind}{_BETWEEN}{name}": values
            for kind, rows in table.sets.items()
            for name, values in answer(rows.X).items()
        }

    return compute


@cache
def _releases(package: str) -> list[str]:
    """Releases of a package and of the model that all methods are about."""
    held = packages_distributions()
    return [version(held[name][0]) for name in (package, "lightgbm") if name in held]
