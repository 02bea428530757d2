"""A classifier with the one-step genie, which changes the weights of one class by one step."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pnml.core import softmax
from pnml.core.arrays import FloatArray
from pnml.core.softmax import Categorical
from pnml.core.softmax_leave_one_out import LabelsLeftOut, leave_labels_out
from pnml.core.trust import Evidence, Reference
from pnml.learners.feature_geometry import FeatureGeometry
from pnml.learners.finite import like_input
from pnml.learners.last_step import LastStep, refuse_without_probabilities
from pnml.learners.protocol import Inputs

# Training rows that are left out where every one of them costs a refit for each label.
_MOST_LEFT_OUT = 200


@dataclass(frozen=True)
class Training:
    """Training rows as the last step of a classifier sees them, for one-step genie or refits."""

    classifier: Any  # the fitted classifier, or a Pipeline that ends in one
    geometry: FeatureGeometry
    step: LastStep
    labels: npt.NDArray[np.intp]  # (n,)  counted from 0
    weights: FloatArray  # (n,)
    tol: float  # largest numerical error of a regret found by iteration, nats
    # (n, C)  by classifiers fitted without the row; None: by the classifier itself
    log_prob: FloatArray | None = None
    recalled: bool = False  # whether the classifier may have memorised these rows


class LeftOutSample(NamedTuple):
    """Leave-one-out results of k sampled training rows, for a union of classifiers."""

    log_prob: FloatArray  # (k, C)
    regrets: FloatArray  # (k,)
    leverages: FloatArray  # (k,)


@dataclass(frozen=True)
class OnLastStep:
    """Base of learners around a fitted classifier, computed on the inputs of its last step.

    The last step of a Pipeline is the classifier itself; other classifiers are their own last step.
    """

    classifier: Any  # fitted
    geometry: FeatureGeometry

    @property
    def inputs(self) -> Inputs:
        """What rows the classifier takes, as flags for the checks of the estimator."""
        return LastStep.inputs(self.classifier)

    def leverage(self, X: Any) -> FloatArray:
        """Leverage (n,) of rows X, computed on the features that the last step sees."""
        return self.geometry.leverage(LastStep.of(self.classifier, X).values)

    def broken(self, X: Any) -> FloatArray | None:
        """Which rows break linear relations of the last step's features: (n,), or None if unknown.

        Values are those of `Relations.broken`: inf for a row that breaks none.
        """
        return self.geometry.broken(LastStep.of(self.classifier, X).values)

    def explain(self, X: Any) -> FloatArray:
        """Part (n, d) of the leverage that each feature of the last step causes, ≥ 0."""
        return self.geometry.explain(LastStep.of(self.classifier, X).values)


@dataclass(frozen=True)
class OneStep(OnLastStep):
    """Learner with the one-step genie: leverage and probabilities of a classifier give the regret.

    The genie of a label takes one step of a single-layer network toward that label. Eq. (F2).
    """

    loo: LabelsLeftOut
    log_prob: FloatArray  # (k, C)  of the sampled rows, each left out

    @staticmethod
    def check(estimator: Any) -> None:
        """Raise if an estimator, fitted or not, has no ``predict_proba``."""
        refuse_without_probabilities(estimator)

    @classmethod
    def of(cls, training: Training) -> OneStep:
        """The one-step learner of a fitted classifier, from its training rows."""
        log_p = training.log_prob
        if log_p is None:
            log_p = training.step.log_probabilities()
        rows = sampled_rows(training.weights)
        leverages = training.geometry.left_out(training.step.values, training.weights)
        loo = leave_labels_out(log_p, training.labels, leverages, training.weights)
        if training.recalled:  # left-out regrets are unknown: use an upper bound
            loo = replace(loo, regrets=np.full(len(leverages), np.log(log_p.shape[1])))
        return cls(
            training.classifier,
            training.geometry,
            loo,
            np.asarray(softmax.predictive(log_p[rows], leverages[rows]).log_prob),
        )

    @property
    def reference(self) -> Reference:
        """Regrets and leverages of training rows, each left out."""
        return self.loo.reference

    @property
    def sample(self) -> LeftOutSample:
        """Leave-one-out results of the sampled training rows, for a union. Eq. (F6)."""
        rows = sampled_rows(self.loo.weights)
        return LeftOutSample(self.log_prob, self.loo.regrets[rows], self.loo.leverages[rows])

    def predictive(self, X: Any) -> Categorical:
        """pNML log-probabilities (n, classes) and regrets (n,) of rows. Eq. (F4)."""
        step = LastStep.of(self.classifier, X)
        return softmax.predictive(step.log_probabilities(), self.geometry.leverage(step.values))

    def regret(self, X: Any) -> FloatArray:
        """Regrets (n,) of rows, in nats, in the dtype of the rows. Eq. (F3)."""
        step = LastStep.of(self.classifier, X)
        regret: FloatArray = like_input(
            self._evidence(step).regret, self.geometry.rows(step.values)
        )
        return regret

    def evidence(self, X: Any, regret: FloatArray | None = None) -> Evidence:
        """Regret, leverage and broken relations of rows, which decide whether they are trusted.

        The leverage is needed because a confident classifier has a small regret even far from the
        training rows. Pass the `regret` (n,) if it is already known. Eqs. (F8) and (X2).
        """
        step = LastStep.of(self.classifier, X)
        if regret is None:
            evidence = self._evidence(step)
        else:
            evidence = Evidence(regret, self.geometry.leverage(step.values))
        return evidence._replace(broken=self.geometry.broken(step.values))

    def _evidence(self, step: LastStep) -> Evidence:
        leverage = self.geometry.leverage(step.values)
        return Evidence(softmax.regret(step.log_probabilities(), leverage), leverage)


def sampled_rows(weights: FloatArray) -> npt.NDArray[np.int64]:
    """Indices (k,) of up to 200 training rows of positive weight, drawn with a fixed seed."""
    rows = np.flatnonzero(weights > 0).astype(np.int64)
    if len(rows) <= _MOST_LEFT_OUT:
        return rows
    return np.sort(np.random.default_rng(0).choice(rows, _MOST_LEFT_OUT, replace=False))
