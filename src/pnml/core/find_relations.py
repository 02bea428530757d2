"""Find the linear relations of training rows, and how often rows left out break them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import lapack
from scipy.sparse.csgraph import connected_components

from pnml.core.arrays import EPS, FloatArray
from pnml.core.geometry.span import SAFETY
from pnml.core.relations import (
    BoolArray,
    ExactRelations,
    IntArray,
    NoisyRelations,
    Relations,
)
from pnml.core.selection import some_rows
from pnml.core.statistic.factor import Factor
from pnml.core.statistic.gram import Gram

# A direction is a relation where the standardised rows vary by at most this, in spreads ...
NOISE = 0.01
# ... and a row breaks it if it varies there by more than this many times as much as they do.
TIMES = 10.0
# A relation that more left-out training rows break than keep is none.
_MOST_BREAK = 0.5
LEFT_OUT_ROWS = 20_000  # training rows that are left out
_MOST_COLUMNS = 2_000  # up to here relations are told apart by the columns they have
_CONNECTED = 1e-10  # entries of a projection below this are round-off
_ALONE = {Factor: 1e-9, Gram: 1e-6}  # 1 − leverage of a row that alone has a direction


def relations_of(
    X: FloatArray, weights: FloatArray | None = None, statistic: Factor | Gram | None = None
) -> Relations:
    """Linear relations that training rows X (n, d) keep, e.g. a column that is a sum. Eq. (X1).

    `weights` (n,) are the copies of each row, 1 by default; rows of weight 0 do not count. If
    `statistic` is given, the Gram or triangular factor of all training rows, relations are found
    from it, and X may be a sample of the rows: it shows how many rows, left out, break them.
    """
    if weights is None:
        weights = np.ones(len(X))
    elif not np.all(weights > 0):
        X, weights = X[weights > 0], weights[weights > 0]
    statistic = Factor.of(X, None, weights) if statistic is None else statistic
    kept = some_rows(len(X), LEFT_OUT_ROWS)
    columns = _Columns.of(statistic, X)
    found = _Directions.of(statistic, columns)
    nowhere = np.zeros(0, dtype=np.int64)
    relations = Relations(
        columns.center, columns.scale, statistic.rounding, found.tolerance, nowhere
    )
    if found.nothing:
        return relations
    return _Search(found, relations, X[kept], weights[kept]).relations


@dataclass(frozen=True)
class _Columns:
    """Means and spreads of columns, and which of them vary by more than round-off."""

    center: FloatArray  # (d,)  means; the values of constant columns
    scale: FloatArray  # (d,)  standard deviations; 0: constant
    weight: float  # total weight of the rows
    noise: FloatArray  # round-off of a value, in spreads
    used: IntArray  # columns whose digits say something

    @classmethod
    def of(cls, statistic: Factor | Gram, X: FloatArray) -> _Columns:
        d = len(statistic.x_mean)
        squares = (
            np.sum(statistic.R[:, :d] ** 2, axis=0)
            if isinstance(statistic, Factor)
            else np.maximum(np.diagonal(statistic.xx), 0.0)
        )
        worn = getattr(statistic, "lost", None)
        scale = np.sqrt(squares / statistic.weight)
        size = np.hypot(statistic.x_mean, scale)
        count = statistic.rows if isinstance(statistic, Factor) else np.sqrt(statistic.rows)
        loss = SAFETY * max(d, count) * EPS
        flat = scale <= max(loss, SAFETY * statistic.rounding) * size
        if worn is not None:
            flat |= squares <= worn
        center = statistic.x_mean.copy()
        at = np.flatnonzero(flat)
        if len(X) and len(at):  # means and spreads are rounded; the values themselves are not
            values = np.asarray(X[:, at], dtype=float)
            low, high = values.min(axis=0), values.max(axis=0)
            most = np.maximum(np.abs(low), np.abs(high))
            same = high - low <= SAFETY * statistic.rounding * most
            center[at[same]] = values[0, same]
            flat[at[~same]] = False
        scale = np.where(flat, 0.0, scale)
        with np.errstate(divide="ignore", invalid="ignore"):
            noise = np.where(flat, 0.0, SAFETY * statistic.rounding * size / scale)
        return cls(
            center,
            scale,
            statistic.weight,
            noise,
            np.flatnonzero(~flat & (noise < NOISE)).astype(np.int64),
        )


@dataclass(frozen=True)
class _Directions:
    """Principal directions of the standardised columns that vary, largest variance first."""

    columns: IntArray  # (u,)  places of the columns that vary, `_Columns.used`
    V: FloatArray  # (u, r)  directions in which rows vary by more than round-off
    spread: FloatArray  # (r,)  by how much, in spreads of a column
    null: FloatArray | None  # (u, u − r)  the other directions; None: too many to list
    weight: float
    tolerance: float
    alone: float  # 1 − leverage of a row that alone has a direction

    @classmethod
    def of(cls, statistic: Factor | Gram, columns: _Columns) -> _Directions:
        d, used = len(columns.center), columns.used
        norms = columns.scale[used] * np.sqrt(columns.weight)
        worst = float(np.linalg.norm(columns.noise[used]))
        if isinstance(statistic, Factor):
            tolerance = SAFETY * max(statistic.rows, d) * EPS
            A = statistic.R[:, :d][:, used] / norms
            cut = worst
        else:
            loss = SAFETY * max(d, np.sqrt(statistic.rows)) * EPS
            tolerance = float(np.sqrt(loss))
            A = statistic.xx[np.ix_(used, used)] / norms / norms[:, None]
            lost = 0.0 if statistic.lost is None else float(np.sum(statistic.lost[used] / norms**2))
            cut = worst + float(np.sqrt(lost))
        alone = _ALONE[type(statistic)]
        if _vary_much(A, squared=isinstance(statistic, Gram)):
            empty = np.zeros((len(used), 0))
            return cls(used, empty, np.zeros(0), empty, columns.weight, tolerance, alone)
        V, spread = _principal(A, squared=isinstance(statistic, Gram))
        keep = spread > cut + tolerance * spread.max(initial=0.0)
        few = len(used) <= 2 * int(keep.sum())
        null = _complement(V, keep) if few else None
        V = np.ascontiguousarray(V[:, keep])
        return cls(used, V, spread[keep], null, columns.weight, tolerance, alone)

    @property
    def nothing(self) -> bool:
        """Whether there is no relation: rows vary by more than NOISE in every direction."""
        exact = self.null is None or self.null.shape[1] > 0
        return not exact and not np.any(self.spread <= NOISE)

    @cached_property
    def projection(self) -> FloatArray:
        """Projection (u, u) on the directions in which no training row varies."""
        if self.null is not None:
            null: FloatArray = self.null @ self.null.T
            return null
        out: FloatArray = np.eye(len(self.columns)) - self.V @ self.V.T
        return out

    @cached_property
    def root(self) -> FloatArray:
        """Square roots (u,) of the diagonal of the projection."""
        if self.null is not None:
            squares = np.sum(self.null**2, axis=1)
        else:
            squares = np.maximum(1.0 - np.sum(self.V**2, axis=1), 0.0)
        root: FloatArray = np.sqrt(squares)
        return root

    @cached_property
    def groups(self) -> tuple[int, IntArray]:
        """Number of groups of columns that share no relation, and the group (u,) of each column."""
        if len(self.columns) > _MOST_COLUMNS:
            return 1, np.zeros(len(self.columns), dtype=np.int64)
        count, place = connected_components(np.abs(self.projection) > _CONNECTED, directed=False)
        return int(count), place.astype(np.int64)


@dataclass(frozen=True)
class _Search:
    """Relations among the principal directions, and which rows left out break them."""

    found: _Directions
    plain: Relations  # what is known of the columns
    X: FloatArray  # (m, d)
    weights: FloatArray  # (m,)

    @property
    def relations(self) -> Relations:
        """The relations, without those that more than half of the rows break, each left out."""
        count, group = self.found.groups
        broken = np.hstack([self._alone(count, group), self._passing])
        shares = _together(broken, self.weights)
        shares[shares > _MOST_BREAK] = np.inf
        of_column = np.where(self.found.root > _CONNECTED, shares[:count][group], np.inf)
        noisy = np.isfinite(shares[count:])
        use = np.flatnonzero(np.isfinite(of_column) | noisy.any())
        return replace(
            self.plain,
            places=self.found.columns[use],
            exact=self._exact(of_column, use) if np.isfinite(of_column).any() else None,
            noisy=self._noisy(shares[count:], noisy) if noisy.any() else None,
        )

    @cached_property
    def _z(self) -> FloatArray:
        used, known = self.found.columns, self.plain
        z: FloatArray = (self.X[:, used] - known.center[used]) / known.scale[used]
        return z

    @cached_property
    def _along(self) -> FloatArray:
        """Components (m, r) of rows along the directions, in units of the spread along each."""
        along: FloatArray = self._z @ self.found.V / self.found.spread
        return along

    @cached_property
    def _rest(self) -> FloatArray:
        """1 − leverage (m,) of one copy of each row."""
        hat = (1.0 + np.sum(self._along**2, axis=1)) / self.found.weight
        rest: FloatArray = 1.0 - np.minimum(self.weights, 1.0) * hat
        return np.where(rest < self.found.alone, 0.0, rest)

    def _alone(self, count: int, group: IntArray) -> BoolArray:
        """Whether a row, left out, breaks relations of a group, (m, groups).

        It does if it alone has a direction in which columns of the group take part.
        """
        broken = np.zeros((len(self.X), count), dtype=bool)
        rows = np.flatnonzero(self._rest == 0)
        whose = (self._along[rows] / self.found.spread) @ self.found.V.T  # what only the row has
        part = np.abs(whose) > 1e-8 * np.abs(whose).max(axis=1, initial=0.0, keepdims=True)
        for row, columns in zip(rows, part & (self.found.root > _CONNECTED), strict=True):
            broken[row, group[columns]] = True
        return broken

    @cached_property
    def _small(self) -> IntArray:
        return np.flatnonzero(self.found.spread <= NOISE).astype(np.int64)

    @cached_property
    def _passing(self) -> BoolArray:
        """Whether a row left out is too far along a direction of small spread (m, s). Eq. (X3)."""
        t = self._along[:, self._small] ** 2
        h = t / self.found.weight
        copies = np.minimum(self.weights, 1.0)[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            left_out = t + self.found.weight * copies * h**2 / self._rest[:, None]
        left_out = np.where(h > _CONNECTED, left_out, t)
        return left_out > np.maximum(TIMES**2, _largest_other(t))

    def _exact(self, shares: FloatArray, use: IntArray) -> ExactRelations:
        """ExactRelations of the columns at `use`; `shares` (u,) of rows break those of a column."""
        basis = (self.found.V if self.found.null is None else self.found.null)[use]
        root, of_rows = self.found.root[use], self.found.null is None
        exact = ExactRelations(basis, of_rows, root, np.zeros(len(use)), shares[use])
        outside = exact.outside(self._z[:, use])
        return replace(exact, absent=np.abs(outside).max(axis=0, initial=0.0))

    def _noisy(self, shares: FloatArray, use: BoolArray) -> NoisyRelations:
        small = self._small[use]
        spread = self.found.spread[small]
        most = spread * np.abs(self._along[:, small]).max(axis=0, initial=0.0)
        limits = np.maximum(TIMES * spread, most)
        return NoisyRelations(np.ascontiguousarray(self.found.V[:, small]), limits, shares[use])


def _together(broken: BoolArray, weights: FloatArray) -> FloatArray:
    """Share (c,) of rows that break a relation, or one that fewer rows break. Eq. (X2).

    `broken` (m, c) says which rows break which relation. A limit on the share lets relations count
    in the order of their breaks, until too many rows break one of those that count.
    """
    order = np.argsort(weights @ broken, kind="stable")
    some = np.logical_or.accumulate(broken[:, order], axis=1)
    shares = np.empty(broken.shape[1])
    shares[order] = weights @ some / weights.sum()
    return shares


def _largest_other(t: FloatArray) -> FloatArray:
    """The largest value (m, s) of the other rows in each column; 0 without any."""
    if len(t) < 2:
        return np.zeros_like(t)
    second, first = np.partition(t, len(t) - 2, axis=0)[-2:]
    other: FloatArray = np.where(t >= first, second, first)
    return other


def _vary_much(A: FloatArray, *, squared: bool) -> bool:
    """Whether every direction surely varies by more than NOISE: ‖R⁻¹‖ is below 1/NOISE."""
    if 0 in A.shape or A.shape[0] < A.shape[1]:
        return 0 in A.shape and A.shape[1] == 0
    if squared:
        R, failed = lapack.dpotrf(A)
    else:
        R, failed = np.linalg.qr(A, mode="r"), 0
    if failed:
        return False
    inverse, failed = lapack.dtrtri(np.triu(R))
    return not failed and float(np.linalg.norm(inverse)) < 1 / NOISE


def _principal(A: FloatArray, *, squared: bool) -> tuple[FloatArray, FloatArray]:
    """Directions (u, m) of rows A or of their correlations, and the spreads (m,) along them."""
    if squared:
        values, V = np.linalg.eigh(A)
        return V[:, ::-1], np.sqrt(np.maximum(values[::-1], 0.0))
    if 0 in A.shape:
        return np.zeros((A.shape[1], 0)), np.zeros(0)
    _, spread, Vt = np.linalg.svd(A, full_matrices=False)
    return Vt.T, spread


def _complement(V: FloatArray, keep: BoolArray) -> FloatArray:
    """Orthonormal basis (u, u − r) of the directions that are orthogonal to the kept ones."""
    if V.shape[0] == V.shape[1]:
        return np.ascontiguousarray(V[:, ~keep])
    r = int(keep.sum())
    return np.ascontiguousarray(np.linalg.qr(V[:, keep], mode="complete")[0][:, r:])
