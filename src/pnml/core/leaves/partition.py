"""Frozen trees as plain arrays, and the leaves of rows in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import numpy.typing as npt

from pnml.core.arrays import FloatArray
from pnml.core.conditions import ANY_NUMBER
from pnml.core.leaves.regret import moved

IntArray = npt.NDArray[np.int64]
Step = tuple[IntArray, IntArray, IntArray]  # slots (row · T + tree), nodes left, nodes entered

# Numbers in one block of rows.
_BLOCK_NUMBERS = 2**16


@dataclass(frozen=True)
class Partition:
    """T frozen decision trees with m nodes in all; every node comes after the one above it.

    A row goes left where its value, in float32 as trees are grown, does not pass the threshold.

    >>> stump = Partition(
    ...     roots=np.array([0]),
    ...     left=np.array([1, -1, -1]),
    ...     right=np.array([2, -1, -1]),
    ...     feature=np.array([0, -1, -1]),
    ...     threshold=np.array([0.5, 0.0, 0.0]),
    ...     gaps_left=np.array([False, False, False]),
    ... )
    >>> stump.leaves(np.array([[0.0], [1.0], [np.nan]])).tolist()
    [[1], [2], [2]]
    """

    roots: Annotated[IntArray, "t"]
    left: Annotated[IntArray, "m"]  # node below; −1 at a leaf
    right: Annotated[IntArray, "m"]
    feature: Annotated[IntArray, "m"]  # feature split on; −1 at a leaf
    threshold: Annotated[FloatArray, "m", ANY_NUMBER]
    gaps_left: Annotated[npt.NDArray[np.bool_], "m"]  # whether rows without a value go left

    @property
    def nodes(self) -> int:
        """Number m of nodes."""
        return len(self.feature)

    def leaves(self, X: FloatArray) -> IntArray:
        """Node (n, T) of the leaf that each row of X (n, d) falls in, in each of T trees."""
        at = np.tile(self.roots, len(X))
        for slot, _, child in self._steps(X):
            at[slot] = child
        return at.reshape(len(X), len(self.roots))

    def first_leaves(self, X: FloatArray) -> IntArray:
        """Node (n,) of the leaf that each row of X (n, d) falls in, in the first tree."""
        return replace(self, roots=self.roots[:1]).leaves(X)[:, 0]

    def falls(self, X: FloatArray, weight: FloatArray) -> FloatArray:
        """Sum (n, d) of the rises of 1/(rows + 1) at the splits on each feature. Eq. (T10).

        It runs down the path of each row of X (n, d), on average over the trees; `weight` (m,) are
        the training rows in each node.
        """
        n, d = X.shape
        falls = np.zeros(n * d)
        move = moved(weight)
        for slot, parent, child in self._steps(X):
            at = slot // len(self.roots) * d + self.feature[parent]
            np.add.at(falls, at, move[child] - move[parent])
        return falls.reshape(n, d) / len(self.roots)

    def gathered(self, at_leaves: FloatArray) -> FloatArray:
        """Sums (m, …) over the leaves below each node, from values (m, …) at the leaves."""
        totals = at_leaves.copy()
        levels = [self.roots]
        while len(levels[-1]):
            inner = levels[-1][self.feature[levels[-1]] >= 0]
            levels[-1] = inner
            levels.append(np.concatenate([self.left[inner], self.right[inner]]))
        for inner in reversed(levels):
            totals[inner] = totals[self.left[inner]] + totals[self.right[inner]]
        return totals

    def blocks(self, rows: int, width: int = 1) -> Iterator[slice]:
        """Slices that cover `rows` rows, each small enough for `width` numbers per row and tree."""
        step = max(1, _BLOCK_NUMBERS // (len(self.roots) * width))
        for start in range(0, rows, step):
            yield slice(start, start + step)

    def _steps(self, X: FloatArray) -> Iterator[Step]:
        """Move all rows down one level in every tree, until all are at a leaf."""
        values = np.asarray(X, dtype=np.float32).ravel()
        node = np.tile(self.roots, len(X))
        slot = np.arange(len(node))
        start = np.repeat(np.arange(len(X)) * X.shape[1], len(self.roots))  # of the row's values
        while True:
            feature = self.feature[node]
            inner = np.flatnonzero(feature >= 0)
            if not len(inner):
                return
            slot, start, node, feature = slot[inner], start[inner], node[inner], feature[inner]
            x = values[start + feature]
            left = np.where(np.isnan(x), self.gaps_left[node], x <= self.threshold[node])
            child = np.where(left, self.left[node], self.right[node])
            yield slot, node, child
            node = child
