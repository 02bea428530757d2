"""Classification trees and forests: pNML from the counts of classes in their leaves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pnml.core import gaussian
from pnml.core.arrays import FloatArray
from pnml.core.leaves import forest
from pnml.core.leaves.classes import ClassLeaves, leave_labels_out
from pnml.core.softmax import Categorical
from pnml.core.softmax_leave_one_out import LabelsLeftOut
from pnml.core.trust import Evidence
from pnml.learners.finite import like_input
from pnml.learners.tree_rows import CountedTrees, RowsToCount


@dataclass(frozen=True)
class TreeClasses(CountedTrees[ClassLeaves]):
    """Fitted classification trees: frozen splits, and the rows of each class in every leaf."""

    loo: LabelsLeftOut

    def predictive(self, X: FloatArray) -> Categorical:
        """pNML log-probabilities (n, classes) and regrets (n,) of rows. Eq. (T5)."""
        parts = [
            self.leaves.predictive(self.partition.leaves(X[part]))
            for part in self.partition.blocks(len(X), self.leaves.classes)
        ]
        return Categorical(
            np.concatenate([part.log_prob for part in parts]),
            np.concatenate([part.regret for part in parts]),
        )

    def regret(self, X: FloatArray) -> FloatArray:
        """Regret (n,) of rows, in nats, in the dtype of the rows."""
        regret: FloatArray = like_input(self._regret(X), X)
        return regret

    def evidence(self, X: FloatArray, regret: FloatArray | None = None) -> Evidence:
        """Regret, gaps in features that had none in training, and broken relations of features.

        Pass the `regret` (n,) if it is already known. Eq. (T12).
        """
        return self.seen.evidence(X, self._regret(X) if regret is None else regret)

    def explain(self, X: FloatArray) -> FloatArray:
        """Part (n, d) of each row's leverage that each feature causes, ≥ 0. Eq. (T10)."""
        shares: FloatArray = like_input(forest.explain(self.partition, self.leaves, X), X)
        return shares

    def _regret(self, X: FloatArray) -> FloatArray:
        regret: FloatArray = gaussian.regret(self.leverage(X))
        return regret


def count_classes(
    rows: RowsToCount, labels: npt.NDArray[np.intp], classes: int, prior: float
) -> TreeClasses:
    """Fit a tree learner of classes: count the labels (n,), from 0 to classes − 1, in each leaf.

    `prior` ≥ 0 favours leaves with even class frequencies.
    """
    partition, X, weights = rows.partition, rows.X, rows.weights
    leaves = ClassLeaves.of(partition, X, labels, weights, classes, prior)
    loo = leave_labels_out(leaves, partition, X, labels, weights)
    return TreeClasses(partition, leaves, rows.seen(leaves, loo), loo)
