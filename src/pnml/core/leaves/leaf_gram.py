"""Sums over training rows of which leaves they fall in and of their columns. They add."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy import sparse

from pnml.core.arrays import FloatArray
from pnml.core.leaves.cells import IntArray, compiled

# Rows of a chunk: enough to pay for a pass over all pairs of trees, few enough to stay in cache.
CHUNK = 4096
_SIDE = 256  # rows of the blocks in which a triangle is mirrored


@dataclass(frozen=True)
class LeafGram:
    """Weighted sums of u and uuᵀ over training rows u = [one-hot leaves, columns]. Eq. (T14).

    D leaves of T trees, then p columns. The leaves of tree t are ``ends[t]`` to ``ends[t + 1]``;
    the columns follow the last leaf. Sums over chunks of rows add.
    """

    ends: IntArray  # (T + 1,)
    weight: float
    sums: FloatArray  # (D + p,)
    products: FloatArray  # (D + p, D + p)

    @classmethod
    def of(
        cls, ends: IntArray, leaf: IntArray, Z: FloatArray, weights: FloatArray | None = None
    ) -> LeafGram:
        """Sums over rows in leaves (n, T), counted over all trees, with columns Z (n, p).

        The leaves of tree t are ``ends[t]`` to ``ends[t + 1]``; `weights` (n,) are all 1 if None.
        """
        D, size = int(ends[-1]), int(ends[-1]) + Z.shape[1]
        w = np.ones(len(leaf)) if weights is None else weights
        sums, products = np.zeros(size), np.zeros((size, size))
        for rows in chunks(len(leaf)):
            _add_pairs(products, ends, leaf[rows], w[rows])
            weighted = w[rows, None] * Z[rows]
            products[:D, D:] += one_hot(leaf[rows], D).T @ weighted
            products[D:, D:] += Z[rows].T @ weighted
            sums[D:] += weighted.sum(axis=0)
        mirror(products)
        sums[:D] = np.diagonal(products)[:D]
        return cls(ends, float(w.sum()), sums, products)

    def __add__(self, other: LeafGram) -> LeafGram:
        return LeafGram(
            self.ends,
            self.weight + other.weight,
            self.sums + other.sums,
            self.products + other.products,
        )


def mirror(A: FloatArray) -> None:
    """Write the upper triangle of a square matrix into its lower one, in place.

    >>> A = np.array([[1.0, 2.0], [0.0, 3.0]])
    >>> mirror(A)
    >>> A
    array([[1., 2.],
           [2., 3.]])
    """
    for start in range(0, len(A), _SIDE):
        end = start + _SIDE
        square = A[start:end, start:end]
        square[:] = np.triu(square) + np.triu(square, 1).T
        A[end:, start:end] = A[start:end, end:].T


def chunks(n: int, size: int = CHUNK) -> Iterator[slice]:
    """Slices of at most `size` rows each that together cover n rows."""
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def one_hot(leaf: IntArray, leaves: int) -> sparse.csr_array:
    """Sparse matrix (n, D) with a one for the leaf of each row in each tree; `leaves` is D."""
    n, trees = leaf.shape
    starts = np.arange(0, n * trees + 1, trees)
    return sparse.csr_array((np.ones(n * trees), leaf.ravel(), starts), shape=(n, leaves))


def within_trees(leaf: IntArray, ends: IntArray) -> npt.NDArray[np.int32]:
    """Leaves (T, n) of rows counted within each tree, from leaves (n, T) counted over all trees.

    The leaves of tree t are ``ends[t]`` to ``ends[t + 1]``. Small numbers stay in cache.
    """
    return np.ascontiguousarray((leaf - ends[:-1]).T, dtype=np.int32)


def _add_pairs(products: FloatArray, ends: IntArray, leaf: IntArray, w: FloatArray) -> None:
    """Add the weight of rows that share two leaves to the upper triangle, tree by tree."""
    local = within_trees(leaf, ends)
    fast = compiled()
    if fast is not None:
        fast.add_pairs(products, ends, local, w)
        return
    blocks = [slice(start, end) for start, end in pairwise(ends.tolist())]
    for s, rows in enumerate(blocks):
        width = rows.stop - rows.start
        for t in range(s + 1):
            columns = blocks[t]
            height = columns.stop - columns.start
            pair = local[t].astype(np.int64) * width + local[s]
            block = np.bincount(pair, weights=w, minlength=height * width).reshape(height, width)
            products[columns, rows] += block
