"""The contract of a fitted learner: a frozen value that answers for validated rows."""

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
    """What the protocol lets a learner require of its rows, which its estimator checks."""

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
    """Protocol of every fitted learner: its methods, for validated rows X."""

    @property
    def inputs(self) -> Inputs:
        """Requirements on the rows."""

    @property
    def loo(self) -> Any:
        """Leave-one-out of the training rows, with ``log_loss`` and ``threshold``."""

    @property
    def reference(self) -> Reference:
        """Regrets of training rows that those of new rows are compared with."""

    def regret(self, X: Any) -> FloatArray:
        """Regret (n,) of rows, in nats, ≥ 0."""

    def leverage(self, X: Any) -> FloatArray:
        """Leverage (n,) of rows, ≥ 0; exp(regret) − 1 where the learner has no other."""

    def evidence(self, X: Any, regret: FloatArray | None = None) -> Evidence:
        """Inputs of the verdict on rows; pass `regret` if it is already known."""

    def explain(self, X: Any) -> FloatArray:
        """Share of each feature in the leverage of rows, ≥ 0."""


class Regression(Learner, Protocol):
    """Protocol of a fitted learner whose labels are numbers."""

    def predictive(self, X: FloatArray) -> Predictive:
        """Distribution of the labels of rows."""

    def mean(self, X: FloatArray) -> FloatArray:
        """Mean of the distribution alone, which may be cheaper."""


class Classification(Learner, Protocol):
    """Protocol of a fitted learner whose labels are classes.

    Its regrets and explanations have the dtype of the rows in its leverage.
    """

    def predictive(self, X: Any) -> Categorical:
        """Probabilities of the classes of rows, and their regrets."""


def rises_with(regret: FloatArray) -> FloatArray:
    """Leverage exp(regret) − 1 that the protocol asks of a learner that is not linear."""
    with np.errstate(over="ignore"):
        return np.expm1(regret)


BoolArray = npt.NDArray[np.bool_]
