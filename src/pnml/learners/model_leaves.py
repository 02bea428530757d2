"""Leaves of a fitted tree ensemble, alone or at the end of a Pipeline, with small ones merged."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.core.leaves.cells import IntArray
from pnml.learners.last_step import at_last_step
from pnml.learners.leaf_maps import LeafMap, MergedLeaves, leaf_map_of, rows_in_leaves, thinned
from pnml.learners.row_parts import row_parts

# A leaf of fewer training rows is merged with its neighbours: its cell would be nearly empty.
_LEAST_ROWS = 20
# With more leaves the Gram is slow; it then uses evenly spaced trees only.
_MOST_LEAVES = 4_000


@dataclass(frozen=True)
class ModelLeaves:
    """Leaves of a tree ensemble, or of the one that ends a Pipeline, with small leaves merged.

    T is the number of trees. Leaves are numbered over all trees.
    """

    model: Any
    leaves: LeafMap
    kept: IntArray  # trees whose leaves enter the Gram

    @classmethod
    def of(cls, model: Any, X: Any, weights: FloatArray) -> ModelLeaves | None:
        """The leaves of a fitted model, merged until each holds at least 20 of the training rows X.

        Rows of weight 0 do not count. None if the model has no trees.
        """
        fine: LeafMap | None = None
        counts = np.zeros(0, dtype=np.int64)
        for part, given in row_parts(X):
            rows, last = at_last_step(model, given)
            if fine is None:
                fine = leaf_map_of(last, rows)
            if fine is None:
                return None
            more = rows_in_leaves(fine, rows, weights[part])
            counts = more if not len(counts) else counts + more
        if fine is None:
            return None
        coarse = MergedLeaves.of(fine, counts, _LEAST_ROWS)
        return cls(model, coarse, thinned(coarse, _MOST_LEAVES))

    @property
    def ends(self) -> IntArray:
        """Leaf numbers (T + 1,): tree t has the leaves ``ends[t]`` to ``ends[t + 1] - 1``."""
        return self.leaves.ends

    @cached_property
    def kept_ends(self) -> IntArray:
        """The same as `ends` for the trees in `kept` alone, whose leaves are numbered from 0."""
        ends = np.zeros(len(self.kept) + 1, dtype=np.int64)
        ends[1:] = np.cumsum(np.diff(self.ends)[self.kept])
        return ends

    def leaf(self, X: Any) -> IntArray:
        """Leaf (n, T) of each row in each tree, numbered over all trees."""
        return self.leaves.leaf(at_last_step(self.model, X)[0])
