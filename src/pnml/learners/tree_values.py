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
    """Fitted regression trees or forest: frozen splits, and the mean target in every leaf."""

    noise_variance: float
    loo: LeaveOneOut

    def predictive(self, X: FloatArray) -> Normal:
        """Normal distribution of the label of each row."""
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
        """Mean (n,) of the predictive distribution of each row."""
        return self.predictive(X).mean

    def regret(self, X: FloatArray) -> FloatArray:
        """Regret (n,) of rows, in nats."""
        regret: FloatArray = gaussian.regret(self.leverage(X))
        return regret

    def evidence(self, X: FloatArray, regret: FloatArray | None = None) -> Evidence:
        """Regret, gaps in features that had none in training, and broken relations of features.

        Pass the `regret` (n,) if it is already known. Eq. (T12).
        """
        return self.seen.evidence(X, self.regret(X) if regret is None else regret)

    def explain(self, X: FloatArray) -> FloatArray:
        """Part (n, d) of each row's leverage that each feature causes, ≥ 0. Eq. (T10)."""
        return forest.explain(self.partition, self.leaves, X)


def count_values(rows: RowsToCount, y: FloatArray, noise_variance: float | None) -> TreeValues:
    """Fit a tree learner of values: average the targets y (n,) of rows in each leaf.

    If `noise_variance` is None, it is the value of smallest mean leave-one-out log-loss.
    """
    partition, X, weights = rows.partition, rows.X, rows.weights
    leaves = ValueLeaves.of(partition, X, y, weights)
    folds = leave_values_out(leaves, partition, X, y, weights)
    noise = _choose_noise(folds, y) if noise_variance is None else noise_variance
    loo = folds.leave_one_out(noise)
    return TreeValues(partition, leaves, rows.seen(leaves, loo), noise, loo)


def _choose_noise(folds: ValueFolds, y: FloatArray) -> float:
    """Noise variance of smallest leave-one-out log-loss, at least 1e-6 × var(y). Eq. (T9)."""
    noise = folds.noise_variance
    if np.isnan(noise):
        raise InputError(
            "Every row is alone in its leaf, so noise_variance cannot be estimated; grow larger "
            "leaves, for instance with min_samples_leaf=5, or pass noise_variance as a number."
        )
    mean = np.average(y, weights=folds.weights)
    spread = float(np.average((y - mean) ** 2, weights=folds.weights))
    return max(noise, NOISE_FLOOR * spread)
