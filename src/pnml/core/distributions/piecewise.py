"""Predictive distributions whose log-density is one quadratic on each piece of the line."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from pnml.core.arrays import FloatArray
from pnml.core.distributions import piecewise_integral as integral
from pnml.core.distributions.log_quadratics import Monotone, Quadratics
from pnml.core.distributions.normal import RandomState, check_coverage, check_levels
from pnml.errors import InputError

_CHUNK = 4_000  # pieces whose moments are integrated at once: they fit in the cache


@dataclass(frozen=True)
class PiecewiseLogQuadratic:
    """Distributions of the labels of T rows: the log-density is a quadratic on each piece.

    Made by `of`. A row whose mass is infinite (flat out to infinity) has no density; results are
    the limit of ever wider normals: log_prob −inf, std inf, every interval the whole line.

    >>> line = np.array([[-np.inf, 0.0, np.inf]])
    >>> laplace = PiecewiseLogQuadratic.of(
    ...     Quadratics(
    ...         line, np.zeros((1, 2)), np.zeros((1, 2)), np.array([[1.0, -1.0]]), np.zeros((1, 2))
    ...     )
    ... )
    >>> laplace.log_mass.round(4), laplace.std.round(4), laplace.interval(0.9).round(4)
    (array([0.6931]), array([1.4142]), array([[-2.3026,  2.3026]]))
    """

    pieces: Monotone
    log_mass: FloatArray  # (T,)  log of the integral before it was divided out
    regret: FloatArray  # (T,)  nats

    @classmethod
    def of(cls, quadratics: Quadratics, regret: FloatArray | None = None) -> PiecewiseLogQuadratic:
        """The distributions with these log-densities, normalised. Eq. (Q6).

        `regret` (T,) is in nats; None takes the log of each normaliser, or 0 where that is
        negative.
        """
        pieces = quadratics.monotone().compact()
        log_mass = np.asarray(logsumexp(pieces.log_masses(), axis=1))
        return cls(pieces, log_mass, np.maximum(log_mass, 0.0) if regret is None else regret)

    def rows(self, rows: npt.NDArray[np.intp]) -> PiecewiseLogQuadratic:
        """The distributions of the rows at these indices, which may repeat."""
        pieces = replace(self.pieces, **{k: v[rows] for k, v in vars(self.pieces).items()})
        return PiecewiseLogQuadratic(pieces, self.log_mass[rows], self.regret[rows])

    @cached_property
    def _spread_out(self) -> npt.NDArray[np.bool_]:
        return np.asarray(np.isposinf(self.log_mass))

    @cached_property
    def _shares(self) -> FloatArray:
        with np.errstate(invalid="ignore"):
            shares = np.exp(self.pieces.log_masses() - self.log_mass[:, None])
        return np.where(self._spread_out[:, None], 0.0, shares)

    @cached_property
    def _below(self) -> FloatArray:
        """Mass left of each piece, (T, P+1)."""
        return np.pad(np.cumsum(self._shares, axis=1), ((0, 0), (1, 0)))

    @cached_property
    def _above(self) -> FloatArray:
        """Mass of the last k pieces, (T, P+1), summed from the right: small masses stay exact."""
        return np.pad(np.cumsum(self._shares[:, ::-1], axis=1), ((0, 0), (1, 0)))

    @cached_property
    def mode(self) -> FloatArray:
        """The likeliest label, (T,)."""
        best = np.argmax(self.pieces.level, axis=1)[:, None]
        return np.asarray(np.take_along_axis(self.pieces.near, best, axis=1)[:, 0])

    @property
    def mean(self) -> FloatArray:
        """The expected label, (T,). Eq. (Q4)."""
        return self._mean_and_std[0]

    @property
    def std(self) -> FloatArray:
        """Standard deviation, (T,). Eq. (Q4)."""
        return self._mean_and_std[1]

    @cached_property
    def _mean_and_std(self) -> tuple[FloatArray, FloatArray]:
        p, share, mode = self.pieces, self._shares, self.mode[:, None]
        u_mean, u_variance = np.zeros_like(share), np.zeros_like(share)
        used = np.argwhere(share > 0)
        for begin in range(0, len(used), _CHUNK):
            at = tuple(used[begin : begin + _CHUNK].T)
            u_mean[at], u_variance[at] = integral.moments(p.width[at], p.slope[at], p.curve[at])
        centres = p.near - mode + p.side * u_mean  # from the mode: no cancellation
        shift = np.sum(share * centres, axis=1, keepdims=True)
        variance = np.sum(share * (u_variance + (centres - shift) ** 2), axis=1)
        std = np.where(self._spread_out, np.inf, np.sqrt(variance))
        return (mode + shift)[:, 0], std

    def log_prob(self, y: npt.ArrayLike) -> FloatArray:
        """Log-density at labels y, in nats; y broadcasts against (T,). Eq. (Q6)."""
        values, shape = self._flat(y)
        at = _last_at_most(self.pieces.start, values)
        p = self.pieces
        u = np.abs(values - _take(p.near, at))
        fall = integral.drop(u, _take(p.slope, at), _take(p.curve, at))
        with np.errstate(invalid="ignore"):
            out = _take(p.level, at) - fall - self.log_mass
        out = np.where(np.isinf(values) | self._spread_out, -np.inf, out)
        return np.where(np.isnan(values), np.nan, out).reshape(shape)

    def cdf(self, y: npt.ArrayLike) -> FloatArray:
        """Probability of a label of at most y; y broadcasts against (T,). Eq. (Q3)."""
        values, shape = self._flat(y)
        at = _last_at_most(self.pieces.start, values)
        p, finite = self.pieces, np.isfinite(values)
        b, a, width = _take(p.slope, at), _take(p.curve, at), _take(p.width, at)
        right = _take(p.side, at) > 0
        u = np.minimum(np.where(finite, np.abs(values - _take(p.near, at)), 0.0), width)
        rest = integral.mass(width - u, b + a * u, a) * np.exp(-integral.drop(u, b, a))
        with np.errstate(invalid="ignore", divide="ignore"):
            part = np.where(right, integral.mass(u, b, a), rest) / integral.mass(width, b, a)
        inside = np.where(_take(self._shares, at) > 0, _take(self._shares, at) * part, 0.0)
        out = np.minimum(_take(self._below, at) + inside, 1.0)
        out = np.where(self._spread_out, 0.5, out)
        out = np.where(np.isinf(values), (values > 0).astype(np.float64), out)
        return np.where(np.isnan(values), np.nan, out).reshape(shape)

    def ppf(self, q: npt.ArrayLike) -> FloatArray:
        """Label below which a share q of the mass lies; q broadcasts against (T,). Eq. (Q5)."""
        shares, shape = self._flat(check_levels(q))
        return self._quantile(shares, 1 - shares).reshape(shape)

    def interval(self, coverage: float) -> FloatArray:
        """Central interval (T, 2) that holds each label with probability `coverage`."""
        outside = np.full((1, len(self.log_mass)), (1 - check_coverage(coverage)) / 2)
        ends = self._quantile(outside, 1 - outside), self._quantile(1 - outside, outside)
        return np.concatenate(ends).T

    def sample(self, n_samples: int = 1, random_state: RandomState = None) -> FloatArray:
        """Independent random labels (T, n_samples) of the T rows."""
        generator = np.random.default_rng(random_state)
        shares = generator.uniform(np.finfo(np.float64).tiny, 1.0, (n_samples, len(self.log_mass)))
        return self.ppf(shares).T

    def _flat(self, values: npt.ArrayLike) -> tuple[FloatArray, tuple[int, ...]]:
        """The values as (K, T), and the shape of the result."""
        array = np.asarray(values, dtype=np.float64)
        n_rows = len(self.log_mass)
        try:
            shape = np.broadcast_shapes(array.shape, (n_rows,))
        except ValueError:
            shape = ()
        if not shape or shape[-1] != n_rows:
            raise InputError(
                f"Values of shape {array.shape} do not broadcast against {n_rows} rows: "
                "give one number, one per row, or an array whose last axis is the rows."
            )
        return np.broadcast_to(array, shape).reshape(-1, n_rows), shape

    def _quantile(self, lower: FloatArray, upper: FloatArray) -> FloatArray:
        """Label with the mass `lower` left of it and `upper` = 1 − lower right of it, (K, T)."""
        from_left = lower <= upper
        left = _last_at_most(self._below, lower)
        right = _last_at_most(self._above, upper)
        last = self._shares.shape[1] - 1
        at = np.clip(np.where(from_left, left, last - right), 0, last)
        share = _take(self._shares, at)
        part = np.where(
            from_left, lower - _take(self._below, left), upper - _take(self._above, right)
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.clip(np.where(share > 0, part / share, 0.0), 0.0, 1.0)
        p = self.pieces
        from_near = (_take(p.side, at) > 0) == from_left
        near, far = np.where(from_near, part, 1 - part), np.where(from_near, 1 - part, part)
        solve = ~(self._spread_out | (lower <= 0) | (upper <= 0))
        u = np.zeros_like(lower)
        fields = (near, far, *(_take(f, at) for f in (p.width, p.slope, p.curve)))
        u[solve] = integral.distance(*(f[solve] for f in fields))
        out = _take(p.near, at) + _take(p.side, at) * u
        out = np.where(self._spread_out & (lower == upper), self.mode, out)
        to_left = (lower <= 0) | (self._spread_out & (lower < upper))
        to_right = (upper <= 0) | (self._spread_out & (lower > upper))
        return np.where(to_left, -np.inf, np.where(to_right, np.inf, out))


def _take(table: FloatArray, at: npt.NDArray[np.intp]) -> FloatArray:
    """table[t, at[k, t]] for all k and t."""
    return np.asarray(table[np.arange(table.shape[0]), at])


def _last_at_most(table: FloatArray, values: FloatArray) -> npt.NDArray[np.intp]:
    """For each value the last column of its row of the ascending table that is not above it."""
    low = np.zeros(values.shape, dtype=np.intp)
    high = np.full(values.shape, table.shape[1], dtype=np.intp)
    while np.any(high - low > 1):
        middle = (low + high) // 2
        below = _take(table, np.minimum(middle, table.shape[1] - 1)) <= values
        low, high = np.where(below & (high - low > 1), middle, low), np.where(below, high, middle)
    return low
