"""Leaf map of models whose ``apply`` gives the node of each tree in which a row ends."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pnml.core.leaves.cells import IntArray
from pnml.learners.leaf_maps.branches import FittedTrees


@dataclass(frozen=True)
class NodeLeaves(FittedTrees):
    """Leaf map of a model whose ``apply`` gives the node of each row in each tree."""

    @cached_property
    def _numbers(self) -> IntArray:
        return self.branches.numbers

    def leaf(self, X: Any) -> IntArray:
        """Leaf (n, T) of each row in each of T trees, numbered over all trees."""
        node = np.asarray(self.model.apply(X))
        node = node.reshape(len(node), len(self.branches.starts))
        place = np.empty(node.shape, dtype=np.int64)
        np.add(node, self.branches.starts, out=place, casting="unsafe")  # XGBoost's are float32
        return self._numbers[place]
