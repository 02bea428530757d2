"""Trees and forests whose leaves hold mean targets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pnml.core import gaussian
from pnml.core.arrays import FloatArray
from pnml.core.distributions.normal import Normal
from pnml.core.leave_one_out import NOISE_FLOOR, LeaveOneOut
from pnml.core.leaves import forest
from pnml.core.leaves.partition import Partition
from pnml.core.leaves.values import ValueFolds, ValueLeaves, leave_values_out
from pnml.core.trust import Evidence, Reference
from pnml.errors import InputError
from pnml.learners.protocol import BoolArray, Inputs


@dataclass(frozen=True)
class TreeValues:
    """Frozen splits, and the mean target in every leaf."""

    partition: Partition
    leaves: ValueLeaves
    noise_variance: float
    loo: LeaveOneOut
    usual: FloatArray  # (n,)  regrets of training rows as new rows would have them. Eq. (T12)
    takes_gaps: bool  # whether a value of a row may be missing
    had_gaps: BoolArray  # (d,)  features with values missing in training

    @property
    def inputs(self) -> Inputs:
        """Rows that are compared with thresholds."""
        return Inputs(compares=True, gaps=self.takes_gaps)

    @property
    def reference(self) -> Reference:
        """Regrets of training rows, computed as for new rows."""
        return Reference(self.usual, self.loo.weights)

    def predictive(self, X: FloatArray) -> Normal:
        """Distribution of the labels of rows."""
        parts = [
            self.leaves.predictive(self.partition.leaves(X[part]), self.noise_variance)
            for part in self.partition.blocks(len(X))
        ]
        return Normal(
            np.concatenate([part.mean for part in parts]),
            np.concatenate([part.std for part in parts]),
            np.concatenate([part.regret for part in parts]),
        )

    def mean(self, X: FloatArray) -> FloatArray:
        """Predicted labels of rows."""
        return self.predictive(X).mean

    def leverage(self, X: FloatArray) -> FloatArray:
        """K − 1 of rows. Eq. (T7)."""
        return forest.leverage(self.partition, self.leaves, X)

    def regret(self, X: FloatArray) -> FloatArray:
        """Regret of rows, in nats."""
        regret: FloatArray = gaussian.regret(self.leverage(X))
        return regret

    def evidence(self, X: FloatArray, regret: FloatArray | None = None) -> Evidence:
        """The regret, and whether a feature is missing that never was in training. Eq. (T12)."""
        strange = np.any(np.isnan(X) & ~self.had_gaps, axis=1)
        return Evidence(self.regret(X) if regret is None else regret, None, strange)

    def explain(self, X: FloatArray) -> FloatArray:
        """Share of each feature in the leverage of rows. Eq. (T10)."""
        return forest.explain(self.partition, self.leaves, X)


def count_values(
    partition: Partition,
    X: FloatArray,
    y: FloatArray,
    weights: FloatArray,
    noise_variance: float | None,
    *,
    takes_gaps: bool,
    grown_on: bool,
) -> TreeValues:
    """Average targets in the leaves; `grown_on` says that the trees were grown on these rows.

    Pooled leave-one-out log-loss chooses the noise if it is None.
    """
    leaves = ValueLeaves.of(partition, X, y, weights)
    folds = leave_values_out(leaves, partition, X, y, weights)
    noise = _choose_noise(folds, y) if noise_variance is None else noise_variance
    loo = folds.leave_one_out(noise)
    usual = loo.regrets
    if grown_on:
        usual = np.asarray(gaussian.regret(forest.leverage(partition, leaves, X)))
    had_gaps = np.any(np.isnan(X[weights > 0]), axis=0)
    return TreeValues(partition, leaves, noise, loo, usual, takes_gaps, had_gaps)


def _choose_noise(folds: ValueFolds, y: FloatArray) -> float:
    """The noise with the smallest pooled log-loss, at least a share of the spread. Eq. (T9)."""
    noise = folds.noise_variance
    if np.isnan(noise):
        raise InputError(
            "Every row is alone in its leaf, so noise_variance cannot be estimated; grow larger "
            "leaves, for instance with min_samples_leaf=5, or pass noise_variance as a number."
        )
    mean = np.average(y, weights=folds.weights)
    spread = float(np.average((y - mean) ** 2, weights=folds.weights))
    return max(noise, NOISE_FLOOR * spread)
