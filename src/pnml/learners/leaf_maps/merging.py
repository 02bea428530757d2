"""Leaf maps whose small leaves are merged until each holds enough training rows.

A forest grown to single rows has nearly as many leaves as rows in every tree. The cells of such
leaves, the boxes of their training rows, are points, and every new row is outside them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.core.leaves.cells import IntArray
from pnml.errors import InputError
from pnml.learners.leaf_maps.branches import Branches
from pnml.learners.leaf_maps.protocol import LeafMap


@dataclass(frozen=True)
class MergedLeaves:
    """A leaf map in which every leaf is a group of leaves of a finer map."""

    fine: LeafMap
    group: IntArray  # (D,)  the merged leaf that each leaf of `fine` is part of
    branches: Branches

    @classmethod
    def of(cls, fine: LeafMap, rows: IntArray, least: int = 20) -> MergedLeaves:
        """Merge the leaves of `fine` until each group holds `least` rows; see `merged`.

        `rows` (D,) are the numbers of training rows in its D leaves.
        """
        if least < 1:
            raise InputError(f"least is {least}; pass a number of rows of at least 1.")
        branches = fine.branches
        node = _nodes_of_groups(branches, rows, least)
        nodes, group = np.unique(node, return_inverse=True)
        first_leaf = np.searchsorted(nodes, branches.starts)
        ends = np.append(first_leaf, len(nodes)).astype(np.int64)
        return cls(fine, group.astype(np.int64), replace(branches, leaves=nodes, ends=ends))

    @property
    def ends(self) -> IntArray:
        """Leaf numbers (T + 1,): tree t has the leaves ``ends[t]`` to ``ends[t + 1] - 1``."""
        return self.branches.ends

    def leaf(self, X: Any) -> IntArray:
        """Merged leaf (n, T) of each row in each of T trees, numbered over all trees."""
        leaf, ends = self.fine.leaf(X), self.fine.ends
        # compiled loops look leaves up without asking whether there are so many
        own = leaf.shape[1:] == (len(ends) - 1,)
        if not own or np.any(leaf < ends[:-1]) or np.any(leaf >= ends[1:]):
            raise InputError(
                "The trees of the model are not those whose leaves were counted; fit again if the "
                "model was fitted or changed after that."
            )
        return self.group[leaf]


def merged(
    leaf_map: LeafMap, X: Any, weights: FloatArray | None = None, least: int = 20
) -> MergedLeaves:
    """A leaf map whose leaves are merged until each holds at least `least` training rows X.

    A leaf joins all others below its lowest ancestor that has enough rows. If some of those hold
    enough without it, it joins the smallest of them, chosen at every split on the way down. So
    every merged leaf holds `least` rows, or all rows of its tree, and a split that cuts off a few
    rows near the root does not undo the splits beside it. Rows of weight 0 do not count.
    """
    return MergedLeaves.of(leaf_map, rows_in_leaves(leaf_map, X, weights), least)


def rows_in_leaves(leaf_map: LeafMap, X: Any, weights: FloatArray | None = None) -> IntArray:
    """Number (D,) of rows X in each of the D leaves; rows of weight 0 do not count.

    The numbers of several chunks of rows can be added.
    """
    leaf = leaf_map.leaf(X)
    if weights is not None:
        leaf = leaf[weights > 0]
    return np.bincount(leaf.ravel(), minlength=int(leaf_map.ends[-1]))


def _nodes_of_groups(branches: Branches, rows: IntArray, least: int) -> IntArray:
    """For each of D leaves, the node (D,) that stands for its merged leaf."""
    total = branches.gathered(rows)
    large = (total >= least) | (branches.above < 0)
    home = branches.leaves  # the lowest ancestor with enough rows
    while not np.all(large[home]):
        home = np.where(large[home], home, branches.above[home])
    core = np.arange(len(total))  # of a large node: the smallest large node found on the way down
    for level in branches.levels():
        below = level[large[level] & (branches.above[level] >= 0)]
        below = below[np.argsort(-total[below], kind="stable")]
        core[branches.above[below]] = core[below]  # of two children, the smaller is written last
    return core[home]
