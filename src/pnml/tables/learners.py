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
_CONTENDERS = {"regression": ("pnml", "lpnml"), "classification": ("logistic",)}


def contenders(name: str, task: str) -> tuple[str, ...]:
    """Names of the learners that are to be tried on this task of a table."""
    if name == AUTO:
        return _CONTENDERS[task]
    if LEARNERS[name].task != task:
        fitting = ", ".join(n for n, learner in LEARNERS.items() if learner.task == task)
        raise InputError(
            f"--learner {name} does {LEARNERS[name].task}, but the task is {task}; "
            f"pick one of {fitting}, or pass --task {LEARNERS[name].task}."
        )
    return (name,)


class Ridge(NamedTuple):
    """Ridge fit behind a table learner's leverage: one spectrum at one penalty."""

    spectrum: Spectrum  # of the training rows
    geometry: Spectrum  # with the directions that they lack, where a penalty makes that safe
    alpha: float


def ridge_in(estimator: Any) -> Ridge | None:
    """The ridge fit behind the leverage of a table's learner, in its estimator, if any."""
    return ridge_of(learner_of(estimator))


@singledispatch
def ridge_of(learner: Any) -> Ridge | None:
    """The ridge fit behind the leverage of a table's learner; None by default."""
    return None


@ridge_of.register
def _(learner: LeastSquares) -> Ridge:
    return Ridge(learner.spectrum, learner.geometry, learner.choice.alpha)


@ridge_of.register(OneStep)
@ridge_of.register(LogisticRefit)
def _(learner: OneStep | LogisticRefit) -> Ridge:
    geometry = learner.geometry
    return Ridge(geometry.spectrum, geometry.completed, geometry.alpha)
