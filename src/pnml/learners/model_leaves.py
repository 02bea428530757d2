"""The merged leaves of a fitted model, after any steps before its trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from pnml.core.arrays import FloatArray
from pnml.core.leaves.cells import IntArray
from pnml.learners.last_step import unfrozen
from pnml.learners.leaf_maps import LeafMap, leaf_map_of, merged, thinned

# A leaf of fewer training rows is merged with its neighbours: its cell would be nearly empty.
_LEAST_ROWS = 20
# With more leaves the Gram is slow; it then uses evenly spaced trees only.
_MOST_LEAVES = 4_000


@dataclass(frozen=True)
class ModelLeaves:
    """Merged leaves of a model; without trees, one leaf that holds all rows."""

    model: Any
    leaves: LeafMap | None
    kept: IntArray  # trees whose leaves enter the Gram

    @classmethod
    def of(cls, model: Any, X: Any, weights: FloatArray) -> ModelLeaves:
        """Leaves of a fitted model, merged until each holds enough of the training rows X."""
        rows, last = _last_step(model, X)
        leaves = leaf_map_of(last, rows)
        if leaves is None:
            return cls(model, None, np.zeros(1, dtype=np.int64))
        coarse = merged(leaves, rows, weights, _LEAST_ROWS)
        return cls(model, coarse, thinned(coarse, _MOST_LEAVES))

    @property
    def ends(self) -> IntArray:
        """(T + 1,): the leaves of tree t are ``ends[t]`` to ``ends[t + 1]``."""
        return np.array([0, 1]) if self.leaves is None else self.leaves.ends

    def leaf(self, X: Any) -> IntArray:
        """Leaf (n, T) of every row in every tree, counted over all trees."""
        rows, _ = _last_step(self.model, X)
        if self.leaves is None:
            return np.zeros((len(X), 1), dtype=np.int64)
        return self.leaves.leaf(rows)


def _last_step(model: Any, X: Any) -> tuple[Any, Any]:
    """Rows transformed for the last step of a model, and that step."""
    step = unfrozen(model)
    while isinstance(step, Pipeline):
        if len(step.steps) > 1:
            X = step[:-1].transform(X)
        step = unfrozen(step.steps[-1][1])
    return X, step
