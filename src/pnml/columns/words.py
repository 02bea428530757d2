"""A column of words as codes into its distinct words."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Words:
    """Distinct words of a column, and which of them each cell holds; −1 for a gap."""

    codes: IntArray  # (n,)
    levels: tuple[str, ...]

    @classmethod
    def of(cls, cells: Iterable[str | None]) -> Words:
        """Codes and distinct words of cells that are text, or None for a gap.

        >>> Words.of(["b", None, "a", "b"])
        Words(codes=array([ 0, -1,  1,  0]), levels=('b', 'a'))
        """
        cells = list(cells)
        distinct = dict.fromkeys(cells)
        distinct.pop(None, None)
        place = {word: i for i, word in enumerate(distinct)}
        codes = np.fromiter(map(place.get, cells, repeat(-1)), np.int64, len(cells))
        return cls(codes, tuple(str(word) for word in distinct))

    @classmethod
    def of_values(cls, values: npt.NDArray[Any]) -> Words:
        """Codes and distinct words of numbers or truth values (n,); NaN is a gap."""
        distinct, codes = np.unique(values, return_inverse=True)
        gap = distinct != distinct
        levels = tuple(word_of(value) for value in distinct[~gap].tolist())
        return cls(np.where(gap[codes], -1, codes).astype(np.int64), levels)  # NaN sorts last

    @property
    def gaps(self) -> BoolArray:
        """Whether each cell is without a word, (n,)."""
        return self.codes < 0

    @property
    def cells(self) -> npt.NDArray[np.object_]:
        """The words (n,) themselves, None for gaps."""
        return np.array([*self.levels, None], dtype=object)[self.codes]

    def __getitem__(self, rows: BoolArray) -> Words:
        return Words(self.codes[rows], self.levels)


def word_of(cell: Any) -> str:
    """A cell of any kind as a word; equal numbers give one word.

    >>> word_of("3"), word_of(3), word_of(3.0), word_of(2.5), word_of(True)
    ('3', '3', '3', '2.5', 'True')
    """
    if isinstance(cell, bool | np.bool_):
        return str(bool(cell))
    if isinstance(cell, float | np.floating | Decimal):
        whole = math.isfinite(cell) and cell == int(cell)
        return str(int(cell)) if whole else repr(float(cell))
    return str(cell)
