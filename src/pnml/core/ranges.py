"""Distance of rows beyond the training range of each column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.core.conditions import NOT_NAN

# A number that differs from a constant by less than this share of it is the constant, rounded.
ROUND_OFF = 1e-12
# A column whose width is below this share of its size is constant.
_EQUAL = 8 * np.finfo(float).eps


@dataclass(frozen=True)
class Ranges:
    """Two smallest and two largest training values of each of q columns. Eq. (T17).

    The sum of the ranges of two sets of rows is the ranges of both together.
    """

    lowest: Annotated[FloatArray, "two q", NOT_NAN]  # +inf where there are fewer values
    highest: Annotated[FloatArray, "two q", NOT_NAN]  # −inf where there are fewer values

    @classmethod
    def of(cls, X: FloatArray) -> Ranges:
        """Ranges of rows X (n, q); NaN is a gap and not a value."""
        padding = np.full((2, X.shape[1]), np.nan)
        ordered = np.sort(np.vstack([X, padding]), axis=0)  # gaps come last
        low = np.where(np.isnan(ordered[:2]), np.inf, ordered[:2])
        descending = -np.sort(-np.vstack([X, padding]), axis=0)
        high = np.where(np.isnan(descending[:2]), -np.inf, descending[:2])
        return cls(low, high)

    def __add__(self, other: Ranges) -> Ranges:
        low = np.sort(np.vstack([self.lowest, other.lowest]), axis=0)[:2]
        high = -np.sort(-np.vstack([self.highest, other.highest]), axis=0)[:2]
        return Ranges(low, high)

    def excess(self, X: FloatArray, *, left_out: bool = False) -> FloatArray:
        """Distance of values from the training range, in widths of that range: (n, q), ≥ 0.

        Infinite where a constant column changes; 0 for a gap. `left_out`: the rows are training
        rows, each compared with the range of the others.

        >>> Ranges.of(np.array([[0.0], [1.0], [4.0]])).excess(np.array([[2.0], [6.0]])).ravel()
        array([0. , 0.5])
        """
        if not left_out:
            return _excess(X, self.lowest[0], self.highest[0])
        # a row that is itself the extreme is compared with the next value
        low = np.where(self.lowest[0] >= X, self.lowest[1], self.lowest[0])
        high = np.where(self.highest[0] <= X, self.highest[1], self.highest[0])
        return _excess(X, low, high)


def _excess(X: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore", divide="ignore"):
        beyond = np.maximum(np.maximum(low - X, X - high), 0.0)
        size = np.maximum(np.abs(low), np.abs(high))
        size = np.where(np.isfinite(size), size, 0.0)
        width = np.where(high > low, high - low, 0.0)
        constant = width <= _EQUAL * size
        beyond = np.where(constant & (beyond <= ROUND_OFF * size), 0.0, beyond)
        out = np.where(beyond > 0, beyond / width, 0.0)
    return np.where(np.isnan(X), 0.0, out)
