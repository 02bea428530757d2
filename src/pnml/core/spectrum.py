"""The geometry of the training rows: statistic → spectrum → leverage of any new row."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from array_api_compat import array_namespace, is_numpy_array
from array_api_compat import device as device_of

from pnml.core.arrays import EPS, Array, FloatArray
from pnml.core.errors import ConditionWarning
from pnml.core.factor import Factor
from pnml.core.gram import Gram

# The one constant behind the rank cut and the out-of-span test. Eq. (S3).
_SAFETY = 10.0
# A block of about this many numbers stays in cache through centring, product and reduction.
_BLOCK_NUMBERS = 2**14
# Streams whose Gram leaves fewer than 6 digits of the leverage are worth a warning.
_WANTED_ACCURACY = 1e-6


@dataclass(frozen=True)
class Spectrum:
    """Singular directions of the centred, scaled training rows, and the targets along them.

    With S = diag(scale) and x̃ = S⁻¹(x − center) the rows are X̃ = U diag(h) Vᵀ. Eq. (S1).

    >>> from pnml.core.factor import Factor
    >>> rows = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> spectrum = Spectrum.of_factor(Factor.of(rows), intercept=False, unit_columns=True)
    >>> spectrum.leverage(np.array([[1.0, 1.0], [9.0, 1.0]]), alpha=0.0).round(3)
    array([ 0.333, 32.333])
    """

    center: FloatArray  # (d,)  x̄ with an intercept, else 0
    scale: FloatArray  # (d,)  units of the columns; 1 unless they were asked to have unit norm
    V: FloatArray  # (d, r)
    h2: FloatArray  # (r,)  eigenvalues of X̃ᵀX̃, largest first
    z: FloatArray  # (r, k)  UᵀY
    y_mean: FloatArray  # (k,)  ȳ with an intercept, else 0
    unexplained: FloatArray  # (k,)  Σ w (Y − UUᵀY)²
    weight: float  # total weight of the rows
    intercept_share: float  # leverage of the intercept: 1/weight, or 0 without one
    tolerance: float  # relative round-off of a row
    absent: float  # size up to which a direction of the training rows counts as absent
    squared_condition: float  # what a Gram has squared; 1 for rows in memory, which lose nothing

    @classmethod
    def of_factor(cls, factor: Factor, *, intercept: bool, unit_columns: bool) -> Spectrum:
        """Spectrum of rows in memory, by SVD: errors grow with the condition number of X."""
        d = len(factor.x_mean)
        R = factor.R
        if not intercept:
            mean = np.concatenate([factor.x_mean, factor.y_mean])
            R = np.vstack([R, np.sqrt(factor.weight) * mean])
        tolerance = _SAFETY * max(factor.rows, d) * EPS
        norms = np.linalg.norm(R[:, :d], axis=0)
        raw = np.hypot(norms, np.sqrt(factor.weight) * factor.x_mean)
        scale = _unit_scale(norms, raw, tolerance) if unit_columns else np.ones(d)
        U, h, Vt = _svd(R[:, :d] / scale)
        keep, absent = _cut(h, tolerance, raw / scale)
        U, h, Vt = U[:, keep], h[keep], Vt[keep]
        z = U.T @ R[:, d:]
        unexplained = np.sum((R[:, d:] - U @ z) ** 2, axis=0)
        return cls._assemble(
            factor, intercept, scale, Vt.T, h**2, z, unexplained, tolerance, absent, 1.0
        )

    @classmethod
    def of_gram(cls, gram: Gram, *, intercept: bool, unit_columns: bool) -> Spectrum:
        """Spectrum of streamed rows, by eigh: errors grow with the squared condition number."""
        d = len(gram.x_mean)
        mean = np.concatenate([gram.x_mean, gram.y_mean])
        S = np.block([[gram.xx, gram.xy], [gram.xy.T, gram.yy]])
        if not intercept:
            S = S + gram.weight * np.outer(mean, mean)
        # a Gram keeps half the digits, so directions are told from round-off at half as many
        tolerance = float(np.sqrt(_SAFETY * max(d, np.sqrt(gram.rows)) * EPS))
        norms = np.sqrt(np.maximum(np.diagonal(S)[:d], 0.0))
        raw = np.sqrt(np.diagonal(gram.xx) + gram.weight * gram.x_mean**2)
        scale = _unit_scale(norms, raw, tolerance**2) if unit_columns else np.ones(d)
        h2, V = np.linalg.eigh(S[:d, :d] / scale / scale[:, None])
        h2, V = h2[::-1], V[:, ::-1]
        keep, absent = _cut(np.sqrt(np.maximum(h2, 0.0)), tolerance, raw / scale)
        told_apart = h2[h2 > EPS * d * h2.max(initial=0.0)]  # below: round-off of a dependence
        condition = float(told_apart[0] / told_apart[-1]) if len(told_apart) else 1.0
        h2, V = h2[keep], np.ascontiguousarray(V[:, keep])
        z = V.T @ (S[:d, d:] / scale[:, None]) / np.sqrt(h2)[:, None]
        unexplained = np.maximum(np.diagonal(S)[d:] - np.sum(z**2, axis=0), 0.0)
        return cls._assemble(
            gram, intercept, scale, V, h2, z, unexplained, tolerance, absent, condition
        )

    @classmethod
    def _assemble(
        cls,
        rows: Factor | Gram,
        intercept: bool,
        scale: FloatArray,
        V: FloatArray,
        h2: FloatArray,
        z: FloatArray,
        unexplained: FloatArray,
        tolerance: float,
        absent: float,
        squared_condition: float,
    ) -> Spectrum:
        center = rows.x_mean if intercept else np.zeros_like(rows.x_mean)
        y_mean = rows.y_mean if intercept else np.zeros_like(rows.y_mean)
        share = 1.0 / rows.weight if intercept else 0.0
        return cls(
            center,
            scale,
            V,
            h2,
            z,
            y_mean,
            unexplained,
            rows.weight,
            share,
            tolerance,
            absent,
            squared_condition,
        )

    @property
    def condition(self) -> float:
        """Ratio of the largest to the smallest singular value kept."""
        return float(np.sqrt(self.h2[0] / self.h2[-1])) if len(self.h2) else 1.0

    def warn_if_lossy(self, alpha: float) -> None:
        """Warn where squaring the condition number has cost digits that matter. Eq. (S5)."""
        largest = self.h2[0] if len(self.h2) else 1.0
        squared = (largest + alpha) / (largest / self.squared_condition + alpha)
        if squared * EPS > _WANTED_ACCURACY:
            warnings.warn(
                f"The streamed rows have condition number {np.sqrt(squared):.1e} and their Gram "
                f"squares it, so regrets may be off by a relative {squared * EPS:.0e}: fit the "
                "rows in memory with fit(), drop near-duplicate columns, or raise alpha.",
                ConditionWarning,
                stacklevel=2,
            )

    def coefficients(self, alpha: float) -> FloatArray:
        """Slopes (d, k) of the ridge fit in the user's units. Eq. (S4)."""
        shrunk = self.z * (np.sqrt(self.h2) / (self.h2 + alpha))[:, None]
        slopes: FloatArray = (self.V @ shrunk) / self.scale[:, None]
        return slopes

    def mean_square(self, alpha: float) -> float:
        """Mean squared training residual of the ridge fit to the first target. Eq. (S6)."""
        shrunk = self.z[:, 0] * alpha / (self.h2 + alpha)
        return float((self.unexplained[0] + shrunk @ shrunk) / self.weight)

    def fitted(self, X: FloatArray, alpha: float) -> FloatArray:
        """Predictions (n,) of the ridge fit for the first target. Eq. (S4)."""
        slopes = self.coefficients(alpha)[:, 0]
        out = np.empty(len(X))
        for part in self.blocks(len(X)):
            out[part] = (np.asarray(X[part], dtype=float) - self.center) @ slopes
        return out + float(self.y_mean[0])

    def components(self, X: FloatArray) -> FloatArray:
        """Components a = Vᵀx̃ (n, r) alone: all there is of training rows, which are inside."""
        a: FloatArray = (X - self.center) @ np.ascontiguousarray(self.V / self.scale[:, None])
        return a

    def coordinates(self, X: Array) -> tuple[Array, Array]:
        """Components a = Vᵀx̃ (n, r) and what is outside the span, x̃⊥ (n, d), of rows. Eq. (S2).

        What is outside by no more than round-off is exactly 0. Eq. (S3).
        """
        xp = array_namespace(X)
        center, scale, V = (_like(xp, part, X) for part in (self.center, self.scale, self.V))
        rows = (X - center) / scale
        a = rows @ V
        if self.spans_everything:
            return a, xp.zeros_like(rows)
        outside = rows - a @ V.T
        size, b = (xp.sqrt(xp.linalg.vecdot(part, part)) for part in (rows, outside))
        seen = b <= self.absent + self.tolerance * size
        return a, xp.where(seen[:, None], xp.zeros_like(outside), outside)

    @property
    def spans_everything(self) -> bool:
        """Whether the training rows span all directions, so that no row can be outside."""
        return bool(self.V.shape[0] == self.V.shape[1])

    def leverage(self, X: Array, alpha: float) -> Array:
        """How much each row would pull its own prediction: K − 1. Eq. (S2).

        Infinite for rows outside the span of the training rows at alpha = 0. Tensors come back
        as tensors of their own dtype and carry gradients; the sums are in float64.
        """
        if not is_numpy_array(X):
            xp = array_namespace(X)
            rows = xp.astype(X, xp.float64)
            return xp.astype(self._leverage_of(rows, alpha)(rows), X.dtype)
        of = self._leverage_of(X, alpha)
        out = np.empty(len(X))
        for part in self.blocks(len(X)):
            out[part] = of(np.asarray(X[part], dtype=float))
        return out

    def _leverage_of(self, X: Array, alpha: float) -> Callable[[Array], Array]:
        """Leverage of a block of rows of the same kind as X."""
        xp = array_namespace(X)
        whiten, center = _like(xp, self._whiten(alpha), X), _like(xp, self.center, X)
        units = _like(xp, np.sqrt(self.h2 + alpha), X)

        def inside(rows: Array) -> Array:
            w = (rows - center) @ whiten
            return xp.linalg.vecdot(w, w) + self.intercept_share

        def anywhere(rows: Array) -> Array:
            a, outside = self.coordinates(rows)
            w = a / units
            within = xp.linalg.vecdot(w, w) + self.intercept_share
            b2 = xp.linalg.vecdot(outside, outside)
            if alpha > 0:
                return within + b2 / alpha
            # adding b2 lets a NaN in the row through, which comparisons would swallow
            return xp.where(b2 > 0, xp.full_like(within, float("inf")), within + b2)

        return inside if self.spans_everything else anywhere

    def _whiten(self, alpha: float) -> FloatArray:
        """Matrix (d, r) that takes a centred row to coordinates whose squares add up to K − 1."""
        whiten: FloatArray = self.V / np.sqrt(self.h2 + alpha) / self.scale[:, None]
        return np.ascontiguousarray(whiten)  # BLAS is faster on it

    def blocks(self, n: int) -> Iterator[slice]:
        """Slices over n rows that bound the memory of a pass and keep it in cache."""
        step = max(64, _BLOCK_NUMBERS // max(len(self.center), 1))
        return (slice(start, start + step) for start in range(0, n, step))


def _like(xp: Array, values: FloatArray, X: Array) -> Array:
    if is_numpy_array(X):
        return values
    return xp.asarray(values.copy(), dtype=X.dtype, device=device_of(X))


def _svd(A: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    if 0 in A.shape:
        return np.zeros((A.shape[0], 0)), np.zeros(0), np.zeros((0, A.shape[1]))
    U, h, Vt = np.linalg.svd(A, full_matrices=False)
    return U, h, Vt


def _cut(
    h: FloatArray, tolerance: float, raw_norms: FloatArray
) -> tuple[npt.NDArray[np.bool_], float]:
    """Which directions are kept, and up to what size a row's component is absent. Eq. (S3).

    Rows were rounded when their columns still had norms `raw_norms`, which may dwarf what
    centring has left of them. What a training row has in the dropped directions is absent too.
    """
    cut = tolerance * h.max(initial=0.0) + _SAFETY * EPS * float(np.linalg.norm(raw_norms))
    keep = h > cut
    return keep, cut + float(np.linalg.norm(h[~keep]))


def _unit_scale(norms: FloatArray, raw_norms: FloatArray, tolerance: float) -> FloatArray:
    """Column norms; a column that is constant up to round-off must not be blown up to norm 1."""
    constant = norms <= tolerance * raw_norms
    scale = np.where(constant, raw_norms, norms)
    return np.where(scale > 0, scale, 1.0)
