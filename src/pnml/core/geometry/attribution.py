"""Attribution of the leverage of a row to features and directions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from pnml.core.arrays import EPS, FloatArray
from pnml.core.geometry.spectrum import Spectrum

# Up to so many features a product of dense matrices is faster, and takes little memory.
_DENSE = 2_000


def additive(spectrum: Spectrum, X: FloatArray, alpha: float) -> FloatArray:
    """Terms x_j (Px)_j (n, d), one per feature, that sum to the leverage; some negative. Eq. (A1).

    P = (XᵀX + alpha·I)⁻¹ over the training rows, whose spectrum is given. The sum is the leverage
    without the intercept's share. Features that carry a row out of the span at alpha = 0 get +inf.
    """
    rows, pulled, outside = _pulled(spectrum, X, np.full(len(X), alpha))
    split = rows * pulled
    return np.where(outside, np.inf, split)


def directions(spectrum: Spectrum, X: FloatArray, alpha: float) -> FloatArray:
    """Leverage of rows along each of r training directions, and last outside: (n, r+1). Eq. (A2).

    The directions are the singular directions of the training rows in `spectrum`; `alpha` is the
    ridge penalty. All terms are ≥ 0 and sum to the leverage without the intercept's share.
    """
    a, outside = spectrum.coordinates(X)
    b2 = np.sum(outside**2, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        beyond = np.where(b2 > 0, b2 / alpha, 0.0)
    return np.column_stack([a**2 / (spectrum.h2 + alpha), beyond])


def drops(spectrum: Spectrum, X: FloatArray, alphas: FloatArray) -> FloatArray:
    """Drop (n, d) of the leverage if feature j became its regression on the others. Eq. (A3).

    It is (P x)_j² / P_jj ≥ 0 with P = (XᵀX + alpha·I)⁻¹ over the training rows; `alphas` (n,) is
    the ridge penalty for each row. +inf for the features that carry a row out of the span at
    penalty 0.
    """
    _, pulled, outside = _pulled(spectrum, X, alphas)
    diagonal = _inverse_diagonal(spectrum, alphas)
    with np.errstate(divide="ignore", invalid="ignore"):
        fall = np.where(diagonal > 0, pulled**2 / diagonal, 0.0)
    return np.where(outside, np.inf, fall)


def shares(drops: FloatArray, leverage: FloatArray) -> FloatArray:
    """Share (n, d) of each feature in the leverage (n,), in proportion to `drops` (n, d). Eq. (A4).

    A drop is how far the leverage falls if the feature becomes its regression on the others. All
    shares are ≥ 0 and sum to the leverage. Where drops are infinite, their features, which carry
    the row out of the span, get +inf and the others 0.
    """
    lost = np.isinf(drops)
    total = np.sum(np.where(lost, 0.0, drops), axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        split = np.where(total == 0, 0.0, leverage[:, None] * (drops / total))
    return np.where(np.any(lost, axis=1, keepdims=True), np.where(lost, np.inf, 0.0), split)


def explain(spectrum: Spectrum, X: FloatArray, alpha: float) -> FloatArray:
    """Share (n, d) ≥ 0 of each feature in the leverage of rows X (n, d). Eq. (A4).

    The intercept's share is left out. `spectrum` is that of the training rows, `alpha` the ridge
    penalty.
    """
    out = np.empty(X.shape)
    for part in spectrum.blocks(len(X)):
        rows = np.asarray(X[part], dtype=float)
        leverage = spectrum.leverage(rows, alpha) - spectrum.intercept_share
        out[part] = shares(drops(spectrum, rows, np.full(len(rows), alpha)), leverage)
    return out


def replacement_drops(
    leverage: FloatArray, without: FloatArray, alone: FloatArray, typical: float
) -> FloatArray:
    """What each feature adds to the leverage, beside the others plus alone: (n, d) ≥ 0. Eq. (A5).

    `leverage` (n,) is that of each row, `without` (n, d) that of the row with feature j at its
    typical value, `alone` (n, d) that of the typical row with feature j of the row, `typical` that
    of the typical row.
    """
    with np.errstate(invalid="ignore"):
        added = (leverage[:, None] - without) + (alone - typical)
    endless = np.isinf(leverage)[:, None]
    lost = endless & (np.isinf(alone) | ~np.isinf(without))
    finite = np.where(np.isfinite(added), np.maximum(added, 0.0), 0.0)
    return np.where(lost, np.inf, np.where(endless, 0.0, finite))


@dataclass(frozen=True)
class Groups:
    """Attribution of leverage to groups of features, such as the levels of a column. Eq. (A7).

    Drops of single features fail there: the one-hot levels of a column sum to one, so the others
    determine each level, and replacing one level by its regression on the others shows nothing.
    """

    spectrum: Spectrum
    alpha: float
    members: tuple[tuple[int, ...], ...]  # a partition of the features
    whiten: Any  # (d, d)  diag of P_GG^(−1/2); columns in the order of the groups; sparse if wide

    @classmethod
    def of(cls, spectrum: Spectrum, alpha: float, members: Sequence[Sequence[int]]) -> Groups:
        """Groups for the ridge penalty `alpha`; `members` lists the features of each group.

        Every feature must be in exactly one group.
        """
        roots = []
        for group in members:
            w, Q = np.linalg.eigh(_inverse(spectrum, alpha, group))
            nonzero = w > len(w) * EPS * w.max(initial=0.0)
            roots.append(Q * np.where(nonzero, 1 / np.sqrt(np.where(nonzero, w, 1.0)), 0.0))
        features = np.array([j for group in members for j in group], dtype=np.intp)
        blocks = sparse.block_diag(roots, format="coo")
        placed = (blocks.data, (features[blocks.row], blocks.col))
        whiten = sparse.csr_array(placed, shape=(len(features), len(features)))
        dense = len(features) <= _DENSE
        groups = tuple(tuple(map(int, group)) for group in members)
        return cls(spectrum, alpha, groups, whiten.toarray() if dense else whiten)

    @cached_property
    def _product(self) -> FloatArray:
        """P_λ times the whitening, in the user's units; enough for rows inside the span."""
        product = _inverse(self.spectrum, self.alpha) @ self.whiten
        return np.ascontiguousarray(product / self.spectrum.scale[:, None])

    @cached_property
    def _belongs(self) -> Any:
        """Group indicator of the columns of `whiten`, (d, groups)."""
        sizes = [len(group) for group in self.members]
        place = np.repeat(np.arange(len(sizes)), sizes)
        ones = (np.ones(len(place)), (np.arange(len(place)), place))
        belongs = sparse.csr_array(ones, shape=(len(place), len(sizes)))
        return belongs.toarray() if len(place) <= _DENSE else belongs

    def drops(self, X: FloatArray) -> FloatArray:
        """Drop in leverage when a group is replaced by its regression on the rest, (n, groups)."""
        if self.spectrum.spans_everything and X.shape[1] <= _DENSE:
            T = (X - self.spectrum.center) @ self._product
            falls: FloatArray = np.square(T, out=T) @ self._belongs
            return falls
        _, pulled, lost = _pulled(self.spectrum, X, np.full(len(X), self.alpha))
        T = pulled @ self.whiten
        order = [j for group in self.members for j in group]
        infinite = lost[:, order] @ self._belongs > 0
        return np.where(infinite, np.inf, np.square(T) @ self._belongs)

    def fractions(self, X: FloatArray) -> FloatArray:
        """Fraction (n, groups) of the leverage that is due to each group; a row sums to one."""
        out = np.empty((len(X), len(self.members)))
        for part in self.spectrum.blocks(len(X)):
            out[part] = fractions(self.drops(np.asarray(X[part], dtype=float)))
        return out


def fractions(parts: FloatArray) -> FloatArray:
    """Each row of `parts` (n, k), all ≥ 0, divided by its sum: fractions (n, k).

    Infinite parts share their row equally, and the others get 0; a row of zeros stays 0.

    >>> fractions(np.array([[1.0, 3.0], [np.inf, 2.0], [0.0, 0.0]]))
    array([[0.25, 0.75],
           [1.  , 0.  ],
           [0.  , 0.  ]])
    """
    total = parts.sum(axis=1, keepdims=True)
    if not np.isfinite(total).all():
        lost = np.isinf(parts)
        parts = np.where(lost.any(axis=1, keepdims=True), lost, parts)
        total = parts.sum(axis=1, keepdims=True)
    shared: FloatArray = np.divide(parts, total, out=np.zeros(parts.shape), where=total > 0)
    return shared


def explain_regret(spectrum: Spectrum, X: FloatArray, regret: FloatArray) -> FloatArray:
    """Share (n, d) of each feature in exp(regret) − 1, for learners that are not ridge. Eq. (A6).

    `regret` (n,) is in nats; the intercept's share is left out. A row is explained by the ridge fit
    that has the same regret: its penalty λ solves K_λ(x) = exp(regret), where K_λ − 1 is the
    leverage at penalty λ.
    """
    out = np.empty(X.shape)
    for part in spectrum.blocks(len(X)):
        rows = np.asarray(X[part], dtype=float)
        leverage = np.maximum(np.expm1(regret[part]) - spectrum.intercept_share, 0.0)
        alphas = matching_penalties(spectrum, rows, leverage)
        out[part] = shares(drops(spectrum, rows, alphas), leverage)
    return out


def matching_penalties(spectrum: Spectrum, X: FloatArray, leverage: FloatArray) -> FloatArray:
    """Ridge penalties (n,) > 0 at which rows X have these leverages (n,). Eq. (A6).

    Leverages are without the intercept's share; `spectrum` is that of the training rows.
    """
    a, outside = spectrum.coordinates(X)
    a2, b2 = a * a, np.sum(outside**2, axis=1)
    size = np.sum(a2, axis=1) + b2
    largest = float(spectrum.h2.max(initial=1.0))
    # K_λ − 1 ≤ ‖x‖²/λ bounds λ from above; below, penalties this small change nothing
    with np.errstate(divide="ignore", invalid="ignore"):
        bound = np.where(leverage > 0, size / leverage, 1e16 * largest)
    high = np.log(np.clip(bound, 1e-16 * largest, 1e16 * largest))
    low = np.full_like(high, np.log(1e-16 * largest))
    for _ in range(60):
        middle = (low + high) / 2
        at = np.exp(middle)[:, None]
        above = np.sum(a2 / (spectrum.h2 + at), axis=1) + b2 / at[:, 0] > leverage
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    penalty: FloatArray = np.exp((low + high) / 2)
    return penalty


def _pulled(
    spectrum: Spectrum, X: FloatArray, alphas: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Rows x̃, P x̃ and whether a feature carries the row out of the span, (n, d) each."""
    rows = (X - spectrum.center) / spectrum.scale
    a, outside = spectrum.coordinates(X)
    pulled = (a / (spectrum.h2 + alphas[:, None])) @ spectrum.V.T
    penalised = alphas[:, None] > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        pulled = pulled + np.where(penalised, outside / alphas[:, None], 0.0)
    # round-off spreads a lost feature thinly over the others; a thousandth of b is no round-off
    b = np.linalg.norm(outside, axis=1, keepdims=True)
    return rows, pulled, ~penalised & (b > 0) & (np.abs(outside) > 1e-3 * b)


def _inverse(spectrum: Spectrum, alpha: float, features: Sequence[int] | None = None) -> FloatArray:
    """P = (X̃ᵀX̃ + αI)⁻¹ (d, d), or its block of some features; at α = 0 the pseudo-inverse."""
    V = spectrum.V if features is None else spectrum.V[list(features)]
    inside: FloatArray = (V / (spectrum.h2 + alpha)) @ V.T
    if alpha == 0 or spectrum.spans_everything:
        return inside
    return inside + (np.eye(len(V)) - V @ V.T) / alpha


def _inverse_diagonal(spectrum: Spectrum, alphas: FloatArray) -> FloatArray:
    """Diagonal of P = (X̃ᵀX̃ + αI)⁻¹ for each row's penalty, (n, d)."""
    V2 = spectrum.V**2
    unique, where = np.unique(alphas, return_inverse=True)
    inside = (1 / (spectrum.h2 + unique[:, None])) @ V2.T
    beyond = np.maximum(1 - np.sum(V2, axis=1), 0.0) * (not spectrum.spans_everything)
    with np.errstate(divide="ignore", invalid="ignore"):
        diagonal = inside + np.where(unique[:, None] > 0, beyond / unique[:, None], 0.0)
    full: FloatArray = diagonal[where]
    return full
