"""Inner loops over cells compiled by numba. Imported only where numba is installed."""

from __future__ import annotations

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.core.compilation import compiled
from pnml.core.leaves.cells import BoolArray, Cells, Columns, IntArray


@compiled
def add_pairs(products: FloatArray, ends: IntArray, leaf: IntArray, w: FloatArray) -> None:
    """Add the weight of rows that share two leaves; leaf is (T, n)."""
    trees, n = leaf.shape
    for s in range(trees):
        for t in range(s + 1):
            for i in range(n):
                products[leaf[t, i], leaf[s, i]] += w[i]
        for t in range(s):
            for a in range(ends[s], ends[s + 1]):
                for b in range(ends[t], ends[t + 1]):
                    products[a, b] = products[b, a]


@compiled
def add_forms(total: FloatArray, inverse: FloatArray, leaf: IntArray, inside: FloatArray) -> None:
    """Add the leaves' quadratic forms to total (3, n); leaf and inside are (T, n)."""
    trees, n = leaf.shape
    for s in range(trees):
        for t in range(s + 1):
            times = 1.0 if t == s else 2.0
            for i in range(n):
                entry = times * inverse[leaf[s, i], leaf[t, i]]
                total[0, i] += entry * inside[s, i] * inside[t, i]
                total[1, i] += entry * (inside[s, i] + inside[t, i]) / 2
                total[2, i] += entry


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
    counts: IntArray,
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
    """Add the numbers of rows in leaves (n, T) to cells, in place."""
    _extremes(leaf, numbers, cells.lowest, cells.highest, cells.gaps)


def empty(cells: Cells, leaf: IntArray, columns: Columns, most: int) -> BoolArray:
    """Whether the row is outside the cell of each tree: (n, T)."""
    low = np.ascontiguousarray(cells.lowest[:, most])
    high = np.ascontiguousarray(cells.highest[:, most])
    rows = columns.numbers, columns.words
    outside: BoolArray = _empty(leaf, *rows, low, high, cells.gaps, cells.words, most)
    return outside
