"""Trees and forests whose leaves count classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pnml.core import gaussian
from pnml.core.arrays import FloatArray
from pnml.core.leaves import forest
from pnml.core.leaves.classes import ClassLeaves, leave_labels_out
from pnml.core.leaves.partition import Partition
from pnml.core.softmax import Categorical
from pnml.core.softmax_leave_one_out import LabelsLeftOut
from pnml.core.trust import Evidence, Reference
from pnml.learners.finite import like_input
from pnml.learners.protocol import BoolArray, Inputs


@dataclass(frozen=True)
class TreeClasses:
    """Frozen splits, and the rows of each class in every leaf."""

    partition: Partition
    leaves: ClassLeaves
    loo: LabelsLeftOut
    usual: FloatArray  # (n,)  regrets of training rows as new rows would have them. Eq. (T12)
    takes_gaps: bool  # whether a value of a row may be missing
    had_gaps: BoolArray  # (d,)  features with values missing in training

    @property
    def inputs(self) -> Inputs:
        """Rows that are compared with thresholds."""
        return Inputs(compares=True, gaps=self.takes_gaps)

    @property
    def reference(self) -> Reference:
        """Regrets of training rows, computed as for new rows; the leverage adds nothing."""
        return Reference(self.usual, self.loo.weights)

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

    def leverage(self, X: FloatArray) -> FloatArray:
        """K − 1 of rows. Eq. (T5)."""
        return forest.leverage(self.partition, self.leaves, X)

    def regret(self, X: FloatArray) -> FloatArray:
        """Regret of rows, in nats."""
        regret: FloatArray = like_input(self._regret(X), X)
        return regret

    def evidence(self, X: FloatArray, regret: FloatArray | None = None) -> Evidence:
        """The regret, and whether a feature is missing that never was in training. Eq. (T12)."""
        strange = np.any(np.isnan(X) & ~self.had_gaps, axis=1)
        return Evidence(self._regret(X) if regret is None else regret, None, strange)

    def explain(self, X: FloatArray) -> FloatArray:
        """Share of each feature in the leverage of rows. Eq. (T10)."""
        shares: FloatArray = like_input(forest.explain(self.partition, self.leaves, X), X)
        return shares

    def _regret(self, X: FloatArray) -> FloatArray:
        regret: FloatArray = gaussian.regret(self.leverage(X))
        return regret


def count_classes(
    partition: Partition,
    X: FloatArray,
    labels: npt.NDArray[np.intp],
    weights: FloatArray,
    classes: int,
    prior: float,
    *,
    takes_gaps: bool,
    grown_on: bool,
) -> TreeClasses:
    """Count labels in the leaves; `grown_on` says that the trees were grown on these rows."""
    leaves = ClassLeaves.of(partition, X, labels, weights, classes, prior)
    loo = leave_labels_out(leaves, partition, X, labels, weights)
    usual = loo.regrets
    if grown_on:
        usual = np.asarray(gaussian.regret(forest.leverage(partition, leaves, X)))
    had_gaps = np.any(np.isnan(X[weights > 0]), axis=0)
    return TreeClasses(partition, leaves, loo, usual, takes_gaps, had_gaps)
