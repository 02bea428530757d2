"""Class counts in the leaves of frozen trees: probabilities, regret and leave-one-out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
import numpy.typing as npt

from pnml.core.arrays import FloatArray
from pnml.core.conditions import NOT_NEGATIVE
from pnml.core.leaves.partition import IntArray, Partition
from pnml.core.leaves.regret import class_leverage, class_scores
from pnml.core.softmax import Categorical
from pnml.core.softmax_leave_one_out import LabelsLeftOut


@dataclass(frozen=True)
class ClassLeaves:
    """Weighted counts of c classes in each of m tree nodes, and a prior. Eq. (T4).

    `prior` ≥ 0 is the strength of a luckiness that favours leaves with even class probabilities.
    """

    counts: Annotated[FloatArray, "m c", NOT_NEGATIVE]
    prior: Annotated[float, NOT_NEGATIVE]

    @classmethod
    def of(
        cls,
        partition: Partition,
        X: FloatArray,
        labels: npt.NDArray[np.intp],
        weights: FloatArray,
        classes: int,
        prior: float,
    ) -> ClassLeaves:
        """Class counts of rows X (n, d) with labels (n,) from 0 to classes − 1. Eq. (T11).

        `partition` holds the frozen trees, `weights` (n,) say how often a row counts.
        """
        counts = np.zeros(partition.nodes * classes)
        for part in partition.blocks(len(X)):
            leaf = partition.leaves(X[part])
            at = leaf * classes + labels[part, None]
            np.add.at(counts, at, np.broadcast_to(weights[part, None], at.shape))
        return cls(partition.gathered(counts.reshape(-1, classes)), prior)

    @property
    def classes(self) -> int:
        """Number C of classes."""
        return int(self.counts.shape[1])

    @cached_property
    def weight(self) -> FloatArray:
        """Total weight (m,) of the training rows in each of m nodes."""
        weight: FloatArray = self.counts.sum(axis=1)
        return weight

    @cached_property
    def _scores(self) -> FloatArray:
        return class_scores(self.counts, self.prior)

    @cached_property
    def _leverage(self) -> FloatArray:
        return class_leverage(self.counts, self.prior)

    def leverage(self, leaf: IntArray) -> FloatArray:
        """Leverage (n,), exp(regret) − 1, of rows in leaves (n, T): mean over T trees. Eq. (T5)."""
        leverage: FloatArray = self._leverage[leaf].mean(axis=1)
        return leverage

    def predictive(self, leaf: IntArray) -> Categorical:
        """pNML class probabilities and regret of rows in leaves (n, T) of T trees. Eq. (T5)."""
        regret = np.log1p(self.leverage(leaf))
        scores = self._scores[leaf].mean(axis=1)
        return Categorical(np.log(scores) - regret[:, None], regret)

    def left_out(
        self, leaf: IntArray, labels: npt.NDArray[np.intp], weights: FloatArray
    ) -> LabelsLeftOut:
        """Leverage, regret and log-loss (n,) of training rows, each left out. Eq. (T8).

        `leaf` (n, T) are their leaves in T trees, `labels` (n,) their classes from 0 on, `weights`
        (n,) how often each row is counted. One copy is left out: the count of its class in its
        leaves is lowered by its weight, but by no more than 1.
        """
        row = np.arange(len(leaf))
        counts = self._without(leaf, labels, weights)
        leverages = class_leverage(counts, self.prior).mean(axis=1)
        scores = class_scores(counts, self.prior).mean(axis=1)
        regrets = np.log1p(leverages)
        return LabelsLeftOut(leverages, regrets, regrets - np.log(scores[row, labels]), weights)

    def left_out_log_prob(
        self, leaf: IntArray, labels: npt.NDArray[np.intp], weights: FloatArray
    ) -> FloatArray:
        """Log-probabilities (n, C) of training rows in leaves (n, T), each left out. Eq. (T8)."""
        counts = self._without(leaf, labels, weights)
        regrets = np.log1p(class_leverage(counts, self.prior).mean(axis=1))
        scores = class_scores(counts, self.prior).mean(axis=1)
        return np.asarray(np.log(scores) - regrets[:, None])

    def _without(
        self, leaf: IntArray, labels: npt.NDArray[np.intp], weights: FloatArray
    ) -> FloatArray:
        """Counts (n, T, C) in the leaves of rows, less one copy of the row itself."""
        row = np.arange(len(leaf))
        counts = self.counts[leaf]
        own = counts[row, :, labels] - np.minimum(weights, 1.0)[:, None]
        counts[row, :, labels] = np.maximum(own, 0.0)
        return counts


def leave_labels_out(
    leaves: ClassLeaves,
    partition: Partition,
    X: FloatArray,
    labels: npt.NDArray[np.intp],
    weights: FloatArray,
) -> LabelsLeftOut:
    """Leverage, regret and log-loss (n,) of training rows X (n, d), each left out. Eq. (T8).

    `leaves` holds the class counts in the frozen trees `partition`; rows are taken in blocks.
    """
    parts = [
        leaves.left_out(partition.leaves(X[part]), labels[part], weights[part])
        for part in partition.blocks(len(X), leaves.classes)
    ]
    return LabelsLeftOut(
        np.concatenate([part.leverages for part in parts]),
        np.concatenate([part.regrets for part in parts]),
        np.concatenate([part.log_losses for part in parts]),
        weights,
    )
