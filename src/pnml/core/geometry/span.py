"""The span of the training rows, and the part of a new row outside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from array_api_compat import array_namespace, is_numpy_array
from array_api_compat import device as device_of

from pnml.core.arrays import EPS, Array, FloatArray
from pnml.core.conditions import NOT_NEGATIVE

# The one constant behind the rank cut and the out-of-span test. Eq. (S3).
SAFETY = 10.0


@dataclass(frozen=True)
class Span:
    """The span of the centred training rows, in columns scaled to unit norm.

    Only in scaled columns does round-off have one size: a small error in a column of timestamps is
    large in a column of fractions.
    """

    scale: Annotated[FloatArray, "d", NOT_NEGATIVE]  # norms of the columns
    V: Annotated[FloatArray, "d r"]  # orthonormal
    tolerance: Annotated[float, NOT_NEGATIVE]  # round-off of a row, relative to its norm
    absent: Annotated[
        FloatArray, "d", NOT_NEGATIVE
    ]  # largest part of a training row outside, by round-off

    @property
    def whole(self) -> bool:
        """Whether the rows span all directions, so that no row can be outside."""
        return bool(self.V.shape[0] == self.V.shape[1])

    def holds(self, centred: Array, rounding: Array) -> Array:
        """Which rows (n, d) are inside up to round-off; `rounding` is that of each entry. Eq. (S3).

        Components of the difference are compared one by one, so that a column of large offset
        does not hide what happens in another.
        """
        xp = array_namespace(centred)
        scale, V, absent = (like(xp, part, centred) for part in (self.scale, self.V, self.absent))
        rows = centred / scale
        outside = rows - (rows @ V) @ V.T
        size = xp.sqrt(xp.linalg.vecdot(rows, rows))[:, None]
        noise = rounding / scale
        limit = absent + self.tolerance * size + noise + (noise @ xp.abs(V)) @ xp.abs(V).T
        return xp.all(xp.abs(outside) <= limit, axis=1)


def unit_scale(norms: FloatArray, raw_norms: FloatArray, tolerance: float) -> FloatArray:
    """Column norms for the span; columns constant up to round-off are not blown up to 1."""
    constant = norms <= tolerance * raw_norms
    scale = np.where(constant, raw_norms, norms)
    return np.where(scale > 0, scale, 1.0)


def leak(V: FloatArray, noise: FloatArray) -> FloatArray:
    """Bound (d,) on the part outside the span that round-off of the entries (d,) causes."""
    spread: FloatArray = noise + np.abs(V) @ (np.abs(V).T @ noise)
    return spread


def rounding_of(X: Array) -> float:
    """Relative round-off of a row's dtype, as the span counts it; 0 for float64."""
    eps = float(array_namespace(X).finfo(X.dtype).eps)
    return eps if eps > EPS else 0.0


def like(xp: Array, values: FloatArray, X: Array) -> Array:
    """Float64 constants of a span as arrays of the kind and device of X."""
    if is_numpy_array(X):
        return values
    return xp.asarray(values.copy(), dtype=xp.float64, device=device_of(X))
