"""Trees and forests whose leaves hold mean targets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pnml.core import gaussian
from pnml.core.arrays import FloatArray
from pnml.core.distributions.normal import Normal
from pnml.core.leave_one_out import NOISE_FLOOR, LeaveOneOut
from pnml.core.leaves import forest
from pnml.core.leaves.values import ValueFolds, ValueLeaves, leave_values_out
from pnml.core.trust import Evidence
from pnml.errors import InputError
from pnml.learners.tree_rows import CountedTrees, RowsToCount


@dataclass(frozen=True)
class TreeValues(CountedTrees[ValueLeaves]):
    """Fitted tree learner of values: frozen splits, and the mean target in every leaf."""

    noise_variance: float
    loo: LeaveOneOut

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

    def regret(self, X: FloatArray) -> FloatArray:
        """Regret of rows, in nats."""
        regret: FloatArray = gaussian.regret(self.leverage(X))
        return regret

    def evidence(self, X: FloatArray, regret: FloatArray | None = None) -> Evidence:
        """The regret, and whether a value is missing that never was in training. Eq. (T12)."""
        return self.seen.evidence(X, self.regret(X) if regret is None else regret)

    def explain(self, X: FloatArray) -> FloatArray:
        """Share of each feature in the leverage of rows. Eq. (T10)."""
        return forest.explain(self.partition, self.leaves, X)


def count_values(rows: RowsToCount, y: FloatArray, noise_variance: float | None) -> TreeValues:
    """Fit a tree learner of values: average targets (n,) in the leaves.

    Pooled leave-one-out log-loss chooses the noise if it is None.
    """
    partition, X, weights = rows.partition, rows.X, rows.weights
    leaves = ValueLeaves.of(partition, X, y, weights)
    folds = leave_values_out(leaves, partition, X, y, weights)
    noise = _choose_noise(folds, y) if noise_variance is None else noise_variance
    loo = folds.leave_one_out(noise)
    return TreeValues(partition, leaves, rows.seen(leaves, loo), noise, loo)


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
