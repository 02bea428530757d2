"""Training rows in the leaves of trees: the rows to count, and what is kept of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from pnml.core import gaussian
from pnml.core.arrays import FloatArray
from pnml.core.find_relations import relations_of
from pnml.core.leave_one_out import LeaveOneOut
from pnml.core.leaves import forest
from pnml.core.leaves.partition import Partition
from pnml.core.relations import Relations
from pnml.core.softmax_leave_one_out import LabelsLeftOut
from pnml.core.trust import Evidence, Reference
from pnml.learners.protocol import BoolArray, Inputs

_Leaves = TypeVar("_Leaves", bound=forest.Leaves)


@dataclass(frozen=True)
class SeenRows:
    """What a tree learner keeps of n training rows: usual regrets, gaps and linear relations.

    A gap is a missing value.
    """

    usual: FloatArray  # (n,)  regrets of training rows as new rows would have them. Eq. (T12)
    weights: FloatArray  # (n,)
    takes_gaps: bool  # whether a value of a row may be missing
    had_gaps: BoolArray  # (d,)  features with values missing in training
    relations: Relations | None = None  # of features and gaps; None in a file of an older version

    def evidence(self, X: FloatArray, regret: FloatArray) -> Evidence:
        """What decides whether rows X are trusted, given their `regret` (n,).

        Regret, gaps in features that had none in training, and broken relations of features.
        Eqs. (T12) and (X2).
        """
        unseen = np.any(np.isnan(X) & ~self.had_gaps, axis=1)
        if self.relations is None:
            return Evidence(regret, None, unseen)
        broken = self.relations.broken(_marked(X, self.had_gaps, self.relations.center))
        return Evidence(regret, None, unseen, broken=broken)


@dataclass(frozen=True)
class CountedTrees(Generic[_Leaves]):
    """Base of fitted tree learners: frozen splits, contents of the leaves, and `SeenRows`."""

    partition: Partition
    leaves: _Leaves
    seen: SeenRows

    @property
    def inputs(self) -> Inputs:
        """What rows the trees take: they are compared with thresholds; some trees take gaps."""
        return Inputs(compares=True, gaps=self.seen.takes_gaps)

    @property
    def reference(self) -> Reference:
        """Regrets of training rows, for the threshold of trust.

        No leverages: for trees they order rows as the regrets do.
        """
        return Reference(self.seen.usual, self.seen.weights)

    def leverage(self, X: FloatArray) -> FloatArray:
        """Leverage (n,) of rows: exp(regret) − 1. Eqs. (T5), (T7)."""
        return forest.leverage(self.partition, self.leaves, X)


@dataclass(frozen=True)
class RowsToCount:
    """Training rows to be counted in the leaves of trees, with their weights."""

    partition: Partition
    X: FloatArray  # (n, d)
    weights: FloatArray  # (n,)
    takes_gaps: bool  # whether a value of a row may be missing
    grown_on: bool  # whether the trees were grown on these rows

    def seen(self, leaves: forest.Leaves, loo: LeaveOneOut | LabelsLeftOut) -> SeenRows:
        """The `SeenRows` of these rows; `loo` are their leave-one-out results.

        Usual regrets are the left-out ones, or, if the trees were grown on these rows, those
        without leaving rows out.
        """
        usual = loo.regrets
        if self.grown_on:
            usual = np.asarray(gaussian.regret(forest.leverage(self.partition, leaves, self.X)))
        return SeenRows(usual, loo.weights, self.takes_gaps, *self._gaps_and_relations())

    def _gaps_and_relations(self) -> tuple[BoolArray, Relations]:
        """Whether each feature (d,) has gaps, and the relations of features and gaps."""
        used = self.weights > 0
        X, weights = (self.X, self.weights) if used.all() else (self.X[used], self.weights[used])
        gap = np.isnan(X)
        had_gaps: BoolArray = np.any(gap, axis=0)
        count = np.maximum(np.sum(~gap, axis=0), 1)
        means: FloatArray = np.sum(np.where(gap, 0.0, X) / count, axis=0, dtype=np.float64)
        return had_gaps, relations_of(_marked(X, had_gaps, means), weights)


def _marked(X: FloatArray, had_gaps: BoolArray, means: FloatArray) -> FloatArray:
    """Rows with gaps filled by means, and a 0/1 column added for each feature that had gaps."""
    gap = np.isnan(X)
    if not gap.any() and not had_gaps.any():
        return X
    filled = np.where(gap, means[: X.shape[1]], X)
    return np.concatenate([filled, gap[:, had_gaps].astype(filled.dtype)], axis=1)
