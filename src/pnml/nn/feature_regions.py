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
    """Counts and means of feature rows by region: by the class the network predicts. Eq. (F14).

    `ids` (k,) are the regions with rows, with `counts` (k,) and `means` (k, w) of their rows of w
    columns; `classes` is the number of all regions, 0 if rows are not grouped.
    """

    classes: int  # number of regions, with and without rows
    ids: IntArray  # (k,)  regions with rows, in increasing order
    counts: FloatArray  # (k,)
    means: FloatArray  # (k, w)

    @classmethod
    def empty(cls, classes: int, width: int) -> Regions:
        """Regions without rows: so many classes, for rows of so many columns."""
        return cls(classes, np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros((0, width)))

    @cached_property
    def slots(self) -> IntArray:
        """Position (classes,) of each region in `ids`; len(ids) for a region without rows."""
        slots = np.full(self.classes, len(self.ids))
        slots[self.ids] = np.arange(len(self.ids))
        return slots

    @cached_property
    def mean(self) -> FloatArray:
        """Mean m₀ (w,) of all rows of all regions; zeros if there are no rows."""
        return self.counts @ self.means / max(float(self.counts.sum()), 1.0)

    @cached_property
    def shares(self) -> FloatArray:
        """Part (k+1,) of the leverage that all rows of a region have; last, of an empty region.

        It is the leverage 1/(n + δ) of the region's own constant, with n rows and penalty δ = 1.
        """
        return 1.0 / (np.append(self.counts, 0.0) + DELTA)

    @cached_property
    def centres(self) -> FloatArray:
        """Centres (k+1, w) to subtract from rows of each region; last, of an empty one. Eq. (F13).

        A centre is the mean of the region, drawn towards the mean of all rows if it has few rows.
        """
        kept = self.counts * self.shares[:-1]
        return np.vstack([self.mean + kept[:, None] * (self.means - self.mean), self.mean])

    def between(self) -> FloatArray:
        """Matrix (w, w) to add to the scatter of rows about their region's mean. Eq. (F14).

        The sum is the scatter that leverages need, as the constant of each region is penalised.
        """
        weights = np.sqrt(DELTA * self.counts * self.shares[:-1])
        rows = weights[:, None] * (self.means - self.mean)
        return rows.T @ rows

    def second_moment(self) -> FloatArray:
        """Matrix (w, w) to add to the scatter of rows about their region's mean.

        With it the scatter is about the origin: the sum of the outer products of all rows.
        """
        rows = np.sqrt(self.counts)[:, None] * self.means
        return rows.T @ rows

    def moved_to(self, ids: IntArray) -> tuple[FloatArray, FloatArray]:
        """Counts (K,) and means (K, w) at K regions, with zeros for regions without rows.

        `ids` (K,) are those regions, in increasing order; all regions with rows are among them.
        """
        at = np.searchsorted(ids, self.ids)
        counts, means = np.zeros(len(ids)), np.zeros((len(ids), self.means.shape[1]))
        counts[at], means[at] = self.counts, self.means
        return counts, means

    def merged(self, other: Regions) -> tuple[Regions, FloatArray]:
        """The regions of the rows of both, and a matrix (w, w) for their scatters. Eq. (F14).

        Scatters are about the means of regions, which differ: the scatter of all rows is the sum of
        both scatters and this matrix.
        """
        ids = np.union1d(self.ids, other.ids)
        (n, a), (m, b) = self.moved_to(ids), other.moved_to(ids)
        total = n + m
        gap = b - a
        means = a + (m / total)[:, None] * gap
        rows = np.sqrt(n * m / total)[:, None] * gap
        return Regions(self.classes, ids, total, means), rows.T @ rows


class RegionSums:
    """Accumulates counts and means of rows by region, batch by batch, without loss of digits.

    Sums are about a shift near the mean of each region: the mean of the rows in `start`, or the
    first row. Eq. (F14). Memory grows with the regions that have rows, not with the number of
    classes.
    """

    def __init__(self, start: Regions) -> None:
        self._start = start
        self._slots = np.where(start.slots < len(start.ids), start.slots, -1)
        self._used = len(start.ids)
        self._ids, self._before = start.ids.copy(), start.counts.copy()
        self._shifts = start.means.copy()
        self._counts, self._sums = np.zeros(self._used), np.zeros_like(start.means)

    def centre(self, rows: FloatArray, labels: IntArray) -> None:
        """Count rows (n, w) of regions `labels` (n,), and subtract each region's shift in place."""
        self._open(rows, labels)
        slots = self._slots[labels]
        rows -= self._shifts[slots]
        at = torch.from_numpy(slots)  # torch adds rows at places many times quicker than numpy
        torch.from_numpy(self._sums).index_add_(0, at, torch.from_numpy(rows))
        torch.from_numpy(self._counts).index_add_(0, at, torch.ones(len(at), dtype=torch.float64))

    def total(self) -> tuple[Regions, FloatArray]:
        """The regions of all rows, and a correction R (k, w) for the scatter about the shifts.

        The scatter about the means of the regions is that about their shifts, minus RᵀR.
        """
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
