"""Mean targets in the leaves of frozen trees: distribution, regret and leave-one-out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from pnml.core import gaussian
from pnml.core.arrays import FloatArray
from pnml.core.conditions import NOT_NEGATIVE
from pnml.core.distributions.normal import Normal
from pnml.core.leave_one_out import ALONE, LeaveOneOut
from pnml.core.leaves.partition import IntArray, Partition
from pnml.core.leaves.regret import moved, value_leverage


@dataclass(frozen=True)
class ValueFolds:
    """Leave-one-out results of n training rows in regression trees; arrays are (n,). Eq. (T9)."""

    residual: FloatArray  # y − prediction without the row
    genie_residual: FloatArray  # residual of the genie, refitted with the row and its label
    leverage: FloatArray  # infinite for a row that is alone in all its leaves
    weights: FloatArray

    @property
    def noise_variance(self) -> float:
        """Noise variance of least mean left-out log-loss; NaN if all rows are alone.

        A row is alone if all its leaves hold no other row.
        """
        weights = np.where(np.isfinite(self.leverage), self.weights, 0.0)
        total = float(weights.sum())
        return float(weights @ self.genie_residual**2) / total if total > 0 else float("nan")

    def leave_one_out(self, noise_variance: float) -> LeaveOneOut:
        """Left-out residuals, standard deviations, regrets and log-losses at a noise variance."""
        regrets = gaussian.regret(self.leverage)
        losses = 0.5 * (
            np.log(2 * np.pi * noise_variance) + self.genie_residual**2 / noise_variance
        )
        sds = np.sqrt(noise_variance) * gaussian.spread(self.leverage)
        return LeaveOneOut(self.residual, sds, regrets, losses + regrets, self.weights)


@dataclass(frozen=True)
class ValueLeaves:
    """Weight of the training rows in each of m tree nodes, and the mean of their targets."""

    weight: Annotated[FloatArray, "m", NOT_NEGATIVE]
    mean: Annotated[FloatArray, "m"]  # that of all rows where a node is empty
    center: float  # mean of all rows

    @classmethod
    def of(
        cls, partition: Partition, X: FloatArray, y: FloatArray, weights: FloatArray
    ) -> ValueLeaves:
        """Weights and mean targets of rows X (n, d) with targets y (n,). Eq. (T11).

        `partition` holds the frozen trees, `weights` (n,) say how often a row counts.
        """
        center = float(np.average(y, weights=weights))
        weight, total = np.zeros(partition.nodes), np.zeros(partition.nodes)
        for part in partition.blocks(len(X)):
            leaf = partition.leaves(X[part])
            for sums, values in ((weight, weights), (total, weights * (y - center))):
                np.add.at(sums, leaf, np.broadcast_to(values[part, None], leaf.shape))
        weight, total = partition.gathered(weight), partition.gathered(total)
        return cls(weight, center + total / np.where(weight > 0, weight, 1.0), center)

    def leverage(self, leaf: IntArray) -> FloatArray:
        """Leverage (n,), exp(regret) − 1, of rows in leaves (n, T) of T trees. Eq. (T7)."""
        return value_leverage(self.weight[leaf])

    def predictive(self, leaf: IntArray, noise_variance: float) -> Normal:
        """Distributions of the labels of rows in leaves (n, T) of T trees. Eq. (T7)."""
        kept = 1 - moved(self.weight[leaf])  # (n, T)
        total = kept.sum(axis=1)
        offset = np.sum(kept * (self.mean[leaf] - self.center), axis=1)
        mean = self.center + offset / np.where(total > 0, total, 1.0)
        leverage = self.leverage(leaf)
        std = np.sqrt(noise_variance) * gaussian.spread(leverage)
        return Normal(mean, std, gaussian.regret(leverage))

    def folds(self, leaf: IntArray, y: FloatArray, weights: FloatArray) -> ValueFolds:
        """Residuals and leverages of training rows in leaves (n, T), each left out. Eq. (T9)."""
        n = self.weight[leaf]
        copies = np.minimum(weights, 1.0)
        others = n - copies[:, None]
        others = np.where(others > ALONE * n, others, 0.0)
        genie_residual = np.mean(n * moved(others) * (y[:, None] - self.mean[leaf]), axis=1)
        leverage = value_leverage(others)
        all_rows = float(self.weight[0])  # the first node is a root
        with np.errstate(divide="ignore", invalid="ignore"):  # 0/0: a row without any others
            from_center = (y - self.center) * (all_rows / (all_rows - copies))
            residual = np.where(np.isfinite(leverage), genie_residual * (1 + leverage), from_center)
        return ValueFolds(residual, genie_residual, leverage, weights)


def leave_values_out(
    leaves: ValueLeaves, partition: Partition, X: FloatArray, y: FloatArray, weights: FloatArray
) -> ValueFolds:
    """Residuals and leverages (n,) of training rows X (n, d), each left out. Eq. (T9).

    `leaves` holds the mean targets in the frozen trees `partition`; rows are taken in blocks.
    """
    parts = [
        leaves.folds(partition.leaves(X[part]), y[part], weights[part])
        for part in partition.blocks(len(X))
    ]
    return ValueFolds(
        np.concatenate([part.residual for part in parts]),
        np.concatenate([part.genie_residual for part in parts]),
        np.concatenate([part.leverage for part in parts]),
        weights,
    )
