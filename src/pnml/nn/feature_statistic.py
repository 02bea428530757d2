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
from pnml.nn.feature_rows import RowForm

# Rows are collected in a block of about this many numbers, 1 MiB, which stays in cache.
_BLOCK_NUMBERS = 2**17
# Rows in the sample: enough for a quantile, few enough to travel with the weights.
_MOST_SAMPLED = 2048
# Rows that enter the sample for each one that stays, where their total is known beforehand.
_MARGIN = 1.25


@dataclass(frozen=True)
class FeatureStatistic:
    """Statistic of training features, all that is remembered of them; they add. Eq. (F10)."""

    form: RowForm
    rows: int
    xx: FloatArray  # (w, w)  Σ xxᵀ about the origin: features are not centred
    energy: float  # Σ of the squared norms of the features
    sample: RowSample  # columns: row, norm of its features

    @classmethod
    def empty(cls, form: RowForm) -> FeatureStatistic:
        """The statistic of no rows: the neutral element of +."""
        size = min(sample_size(form.width), _MOST_SAMPLED)
        sample = RowSample(np.zeros(0), np.zeros((0, form.width + 1)), size)
        return cls(form, 0, np.zeros((form.width, form.width)), 0.0, sample)

    @property
    def total_energy(self) -> float:
        """Σ of the squared norms of the rows: the trace of `xx`."""
        return float(np.trace(self.xx))

    @property
    def gram(self) -> Gram:
        """The same rows as a Gram without targets or sample."""
        width = self.form.width
        none = RowSample(np.zeros(0), np.zeros((0, width + 1)), 0)
        return Gram(
            rows=self.rows,
            weight=float(self.rows),
            x_mean=np.zeros(width),
            y_mean=np.zeros(0),
            rounding=EPS,
            whole=True,
            xx=self.xx,
            xy=np.zeros((width, 0)),
            yy=np.zeros((0, 0)),
            sample=none,
        )

    def __add__(self, other: FeatureStatistic) -> FeatureStatistic:
        """The statistic of the rows of both."""
        if self.form != other.form:
            raise InputError(
                f"Rows of {other.form} cannot be counted with rows of {self.form}; use the same "
                "network and the same settings for both."
            )
        return FeatureStatistic(
            self.form,
            self.rows + other.rows,
            self.xx + other.xx,
            self.energy + other.energy,
            self.sample + other.sample,
        )


class StatisticBuilder:
    """Accumulates a feature statistic batch by batch; their size makes no difference."""

    def __init__(self, start: FeatureStatistic, coming: int = 0) -> None:
        form = start.form
        self._form, self._rows = form, start.rows
        self._xx = np.array(start.xx, order="F")  # only the upper triangle is used
        self._energy = start.energy
        self._reservoir = Reservoir(start.sample, coming)
        self._block = np.empty((max(64, _BLOCK_NUMBERS // form.width), form.width))
        self._norms = np.empty(len(self._block))
        self._waiting = 0  # rows in the block

    def add(self, features: npt.NDArray[np.floating], name: str) -> None:
        """Add features (n, d); error messages call them `name`."""
        done = 0
        while done < len(features):
            room = slice(self._waiting, self._waiting + len(features) - done)
            rows = self._block[room]
            norms = self._form.write(features[done : done + len(rows)], rows)
            _refuse_nonfinite(norms, name, done)
            self._norms[room] = norms
            done += len(rows)
            self._waiting += len(rows)
            if self._waiting == len(self._block):
                self._flush()

    def total(self) -> FeatureStatistic:
        """The statistic of all rows so far."""
        if self._waiting:
            self._flush()
        upper = np.triu(self._xx)
        xx = upper + np.triu(upper, 1).T
        return FeatureStatistic(self._form, self._rows, xx, self._energy, self._reservoir.sample())

    def _flush(self) -> None:
        rows, norms = self._block[: self._waiting], self._norms[: self._waiting]
        self._reservoir.add(rows, norms, self._rows)
        # XᵀX is added in place by a symmetric product, which costs half of a general one
        self._xx = dsyrk(1.0, rows.T, beta=1.0, c=self._xx, overwrite_c=1)
        self._energy += float(norms @ norms)
        self._rows += len(rows)
        self._waiting = 0


class Reservoir:
    """Uniform sample of feature rows in a statistic, with their norms, in a buffer.

    If the number of rows that are `coming` is known, rows that cannot stay do not enter.
    """

    def __init__(self, start: RowSample, coming: int) -> None:
        self._size, self._used = start.size, len(start.keys)
        self._keys = np.empty(2 * start.size)
        self._rows = np.empty((2 * start.size, start.rows.shape[1]))
        self._keys[: self._used], self._rows[: self._used] = start.keys, start.rows
        enough = _MARGIN * start.size / max(coming, 1)
        self._below = min(start.threshold, enough)  # rows with keys from here up are discarded
        self._random: np.random.Generator | None = None

    def add(self, rows: FloatArray, norms: FloatArray, seen: int) -> None:
        """Sample from rows (n, w) with norms (n,) that come after `seen` others. Eq. (G4)."""
        if self._random is None:  # seeded by the rows: the same stream gives the same sample
            self._random = np.random.default_rng([seen, *norms[:4].view(np.uint64)])
        keys = self._random.random(len(rows))
        entering = (keys < self._below).nonzero()[0]
        while len(entering):
            now = entering[: len(self._keys) - self._used]
            room = slice(self._used, self._used + len(now))
            self._keys[room] = keys[now]
            self._rows[room, :-1], self._rows[room, -1] = rows[now], norms[now]
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


def _refuse_nonfinite(norms: FloatArray, name: str, before: int) -> None:
    finite = np.isfinite(norms)
    if not finite.all():
        raise InputError(
            f"{name} gives features that are NaN or infinite, first in row "
            f"{before + int(np.argmin(finite))}; check those inputs, or run the network in a wider "
            "dtype."
        )
