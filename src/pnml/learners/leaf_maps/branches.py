"""The nodes of an ensemble's trees: the parent of each node, and which nodes are leaves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pnml.core.leaves.cells import IntArray


@dataclass(frozen=True)
class Branches:
    """The nodes of T trees, numbered tree after tree: m nodes and D leaves in all.

    >>> stump = Branches.of_children(np.array([1, -1, -1]), np.array([2, -1, -1]))
    >>> both = Branches.joined([stump, stump])
    >>> both.above.tolist(), both.leaves.tolist(), both.ends.tolist()
    ([-1, 0, 0, -1, 3, 3], [1, 2, 4, 5], [0, 2, 4])
    >>> both.gathered(np.array([7, 8, 1, 2])).tolist()
    [15, 7, 8, 3, 1, 2]
    """

    above: IntArray  # (m,)  the node above; −1 at a root
    leaves: IntArray  # (D,)  the node of each leaf, ascending from tree to tree
    starts: IntArray  # (T,)  the first node of each tree
    ends: IntArray  # (T + 1,)  the leaves of tree t are ends[t] to ends[t + 1]

    @classmethod
    def of_tree(cls, above: IntArray, leaves: IntArray) -> Branches:
        """One tree from the parent of each node (−1 at the root) and the node of each leaf."""
        return cls(
            above.astype(np.int64),
            leaves.astype(np.int64),
            np.zeros(1, dtype=np.int64),
            np.array([0, len(leaves)], dtype=np.int64),
        )

    @classmethod
    def of_children(cls, left: IntArray, right: IntArray) -> Branches:
        """One tree from the left and right child of each node, −1 at a leaf; node 0 is the root.

        Nodes that cannot be reached from the root do not count as leaves.
        """
        inner = np.flatnonzero(left >= 0)
        above = np.full(len(left), -1, dtype=np.int64)
        above[left[inner]] = inner
        above[right[inner]] = inner
        reached = above >= 0
        reached[0] = True
        return cls.of_tree(above, np.flatnonzero(reached & (left < 0)))

    @classmethod
    def joined(cls, parts: Sequence[Branches]) -> Branches:
        """All trees of several `Branches` as one, in the order given, with nodes renumbered."""
        nodes = np.cumsum([0] + [len(part.above) for part in parts])
        counts = np.cumsum([0] + [len(part.leaves) for part in parts])
        above = [
            np.where(p.above < 0, -1, p.above + at) for p, at in zip(parts, nodes, strict=False)
        ]
        leaves = [part.leaves + at for part, at in zip(parts, nodes, strict=False)]
        starts = [part.starts + at for part, at in zip(parts, nodes, strict=False)]
        ends = [part.ends[1:] + at for part, at in zip(parts, counts, strict=False)]
        return cls(
            np.concatenate(above),
            np.concatenate(leaves),
            np.concatenate(starts),
            np.concatenate([np.zeros(1, dtype=np.int64), *ends]),
        )

    @property
    def numbers(self) -> IntArray:
        """Leaf number (m,) of each node; −1 for a node that is not a leaf."""
        out = np.full(len(self.above), -1, dtype=np.int64)
        out[self.leaves] = np.arange(len(self.leaves))
        return out

    def levels(self) -> Iterator[IntArray]:
        """Arrays of node numbers, one for each depth: the deepest nodes first, the roots last."""
        depth = np.zeros(len(self.above), dtype=np.int64)
        node = np.arange(len(self.above))
        at = self.above
        while len(node := node[at >= 0]):
            at = at[at >= 0]
            depth[node] += 1
            at = self.above[at]
        order = np.argsort(depth, kind="stable")
        parts = np.split(order, np.flatnonzero(np.diff(depth[order])) + 1)
        return reversed(parts)

    def gathered(self, at_leaves: IntArray) -> IntArray:
        """Sums (m,), for each node, of `at_leaves` (D,) over the leaves below it."""
        totals = np.zeros(len(self.above), dtype=np.int64)
        totals[self.leaves] = at_leaves
        for level in self.levels():
            below = level[self.above[level] >= 0]
            np.add.at(totals, self.above[below], totals[below])
        return totals


@dataclass(frozen=True)
class FittedTrees:
    """Base of leaf maps: a fitted model, and the nodes of its trees."""

    model: Any
    branches: Branches

    @property
    def ends(self) -> IntArray:
        """Leaf numbers (T + 1,): tree t has the leaves ``ends[t]`` to ``ends[t + 1] - 1``."""
        return self.branches.ends
