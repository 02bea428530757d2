"""A tree or forest of classes as a member of a union of classifiers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pnml.core.arrays import FloatArray
from pnml.core.softmax import Categorical
from pnml.learners.one_step import LeftOutSample, sampled_rows
from pnml.learners.protocol import BoolArray
from pnml.learners.tree_classes import TreeClasses


@dataclass(frozen=True)
class TreeMember:
    """Trees with the left-out probabilities of sampled training rows, for a union."""

    trees: TreeClasses
    log_prob: FloatArray  # (k, C)  of the sampled rows, each left out

    @classmethod
    def of(cls, trees: TreeClasses, X: FloatArray, labels: npt.NDArray[np.intp]) -> TreeMember:
        """The member of trees that count all rows X (n, d) with labels (n,) from 0. Eq. (T8)."""
        rows = sampled_rows(trees.loo.weights)
        leaf = trees.partition.leaves(X[rows])
        log_prob = trees.leaves.left_out_log_prob(leaf, labels[rows], trees.loo.weights[rows])
        return cls(trees, log_prob)

    @property
    def sample(self) -> LeftOutSample:
        """Leave-one-out of sampled training rows. Eq. (T8)."""
        loo = self.trees.loo
        rows = sampled_rows(loo.weights)
        return LeftOutSample(self.log_prob, loo.regrets[rows], loo.leverages[rows])

    def predictive(self, X: FloatArray) -> Categorical:
        """Probabilities and regrets of rows. Eq. (T5)."""
        return self.trees.predictive(X)

    def leverage(self, X: FloatArray) -> FloatArray:
        """K − 1 of rows."""
        return self.trees.leverage(X)

    def broken(self, X: FloatArray) -> FloatArray | None:
        """Relations of features that rows break."""
        broken: FloatArray | None = self.trees.evidence(X, np.zeros(len(X))).broken
        return broken

    def never_seen(self, X: FloatArray) -> BoolArray:
        """Whether a value is missing that never was in training. Eq. (T12)."""
        unseen: BoolArray = self.trees.evidence(X, np.zeros(len(X))).never_seen
        return unseen

    def explain(self, X: FloatArray) -> FloatArray:
        """Share of each feature in the leverage of rows. Eq. (T10)."""
        return self.trees.explain(X)
