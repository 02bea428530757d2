"""Linear relations that training rows keep, and whether new rows keep them too.

A column that never changes, a column that is the sum of others, one-hot columns of which one is 1:
each is a direction in which the standardised rows do not vary, or hardly. A row that varies there
has something that no training row had, whatever the learner makes of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
import numpy.typing as npt

from pnml.core.arrays import EPS, FloatArray
from pnml.core.conditions import MAY_BE_INFINITE, NOT_NEGATIVE, OF_ROWS
from pnml.core.geometry.span import SAFETY

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]

_BLOCK_NUMBERS = 2**16  # of a block of rows, which stays in cache
_PART = 0.1  # a column with at least this coefficient in a direction is named as part of it


@dataclass(frozen=True)
class ExactRelations:
    """Relations that hold up to round-off: directions of standardised columns without variance.

    With P the projection on these directions, a standardised row z keeps the relations if |Pz|ⱼ is
    within round-off for every column j.
    """

    basis: Annotated[FloatArray, "q m"]  # orthonormal: the relations, or what the rows span
    of_rows: bool  # whether the basis is that of the rows, the smaller one where columns abound
    root: Annotated[FloatArray, "q", NOT_NEGATIVE]  # √Pⱼⱼ, which bounds the round-off of |Pz|ⱼ
    absent: Annotated[
        FloatArray, "q", NOT_NEGATIVE
    ]  # largest |Pz|ⱼ of training rows: their round-off
    # Share of the training rows that break, each left out, the relations of a column; inf: none.
    shares: Annotated[FloatArray, "q", MAY_BE_INFINITE]

    def outside(self, z: FloatArray) -> FloatArray:
        """The part (n, q) of standardised rows outside the span of the training rows."""
        within: FloatArray = (z @ self.basis) @ self.basis.T
        return z - within if self.of_rows else within


@dataclass(frozen=True)
class NoisyRelations:
    """Relations that hold up to noise: directions of small variance in standardised columns."""

    directions: Annotated[FloatArray, "q s"]  # orthonormal
    limits: Annotated[
        FloatArray, "s", NOT_NEGATIVE
    ]  # largest part of an ordinary row along each direction
    shares: Annotated[
        FloatArray, "s", MAY_BE_INFINITE
    ]  # of the training rows that are beyond the limit, each left out


@dataclass(frozen=True)
class Relations:
    """Linear relations of training rows: constant columns, and combinations that hardly vary.

    >>> from pnml.core.find_relations import relations_of
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> X[:, 2], X[:, 3] = X[:, 0] + X[:, 1], 7.0
    >>> relations = relations_of(X)
    >>> rows = X[:3] + [[0, 0, 0, 0], [0, 0, 1e-6, 0], [0, 0, 0, 1e-6]]
    >>> relations.broken(rows)
    array([inf,  0.,  0.])
    """

    center: Annotated[FloatArray, "p", OF_ROWS]  # means; the values of constant columns
    scale: Annotated[FloatArray, "p", NOT_NEGATIVE]  # spreads; 0 for a constant column
    rounding: Annotated[
        float, NOT_NEGATIVE
    ]  # relative round-off of the values that training rows had
    tolerance: Annotated[
        float, NOT_NEGATIVE
    ]  # round-off of a standardised row, relative to its norm
    places: Annotated[IntArray, "q"]  # columns that have a part in the relations below
    exact: ExactRelations | None = None
    noisy: NoisyRelations | None = None

    def broken(self, X: FloatArray) -> FloatArray:
        """Smallest share of training rows that break a relation which the row breaks, (n,). (X2).

        0 where a constant column changes, inf for a row that keeps all relations. A training row
        breaks a relation that the other training rows keep and it does not; those that break a
        relation with fewer breaks are counted too.
        """
        out = np.full(len(X), np.inf)
        for part, rows in self._blocks(X):
            least = out[part]
            if len(self._constant):
                least[self._changed(rows).any(axis=1)] = 0.0
            for breaks, shares in self._broken(rows):
                np.minimum(least, np.where(breaks, shares, np.inf).min(axis=1), out=least)
        return out

    def columns(self, X: FloatArray, most: float = 0.0) -> BoolArray:
        """Which of p columns take part in a relation that the row breaks: booleans (n, p).

        Constant columns always count, other relations if at most a share `most` of the training
        rows break them, each left out.

        >>> from pnml.core.find_relations import relations_of
        >>> X = np.random.default_rng(0).normal(size=(50, 3))
        >>> X[:, 2] = X[:, 0]
        >>> relations_of(X).columns(X[:1] + [[0.0, 0.0, 1.0]])
        array([[ True, False,  True]])
        """
        named = np.zeros((len(X), len(self.center)), dtype=bool)
        for part, rows in self._blocks(X):
            inside = named[part]
            inside[:, self._constant] = self._changed(rows)
            for breaks, shares in self._broken(rows):
                parts = breaks & (shares <= most)
                if self.noisy is not None and shares is self.noisy.shares:
                    parts = parts @ (np.abs(self.noisy.directions) > _PART).T
                inside[:, self.places] |= parts
        return named

    @cached_property
    def _constant(self) -> npt.NDArray[np.intp]:
        return np.flatnonzero(self.scale == 0)

    @cached_property
    def _size(self) -> FloatArray:
        """Usual size (q,) of the values of a column, offset included."""
        return np.hypot(self.center, self.scale)[self.places]

    def _blocks(self, X: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
        """Slices of the rows, and these rows; none if there is no relation to break."""
        if not len(self.places) and not len(self._constant):
            return
        step = max(64, _BLOCK_NUMBERS // max(len(self.center), 1))
        for start in range(0, len(X), step):
            part = slice(start, start + step)
            yield part, np.asarray(X[part])

    def _changed(self, rows: FloatArray) -> BoolArray:
        """Which constant columns have another value, beyond round-off, even that of float32."""
        known = self.center[self._constant]
        limit = SAFETY * self._relative(rows) * np.abs(known)
        values = rows[:, self._constant].astype(np.float64, copy=False)
        same = np.abs(values - known) <= limit
        if not same.all():
            with np.errstate(over="ignore"):
                same |= (_rounded(values) == known) | (values == _rounded(known))
        changed: BoolArray = ~same
        return changed

    def _broken(self, rows: FloatArray) -> Iterator[tuple[BoolArray, FloatArray]]:
        """Which relations rows break, (n, q) of exact and (n, s) of noisy ones, and their shares.

        The room for round-off uses |Pⱼₖ| ≤ √Pⱼⱼ √Pₖₖ. Eq. (X1).
        """
        if self.exact is None and self.noisy is None:
            return
        values = rows[:, self.places].astype(np.float64, copy=False)
        scale = self.scale[self.places]
        with np.errstate(over="ignore", invalid="ignore"):
            z = (values - self.center[self.places]) / scale
            noise = SAFETY * self._relative(rows) * (np.abs(values) + self._size) / scale
            own = self.tolerance * np.sqrt(np.einsum("ij,ij->i", z, z))[:, None]
            if self.exact is not None:
                room = self.exact.root * ((noise @ self.exact.root)[:, None] + own)
                outside = np.abs(self.exact.outside(z))
                yield ~(outside <= 2 * self.exact.absent + room), self.exact.shares
            if self.noisy is not None:
                along = np.abs(z @ self.noisy.directions)
                room = noise @ np.abs(self.noisy.directions) + own
                yield ~(along <= self.noisy.limits + room), self.noisy.shares

    def _relative(self, rows: FloatArray) -> float:
        """Relative round-off of values: that of training, or of the rows' own dtype."""
        own = float(np.finfo(rows.dtype).eps) if rows.dtype.kind == "f" else EPS
        return max(self.rounding, own)


def broken_by(relations: Relations | None, X: FloatArray) -> FloatArray | None:
    """`Relations.broken` (n,) of rows X (n, p); None if `relations` is, as in older model files."""
    return None if relations is None else relations.broken(X)


def least_of(parts: Sequence[FloatArray | None]) -> FloatArray | None:
    """Row by row, the smallest of several `Relations.broken` (n,); None if all of them are."""
    known = [part for part in parts if part is not None]
    return np.minimum.reduce(known) if known else None


def _rounded(numbers: FloatArray) -> FloatArray:
    """The numbers as float32 holds them."""
    return numbers.astype(np.float32).astype(np.float64)
