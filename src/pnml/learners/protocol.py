"""Protocols of fitted learners: immutable objects that score rows their estimator has checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from pnml.core.arrays import FloatArray
from pnml.core.distributions.normal import Predictive
from pnml.core.softmax import Categorical
from pnml.core.trust import Evidence, Reference


@dataclass(frozen=True)
class Inputs:
    """What rows a learner takes: its estimator reads these flags to know which checks to make."""

    # A NaN or infinity in a row always reaches its result: n results are looked at instead of
    # n·d inputs.
    shows_nonfinite: bool = False
    # Values are compared in float32 and never squared.
    compares: bool = False
    # NaN is a missing value.
    gaps: bool = False
    # Rows are a table that the learner itself turns into numbers.
    table: bool = False
    # Rows keep the names of their columns, which the classifier inside looks at.
    names: bool = False
    # Rows are a list with the rows of each member.
    members: bool = False


class Learner(Protocol):
    """Protocol of every fitted learner: how it scores rows X that its estimator has checked.

    Arrays are (n,) or (n, d): n rows, d features.
    """

    @property
    def inputs(self) -> Inputs:
        """What rows the learner takes, as flags for the checks of its estimator."""

    @property
    def loo(self) -> Any:
        """Leave-one-out results of the training rows, with ``log_loss`` and ``threshold``."""

    @property
    def reference(self) -> Reference:
        """Left-out regrets of the training rows, from which thresholds of trust are taken."""

    def regret(self, X: Any) -> FloatArray:
        """Regret (n,) of rows, in nats, ≥ 0."""

    def leverage(self, X: Any) -> FloatArray:
        """Leverage (n,) of rows, ≥ 0; exp(regret) − 1 if the learner has no leverage of its own."""

    def evidence(self, X: Any, regret: FloatArray | None = None) -> Evidence:
        """What decides whether rows are trusted: regret, and for some learners leverage and others.

        Pass the `regret` (n,) of the rows if it is already known, to save computing it.
        """

    def explain(self, X: Any) -> FloatArray:
        """Part (n, d) of each row's leverage that each feature causes, ≥ 0."""


class Regression(Learner, Protocol):
    """Protocol of a fitted learner whose labels are numbers."""

    def predictive(self, X: FloatArray) -> Predictive:
        """Predictive distribution of the label of each row."""

    def mean(self, X: FloatArray) -> FloatArray:
        """Mean (n,) of that distribution; may be cheaper than computing all of it."""


class Classification(Learner, Protocol):
    """Protocol of a fitted learner whose labels are classes.

    Regrets and explanations have the dtype of the rows: float32 rows give float32 results.
    """

    def predictive(self, X: Any) -> Categorical:
        """pNML log-probabilities (n, classes) of rows, and their regrets (n,)."""


def rises_with(regret: FloatArray) -> FloatArray:
    """Leverage exp(regret) − 1 (n,), for learners that have a regret but no leverage."""
    with np.errstate(over="ignore"):
        return np.expm1(regret)


BoolArray = npt.NDArray[np.bool_]
