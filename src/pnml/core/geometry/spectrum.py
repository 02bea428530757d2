"""The geometry of the training rows: statistic → spectrum → leverage of any new row."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from array_api_compat import array_namespace, is_numpy_array
from scipy.linalg import lapack

from pnml.core.arrays import EPS, Array, FloatArray
from pnml.core.conditions import MAY_BE_INFINITE, NOT_NEGATIVE, OF_ROWS
from pnml.core.geometry.span import SAFETY, Span, leak, like, rounding_of, unit_scale
from pnml.core.statistic.factor import Factor
from pnml.core.statistic.gram import Gram
from pnml.errors import ConditionWarning

# A block of about this many numbers stays in cache through centring, product and reduction.
_BLOCK_NUMBERS = 2**14
# If column norms differ by more than this factor, use a more careful SVD.
_GRADED = 100.0
# Warn if the Gram of a stream leaves fewer than 6 digits of the leverage.
_WANTED_ACCURACY = 1e-6
# Negligible share of a leverage.
_NEGLIGIBLE = 1e-3


@dataclass(frozen=True)
class Spectrum:
    """Spectrum of the training rows: singular directions, scales, and targets along them.

    With S = diag(scale) and x̃ = S⁻¹(x − center) the rows are X̃ = U diag(h) Vᵀ, their singular
    value decomposition. Eq. (S1). There are d features, k targets and r directions.

    >>> from pnml.core.statistic.factor import Factor
    >>> rows = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> spectrum = Spectrum.of_factor(Factor.of(rows), intercept=False, unit_columns=True)
    >>> spectrum.leverage(np.array([[1.0, 1.0], [9.0, 1.0]]), alpha=0.0).round(3)
    array([ 0.333, 32.333])
    """

    center: Annotated[FloatArray, "d", OF_ROWS]  # x̄ with an intercept, else 0
    scale: Annotated[FloatArray, "d", NOT_NEGATIVE]  # units of the columns: their norms, or 1
    V: Annotated[FloatArray, "d r"]
    h2: Annotated[FloatArray, "r", NOT_NEGATIVE]  # eigenvalues of X̃ᵀX̃, largest first
    z: Annotated[FloatArray, "r k"]  # UᵀY
    y_mean: Annotated[FloatArray, "k", OF_ROWS]  # ȳ with an intercept, else 0
    unexplained: Annotated[FloatArray, "k", NOT_NEGATIVE]  # Σ w (Y − UUᵀY)²
    weight: Annotated[float, NOT_NEGATIVE]  # total weight of the rows
    intercept_share: Annotated[
        float, NOT_NEGATIVE
    ]  # leverage of the intercept: 1/weight, or 0 without one
    span: Span
    squared_condition: Annotated[
        float, MAY_BE_INFINITE
    ]  # what a Gram has squared; 1 for rows in memory, which lose nothing

    @classmethod
    def of_factor(cls, factor: Factor, *, intercept: bool, unit_columns: bool) -> Spectrum:
        """Spectrum of rows in memory, by SVD: errors grow with the condition number of X.

        `intercept`: the rows are centred. `unit_columns`: columns are scaled to unit norm, as is
        right without a penalty; otherwise they stay in the user's units.
        """
        d = len(factor.x_mean)
        R = factor.R
        if not intercept:
            mean = np.concatenate([factor.x_mean, factor.y_mean])
            R = np.vstack([R, np.sqrt(factor.weight) * mean])
        tolerance = SAFETY * max(factor.rows, d) * EPS
        norms = np.linalg.norm(R[:, :d], axis=0)
        raw = np.hypot(norms, np.sqrt(factor.weight) * factor.x_mean)
        scale = unit_scale(norms, raw, max(tolerance, SAFETY * factor.rounding))
        noise = SAFETY * factor.rounding * raw / scale
        U, h, Vt = _svd(R[:, :d] / scale)
        cut = tolerance * h.max(initial=0.0)
        keep = h > cut + float(np.linalg.norm(noise))
        dropped = float(np.linalg.norm(h[~keep]))
        U, h, V = U[:, keep], h[keep], np.ascontiguousarray(Vt[keep].T)
        z = U.T @ R[:, d:]
        unexplained = np.sum((R[:, d:] - U @ z) ** 2, axis=0)
        span = Span(scale, V, tolerance, cut + dropped + leak(V, noise))
        unit = cls._unit(factor, intercept, span, h**2, z, unexplained, 1.0)
        return unit if unit_columns else unit.in_raw_units()

    @classmethod
    def of_gram(cls, gram: Gram, *, intercept: bool, unit_columns: bool) -> Spectrum:
        """Spectrum of streamed rows, by eigh: errors grow with the squared condition number.

        `intercept`: the rows are centred. `unit_columns`: columns are scaled to unit norm, as is
        right without a penalty; otherwise they stay in the user's units.
        """
        d = len(gram.x_mean)
        mean = np.concatenate([gram.x_mean, gram.y_mean])
        S = np.block([[gram.xx, gram.xy], [gram.xy.T, gram.yy]])
        if not intercept:
            S = S + gram.weight * np.outer(mean, mean)
        loss = SAFETY * max(d, np.sqrt(gram.rows)) * EPS  # of an eigenvalue, relative to the first
        norms = np.sqrt(np.maximum(np.diagonal(S)[:d], 0.0))
        raw = np.sqrt(np.diagonal(gram.xx) + gram.weight * gram.x_mean**2)
        scale = unit_scale(norms, raw, max(loss, SAFETY * gram.rounding))
        noise = SAFETY * gram.rounding * raw / scale
        h2, V = np.linalg.eigh(S[:d, :d] / scale / scale[:, None])
        h2, V = h2[::-1], V[:, ::-1]
        first = float(h2.max(initial=0.0))
        worn = 0.0 if gram.lost is None else float(np.sum(gram.lost / scale**2))  # Eq. (B2)
        keep = h2 > (np.sqrt(loss * first + worn) + float(np.linalg.norm(noise))) ** 2
        told_apart = h2[h2 > EPS * d * first]  # below: round-off of a dependence, or more
        condition = float(told_apart[0] / told_apart[-1]) if len(told_apart) else 1.0
        h2, V = h2[keep], np.ascontiguousarray(V[:, keep])
        z = V.T @ (S[:d, d:] / scale[:, None]) / np.sqrt(h2)[:, None]
        unexplained = np.maximum(np.diagonal(S)[d:] - np.sum(z**2, axis=0), 0.0)
        # the span is off by the loss over the gap; a direction cut by mistake must not be hidden
        tolerance = min(np.sqrt(loss), loss * first / h2[-1]) if len(h2) else loss
        span = Span(scale, V, float(tolerance), leak(V, noise))
        unit = cls._unit(gram, intercept, span, h2, z, unexplained, condition)
        return unit if unit_columns else unit.in_raw_units()

    @classmethod
    def _unit(
        cls,
        rows: Factor | Gram,
        intercept: bool,
        span: Span,
        h2: FloatArray,
        z: FloatArray,
        unexplained: FloatArray,
        squared_condition: float,
    ) -> Spectrum:
        """Spectrum in the coordinates of its span: columns of unit norm."""
        return cls(
            center=rows.x_mean if intercept else np.zeros_like(rows.x_mean),
            scale=span.scale,
            V=span.V,
            h2=h2,
            z=z,
            y_mean=rows.y_mean if intercept else np.zeros_like(rows.y_mean),
            unexplained=unexplained,
            weight=rows.weight,
            intercept_share=1.0 / rows.weight if intercept else 0.0,
            span=span,
            squared_condition=squared_condition,
        )

    def in_raw_units(self) -> Spectrum:
        """Spectrum of the same rows in the user's units, to which a ridge penalty refers. Eq. (S7).

        The rank is that of the unit columns: units must not decide what is a direction.
        """
        left, h, V = _graded_svd(self.scale, self.V, np.sqrt(self.h2))
        return replace(self, scale=np.ones_like(self.scale), V=V, h2=h**2, z=left.T @ self.z)

    def completed(self, alpha: float) -> Spectrum:
        """Spectrum with the directions that the rows lack added, if a penalty makes that safe.

        Directions of eigenvalue 0 change no sum at a penalty, and one product then gives all
        components of a row, without a test of the span. Eq. (S8). Returns the spectrum unchanged if
        nothing is missing, if more is missing than present, or if the round-off of a row outside
        the span would be visible beside the smallest relevant leverage, 1/weight.
        """
        d, r = self.V.shape
        size2 = float(np.sum((self.center / self.scale) ** 2) + self.h2.sum() / self.weight)
        noise2 = (SAFETY * float(np.finfo(np.float32).eps)) ** 2 * size2
        if r == d or d > 2 * r or noise2 * self.weight >= _NEGLIGIBLE * alpha:
            return self
        missing = np.linalg.qr(self.V, mode="complete")[0][:, r:]
        return replace(
            self,
            V=np.hstack([self.V, missing]),
            h2=np.concatenate([self.h2, np.zeros(d - r)]),
            z=np.vstack([self.z, np.zeros((d - r, self.z.shape[1]))]),
            span=replace(self.span, V=np.eye(d)),
        )

    @property
    def condition(self) -> float:
        """Ratio of the largest to the smallest singular value kept."""
        return float(np.sqrt(self.h2[0] / self.h2[-1])) if len(self.h2) else 1.0

    def warn_if_lossy(self, alpha: float, rows: FloatArray) -> None:
        """Warn if squaring the condition number has lost significant digits. Eq. (S5).

        Issues a ConditionWarning; `alpha` is the ridge penalty. If some of the stream's own `rows`
        (m, d) are outside the span, a direction was lost.
        """
        largest = float(np.max(self.h2, initial=0.0)) or 1.0
        squared = (largest + alpha) / (largest / self.squared_condition + alpha)
        lost = alpha == 0 and bool(np.isinf(self.leverage(rows, 0.0)).any())
        if squared * EPS > _WANTED_ACCURACY or lost:
            measurable = squared * EPS > _WANTED_ACCURACY
            size = f"{np.sqrt(squared):.1e}" + " or more" * lost if measurable else "above 1e+08"
            warnings.warn(
                f"The streamed rows have condition number {size} and their Gram squares it, so "
                "regrets may be far off, or infinite where a direction was lost: fit the rows in "
                "memory with fit(), drop near-duplicate columns, or raise alpha.",
                ConditionWarning,
                stacklevel=2,
            )

    def coefficients(self, alpha: float) -> FloatArray:
        """Slopes (d, k) of the ridge fit at penalty `alpha`, in the user's units. Eq. (S4)."""
        shrunk = self.z * (np.sqrt(self.h2) / (self.h2 + alpha))[:, None]
        slopes: FloatArray = (self.V @ shrunk) / self.scale[:, None]
        return slopes

    def mean_square(self, alpha: float) -> float:
        """Mean squared training residual of the ridge fit to the first target. Eq. (S6)."""
        shrunk = self.z[:, 0] * alpha / (self.h2 + alpha)
        return float((self.unexplained[0] + shrunk @ shrunk) / self.weight)

    def fitted(self, X: FloatArray, alpha: float) -> FloatArray:
        """Predictions (n,) of the ridge fit at penalty `alpha`, for the first target. Eq. (S4)."""
        slopes = self.coefficients(alpha)[:, 0]
        out = np.empty(len(X))
        for part in self.blocks(len(X)):
            out[part] = (np.asarray(X[part], dtype=float) - self.center) @ slopes
        return out + float(self.y_mean[0])

    def components(self, X: FloatArray) -> FloatArray:
        """Components (n, r) of rows along the directions: Vᵀx̃ with x̃ = (x − center)/scale.

        Complete for training rows, which are inside the span; `coordinates` serves other rows.
        """
        a: FloatArray = (X - self.center) @ np.ascontiguousarray(self.V / self.scale[:, None])
        return a

    def taken_apart(self) -> Callable[[FloatArray], tuple[FloatArray, FloatArray]]:
        """Function from rows (n, d) to components (n, r) and squared distances from the span (n,).

        The distance is exactly 0 inside the span. Eq. (S2).
        """
        directions = np.ascontiguousarray(self.V / self.scale[:, None])

        def inside(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
            return (rows - self.center) @ directions, np.zeros(len(rows))

        def anywhere(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
            a, outside = self.coordinates(rows)
            return a, np.sum(outside * outside, axis=1)

        return inside if self.spans_everything else anywhere

    def coordinates(self, X: Array) -> tuple[Array, Array]:
        """Components (n, r) of rows along the directions, and the part outside (n, d). Eq. (S2).

        Outside means outside the span of the training rows; both are of scaled rows (x −
        center)/scale. A part outside within round-off is set to exactly 0. Eq. (S3).
        """
        xp = array_namespace(X)
        center, scale, V = (like(xp, part, X) for part in (self.center, self.scale, self.V))
        values = xp.astype(X, xp.float64)
        centred = values - center
        rows = centred / scale
        a = rows @ V
        if self.spans_everything:
            return a, xp.zeros_like(rows)
        outside = rows - a @ V.T
        outside = outside - (outside @ V) @ V.T  # again: large columns leave their round-off
        inside = self.span.holds(centred, rounding_of(X) * xp.abs(values))
        return a, xp.where(inside[:, None], xp.zeros_like(outside), outside)

    @property
    def spans_everything(self) -> bool:
        """Whether the training rows span all directions, so that no row can be outside."""
        return self.span.whole

    def leverage(self, X: Array, alpha: float) -> Array:
        """Leverage (n,) of rows: how much each would pull its own prediction if added. Eq. (S2).

        The regret is log(1 + leverage). Infinite for rows outside the span of the training rows at
        alpha = 0. Tensors come back as tensors of their own dtype and carry gradients; the sums are
        in float64.
        """
        of = self._leverage_of(X, alpha)
        if not is_numpy_array(X):
            return array_namespace(X).astype(of(X), X.dtype)
        out = np.empty(len(X))
        for part in self.blocks(len(X)):
            out[part] = of(X[part])
        return out

    def _leverage_of(self, X: Array, alpha: float) -> Callable[[Array], Array]:
        """Leverage of a block of rows of the same kind as X."""
        xp = array_namespace(X)
        whiten, center = like(xp, self._whiten(alpha), X), like(xp, self.center, X)
        units = like(xp, np.sqrt(self.h2 + alpha), X)

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
        """Matrix (d, r) from a centred row to coordinates whose squares sum to its leverage."""
        whiten: FloatArray = self.V / np.sqrt(self.h2 + alpha) / self.scale[:, None]
        return np.ascontiguousarray(whiten)  # BLAS is faster on it

    def blocks(self, n: int) -> Iterator[slice]:
        """Slices over n rows that bound the memory of a pass and keep it in cache."""
        step = max(64, _BLOCK_NUMBERS // max(len(self.center), 1))
        return (slice(start, start + step) for start in range(0, n, step))


def _svd(A: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    if 0 in A.shape:
        return np.zeros((A.shape[0], 0)), np.zeros(0), np.zeros((0, A.shape[1]))
    U, h, Vt = np.linalg.svd(A, full_matrices=False)
    return U, h, Vt


def _graded_svd(
    scale: FloatArray, V: FloatArray, h: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """SVD of diag(h) Vᵀ diag(scale): left vectors (r, r), values (r,), right vectors (d, r).

    Columns of very different size need Jacobi's method, which keeps the digits of the small ones.
    """
    A = scale[:, None] * V * h
    if len(h) == 0 or scale.max() <= _GRADED * scale.min():
        right, values, left = _svd(A)
        return left.T, values, right
    values, right, left, work, _, failed = lapack.dgejsv(
        np.asfortranarray(A), joba=2, jobu=0, jobv=0, jobr=0, jobp=0
    )
    if failed:
        right, values, left = _svd(A)
        return left.T, values, right
    values = values * (work[0] / work[1])
    if len(h) == len(scale):  # every entry accurate, not only the norm: from A⁻ᵀ = S⁻¹Vh⁻¹
        right = ((V / h) @ left * values) / scale[:, None]
    return left, values, np.ascontiguousarray(right)
