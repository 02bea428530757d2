"""Protocol of a leaf map: an immutable object that numbers the leaves of a fitted ensemble."""

from __future__ import annotations

from typing import Any, Protocol

from pnml.core.leaves.cells import IntArray
from pnml.learners.leaf_maps.branches import Branches


class LeafMap(Protocol):
    """Protocol of a leaf map: numbers the D leaves of all T trees of a fitted ensemble."""

    @property
    def ends(self) -> IntArray:
        """Leaf numbers (T + 1,): tree t has the leaves ``ends[t]`` to ``ends[t + 1] - 1``."""

    @property
    def branches(self) -> Branches:
        """The nodes of the trees: the parent of each node, and which nodes are leaves."""

    def leaf(self, X: Any) -> IntArray:
        """Leaf (n, T) of each row in each tree, numbered over all trees.

        X is what the model's own ``predict`` takes.
        """
