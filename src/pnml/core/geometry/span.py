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
        """Whether the training rows span all directions, so that no row can be outside."""
        return bool(self.V.shape[0] == self.V.shape[1])

    def holds(self, centred: Array, rounding: Array) -> Array:
        """Whether each centred row (n, d) is inside the span up to round-off: (n,). Eq. (S3).

        `rounding` (n, d) is the round-off of each entry. The part outside is tested column by
        column, so that a column of large offset does not hide what happens in another.
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
    """Divisors (d,) that bring columns to unit norm without blowing up constant columns.

    `norms` (d,) are those of the centred columns, `raw_norms` (d,) those before centring. A column
    with a norm of at most `tolerance` times its raw norm is constant up to round-off, and is
    divided by its raw norm.
    """
    constant = norms <= tolerance * raw_norms
    scale = np.where(constant, raw_norms, norms)
    return np.where(scale > 0, scale, 1.0)


def leak(V: FloatArray, noise: FloatArray) -> FloatArray:
    """Bound (d,) on how far round-off alone puts a row outside the span, in each column.

    V (d, r) has the directions of the span as columns; `noise` (d,) is the round-off of an entry.
    """
    spread: FloatArray = noise + np.abs(V) @ (np.abs(V).T @ noise)
    return spread


def rounding_of(X: Array) -> float:
    """Relative round-off of the dtype of X, for the test of the span; 0 for float64."""
    eps = float(array_namespace(X).finfo(X.dtype).eps)
    return eps if eps > EPS else 0.0


def like(xp: Array, values: FloatArray, X: Array) -> Array:
    """The float64 array `values` in the library and on the device of X, such as a torch tensor.

    `xp` is the array namespace of X.
    """
    if is_numpy_array(X):
        return values
    return xp.asarray(values.copy(), dtype=xp.float64, device=device_of(X))
