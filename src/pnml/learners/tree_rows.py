"""Training rows in the leaves of trees: those to count, and what is remembered of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pnml.core import gaussian
from pnml.core.arrays import FloatArray
from pnml.core.leaves import forest
from pnml.core.leaves.partition import Partition
from pnml.core.trust import Evidence
from pnml.learners.protocol import BoolArray, Inputs


@dataclass(frozen=True)
class SeenRows:
    """Usual regrets of training rows, and where their values were missing."""

    usual: FloatArray  # (n,)  regrets of training rows as new rows would have them. Eq. (T12)
    takes_gaps: bool  # whether a value of a row may be missing
    had_gaps: BoolArray  # (d,)  features with values missing in training

    @property
    def inputs(self) -> Inputs:
        """Rows that are compared with thresholds."""
        return Inputs(compares=True, gaps=self.takes_gaps)

    def evidence(self, X: FloatArray, regret: FloatArray) -> Evidence:
        """The regret, and whether a value is missing that never was in training. Eq. (T12)."""
        return Evidence(regret, None, np.any(np.isnan(X) & ~self.had_gaps, axis=1))


@dataclass(frozen=True)
class RowsToCount:
    """Rows to count in the leaves of trees."""

    partition: Partition
    X: FloatArray  # (n, d)
    weights: FloatArray  # (n,)
    takes_gaps: bool  # whether a value of a row may be missing
    grown_on: bool  # whether the trees were grown on these rows

    def seen(self, leaves: forest.Leaves, left_out: FloatArray) -> SeenRows:
        """What is remembered of them; `left_out` are their regrets, each row left out."""
        usual = left_out
        if self.grown_on:
            usual = np.asarray(gaussian.regret(forest.leverage(self.partition, leaves, self.X)))
        had_gaps = np.any(np.isnan(self.X[self.weights > 0]), axis=0)
        return SeenRows(usual, self.takes_gaps, had_gaps)
