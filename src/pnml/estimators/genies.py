"""Who is told the label of a row: what every such genie answers, and the one of a single step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt

from pnml.core import softmax
from pnml.core.arrays import FloatArray
from pnml.core.softmax import Categorical
from pnml.core.softmax_leave_one_out import LabelsLeftOut, leave_labels_out
from pnml.estimators.wrapped import LastStep, refuse_without_probabilities

# Training rows that are left out where every one of them costs a refit for each label.
_MOST_LEFT_OUT = 200


@dataclass(frozen=True)
class Training:
    """Training rows as the last step sees them, and what is known of each."""

    step: LastStep
    labels: npt.NDArray[np.intp]  # (n,)  counted from 0
    weights: FloatArray  # (n,)
    leverages: FloatArray  # (n,)  among the other rows
    tol: float  # largest error of a regret, where it is found by iteration


class LeftOutSample(NamedTuple):
    """What is said of the rows of `sampled_rows`, each judged by all other rows."""

    log_prob: FloatArray  # (k, C)
    regrets: FloatArray  # (k,)
    leverages: FloatArray  # (k,)


class Genie(Protocol):
    """What a classifier in hindsight says of rows."""

    @staticmethod
    def check(estimator: Any) -> None:
        """Raise where the genie cannot be that of an estimator, which is not fitted yet."""

    @classmethod
    def of(cls, training: Training) -> Self:
        """The genie of a fitted classifier."""

    def predictive(self, step: LastStep, leverage: FloatArray) -> Categorical:
        """The pNML probabilities of rows, and their regrets."""

    def regret(self, step: LastStep, leverage: FloatArray) -> FloatArray:
        """Their regrets alone."""

    @property
    def loo(self) -> LabelsLeftOut:
        """Training rows judged by the other rows."""

    @property
    def sample(self) -> LeftOutSample:
        """The same for all labels of some of the rows."""


@dataclass(frozen=True)
class OneStep:
    """The genie takes one step of the single-layer network. Eq. (F2)."""

    loo: LabelsLeftOut
    log_prob: Annotated[FloatArray, "s c"]  # of the sampled rows, each left out

    @staticmethod
    def check(estimator: Any) -> None:
        """Raise where there are no probabilities to start from."""
        refuse_without_probabilities(estimator)

    @classmethod
    def of(cls, training: Training) -> Self:
        """The genie of a fitted classifier."""
        log_p = training.step.log_probabilities()
        rows = sampled_rows(training.weights)
        return cls(
            leave_labels_out(log_p, training.labels, training.leverages, training.weights),
            np.asarray(softmax.predictive(log_p[rows], training.leverages[rows]).log_prob),
        )

    def predictive(self, step: LastStep, leverage: FloatArray) -> Categorical:
        """Probabilities and regrets. Eq. (F4)."""
        return softmax.predictive(step.log_probabilities(), leverage)

    def regret(self, step: LastStep, leverage: FloatArray) -> FloatArray:
        """Regrets alone. Eq. (F3)."""
        found: FloatArray = softmax.regret(step.log_probabilities(), leverage)
        return found

    @property
    def sample(self) -> LeftOutSample:
        """Sampled training rows, each judged by all other rows. Eq. (F6)."""
        rows = sampled_rows(self.loo.weights)
        return LeftOutSample(self.log_prob, self.loo.regrets[rows], self.loo.leverages[rows])


def sampled_rows(weights: FloatArray) -> npt.NDArray[np.int64]:
    """Numbers (k,) of at most 200 of the rows that count, always the same ones."""
    rows = np.flatnonzero(weights > 0).astype(np.int64)
    if len(rows) <= _MOST_LEFT_OUT:
        return rows
    return np.sort(np.random.default_rng(0).choice(rows, _MOST_LEFT_OUT, replace=False))
