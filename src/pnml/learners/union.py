"""Several Gaussian learners at once: the largest of their densities, normalised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pnml.core import universality
from pnml.core.arrays import FloatArray
from pnml.core.distributions.piecewise import PiecewiseLogQuadratic
from pnml.core.leave_one_out import LeaveOneOut
from pnml.core.relations import least_of
from pnml.core.trust import Evidence, Reference
from pnml.learners.protocol import Inputs, Regression, rises_with


@dataclass(frozen=True)
class Union:
    """Union of regression learners: follows the member that explains the label best."""

    members: tuple[Regression, ...]
    loo: LeaveOneOut

    inputs: ClassVar[Inputs] = Inputs()  # members would name their own columns, without names

    @property
    def reference(self) -> Reference:
        """Regrets of training rows, each left out."""
        return self.loo.reference

    def predictive(self, X: FloatArray) -> PiecewiseLogQuadratic:
        """Distribution of the labels of rows."""
        return universality.envelope(*self._parts(X))

    def mean(self, X: FloatArray) -> FloatArray:
        """Predicted labels of rows."""
        return self.predictive(X).mean

    def regret(self, X: FloatArray) -> FloatArray:
        """Regret of rows, in nats."""
        return self.predictive(X).regret

    def leverage(self, X: FloatArray) -> FloatArray:
        """exp(regret) − 1 of rows."""
        return rises_with(self.regret(X))

    def evidence(self, X: FloatArray, regret: FloatArray | None = None) -> Evidence:
        """The regret, and the relations of columns that a row breaks for any member."""
        regret = self.regret(X) if regret is None else regret
        parts = [member.evidence(X, regret).broken for member in self.members]
        return Evidence(regret, broken=least_of(parts))

    def explain(self, X: FloatArray) -> FloatArray:
        """Mean of the members' explanations, by the labels that each explains best. Eq. (U5)."""
        means, stds, _ = self._parts(X)
        weights = universality.class_shares(means, stds)
        total = np.zeros(X.shape)
        for weight, member in zip(weights.T, self.members, strict=True):
            part = member.explain(X)
            total += np.where(weight[:, None] > 0, part, 0.0) * weight[:, None]
        return total

    def _parts(self, X: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Means, standard deviations and regrets of the members, (n, m) each."""
        parts = [member.predictive(X) for member in self.members]
        return (
            np.column_stack([dist.mean for dist in parts]),
            np.column_stack([dist.std for dist in parts]),
            np.column_stack([dist.regret for dist in parts]),
        )


def unite(members: tuple[Regression, ...], y: FloatArray) -> Union:
    """The union of learners fitted to the same rows with targets y (n,)."""
    folds = [member.loo for member in members]
    means = y[:, None] - np.column_stack([fold.residuals for fold in folds])
    stds = np.column_stack([fold.sds for fold in folds])
    regrets = np.column_stack([fold.regrets for fold in folds])
    dist = universality.envelope(np.where(np.isfinite(means), means, 0.0), stds, regrets)
    loo = LeaveOneOut(y - dist.mean, dist.std, dist.regret, -dist.log_prob(y), np.ones(len(y)))
    return Union(members, loo)
