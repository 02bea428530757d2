"""Regions of features: the rows of each predicted class, counted about a centre of their own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import torch

from pnml.core.arrays import FloatArray

IntArray = npt.NDArray[np.int64]

# The penalty δ of a region's own constant: one row's worth. Eq. (F13).
DELTA = 1.0


@dataclass(frozen=True)
class Regions:
    """Counts and means of feature rows by region, of the regions that have rows. Eq. (F14)."""

    classes: int  # number of regions, with and without rows
    ids: IntArray  # (k,)  regions with rows, in increasing order
    counts: FloatArray  # (k,)
    means: FloatArray  # (k, w)

    @classmethod
    def empty(cls, classes: int, width: int) -> Regions:
        """The regions of no rows."""
        return cls(classes, np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros((0, width)))

    @cached_property
    def slots(self) -> IntArray:
        """Position (classes,) of each region in `ids`; k for a region without rows."""
        slots = np.full(self.classes, len(self.ids))
        slots[self.ids] = np.arange(len(self.ids))
        return slots

    @cached_property
    def mean(self) -> FloatArray:
        """Mean row m₀ (w,) of all regions; zeros without rows."""
        return self.counts @ self.means / max(float(self.counts.sum()), 1.0)

    @cached_property
    def shares(self) -> FloatArray:
        """Leverage 1/(n + δ) of the constant of each region, (k+1,); last, of an empty one."""
        return 1.0 / (np.append(self.counts, 0.0) + DELTA)

    @cached_property
    def centres(self) -> FloatArray:
        """Centres (k+1, w), which a row's v is taken from; last, of an empty one. Eq. (F13)."""
        kept = self.counts * self.shares[:-1]
        return np.vstack([self.mean + kept[:, None] * (self.means - self.mean), self.mean])

    def between(self) -> FloatArray:
        """What the centres add to the scatter within regions, (w, w). Eq. (F14)."""
        weights = np.sqrt(DELTA * self.counts * self.shares[:-1])
        rows = weights[:, None] * (self.means - self.mean)
        return rows.T @ rows

    def second_moment(self) -> FloatArray:
        """What the means add to the scatter for the sum of outer products about the origin."""
        rows = np.sqrt(self.counts)[:, None] * self.means
        return rows.T @ rows

    def moved_to(self, ids: IntArray) -> tuple[FloatArray, FloatArray]:
        """Counts and means at more regions, with zeros where there are no rows."""
        at = np.searchsorted(ids, self.ids)
        counts, means = np.zeros(len(ids)), np.zeros((len(ids), self.means.shape[1]))
        counts[at], means[at] = self.counts, self.means
        return counts, means

    def merged(self, other: Regions) -> tuple[Regions, FloatArray]:
        """The regions of the rows of both, and what their scatters lack in sum. Eq. (F14)."""
        ids = np.union1d(self.ids, other.ids)
        (n, a), (m, b) = self.moved_to(ids), other.moved_to(ids)
        total = n + m
        gap = b - a
        means = a + (m / total)[:, None] * gap
        rows = np.sqrt(n * m / total)[:, None] * gap
        return Regions(self.classes, ids, total, means), rows.T @ rows


class RegionSums:
    """Sums of rows by region, about a shift near the mean of each: no digits are lost.

    The shift is the mean of earlier rows, or the first row. Eq. (F14). Memory grows with the
    regions that have rows, not with the number of classes.
    """

    def __init__(self, start: Regions) -> None:
        self._start = start
        self._slots = np.where(start.slots < len(start.ids), start.slots, -1)
        self._used = len(start.ids)
        self._ids, self._before = start.ids.copy(), start.counts.copy()
        self._shifts = start.means.copy()
        self._counts, self._sums = np.zeros(self._used), np.zeros_like(start.means)

    def centre(self, rows: FloatArray, labels: IntArray) -> None:
        """Count rows (n, w) of these regions, and take their shifts from them in place."""
        self._open(rows, labels)
        slots = self._slots[labels]
        rows -= self._shifts[slots]
        at = torch.from_numpy(slots)  # torch adds rows at places many times quicker than numpy
        torch.from_numpy(self._sums).index_add_(0, at, torch.from_numpy(rows))
        torch.from_numpy(self._counts).index_add_(0, at, torch.ones(len(at), dtype=torch.float64))

    def total(self) -> tuple[Regions, FloatArray]:
        """The regions of all rows, and rows (k, w) whose squares the shifts left in the scatter."""
        used = slice(self._used)
        counts, sums = self._before[used] + self._counts[used], self._sums[used]
        means = self._shifts[used] + sums / counts[:, None]
        order = np.argsort(self._ids[used])
        regions = Regions(self._start.classes, self._ids[used][order], counts[order], means[order])
        return regions, sums / np.sqrt(counts)[:, None]

    def _open(self, rows: FloatArray, labels: IntArray) -> None:
        """Make room for regions that are seen for the first time; their shift is the first row."""
        unknown = np.flatnonzero(self._slots[labels] < 0)
        if not len(unknown):
            return
        ids, first = np.unique(labels[unknown], return_index=True)
        room = slice(self._used, self._used + len(ids))
        if room.stop > len(self._ids):
            size = min(max(2 * len(self._ids), room.stop, 16), self._start.classes)
            for name in ("_ids", "_before", "_shifts", "_counts", "_sums"):
                old = getattr(self, name)
                new = np.zeros((size, *old.shape[1:]), dtype=old.dtype)
                new[: len(old)] = old
                setattr(self, name, new)
        self._ids[room], self._shifts[room] = ids, rows[unknown[first]]
        self._slots[ids] = np.arange(room.start, room.stop)
        self._used = room.stop
