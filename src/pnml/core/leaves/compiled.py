"""Inner loops over cells compiled by numba. Imported only where numba is installed."""

from __future__ import annotations

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.core.compilation import compiled
from pnml.core.leaves.cells import BoolArray, ByteArray, Cells, Columns, IntArray


@compiled
def add_pairs(products: FloatArray, ends: IntArray, local: IntArray, w: FloatArray) -> None:
    """Add to `products`, for each pair of leaves, the weight `w` (n,) of the rows in both.

    `local` (T, n) are the leaves of n rows in T trees, counted within each tree; the leaves of tree
    t are ends[t] to ends[t + 1] in `products`. The block of two trees is added up in a small array
    of its own, which stays in cache, and then to the upper triangle of products.
    """
    trees, n = local.shape
    for s in range(trees):
        width = ends[s + 1] - ends[s]
        of_s = local[s]
        for t in range(s + 1):
            height = ends[t + 1] - ends[t]
            of_t = local[t]
            block = np.zeros(height * width)
            for i in range(n):
                block[of_t[i] * width + of_s[i]] += w[i]
            for b in range(height):
                for a in range(width):
                    products[ends[t] + b, ends[s] + a] += block[b * width + a]


@compiled
def _block(inverse: FloatArray, ends: IntArray, s: int, t: int) -> FloatArray:
    """The entries for the leaves of two trees in a small array, twice where the trees differ."""
    times = 1.0 if t == s else 2.0
    height, width = ends[s + 1] - ends[s], ends[t + 1] - ends[t]
    block = np.empty(height * width)
    for a in range(height):
        for b in range(width):
            block[a * width + b] = times * inverse[ends[s] + a, ends[t] + b]
    return block


@compiled
def add_inner(
    total: FloatArray, inverse: FloatArray, ends: IntArray, local: IntArray, inside: FloatArray
) -> None:
    """Add to `total` (n,) the sum of `inverse` over pairs of leaves whose cells hold the row.

    `local` (T, n) are the leaves of n rows in T trees, counted within each tree; `inside` (T, n) is
    1 where the leaf's cell holds the row, else 0; the leaves of tree t are ends[t] to ends[t + 1]
    in `inverse`.
    """
    trees, n = local.shape
    row = np.empty(n)
    for s in range(trees):
        row[:] = 0.0
        of_s = local[s]
        for t in range(s + 1):
            block, width = _block(inverse, ends, s, t), ends[t + 1] - ends[t]
            of_t, filled = local[t], inside[t]
            for i in range(n):
                row[i] += block[of_s[i] * width + of_t[i]] * filled[i]
        for i in range(n):
            total[i] += row[i] * inside[s, i]


@compiled
def add_forms(
    total: FloatArray, inverse: FloatArray, ends: IntArray, local: IntArray, inside: FloatArray
) -> None:
    """Add to `total` (3, n) sums of `inverse` over pairs of a row's leaves.

    The first over pairs whose cells both hold the row, the second over pairs of one such leaf and
    any leaf, the third over all pairs. `local` (T, n) are the leaves of n rows in T trees, counted
    within each tree; `inside` (T, n) is 1 where the leaf's cell holds the row, else 0; the leaves
    of tree t are ends[t] to ends[t + 1] in `inverse`.
    """
    trees, n = local.shape
    row = np.empty((2, n))
    for s in range(trees):
        row[:] = 0.0
        of_s = local[s]
        for t in range(s + 1):
            block, width = _block(inverse, ends, s, t), ends[t + 1] - ends[t]
            of_t, filled = local[t], inside[t]
            for i in range(n):
                entry = block[of_s[i] * width + of_t[i]]
                row[0, i] += entry
                row[1, i] += entry * filled[i]
        for i in range(n):
            held = inside[s, i]
            total[0, i] += row[1, i] * held
            total[1, i] += (row[0, i] * held + row[1, i]) / 2
            total[2, i] += row[0, i]


@compiled
def _extremes(
    leaf: IntArray, numbers: FloatArray, lowest: FloatArray, highest: FloatArray, gaps: IntArray
) -> None:
    n, trees = leaf.shape
    for i in range(n):
        for t in range(trees):
            at = leaf[i, t]
            for j in range(numbers.shape[1]):
                value = numbers[i, j]
                if np.isnan(value):
                    gaps[at, j] += 1
                    continue
                if value < lowest[at, 0, j]:
                    lowest[at, 1, j] = lowest[at, 0, j]
                    lowest[at, 0, j] = value
                elif value < lowest[at, 1, j]:
                    lowest[at, 1, j] = value
                if value > highest[at, 0, j]:
                    highest[at, 1, j] = highest[at, 0, j]
                    highest[at, 0, j] = value
                elif value > highest[at, 1, j]:
                    highest[at, 1, j] = value


@compiled
def _empty(
    leaf: IntArray,
    numbers: FloatArray,
    words: IntArray,
    low: FloatArray,
    high: FloatArray,
    gaps: IntArray,
    counts: ByteArray,
    most: int,
) -> BoolArray:
    n, trees = leaf.shape
    out = np.zeros((n, trees), dtype=np.bool_)
    for i in range(n):
        for t in range(trees):
            at = leaf[i, t]
            for j in range(numbers.shape[1]):
                value = numbers[i, j]
                if np.isnan(value):
                    out[i, t] |= gaps[at, j] <= most
                elif not (low[at, j] <= value <= high[at, j]):
                    out[i, t] = True
                    break
            for j in range(words.shape[1]):
                code = words[i, j]
                if code < 0 or counts[at, code] <= most:
                    out[i, t] = True
                    break
    return out


def count_numbers(cells: Cells, leaf: IntArray, numbers: FloatArray) -> None:
    """Add the numbers (n, q) of training rows in leaves (n, T) to `cells`, in place."""
    _extremes(leaf, numbers, cells.lowest, cells.highest, cells.gaps)


def empty(cells: Cells, leaf: IntArray, columns: Columns, most: int) -> BoolArray:
    """Whether each row is outside the cell of its leaf in each tree: (n, T).

    `most` is 1 for training rows, each compared with the cells of the others, and 0 for new rows.
    """
    low = np.ascontiguousarray(cells.lowest[:, most])
    high = np.ascontiguousarray(cells.highest[:, most])
    rows = columns.numbers, columns.words
    outside: BoolArray = _empty(leaf, *rows, low, high, cells.gaps, cells.words, most)
    return outside
