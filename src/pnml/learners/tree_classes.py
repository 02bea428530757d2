"""Trees and forests whose leaves count classes."""

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
    """Fitted tree learner of classes: frozen splits, and the rows of each class in leaves."""

    loo: LabelsLeftOut

    def predictive(self, X: FloatArray) -> Categorical:
        """Probabilities of the classes of rows, and their regrets. Eq. (T5)."""
        parts = [
            self.leaves.predictive(self.partition.leaves(X[part]))
            for part in self.partition.blocks(len(X), self.leaves.classes)
        ]
        return Categorical(
            np.concatenate([part.log_prob for part in parts]),
            np.concatenate([part.regret for part in parts]),
        )

    def regret(self, X: FloatArray) -> FloatArray:
        """Regret of rows, in nats."""
        regret: FloatArray = like_input(self._regret(X), X)
        return regret

    def evidence(self, X: FloatArray, regret: FloatArray | None = None) -> Evidence:
        """The regret, and whether a value is missing that never was in training. Eq. (T12)."""
        return self.seen.evidence(X, self._regret(X) if regret is None else regret)

    def explain(self, X: FloatArray) -> FloatArray:
        """Share of each feature in the leverage of rows. Eq. (T10)."""
        shares: FloatArray = like_input(forest.explain(self.partition, self.leaves, X), X)
        return shares

    def _regret(self, X: FloatArray) -> FloatArray:
        regret: FloatArray = gaussian.regret(self.leverage(X))
        return regret


def count_classes(
    rows: RowsToCount, labels: npt.NDArray[np.intp], classes: int, prior: float
) -> TreeClasses:
    """Fit a tree learner of classes: count labels (n,) in the leaves."""
    partition, X, weights = rows.partition, rows.X, rows.weights
    leaves = ClassLeaves.of(partition, X, labels, weights, classes, prior)
    loo = leave_labels_out(leaves, partition, X, labels, weights)
    return TreeClasses(partition, leaves, rows.seen(leaves, loo), loo)
