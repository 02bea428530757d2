"""The learners that a table can be given to, by the names the command line knows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sklearn.linear_model import LogisticRegression

from pnml.errors import InputError
from pnml.estimators.classifier import PNMLClassifier
from pnml.estimators.conformal import ConformalRegressor
from pnml.estimators.kernel import KernelPNMLRegressor
from pnml.estimators.luckiness import LpNMLRegressor
from pnml.estimators.norm_ball import NormBallRegressor
from pnml.estimators.regressor import PNMLRegressor
from pnml.estimators.universal import UniversalRegressor

AUTO = "auto"
MOST_ROWS = 100_000  # rows in memory; longer tables are streamed, or sampled


@dataclass(frozen=True)
class Learner:
    """How a learner is made, and how many rows it can be given at once."""

    make: Callable[[], Any]
    task: str
    rows: int  # rows in memory; a longer table is sampled
    streams: bool = False  # whether a Gram will do, so that any number of rows counts
    weighs: bool = False  # whether rows may carry weights
    about: str = ""


LEARNERS: dict[str, Learner] = {
    "pnml": Learner(
        lambda: PNMLRegressor(alpha="loo"), "regression", MOST_ROWS, True, True, "ridge regression"
    ),
    "lpnml": Learner(
        LpNMLRegressor, "regression", MOST_ROWS, True, True, "luckiness, small slopes"
    ),
    "ols": Learner(PNMLRegressor, "regression", MOST_ROWS, True, True, "least squares, no penalty"),
    "lpnml-l1": Learner(
        lambda: LpNMLRegressor(penalty="l1"),
        "regression",
        2_000,
        False,
        False,
        "luckiness, few slopes",
    ),
    "norm-ball": Learner(
        lambda: NormBallRegressor(fit_intercept=True),
        "regression",
        2_000,
        False,
        False,
        "more columns than rows",
    ),
    "kernel": Learner(KernelPNMLRegressor, "regression", 2_000, False, False, "smooth, not linear"),
    "universal": Learner(UniversalRegressor, "regression", 2_000, False, False, "several combined"),
    "conformal": Learner(
        lambda: ConformalRegressor(PNMLRegressor(alpha="loo"), random_state=0),
        "regression",
        MOST_ROWS,
        False,
        False,
        "guaranteed coverage",
    ),
    "logistic": Learner(
        lambda: PNMLClassifier(LogisticRegression(max_iter=1000)),
        "classification",
        MOST_ROWS,
        False,
        True,
        "logistic regression",
    ),
    "refit": Learner(
        lambda: PNMLClassifier(LogisticRegression(max_iter=1000), method="refit"),
        "classification",
        2_000,
        False,
        True,
        "logistic regression, trained again for every label",
    ),
}
_CONTENDERS = {"regression": ("pnml", "lpnml"), "classification": ("logistic",)}


def contenders(name: str, task: str) -> tuple[str, ...]:
    """Names of the learners that are to be tried on this task."""
    if name == AUTO:
        return _CONTENDERS[task]
    if LEARNERS[name].task != task:
        fitting = ", ".join(n for n, learner in LEARNERS.items() if learner.task == task)
        raise InputError(
            f"--learner {name} does {LEARNERS[name].task}, but the task is {task}; "
            f"pick one of {fitting}, or pass --task {LEARNERS[name].task}."
        )
    return (name,)


def ridge_in(estimator: Any) -> Any:
    """The estimator whose leverage is that of one spectrum at one penalty, if there is one."""
    if isinstance(estimator, ConformalRegressor):
        return ridge_in(estimator.estimator_)
    if isinstance(estimator, LpNMLRegressor):
        return estimator if estimator.penalty == "l2" else None
    return estimator if isinstance(estimator, PNMLRegressor | PNMLClassifier) else None
