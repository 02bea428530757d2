"""The Gram: the sufficient statistic of least squares. Grams add."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from pnml.core.arrays import EPS, FloatArray
from pnml.core.conditions import COUNT, NOT_NEGATIVE, OF_ROWS
from pnml.core.statistic.row_sample import RowSample, row_keys, sample_size
from pnml.errors import InputError

_BLOCK_ROWS = 1000  # centred copies of this many rows stay in cache
_EQUAL_TERMS = 200.0  # units of round-off observed in a block of equal rows


@dataclass(frozen=True)
class Gram:
    """Gram of rows: their count, means, second moments about the means, and a sample. Eq. (G1).

    The rows have d features and k targets. Moments about the mean keep the digits that raw sums
    lose when a column is far from zero; two Grams add exactly, Eq. (G2), and subtract, Eq. (G3).

    >>> X, y = np.array([[1.0], [2.0], [4.0]]), np.array([1.0, 3.0, 5.0])
    >>> whole, parts = Gram.of(X, y), Gram.of(X[:1], y[:1]) + Gram.of(X[1:], y[1:])
    >>> bool(np.isclose(whole.xx, parts.xx).all()), parts.rows
    (True, 3)
    """

    rows: Annotated[int, COUNT]
    weight: Annotated[
        float, NOT_NEGATIVE
    ]  # sum of the row weights; equals rows when there are none
    x_mean: Annotated[FloatArray, "d", OF_ROWS]
    y_mean: Annotated[FloatArray, "k", OF_ROWS]  # k = 0 when the rows carry no target
    rounding: Annotated[float, NOT_NEGATIVE]  # relative round-off of the rows as they came
    whole: bool  # whether every row counts as at least one copy of itself
    xx: Annotated[FloatArray, "d d"]  # Σ w (x−x̄)(x−x̄)ᵀ
    xy: Annotated[FloatArray, "d k"]
    yy: Annotated[FloatArray, "k k"]
    sample: Annotated[RowSample, "w=d+k+1"]  # columns: features, targets, weight
    # Round-off that subtracting left in the diagonal of xx.
    lost: Annotated[FloatArray, "d", NOT_NEGATIVE] | None = None

    @classmethod
    def of(
        cls,
        X: FloatArray,
        Y: FloatArray | None = None,
        weights: FloatArray | None = None,
        *,
        keep: int | None = None,
        below: float = 1.0,
        seen: int = 0,
        block: int = 0,
        rounding: float = 0.0,
    ) -> Gram:
        """The Gram of rows X (n, d) with targets Y (n,) or (n, k) and weights (n,).

        `keep` is the most rows that its sample holds (None: the default for d columns); rows with
        sampling keys of `below` or more stay out of the sample. `seen` is the number of rows before
        these in a stream, and `block` a number unique to rows that are counted apart from others,
        so that equal blocks draw different keys. `rounding` is the relative round-off of rows that
        were copied to float64 from a shorter type.
        """
        X, Y, weights = counted_rows(X, Y, weights)
        w = np.ones(len(X)) if weights is None else weights
        total = float(w.sum())
        safe = total if total > 0 else 1.0  # no rows, no mean
        x_mean, y_mean = w @ X / safe, w @ Y / safe
        d, k = X.shape[1], Y.shape[1]
        xx, xy, yy = np.zeros((d, d)), np.zeros((d, k)), np.zeros((k, k))
        room = np.empty_like(X[:_BLOCK_ROWS], dtype=float)  # allocation is slow on some systems
        for start in range(0, len(X), _BLOCK_ROWS):
            part = slice(start, start + _BLOCK_ROWS)
            Xc = np.subtract(X[part], x_mean, out=room[: len(X) - start])
            Yc = Y[part] - y_mean
            if weights is not None:
                root = np.sqrt(w[part])[:, None]
                Xc *= root
                Yc = Yc * root
            xx += Xc.T @ Xc  # BLAS computes a symmetric product at half the cost
            xy += Xc.T @ Yc
            yy += Yc.T @ Yc
        sample = sample_rows(X, Y, w, keep, below, seen, block)
        rounding, whole = max(float(np.finfo(X.dtype).eps), rounding), bool(np.all(w >= 1))
        return cls(len(X), total, x_mean, y_mean, rounding, whole, xx, xy, yy, sample)

    @classmethod
    def empty(cls, features: int, targets: int, keep: int | None = None) -> Gram:
        """The Gram of no rows, the neutral element of +; `keep` bounds the rows in its sample."""
        return cls.of(np.zeros((0, features)), np.zeros((0, targets)), keep=keep)

    def plus_rows(
        self, X: FloatArray, Y: FloatArray | None = None, weights: FloatArray | None = None
    ) -> Gram:
        """The Gram with more rows: `self + Gram.of(X, Y, weights)`, with fewer copies.

        Rows that would not stay in the sample are not copied.
        """
        sample = self.sample
        return self + Gram.of(
            X, Y, weights, keep=sample.size, below=sample.threshold, seen=self.rows
        )

    def widened(self, features: int) -> Gram:
        """The Gram of the same rows with new feature columns of 0, `features` in all.

        For a category that comes up late in a stream: all earlier rows have 0 in its column.
        """
        extra = features - len(self.x_mean)
        d, rows = len(self.x_mean), self.sample.rows
        return replace(
            self,
            x_mean=np.pad(self.x_mean, (0, extra)),
            xx=np.pad(self.xx, (0, extra)),
            xy=np.pad(self.xy, ((0, extra), (0, 0))),
            sample=replace(self.sample, rows=np.insert(rows, [d] * extra, 0.0, axis=1)),
            lost=None if self.lost is None else np.pad(self.lost, (0, extra)),
        )

    def scaled(self, factors: FloatArray) -> Gram:
        """The Gram of the same rows in other units: features multiplied by `factors` (d,)."""
        rows = self.sample.rows.copy()
        rows[:, : len(factors)] *= factors
        return replace(
            self,
            x_mean=self.x_mean * factors,
            xx=self.xx * factors * factors[:, None],
            xy=self.xy * factors[:, None],
            sample=replace(self.sample, rows=rows),
            lost=None if self.lost is None else self.lost * factors**2,
        )

    def reweighted(self, factor: float, *, whole: bool) -> Gram:
        """The Gram of the same rows with every weight times `factor`.

        `whole` says whether every new weight is at least 1, so that a row counts as a full copy or
        more.
        """
        rows = self.sample.rows.copy()
        rows[:, -1] *= factor
        return replace(
            self,
            weight=self.weight * factor,
            whole=whole,
            xx=self.xx * factor,
            xy=self.xy * factor,
            yy=self.yy * factor,
            sample=replace(self.sample, rows=rows),
            lost=None if self.lost is None else self.lost * factor,
        )

    def mapped(self, matrix: FloatArray, offset: FloatArray) -> Gram:
        """The Gram of the same rows with features x replaced by matrix @ x + offset. Eq. (B3)."""
        d, rows = len(self.x_mean), self.sample.rows
        moved = np.column_stack([rows[:, :d] @ matrix.T + offset, rows[:, d:]])
        return replace(
            self,
            x_mean=matrix @ self.x_mean + offset,
            xx=matrix @ self.xx @ matrix.T,
            xy=matrix @ self.xy,
            sample=replace(self.sample, rows=moved),
            lost=None if self.lost is None else (np.abs(matrix) @ np.sqrt(self.lost)) ** 2,
        )

    def __add__(self, other: Gram) -> Gram:
        """The Gram of the rows of both. Eq. (G2)."""
        self.check_width(other, "add")
        weight = self.weight + other.weight
        if weight == 0:
            return self
        share = other.weight / weight
        dx, dy = other.x_mean - self.x_mean, other.y_mean - self.y_mean
        pull = self.weight * share
        return replace(
            self.counts_with(other),
            x_mean=self.x_mean + share * dx,
            y_mean=self.y_mean + share * dy,
            xx=self.xx + other.xx + pull * np.outer(dx, dx),
            xy=self.xy + other.xy + pull * np.outer(dx, dy),
            yy=self.yy + other.yy + pull * np.outer(dy, dy),
        )

    def counts_with(self, other: Gram) -> Gram:
        """The Gram with counts, sample and round-off of both, but means and moments of `self`."""
        return replace(
            self,
            rows=self.rows + other.rows,
            weight=self.weight + other.weight,
            rounding=max(self.rounding, other.rounding),
            whole=self.whole and other.whole,
            sample=self.sample + other.sample,
            lost=lost_together(self.lost, other.lost),
        )

    def __sub__(self, other: Gram) -> Gram:
        """Forget the rows of `other`, which must be among those counted here. Eq. (G3).

        The round-off that stays behind is added to `lost`. Eq. (B2).
        """
        self.check_width(other, "subtract")
        weight = self.weight - other.weight
        spare = self.rows - other.rows  # rows of some weight stay, or none of none
        if spare < 0 or (spare > 0 >= weight) or other.weight > self.weight * (1 + 1e-12):
            raise InputError(
                f"Cannot subtract a Gram of {other.rows} rows from a Gram of {self.rows} rows. "
                "Subtract only rows that were added before."
            )
        if len(other.sample.rows) < other.rows:
            raise InputError(
                f"Cannot subtract a Gram of {other.rows} rows that keeps {len(other.sample.rows)} "
                f"of them, for it cannot tell which rows leave the sample; build it with "
                f"keep={other.rows}."
            )
        if other.rows == self.rows:
            return Gram.empty(len(self.x_mean), len(self.y_mean), self.sample.size)
        share = other.weight / weight
        x_mean = self.x_mean - share * (other.x_mean - self.x_mean)
        y_mean = self.y_mean - share * (other.y_mean - self.y_mean)
        dx, dy = other.x_mean - x_mean, other.y_mean - y_mean
        pull = weight * other.weight / self.weight
        # Eq. (B2): sums of the old size, and means that are off by their own round-off
        off = EPS * (np.abs(x_mean) + self.weight / weight * np.abs(self.x_mean))
        sums = EPS * (_EQUAL_TERMS + np.sqrt(self.rows)) * np.diagonal(self.xx)
        fresh = sums + 2 * pull * np.abs(dx) * off
        return Gram(
            self.rows - other.rows,
            weight,
            x_mean,
            y_mean,
            self.rounding,
            self.whole,
            self.xx - other.xx - pull * np.outer(dx, dx),
            self.xy - other.xy - pull * np.outer(dx, dy),
            self.yy - other.yy - pull * np.outer(dy, dy),
            self.sample - other.sample,
            lost_together(lost_together(self.lost, other.lost), fresh),
        )

    def check_width(self, other: Gram, verb: str) -> None:
        """Raise InputError if `other` has another number of features or targets.

        `verb` is what the caller does with the Grams, for the message: "add" or "subtract".
        """
        if self.xy.shape != other.xy.shape:
            raise InputError(
                f"Cannot {verb} a Gram of {_width(other)} and a Gram of {_width(self)}. "
                "Build both from the same columns, in the same order."
            )


def lost_together(first: FloatArray | None, second: FloatArray | None) -> FloatArray | None:
    """Sum (d,) of the `lost` round-off of two Grams; None if neither has lost any."""
    if first is None or second is None:
        return second if first is None else first
    return first + second


def _width(gram: Gram) -> str:
    return f"{len(gram.x_mean)} features and {len(gram.y_mean)} targets"


def counted_rows(
    X: FloatArray, Y: FloatArray | None, weights: FloatArray | None
) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    """The rows X (n, d), targets Y (n, k) and weights that a Gram counts: those of weight above 0.

    No targets (None) become k = 0 columns. Rows of weight 0 are dropped because tolerances depend
    on the number of rows.
    """
    Y = X[:, :0] if Y is None else Y.reshape(len(X), *Y.shape[1:] or (1,))
    if weights is None or np.all(weights > 0):
        return X, Y, weights
    used = weights > 0
    return X[used], Y[used], weights[used]


def sample_rows(
    X: FloatArray,
    Y: FloatArray,
    w: FloatArray,
    keep: int | None = None,
    below: float = 1.0,
    seen: int = 0,
    block: int = 0,
) -> RowSample:
    """The sample of rows [X Y w], each of d + k + 1 numbers, that a Gram of these rows keeps.

    At most `keep` rows; rows with sampling keys of `below` or more stay out. Keys depend on the
    rows, on how many rows came before (`seen`) and on the number `block` alone, so the sample is
    reproducible.
    """
    size = sample_size(X.shape[1]) if keep is None else keep
    index = np.arange(len(X), dtype=float)[:, None]
    keyed = RowSample.of(index, row_keys(X, seen, block), size, below)
    picked = keyed.rows[:, 0].astype(int)
    rows = np.column_stack([X[picked], Y[picked], w[picked]]).astype(float, copy=False)
    return RowSample(keyed.keys, rows, size, keyed.bound)


def joint_mean(gram: Gram) -> FloatArray:
    """Means (d+k,) of a Gram's features and targets together."""
    return np.concatenate([gram.x_mean, gram.y_mean])


def joint_moments(gram: Gram) -> FloatArray:
    """Second moments about the means (d+k, d+k) of a Gram's features and targets together."""
    return np.block([[gram.xx, gram.xy], [gram.xy.T, gram.yy]])


def with_moments(gram: Gram, mean: FloatArray, moments: FloatArray) -> Gram:
    """The Gram with its means and moments replaced by `mean` (d+k,) and `moments` (d+k, d+k).

    Features come first in both arrays, then targets.
    """
    d = len(gram.x_mean)
    return replace(
        gram,
        x_mean=mean[:d],
        y_mean=mean[d:],
        xx=np.ascontiguousarray(moments[:d, :d]),
        xy=np.ascontiguousarray(moments[:d, d:]),
        yy=np.ascontiguousarray(moments[d:, d:]),
    )
