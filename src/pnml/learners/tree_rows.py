"""Training rows in the leaves of trees: those to count, and what is remembered of them."""

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
    """What a tree learner remembers of rows: usual regrets, and where values were missing."""

    usual: FloatArray  # (n,)  regrets of training rows as new rows would have them. Eq. (T12)
    weights: FloatArray  # (n,)
    takes_gaps: bool  # whether a value of a row may be missing
    had_gaps: BoolArray  # (d,)  features with values missing in training
    relations: Relations | None = None  # of features and gaps; None in a file of an older version

    def evidence(self, X: FloatArray, regret: FloatArray) -> Evidence:
        """The regret, unseen gaps, and relations that a row breaks. Eqs. (T12) and (X2)."""
        unseen = np.any(np.isnan(X) & ~self.had_gaps, axis=1)
        if self.relations is None:
            return Evidence(regret, None, unseen)
        broken = self.relations.broken(_marked(X, self.had_gaps, self.relations.center))
        return Evidence(regret, None, unseen, broken=broken)


@dataclass(frozen=True)
class CountedTrees(Generic[_Leaves]):
    """Frozen splits, what their leaves hold, and what tree learners remember of the rows."""

    partition: Partition
    leaves: _Leaves
    seen: SeenRows

    @property
    def inputs(self) -> Inputs:
        """Rows that are compared with thresholds."""
        return Inputs(compares=True, gaps=self.seen.takes_gaps)

    @property
    def reference(self) -> Reference:
        """Regrets of training rows as new rows would have them; the leverage says the same."""
        return Reference(self.seen.usual, self.seen.weights)

    def leverage(self, X: FloatArray) -> FloatArray:
        """K − 1 of rows. Eqs. (T5), (T7)."""
        return forest.leverage(self.partition, self.leaves, X)


@dataclass(frozen=True)
class RowsToCount:
    """Rows to count in the leaves of trees."""

    partition: Partition
    X: FloatArray  # (n, d)
    weights: FloatArray  # (n,)
    takes_gaps: bool  # whether a value of a row may be missing
    grown_on: bool  # whether the trees were grown on these rows

    def seen(self, leaves: forest.Leaves, loo: LeaveOneOut | LabelsLeftOut) -> SeenRows:
        """What is remembered of them, each row left out for `loo`."""
        usual = loo.regrets
        if self.grown_on:
            usual = np.asarray(gaussian.regret(forest.leverage(self.partition, leaves, self.X)))
        return SeenRows(usual, loo.weights, self.takes_gaps, *self._gaps_and_relations())

    def _gaps_and_relations(self) -> tuple[BoolArray, Relations]:
        """Features (d,) with gaps, and the relations of features and gaps."""
        used = self.weights > 0
        X, weights = (self.X, self.weights) if used.all() else (self.X[used], self.weights[used])
        gap = np.isnan(X)
        had_gaps: BoolArray = np.any(gap, axis=0)
        count = np.maximum(np.sum(~gap, axis=0), 1)
        means: FloatArray = np.sum(np.where(gap, 0.0, X) / count, axis=0, dtype=np.float64)
        return had_gaps, relations_of(_marked(X, had_gaps, means), weights)


def _marked(X: FloatArray, had_gaps: BoolArray, means: FloatArray) -> FloatArray:
    """Rows (n, d + g) whose gaps are means, with a mark of gaps for each feature that had them."""
    gap = np.isnan(X)
    if not gap.any() and not had_gaps.any():
        return X
    filled = np.where(gap, means[: X.shape[1]], X)
    return np.concatenate([filled, gap[:, had_gaps].astype(filled.dtype)], axis=1)
