"""The contract of a leaf map: a frozen value that numbers the leaves of a fitted ensemble."""

from __future__ import annotations

from typing import Any, Protocol

from pnml.core.leaves.cells import IntArray
from pnml.learners.leaf_maps.branches import Branches


class LeafMap(Protocol):
    """Protocol of a leaf map: T fitted trees with D leaves in all, whatever the rows."""

    @property
    def ends(self) -> IntArray:
        """(T + 1,): the leaves of tree t are ``ends[t]`` to ``ends[t + 1]``."""

    @property
    def branches(self) -> Branches:
        """The nodes above the leaves."""

    def leaf(self, X: Any) -> IntArray:
        """Leaf (n, T) of every row in every tree, counted over all trees.

        X is what the model's own ``predict`` takes.
        """
