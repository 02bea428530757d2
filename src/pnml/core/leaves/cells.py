"""Cells: leaves of frozen trees cut to the training rows in them, column by column.

A row far from all training rows falls into some leaf all the same. It is inside that leaf's cell
only if each of its values lies between the smallest and the largest value of the leaf's training
rows, a word is one of theirs, and a gap is one that they have. Cells add up over chunks of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Annotated

import numpy as np
import numpy.typing as npt

from pnml.core.arrays import FloatArray
from pnml.core.conditions import COUNT, NOT_NAN

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
ByteArray = npt.NDArray[np.uint8]

_BLOCK_NUMBERS = 2**21


@dataclass(frozen=True)
class Columns:
    """Rows to compare with cells of leaves: columns of numbers (n, q) and of word codes (n, c).

    The cell of a leaf is what its training rows cover, column by column. A code is the place of the
    word among all words of all columns; −1 is a word unseen in training. A gap in a column of words
    is a word of its own.
    """

    numbers: FloatArray  # (n, q)
    words: IntArray  # (n, c)

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def count(self) -> int:
        """Number of columns: q of numbers plus c of words."""
        return int(self.numbers.shape[1] + self.words.shape[1])

    def __getitem__(self, rows: slice | IntArray | BoolArray) -> Columns:
        return Columns(self.numbers[rows], self.words[rows])


@dataclass(frozen=True)
class Cells:
    """Cells of D leaves: extremes, gaps and words of the training rows in each. Eq. (T13).

    A row is inside the cell of its leaf if its numbers lie between the extremes and training rows
    of the leaf have its words and gaps. The two smallest and two largest numbers are kept, so that
    a row can be left out; q columns of numbers, W words. Cells of chunks of rows add.
    """

    lowest: Annotated[
        FloatArray, "D two q", NOT_NAN
    ]  # smallest numbers; +inf where there are fewer
    highest: Annotated[
        FloatArray, "D two q", NOT_NAN
    ]  # largest numbers; −inf where there are fewer
    gaps: Annotated[IntArray, "D q", COUNT]  # rows without a number
    words: Annotated[ByteArray, "D W"]  # rows with each word: 0, 1, or 2 for more

    @classmethod
    def of(cls, leaf: IntArray, columns: Columns, leaves: int, words: int) -> Cells:
        """Cells of training rows that fall in leaves `leaf` (n, T) of T trees.

        Leaves are counted from 0 to `leaves` − 1 over all trees; `words` is the number of word
        codes.
        """
        q = columns.numbers.shape[1]
        cells = cls(
            np.full((leaves, 2, q), np.inf),
            np.full((leaves, 2, q), -np.inf),
            np.zeros((leaves, q), dtype=np.int64),
            np.zeros((leaves, words), dtype=np.uint8),
        )
        fast = compiled()
        if fast is not None:
            fast.count_numbers(cells, leaf, columns.numbers)
        else:
            for j in range(q):
                cells._count_numbers(leaf, columns.numbers[:, j], j)
        flat = leaf.ravel()
        for column in columns.words.T:
            present = np.repeat(column >= 0, leaf.shape[1])
            place = flat[present] * words + np.repeat(column, leaf.shape[1])[present]
            cells._count_words(place)
        return cells

    def _count_words(self, place: IntArray) -> None:
        """Add rows at these places of the flat counts; of many words most places stay 0."""
        counts = self.words.reshape(-1)
        if counts.size <= len(place):
            counts += np.minimum(np.bincount(place, minlength=counts.size), 2).astype(np.uint8)
            return
        some, times = np.unique(place, return_counts=True)
        counts[some] += np.minimum(times, 2).astype(np.uint8)

    def _count_numbers(self, leaf: IntArray, values: FloatArray, j: int) -> None:
        gap = np.isnan(values)
        self.gaps[:, j] = np.bincount(leaf[gap].ravel(), minlength=len(self.gaps))
        order = np.argsort(values[~gap], kind="stable")
        ascending, rows = values[~gap][order], leaf[~gap][order]
        for tree in rows.T:
            self.lowest[:, :, j] = _two_first(self.lowest[:, :, j], tree, ascending)
            self.highest[:, :, j] = _two_first(self.highest[:, :, j], tree[::-1], ascending[::-1])

    def __add__(self, other: Cells) -> Cells:
        low = np.concatenate([self.lowest, other.lowest], axis=1)
        high = np.concatenate([self.highest, other.highest], axis=1)
        words = self.words + other.words
        return Cells(
            np.sort(low, axis=1)[:, :2],
            -np.sort(-high, axis=1)[:, :2],
            self.gaps + other.gaps,
            np.minimum(words, 2, out=words),
        )

    def empty(self, leaf: IntArray, columns: Columns, *, left_out: bool = False) -> BoolArray:
        """Whether each row is outside the cell of its leaf in each tree: (n, T).

        `left_out`: the rows are training rows, each compared with the cells of the others.
        """
        fast = compiled()
        if fast is not None:
            outside: BoolArray = fast.empty(self, leaf, columns, int(left_out))
            return outside
        step = max(1, _BLOCK_NUMBERS // max(1, leaf.shape[1] * columns.count))
        parts = [slice(start, start + step) for start in range(0, len(leaf), step)]
        blocks = [self.outside(leaf[p], columns[p], left_out=left_out) for p in parts]
        return np.concatenate([np.any(block, axis=2) for block in blocks])

    def outside(self, leaf: IntArray, columns: Columns, *, left_out: bool = False) -> BoolArray:
        """Whether each column puts each row outside its cell, tree by tree: (n, T, q + c).

        The q columns of numbers come first, then the c columns of words. `left_out`: the rows are
        training rows, each compared with the cells of the others; a row that occurs more than once
        stays inside its cells.
        """
        most = int(left_out)  # a training row does not count for its own values
        numbers = columns.numbers[:, None, :]
        low, high = self.lowest[leaf, most], self.highest[leaf, most]
        with np.errstate(invalid="ignore"):
            beyond = ~((numbers >= low) & (numbers <= high))
        beyond = np.where(np.isnan(numbers), self.gaps[leaf] <= most, beyond)
        codes = np.maximum(columns.words, 0)[:, None, :]
        strange = self.words[leaf[:, :, None], codes] <= most
        strange |= columns.words[:, None, :] < 0
        return np.concatenate([beyond, strange], axis=2)


@cache
def compiled() -> ModuleType | None:
    """The module of compiled loops over cells where numba is installed; None where it is not."""
    if find_spec("numba") is None:
        return None
    return import_module("pnml.core.leaves.compiled")


def _two_first(current: FloatArray, leaf: IntArray, values: FloatArray) -> FloatArray:
    """The first two values of each leaf in order, where a leaf of this tree has them."""
    out = current.copy()
    leaves, first = np.unique(leaf, return_index=True)
    out[leaves, 0] = values[first]
    rest = np.ones(len(leaf), dtype=bool)
    rest[first] = False
    leaves, second = np.unique(leaf[rest], return_index=True)
    out[leaves, 1] = values[rest][second]
    return out
