"""Densities that are a polynomial on each panel of the line: integrals, quantiles, moments."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from numpy.polynomial import chebyshev

from pnml.core.arrays import FloatArray

# Nodes of a panel, its ends among them.
NODES = np.cos(np.pi * np.arange(14, -1, -1) / 14)
_TO_COEFFICIENTS = np.linalg.inv(chebyshev.chebvander(NODES, len(NODES) - 1))
# Integral from the left end of a panel, as coefficients of one degree more.
_INTEGRAL = chebyshev.chebint(np.eye(len(NODES)), lbnd=-1, axis=0)
_WEIGHTS = _INTEGRAL.sum(axis=0) @ _TO_COEFFICIENTS
_BISECTIONS = 60


def coefficients(values: FloatArray) -> FloatArray:
    """Chebyshev coefficients (..., n) of the polynomials with values (..., n) at `NODES`."""
    out: FloatArray = values @ _TO_COEFFICIENTS.T
    return out


def integrals(values: FloatArray, widths: FloatArray) -> FloatArray:
    """Integrals (...) over panels of the polynomials through values (..., n) at the n nodes.

    `widths` (...) are the lengths of the panels, which are intervals of the line; `NODES` gives the
    nodes in [−1, 1].

    >>> integrals(NODES**2, np.array(2.0)).round(9)
    np.float64(0.666666667)
    """
    out: FloatArray = 0.5 * widths * (values @ _WEIGHTS)
    return out


@dataclass(frozen=True)
class Panels:
    """T densities, each a polynomial on each of P touching panels (intervals of the line).

    Spare panels have no width. A polynomial is given by its values at n nodes.
    """

    edges: FloatArray  # (T, P+1)
    values: FloatArray  # (T, P, n)  at the nodes, divided by the integral over the row

    @cached_property
    def masses(self) -> FloatArray:
        """Probability (T, P) of each panel of each of T densities."""
        return np.maximum(integrals(self.values, np.diff(self.edges, axis=1)), 0.0)

    @cached_property
    def _below(self) -> FloatArray:
        return np.pad(np.cumsum(self.masses, axis=1), ((0, 0), (1, 0)))

    @cached_property
    def _above(self) -> FloatArray:
        """Probability right of each edge, (T, P+1), summed from the right."""
        sums = np.cumsum(self.masses[:, ::-1], axis=1)[:, ::-1]
        return np.pad(sums, ((0, 0), (0, 1)))

    @cached_property
    def _integral(self) -> FloatArray:
        """Coefficients (T, P, n+1) of the probability left of a place within its panel."""
        half = 0.5 * np.diff(self.edges, axis=1)[..., None]
        return half * (coefficients(self.values) @ _INTEGRAL.T)

    def moments(self, reference: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation (T,) of each density.

        `reference` (T,) is a place near each density; sums are taken about it, to keep digits.
        """
        half = 0.5 * np.diff(self.edges, axis=1)
        middle = 0.5 * (self.edges[:, 1:] + self.edges[:, :-1]) - reference[:, None]
        weighted = self.values * _WEIGHTS
        m0, m1, m2 = (half * np.sum(weighted * NODES**k, axis=2) for k in range(3))
        mean = np.sum(middle * m0 + half * m1, axis=1)
        middle = middle - mean[:, None]
        parts = m0 * middle**2 + 2 * middle * half * m1 + half**2 * m2
        return reference + mean, np.sqrt(np.maximum(np.sum(parts, axis=1), 0.0))

    def cdf(self, y: FloatArray) -> FloatArray:
        """Probability (K, T) of labels of at most y (K, T): K labels for each of T densities."""
        at = self._panel(self.edges, y)
        left, right = _take(self.edges, at), _take(self.edges, at + 1)
        with np.errstate(invalid="ignore", divide="ignore"):
            t = np.clip(2 * (y - left) / (right - left) - 1, -1.0, 1.0)
        inside = self._inside(at, np.where(right > left, t, 1.0))
        out = np.clip(_take(self._below, at) + inside, 0.0, 1.0)
        return np.where(y < self.edges[:, 0], 0.0, np.where(y >= self.edges[:, -1], 1.0, out))

    def ppf(self, q: FloatArray) -> FloatArray:
        """Labels (K, T) below which the probability is q (K, T), K levels for T densities."""
        low = q <= 0.5
        from_left = self._panel(self._below, q)
        from_right = self._panel(-self._above, -(1 - q))
        at = np.where(low, from_left, from_right)
        target = np.where(
            low,
            q - _take(self._below, at),
            _take(self.masses, at) - ((1 - q) - _take(self._above, at + 1)),
        )
        lower, upper = -np.ones_like(q), np.ones_like(q)
        for _ in range(_BISECTIONS):
            middle = 0.5 * (lower + upper)
            less = self._inside(at, middle) < target
            lower, upper = np.where(less, middle, lower), np.where(less, upper, middle)
        left, right = _take(self.edges, at), _take(self.edges, at + 1)
        y = left + 0.5 * (right - left) * (1 + 0.5 * (lower + upper))
        return np.where(q <= 0, -np.inf, np.where(q >= 1, np.inf, y))

    def _panel(self, table: FloatArray, values: FloatArray) -> npt.NDArray[np.intp]:
        """Panel (K, T) of each value by an ascending table (T, P+1), the last where equal."""
        last = self.masses.shape[1] - 1
        rows = [
            np.searchsorted(line, column, side="right")
            for line, column in zip(table, values.T, strict=True)
        ]
        at = np.stack(rows, axis=1) - 1 if rows else np.zeros(values.shape, dtype=np.intp)
        return np.clip(at, 0, last)

    def _inside(self, at: npt.NDArray[np.intp], t: FloatArray) -> FloatArray:
        """Probability between the left end of a panel and the place t in [−1, 1]."""
        c = self._integral[np.arange(len(self.edges)), at]  # (K, T, n+1)
        return np.asarray(chebyshev.chebval(t, np.moveaxis(c, -1, 0), tensor=False))


def _take(table: FloatArray, at: npt.NDArray[np.intp]) -> FloatArray:
    """table[t, at[k, t]] for all k and t."""
    return np.asarray(table[np.arange(len(table)), at])
