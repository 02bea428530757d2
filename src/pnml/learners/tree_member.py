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
    """A tree learner of classes for a union, with left-out probabilities of sampled rows."""

    trees: TreeClasses
    log_prob: FloatArray  # (k, C)  of the sampled rows, each left out

    @classmethod
    def of(cls, trees: TreeClasses, X: FloatArray, labels: npt.NDArray[np.intp]) -> TreeMember:
        """The member for fitted trees, from all their training rows X (n, d) and labels (n,).

        Labels count from 0. Eq. (T8).
        """
        rows = sampled_rows(trees.loo.weights)
        leaf = trees.partition.leaves(X[rows])
        log_prob = trees.leaves.left_out_log_prob(leaf, labels[rows], trees.loo.weights[rows])
        return cls(trees, log_prob)

    @property
    def sample(self) -> LeftOutSample:
        """Leave-one-out results of the sampled training rows, for a union. Eq. (T8)."""
        loo = self.trees.loo
        rows = sampled_rows(loo.weights)
        return LeftOutSample(self.log_prob, loo.regrets[rows], loo.leverages[rows])

    def predictive(self, X: FloatArray) -> Categorical:
        """pNML log-probabilities (n, classes) and regrets (n,) of rows. Eq. (T5)."""
        return self.trees.predictive(X)

    def leverage(self, X: FloatArray) -> FloatArray:
        """Leverage (n,) of rows: exp(regret) − 1."""
        return self.trees.leverage(X)

    def broken(self, X: FloatArray) -> FloatArray | None:
        """Which rows break linear relations of features: (n,), or None if no relations are known.

        Values are those of `Relations.broken`: inf for a row that breaks none.
        """
        broken: FloatArray | None = self.trees.evidence(X, np.zeros(len(X))).broken
        return broken

    def never_seen(self, X: FloatArray) -> BoolArray:
        """Whether each row (n,) has a gap in a feature that had none in training. Eq. (T12)."""
        unseen: BoolArray = self.trees.evidence(X, np.zeros(len(X))).never_seen
        return unseen

    def explain(self, X: FloatArray) -> FloatArray:
        """Part (n, d) of each row's leverage that each feature causes, ≥ 0. Eq. (T10)."""
        return self.trees.explain(X)
