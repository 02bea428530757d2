"""Predictive distributions: frozen values with a mean, a spread, a density and a regret."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from pnml.core.arrays import FloatArray
from pnml.errors import InputError

IntArray = npt.NDArray[np.intp]
RandomState = None | int | np.random.Generator
_LOG_SQRT_2PI = 0.5 * np.log(2 * np.pi)


class Predictive(Protocol):
    """Protocol of predictive distributions of n labels; arguments broadcast against (n,)."""

    @property
    def mean(self) -> FloatArray: ...
    @property
    def std(self) -> FloatArray: ...
    @property
    def mode(self) -> FloatArray: ...
    @property
    def regret(self) -> FloatArray: ...
    def log_prob(self, y: Any) -> FloatArray: ...
    def cdf(self, y: Any) -> FloatArray: ...
    def ppf(self, q: Any) -> FloatArray: ...
    def interval(self, coverage: float) -> FloatArray: ...
    def sample(self, n_samples: int = 1, random_state: RandomState = None) -> FloatArray: ...


@dataclass(frozen=True)
class Normal:
    """Normal distributions of labels; an infinite std means that the label is unknown.

    >>> dist = Normal(np.array([0.0]), np.array([2.0]), np.array([0.1]))
    >>> dist.interval(0.9).round(2)
    array([[-3.29,  3.29]])
    """

    mean: FloatArray  # (n,), or (n, k) for k targets
    std: FloatArray  # as the mean
    regret: FloatArray  # (n,) nats

    @property
    def mode(self) -> FloatArray:
        """Labels of largest density, equal to the mean: (n,) or (n, k)."""
        return self.mean

    def rows(self, rows: IntArray) -> Normal:
        """The distributions of the rows at these indices, which may repeat."""
        return Normal(self.mean[rows], self.std[rows], self.regret[rows])

    def log_prob(self, y: Any) -> FloatArray:
        """Log-density at labels y, in nats; y broadcasts against the mean."""
        u = (np.asarray(y, dtype=float) - self.mean) / self.std
        out: FloatArray = -0.5 * u * u - np.log(self.std) - _LOG_SQRT_2PI
        return out

    def cdf(self, y: Any) -> FloatArray:
        """Probability of a label of at most y; y broadcasts against the mean."""
        out: FloatArray = ndtr((np.asarray(y, dtype=float) - self.mean) / self.std)
        return out

    def ppf(self, q: Any) -> FloatArray:
        """Label below which the probability is q; q broadcasts against the mean."""
        u = ndtri(check_levels(q))
        with np.errstate(invalid="ignore"):
            # 0 · inf: the median of an unknown label is the mean
            out: FloatArray = self.mean + np.where(u == 0, 0.0, u * self.std)
        return out

    def interval(self, coverage: float) -> FloatArray:
        """Central interval (n, 2), or (n, k, 2), that holds each label with this probability."""
        if self.mean.ndim == 1:
            return central_interval(self.ppf, coverage)
        tail = (1 - check_coverage(coverage)) / 2
        return np.stack([self.ppf(tail), self.ppf(1 - tail)], axis=-1)

    def sample(self, n_samples: int = 1, random_state: RandomState = None) -> FloatArray:
        """Random labels (n, n_samples), or (n, k, n_samples) for k targets."""
        rng = np.random.default_rng(random_state)
        noise = rng.standard_normal((*self.mean.shape, n_samples))
        return self.mean[..., None] + self.std[..., None] * noise


def central_interval(ppf: Callable[[FloatArray], FloatArray], coverage: float) -> FloatArray:
    """Central intervals (n, 2) that hold each label with probability `coverage`.

    `ppf` gives the quantiles of the n labels; either tail has probability (1 − coverage)/2.
    """
    tail = (1 - check_coverage(coverage)) / 2
    return ppf(np.array([[tail], [1 - tail]])).T


def check_coverage(coverage: float) -> float:
    """`coverage` as a float; raises InputError unless it lies strictly between 0 and 1."""
    if not (isinstance(coverage, int | float | np.number) and 0 < coverage < 1):
        raise InputError(
            f"coverage is {coverage!r}, but it must lie strictly between 0 and 1; "
            "pass for instance coverage=0.9."
        )
    return float(coverage)


def check_levels(q: Any) -> FloatArray:
    """Quantile levels q as a float array; raises InputError if some are outside [0, 1]."""
    levels = np.asarray(q, dtype=float)
    if not bool(np.all((levels >= 0) & (levels <= 1))):
        raise InputError(
            f"q has values from {np.min(levels):g} to {np.max(levels):g}, but quantile levels are "
            "probabilities; pass numbers from 0 to 1."
        )
    return levels
