"""Distributions of labels whose transform has a known distribution."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy.special import ndtr

from pnml.core.arrays import FloatArray
from pnml.core.distributions.normal import Predictive, RandomState, check_levels

# Levels of the moments: the trapezoidal rule in the quantile of a normal, which is exact to
# round-off for a polynomial or an exponential of a normal label.
_STEP = 1 / 8
_NORMAL = np.arange(-8.25, 8.25 + _STEP / 2, _STEP)
_LEVELS = ndtr(_NORMAL)
_WEIGHTS = np.exp(-0.5 * _NORMAL**2)
_BLOCK = 2**18  # labels transformed at a time
_GOLDEN = (np.sqrt(5) - 1) / 2
_REFINEMENTS = 40  # the density is flat at its mode, so half of the digits is all there is


class LabelMap(Protocol):
    """A strictly monotone map between labels y and transformed labels z = T(y)."""

    @property
    def increasing(self) -> bool:
        """Whether larger labels have larger transforms."""

    @property
    def ends(self) -> tuple[float, float]:
        """Smallest and largest label that the transform reaches; may be infinite."""

    def forward(self, y: FloatArray) -> FloatArray:
        """Transformed labels T(y), of the same shape; labels beyond an end count as that end."""

    def inverse(self, z: FloatArray) -> FloatArray:
        """Labels y with T(y) = z, of the same shape; the nearer end where no label has this z."""

    def log_slope(self, y: FloatArray) -> FloatArray:
        """log |T′(y)| of labels between the ends."""


@dataclass(frozen=True)
class Transformed:
    """Distributions of n labels y where those of z = T(y) are known, with T monotone. Eq. (C4).

    Quantiles and intervals are those of z, mapped back. The probability of z that no label reaches
    (a square root below 0) lies on the end of the labels, where it has no density.
    """

    inner: Predictive  # of z
    labels: LabelMap

    @property
    def regret(self) -> FloatArray:
        """Regret (n,) of each row in nats, which does not depend on the scale of the labels."""
        return self.inner.regret

    @property
    def median(self) -> FloatArray:
        """Label (n,) with half of the probability on either side."""
        return self.ppf(0.5)

    @property
    def mean(self) -> FloatArray:
        """Mean label (n,), by integration over quantiles; the median where the label is unknown.

        Seven digits for a log-normal label with a standard deviation of up to 2 in the logarithm.
        Infinite quantiles, which few conformal scores give, are left out.
        """
        return self._moments[0]

    @property
    def std(self) -> FloatArray:
        """Standard deviation (n,) of the label, by integration over quantiles; inf if unknown."""
        return self._moments[1]

    @cached_property
    def mode(self) -> FloatArray:
        """Label (n,) of largest density: the best of many quantiles, refined between neighbours."""
        best = np.zeros(len(self.median), dtype=int)
        top = np.full(len(best), -np.inf)
        for k, labels in enumerate(self._quantiles()):
            inside = (labels > self.labels.ends[0]) & (labels < self.labels.ends[1])
            density = np.where(inside, self._density(labels), -np.inf)
            best, top = np.where(density > top, k, best), np.maximum(density, top)
        a, b = (self.ppf(_LEVELS[np.clip(best + by, 0, len(_LEVELS) - 1)]) for by in (-1, 1))
        for _ in range(_REFINEMENTS):
            left, right = b - _GOLDEN * (b - a), a + _GOLDEN * (b - a)
            lower = self._density(left) >= self._density(right)
            a, b = np.where(lower, a, left), np.where(lower, right, b)
        known = np.isfinite(self.inner.std) & np.isfinite(a + b)
        return np.where(known, (a + b) / 2, self.median)

    def log_prob(self, y: Any) -> FloatArray:
        """Log-density at y, log p(T(y)) + log |T′(y)|, in nats; −inf beyond the ends. Eq. (C4).

        T is the map of labels, p the density of the transformed label; y broadcasts against (n,).
        """
        y = np.asarray(y, dtype=float)
        low, high = self.labels.ends
        within = np.clip(y, np.nextafter(low, np.inf), np.nextafter(high, -np.inf))
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            inner = self.inner.log_prob(self.labels.forward(within))
            out: FloatArray = inner + self.labels.log_slope(within)
        return np.where((y < low) | (y > high), -np.inf, out)

    def cdf(self, y: Any) -> FloatArray:
        """Probability of a label of at most y; y broadcasts against (n,)."""
        y = np.asarray(y, dtype=float)
        low, high = self.labels.ends
        below = self.inner.cdf(self.labels.forward(y))
        p = below if self.labels.increasing else 1 - below
        return np.where(y < low, 0.0, np.where(y >= high, 1.0, p))

    def ppf(self, q: Any) -> FloatArray:
        """Label below which the probability is q; q broadcasts against (n,)."""
        q = check_levels(q)
        return self.labels.inverse(self.inner.ppf(q if self.labels.increasing else 1 - q))

    def interval(self, coverage: float) -> FloatArray:
        """Central interval (n, 2) that holds the label with this probability."""
        return mapped_interval(self.inner.interval(coverage), self.labels)

    def sample(self, n_samples: int = 1, random_state: RandomState = None) -> FloatArray:
        """Random labels (n, n_samples)."""
        return self.labels.inverse(self.inner.sample(n_samples, random_state))

    def _quantiles(self) -> Iterator[FloatArray]:
        """Labels (n,) at each level; NaN where the transformed label is infinite."""
        levels = _LEVELS if self.labels.increasing else 1 - _LEVELS
        size = max(1, _BLOCK // max(1, len(self.inner.regret)))
        for start in range(0, len(levels), size):
            z = self.inner.ppf(levels[start : start + size, None])
            yield from np.where(np.isfinite(z), self.labels.inverse(z), np.nan)

    @cached_property
    def _moments(self) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation, taken about the median."""
        median = self.median
        unknown = ~np.isfinite(self.inner.std) | ~np.isfinite(median)
        mass, first, second = (np.zeros(len(median)) for _ in range(3))
        with np.errstate(invalid="ignore", over="ignore"):
            for weight, labels in zip(_WEIGHTS, self._quantiles(), strict=True):
                off = labels - median
                w = np.where(np.isnan(off), 0.0, weight)
                off = np.where(np.isnan(off), 0.0, off)
                mass, first, second = mass + w, first + w * off, second + w * off**2
            shift = first / mass
            std = np.sqrt(np.maximum(second / mass - shift**2, 0.0))
            mean = np.where(unknown, median, median + shift)
        return mean, np.where(unknown | np.isinf(second), np.inf, std)

    def _density(self, y: FloatArray) -> FloatArray:
        """Log-density, −inf where there is none."""
        return np.nan_to_num(self.log_prob(y), nan=-np.inf, posinf=np.inf, neginf=-np.inf)


def mapped_interval(ends: FloatArray, labels: LabelMap) -> FloatArray:
    """Intervals (n, 2) of labels, from intervals `ends` (n, 2) of transformed labels. Eq. (C4)."""
    mapped = labels.inverse(ends)
    return mapped if labels.increasing else mapped[:, ::-1]
