"""A classifier whose genie takes one step of the single-layer network."""

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
    """Training rows for the one-step genie, at the last step of a fitted classifier."""

    classifier: Any  # the fitted classifier, or a Pipeline that ends in one
    geometry: FeatureGeometry
    step: LastStep
    labels: npt.NDArray[np.intp]  # (n,)  counted from 0
    weights: FloatArray  # (n,)
    tol: float  # largest error of a regret, where it is found by iteration
    # (n, C)  by classifiers fitted without the row; None: by the classifier itself
    log_prob: FloatArray | None = None
    recalled: bool = False  # whether the classifier may recall the labels of these very rows


class LeftOutSample(NamedTuple):
    """Leave-one-out results of the one-step genie for sampled rows."""

    log_prob: FloatArray  # (k, C)
    regrets: FloatArray  # (k,)
    leverages: FloatArray  # (k,)


@dataclass(frozen=True)
class OnLastStep:
    """Base of genies on the last step of a classifier, such as the one-step genie."""

    classifier: Any  # fitted
    geometry: FeatureGeometry

    @property
    def inputs(self) -> Inputs:
        """Rows as the classifier takes them."""
        return LastStep.inputs(self.classifier)

    def leverage(self, X: Any) -> FloatArray:
        """Leverage of rows as the last step sees them."""
        return self.geometry.leverage(LastStep.of(self.classifier, X).values)

    def broken(self, X: Any) -> FloatArray | None:
        """Relations of features that rows break, as the last step sees them."""
        return self.geometry.broken(LastStep.of(self.classifier, X).values)

    def explain(self, X: Any) -> FloatArray:
        """Share of each feature that the last step sees in the leverage of rows."""
        return self.geometry.explain(LastStep.of(self.classifier, X).values)


@dataclass(frozen=True)
class OneStep(OnLastStep):
    """The genie takes one step of the single-layer network. Eq. (F2)."""

    loo: LabelsLeftOut
    log_prob: FloatArray  # (k, C)  of the sampled rows, each left out

    @staticmethod
    def check(estimator: Any) -> None:
        """Raise if an unfitted estimator will have no probabilities."""
        refuse_without_probabilities(estimator)

    @classmethod
    def of(cls, training: Training) -> OneStep:
        """The learner of a fitted classifier."""
        log_p = training.log_prob
        if log_p is None:
            log_p = training.step.log_probabilities()
        rows = sampled_rows(training.weights)
        leverages = training.geometry.left_out(training.step.values, training.weights)
        loo = leave_labels_out(log_p, training.labels, leverages, training.weights)
        if training.recalled:  # of regrets left out only a bound is known, which no regret passes
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
        """Leave-one-out of sampled training rows. Eq. (F6)."""
        rows = sampled_rows(self.loo.weights)
        return LeftOutSample(self.log_prob, self.loo.regrets[rows], self.loo.leverages[rows])

    def predictive(self, X: Any) -> Categorical:
        """Probabilities and regrets. Eq. (F4)."""
        step = LastStep.of(self.classifier, X)
        return softmax.predictive(step.log_probabilities(), self.geometry.leverage(step.values))

    def regret(self, X: Any) -> FloatArray:
        """Regrets alone. Eq. (F3)."""
        step = LastStep.of(self.classifier, X)
        regret: FloatArray = like_input(
            self._evidence(step).regret, self.geometry.rows(step.values)
        )
        return regret

    def evidence(self, X: Any, regret: FloatArray | None = None) -> Evidence:
        """The regret, the leverage, as confident classifiers have no regret far out, and relations.

        Eqs. (F8) and (X2).
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
    """Sampled rows for the one-step genie: at most 200 indices (k,), always the same ones."""
    rows = np.flatnonzero(weights > 0).astype(np.int64)
    if len(rows) <= _MOST_LEFT_OUT:
        return rows
    return np.sort(np.random.default_rng(0).choice(rows, _MOST_LEFT_OUT, replace=False))
