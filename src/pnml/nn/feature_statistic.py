"""Statistic of training features, built from batches of any size in large products."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg.blas import dsyrk

from pnml.core.arrays import EPS, FloatArray
from pnml.core.statistic.gram import Gram
from pnml.core.statistic.row_sample import RowSample, sample_size
from pnml.errors import InputError
from pnml.nn.feature_regions import IntArray, Regions, RegionSums
from pnml.nn.feature_rows import RowForm

# Rows are collected in a block of about this many numbers, 1 MiB, which stays in cache.
_BLOCK_NUMBERS = 2**17
# Rows in the sample: enough for a quantile, few enough to travel with the weights.
_MOST_SAMPLED = 2048
# Rows that enter the sample for each one that stays, where their total is known beforehand.
_MARGIN = 1.25


@dataclass(frozen=True)
class FeatureStatistic:
    """Statistic of training features, all that is kept of them; two statistics add by `+`.

    Features become rows of w columns as `form` says: `xx` (w, w) is the sum of their outer
    products, about the mean of each region or else the origin; `energy` the sum of the squared
    norms of features, `sample` a uniform sample of rows, `regions` the counts and means by
    predicted class. Without regions the statistic is that of Eq. (F10), with regions that of
    Eq. (F14).
    """

    form: RowForm
    rows: int
    xx: FloatArray  # (w, w)  Σ xxᵀ, about the means of the regions or else about the origin
    energy: float  # Σ of the squared norms of the features
    sample: RowSample  # columns: row, norm of its features, region if there are any
    regions: Regions  # without any classes if rows have no regions

    @classmethod
    def empty(cls, form: RowForm) -> FeatureStatistic:
        """The statistic of no rows: the neutral element of +."""
        width, size = form.width, min(sample_size(form.width), _MOST_SAMPLED)
        sample = RowSample(np.zeros(0), np.zeros((0, width + 1 + (form.regions > 0))), size)
        regions = Regions.empty(form.regions, width)
        return cls(form, 0, np.zeros((width, width)), 0.0, sample, regions)

    @property
    def feature_moments(self) -> FloatArray:
        """Sum of the outer products of features and bias column, about the origin: a matrix.

        It leaves out the column of norms, and does not depend on regions.
        """
        width = self.form.features + self.form.bias
        moments: FloatArray = (self.xx + self.regions.second_moment())[:width, :width]
        return moments

    @property
    def gram(self) -> Gram:
        """The feature moments as a Gram (the statistic of least squares), without targets."""
        moments = self.feature_moments
        return gram_of(moments, np.zeros(len(moments)), self.rows)

    def __add__(self, other: FeatureStatistic) -> FeatureStatistic:
        """The statistic of the rows of both."""
        if self.form != other.form:
            raise InputError(
                f"Rows of {other.form} cannot be counted with rows of {self.form}; use the same "
                "network and the same settings for both."
            )
        regions, between = self.regions.merged(other.regions)
        return FeatureStatistic(
            self.form,
            self.rows + other.rows,
            self.xx + other.xx + between,
            self.energy + other.energy,
            self.sample + other.sample,
            regions,
        )


class StatisticBuilder:
    """Accumulates a feature statistic batch by batch; the size of batches makes no difference.

    `start` is the statistic to add to, `coming` the number of rows to come, or 0 if unknown.
    """

    def __init__(self, start: FeatureStatistic, coming: int = 0) -> None:
        form = start.form
        self.form, self._rows = form, start.rows
        self._xx = np.array(start.xx, order="F")  # only the upper triangle is used
        self._energy = start.energy
        self._reservoir = Reservoir(start.sample, coming)
        self._regions = RegionSums(start.regions)
        self._block = np.empty((max(64, _BLOCK_NUMBERS // form.width), form.width))
        self._norms = np.empty(len(self._block))
        self._labels = np.zeros(len(self._block), dtype=np.int64)
        self._waiting = 0  # rows in the block

    def add(
        self, features: npt.NDArray[np.floating], name: str, labels: IntArray | None = None
    ) -> None:
        """Add features (n, d), and their regions `labels` (n,) or None; errors call them `name`."""
        done = 0
        while done < len(features):
            room = slice(self._waiting, self._waiting + len(features) - done)
            rows = self._block[room]
            norms = self.form.write(features[done : done + len(rows)], rows)
            _refuse_nonfinite(norms, name, done)
            self._norms[room] = norms
            if labels is not None:
                self._labels[room] = labels[done : done + len(rows)]
            done += len(rows)
            self._waiting += len(rows)
            if self._waiting == len(self._block):
                self._flush()

    def total(self) -> FeatureStatistic:
        """The statistic of all rows so far."""
        if self._waiting:
            self._flush()
        regions, shifted = self._regions.total()
        upper = np.triu(self._xx)
        if len(shifted):
            upper = np.triu(dsyrk(-1.0, shifted.T, beta=1.0, c=self._xx))
        return FeatureStatistic(
            self.form,
            self._rows,
            upper + np.triu(upper, 1).T,
            self._energy,
            self._reservoir.sample(),
            regions,
        )

    def _flush(self) -> None:
        used = slice(self._waiting)
        rows, norms, labels = self._block[used], self._norms[used], self._labels[used]
        tail = [norms, labels] if self.form.regions else [norms]
        self._reservoir.add(rows, np.column_stack(tail), self._rows)
        self._energy += float(norms @ norms)
        self._rows += len(rows)
        self._waiting = 0
        if self.form.regions:
            if self.form.needs_direction and not norms.all():  # zeros are in no region
                rows, labels = rows[norms > 0], labels[norms > 0]
            self._regions.centre(rows, labels)
        # XᵀX is added in place by a symmetric product, which costs half of a general one
        self._xx = dsyrk(1.0, rows.T, beta=1.0, c=self._xx, overwrite_c=1)


class Reservoir:
    """Draws a uniform sample of feature rows from a stream, with their norms and regions.

    `start` is the sample so far. If the number of rows that are `coming` is known (else 0), rows
    that would not stay in the sample are skipped at once.
    """

    def __init__(self, start: RowSample, coming: int) -> None:
        self._size, self._used = start.size, len(start.keys)
        self._keys = np.empty(2 * start.size)
        self._rows = np.empty((2 * start.size, start.rows.shape[1]))
        self._keys[: self._used], self._rows[: self._used] = start.keys, start.rows
        enough = _MARGIN * start.size / max(coming, 1)
        self._below = min(start.threshold, enough)  # rows with keys from here up are discarded
        self._random: np.random.Generator | None = None

    def add(self, rows: FloatArray, tail: FloatArray, seen: int) -> None:
        """Sample from more rows (n, w), after `seen` rows that came before them. Eq. (G4).

        `tail` (n, 1) holds the norm of the features of each row; with regions, (n, 2), the region.
        """
        if self._random is None:  # seeded by the rows: the same stream gives the same sample
            self._random = np.random.default_rng([seen, *tail[:4, 0].copy().view(np.uint64)])
        w = rows.shape[1]
        keys = self._random.random(len(rows))
        entering = (keys < self._below).nonzero()[0]
        while len(entering):
            now = entering[: len(self._keys) - self._used]
            room = slice(self._used, self._used + len(now))
            self._keys[room] = keys[now]
            self._rows[room, :w], self._rows[room, w:] = rows[now], tail[now]
            self._used = room.stop
            entering = entering[len(now) :]
            if self._used == len(self._keys):
                self._discard()
                entering = entering[keys[entering] < self._below]

    def sample(self) -> RowSample:
        """The sample of all rows so far."""
        order = np.argsort(self._keys[: self._used])
        order = order[self._keys[order] < self._below]  # this applies to rows of `start` too
        bound = self._below if len(order) <= self._size else float(self._keys[order[self._size]])
        first = order[: self._size]
        return RowSample(self._keys[first], self._rows[first], self._size, bound)

    def _discard(self) -> None:
        """Keep the rows with the smallest keys."""
        kept = self.sample()
        self._used, self._below = len(kept.keys), kept.bound
        self._keys[: self._used], self._rows[: self._used] = kept.keys, kept.rows


def gram_of(scatter: FloatArray, mean: FloatArray, rows: int) -> Gram:
    """A Gram (the statistic of least squares) of so many rows, without targets or sample.

    `scatter` (w, w) is the sum of the outer products of the rows about their mean (w,).
    """
    width = len(mean)
    return Gram(
        rows=rows,
        weight=float(rows),
        x_mean=mean,
        y_mean=np.zeros(0),
        rounding=EPS,
        whole=True,
        xx=scatter,
        xy=np.zeros((width, 0)),
        yy=np.zeros((0, 0)),
        sample=RowSample(np.zeros(0), np.zeros((0, width + 1)), 0),
    )


def _refuse_nonfinite(norms: FloatArray, name: str, before: int) -> None:
    finite = np.isfinite(norms)
    if not finite.all():
        raise InputError(
            f"{name} gives features that are NaN or infinite, first in row "
            f"{before + int(np.argmin(finite))}; check those inputs, or run the network in a wider "
            "dtype."
        )
