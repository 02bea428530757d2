"""The learners that a table can be given to, by the names the command line knows."""

from __future__ import annotations

from functools import singledispatch
from typing import Any, NamedTuple

from pnml.core.geometry.spectrum import Spectrum
from pnml.errors import InputError
from pnml.estimators.base import learner_of
from pnml.estimators.registry import MOST_ROWS as MOST_ROWS
from pnml.estimators.registry import table_learners
from pnml.learners.least_squares import LeastSquares
from pnml.learners.logistic_refit import LogisticRefit
from pnml.learners.one_step import OneStep

AUTO = "auto"
LEARNERS = table_learners()
_CONTENDERS = {
    "regression": ("pnml", "lpnml", "kernel", "boosting"),
    "classification": ("logistic", "boosting-classifier"),
}
# Trees that want 20 rows in a leaf find little in fewer rows.
_LEAST_BOOSTED = 100


def contenders(name: str, task: str, *, weighted: bool = False) -> tuple[str, ...]:
    """Names of the learners to try: `name` itself, or for "auto" all that suit the task.

    `weighted`: rows have weights, so that "auto" leaves out learners without weights. Raises
    InputError if `name` does another task.
    """
    if name == AUTO:
        return tuple(n for n in _CONTENDERS[task] if LEARNERS[n].weighs or not weighted)
    if LEARNERS[name].task != task and f"{name}-classifier" in LEARNERS:
        name = f"{name}-classifier"
    if LEARNERS[name].task != task:
        fitting = ", ".join(n for n, learner in LEARNERS.items() if learner.task == task)
        raise InputError(
            f"--learner {name} does {LEARNERS[name].task}, but the task is {task}; "
            f"pick one of {fitting}, or pass --task {LEARNERS[name].task}."
        )
    return (name,)


def worth_trying(names: tuple[str, ...], rows: int) -> list[str]:
    """Those learners of `names` that suit a table with so many rows; a single one always does."""
    if len(names) == 1:
        return list(names)
    least = {name: _LEAST_BOOSTED if LEARNERS[name].make_coded else 0 for name in names}
    return [name for name in names if least[name] <= rows <= max(LEARNERS[name].rows, 0)]


class Ridge(NamedTuple):
    """Ridge fit from which a learner's leverage is computed, at the penalty `alpha`.

    `spectrum` is that of the training rows; `geometry` also has the directions that these rows
    lack.
    """

    spectrum: Spectrum  # of the training rows
    geometry: Spectrum  # with the directions that they lack, where a penalty makes that safe
    alpha: float


def ridge_in(estimator: Any) -> Ridge | None:
    """The ridge fit from which a fitted estimator computes leverages, or None if it has none."""
    return ridge_of(learner_of(estimator))


@singledispatch
def ridge_of(learner: Any) -> Ridge | None:
    """The ridge fit from which a fitted learner computes leverages, or None if it has none."""
    return None


@ridge_of.register
def _(learner: LeastSquares) -> Ridge:
    return Ridge(learner.spectrum, learner.geometry, learner.choice.alpha)


@ridge_of.register(OneStep)
@ridge_of.register(LogisticRefit)
def _(learner: OneStep | LogisticRefit) -> Ridge:
    geometry = learner.geometry
    return Ridge(geometry.spectrum, geometry.completed, geometry.alpha)
