"""A bounded uniform sample of the rows seen so far. Samples add."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt

from pnml.core.arrays import FloatArray
from pnml.core.conditions import COUNT, IN_ORDER, SHARE

_MOST_ROWS, _FEWEST_ROWS, _MOST_NUMBERS = 4096, 256, 2**22
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ by the golden ratio


def sample_size(width: int) -> int:
    """Number of rows to keep in a sample: 4096, or fewer if they would take over 32 MiB.

    `width` is the number of cells of a row; at least 256 rows are kept.
    """
    return int(np.clip(_MOST_NUMBERS // max(width, 1), _FEWEST_ROWS, _MOST_ROWS))


def smallest(keys: FloatArray, size: int) -> npt.NDArray[np.intp]:
    """Indices, ascending, of the `size` smallest keys, whose rows make a sample. Eq. (G4).

    >>> smallest(np.array([0.3, 0.9, 0.1]), 2)
    array([0, 2])
    """
    if len(keys) <= size:
        return np.arange(len(keys))
    return np.sort(np.argpartition(keys, size - 1)[:size])


def row_keys(X: FloatArray, seen: int = 0, block: int = 0) -> FloatArray:
    """Sampling key (n,) from 0 to 1 of each row; the smallest keys make a uniform sample. Eq. (G4).

    A key depends on the row's number (`seen` rows came before these) and its cells alone, so that
    the sample of a stream does not depend on how it is cut into batches. `block` is a number unique
    to rows that are counted apart from others, so that equal blocks draw different keys.

    >>> X = np.arange(6.0).reshape(3, 2)
    >>> bool(np.all(row_keys(X)[1:] == row_keys(X[1:], seen=1)))
    True
    """
    number = np.arange(len(X), dtype=np.uint64) + np.uint64(seen % 2**64)
    if block:
        number += _mixed(np.array([block % 2**64], dtype=np.uint64))
    exact = np.float32 if X.dtype == np.float32 else np.float64
    bits = X.astype(exact, copy=False).view(np.uint32 if exact is np.float32 else np.uint64)
    # a sum of bits: zeros add nothing, so that columns may be added or exchanged on the way
    keys = _mixed(number * _GOLDEN + bits.sum(axis=1, dtype=np.uint64))
    return np.asarray(keys >> np.uint64(11), dtype=np.float64) * 2.0**-53


def _mixed(z: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Numbers whose every bit depends on all bits of z, as in the generator SplitMix64."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
    return z ^ (z >> np.uint64(31))


@dataclass(frozen=True)
class RowSample:
    """Sample of at most `size` rows, uniform over all rows that were seen. Eq. (G4).

    Every row draws one uniform key; the rows with the smallest keys stay. The smallest keys of a
    union are among the smallest keys of its parts, so samples merge without loss.

    >>> rows = np.arange(6.0).reshape(3, 2)
    >>> one, two = (RowSample.of(rows, row_keys(rows, block=b), size=2) for b in (1, 2))
    >>> both = one + two
    >>> both.rows.shape
    (2, 2)
    """

    keys: Annotated[FloatArray, "m", IN_ORDER]  # sorted
    rows: Annotated[FloatArray, "m w"]
    size: Annotated[int, COUNT]
    bound: Annotated[float, SHARE] = 1.0  # rows with larger keys may have been discarded

    @classmethod
    def of(cls, rows: FloatArray, keys: FloatArray, size: int, below: float = 1.0) -> RowSample:
        """The sample of the `size` rows with the smallest keys; rows is (n, w), keys is (n,).

        Rows with keys of `below` or more cannot enter.
        """
        wanted = np.flatnonzero(keys < below)
        wanted = wanted[smallest(keys[wanted], size)]
        wanted = wanted[np.argsort(keys[wanted])]
        bound = float(keys[wanted[-1]]) if len(wanted) == size < len(rows) else below
        return cls(keys[wanted], rows[wanted], size, bound)

    @property
    def threshold(self) -> float:
        """Key from which on rows stay out: a row with this key or a larger one does not enter."""
        return min(float(self.keys[-1]), self.bound) if len(self.keys) == self.size else self.bound

    def __add__(self, other: RowSample) -> RowSample:
        """Sample of the union of the rows of both."""
        size, bound = min(self.size, other.size), min(self.threshold, other.threshold)
        unchanged = not len(other.keys) and (size, bound) == (self.size, self.threshold)
        if unchanged and not np.any(self.keys > bound):  # most batches of a long stream: no copy
            return RowSample(self.keys, self.rows, size, bound)
        keys = np.concatenate([self.keys, other.keys])
        first = np.argsort(keys, kind="stable")[:size]
        first = first[keys[first] <= bound]  # above it, one of the parts has discarded rows
        rows = np.concatenate([self.rows, other.rows])[first]
        return RowSample(keys[first], rows, size, bound)

    def __sub__(self, other: RowSample) -> RowSample:
        """Sample without the rows of `other`: equal rows cancel one for one."""
        leaving = Counter(row.tobytes() for row in other.rows)
        stays = np.ones(len(self.rows), dtype=bool)
        for i, row in enumerate(self.rows):
            key = row.tobytes()
            if leaving[key] > 0:
                leaving[key] -= 1
                stays[i] = False
        return RowSample(self.keys[stays], self.rows[stays], self.size, self.threshold)
