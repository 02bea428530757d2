"""Several learners at once: the largest of their densities, normalised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pnml.core import universality
from pnml.core.arrays import FloatArray
from pnml.core.distributions.normal import Normal, Predictive
from pnml.core.distributions.piecewise import PiecewiseLogQuadratic
from pnml.core.leave_one_out import LeaveOneOut
from pnml.core.numerical_envelope import NumericalEnvelope
from pnml.core.relations import least_of
from pnml.core.selection import some_rows
from pnml.core.trust import Evidence, Reference
from pnml.learners.left_out import left_out, most_left_out
from pnml.learners.protocol import Inputs, Regression, rises_with

_FIELDS = ("residuals", "sds", "regrets", "log_losses", "weights")
Envelope = PiecewiseLogQuadratic | NumericalEnvelope


@dataclass(frozen=True)
class Union:
    """Union of regression learners: its density is the largest of theirs, normalised."""

    members: tuple[Regression, ...]
    loo: LeaveOneOut

    inputs: ClassVar[Inputs] = Inputs()  # members would name their own columns, without names

    @property
    def reference(self) -> Reference:
        """Regrets of training rows, each left out."""
        return self.loo.reference

    def predictive(self, X: FloatArray) -> Envelope:
        """Predictive distribution of rows; exact if all members are Gaussian. Eqs. (U1), (U8)."""
        return _envelope([member.predictive(X) for member in self.members])

    def mean(self, X: FloatArray) -> FloatArray:
        """Mean (n,) of the predictive distribution of each row."""
        return self.predictive(X).mean

    def regret(self, X: FloatArray) -> FloatArray:
        """Regret (n,) of rows, in nats."""
        return self.predictive(X).regret

    def leverage(self, X: FloatArray) -> FloatArray:
        """exp(regret) − 1 (n,) of rows, which stands for their leverage."""
        return rises_with(self.regret(X))

    def evidence(self, X: FloatArray, regret: FloatArray | None = None) -> Evidence:
        """Regret, and which rows break linear relations between columns for any member.

        Pass the `regret` (n,) if it is already known.
        """
        regret = self.regret(X) if regret is None else regret
        parts = [member.evidence(X, regret).broken for member in self.members]
        return Evidence(regret, broken=least_of(parts))

    def explain(self, X: FloatArray) -> FloatArray:
        """Weighted mean (n, d) of the members' explanations: parts of leverage by feature.

        A member's weight is the probability of the labels to which it gives the largest density.
        Eq. (U5).
        """
        weights = _shares([member.predictive(X) for member in self.members])
        total = np.zeros(X.shape)
        for weight, member in zip(weights.T, self.members, strict=True):
            part = member.explain(X)
            total += np.where(weight[:, None] > 0, part, 0.0) * weight[:, None]
        return total


def unite(members: tuple[Regression, ...], X: FloatArray, y: FloatArray) -> Union:
    """The union of fitted learners, with leave-one-out on their training rows X (n, d), y (n,).

    If a member's predictive distribution is not Gaussian, at most 200 rows are left out.
    """
    gaussian = all(isinstance(member.predictive(X[:1]), Normal) for member in members)
    most = len(X) if gaussian else min(most_left_out(member) for member in members)
    rows = some_rows(len(X), most)
    parts = [left_out(member, X, y, rows) for member in members]
    if gaussian:
        dist = _envelope(parts)
        loo = _judged(dist, y)
        return Union(members, loo)
    places = [np.array([i]) for i in range(len(rows))]
    folds = [
        _judged(NumericalEnvelope.of([part.rows(i) for part in parts]), y[rows[i]]) for i in places
    ]
    residuals, sds, regrets, losses, weights = (
        np.concatenate([getattr(fold, name) for fold in folds]) for name in _FIELDS
    )
    loo = LeaveOneOut(residuals, sds, regrets, losses, weights)
    return Union(members, loo)


def _envelope(parts: Sequence[Predictive]) -> Envelope:
    """The envelope of distributions of the same rows."""
    if not all(isinstance(part, Normal) for part in parts):
        return NumericalEnvelope.of(parts)
    return universality.envelope(*_columns(parts, "mean", "std", "regret"))


def _shares(parts: Sequence[Predictive]) -> FloatArray:
    """Probability (n, m) of the labels that each of several distributions explains best."""
    if not all(isinstance(part, Normal) for part in parts):
        return NumericalEnvelope.of(parts).shares
    return universality.class_shares(*_columns(parts, "mean", "std"))


def _columns(parts: Sequence[Predictive], *names: str) -> list[FloatArray]:
    return [np.column_stack([getattr(part, name) for part in parts]) for name in names]


def _judged(dist: Envelope, y: FloatArray) -> LeaveOneOut:
    """Left-out rows with targets y, judged by their distributions."""
    return LeaveOneOut(y - dist.mean, dist.std, dist.regret, -dist.log_prob(y), np.ones(len(y)))
