"""The predictive distribution of the norm ball."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.core.distributions.normal import RandomState, central_interval, check_levels
from pnml.core.norm_ball.ball import Ball
from pnml.core.norm_ball.genie import genie_residual
from pnml.core.norm_ball.genie_curve import IntArray, curves
from pnml.core.norm_ball.regret import regret
from pnml.core.norm_ball.table import Table

# Numbers in one block of labels.
_BLOCK_NUMBERS = 2**20


@dataclass(frozen=True)
class NormBallPredictive:
    """Predictive distributions of labels by the exact pNML of a norm ball. Eq. (N12).

    The density is a normal one bent by the sphere: neither symmetric nor centred on its mode.
    Arguments broadcast against (T,).

    >>> ball = Ball.min_norm(np.array([4.0]), np.array([0.5]))
    >>> dist = NormBallPredictive(ball, np.array([[1.0]]), np.array([2.0]), 0.1)
    >>> dist.mode, dist.cdf(dist.ppf(0.9)).round(9)
    (array([0.5]), array([0.9]))
    """

    ball: Ball
    a: FloatArray  # (T, r)  Vᵀx, measured from the training mean if there is an intercept
    b: FloatArray  # (T,)  distance from the span of the training rows, exactly 0 inside
    noise_variance: float

    def rows(self, rows: IntArray) -> NormBallPredictive:
        """The distributions of the rows at these indices, which may repeat.

        Regrets are not computed again.
        """
        part = NormBallPredictive(self.ball, self.a[rows], self.b[rows], self.noise_variance)
        part.__dict__["regret"] = self.regret[rows]
        return part

    @cached_property
    def _x(self) -> FloatArray:
        return self.ball.coordinates(self.a, self.b)

    @cached_property
    def _moves(self) -> IntArray:
        """Rows on which models of the ball differ."""
        return np.flatnonzero(np.any(self._x != 0, axis=1) & (self.ball.radius > 0))

    @property
    def _sigma(self) -> float:
        return float(self.ball.noise(self.noise_variance))

    @cached_property
    def mode(self) -> FloatArray:
        """Label (T,) of largest density: the prediction of the fit within the ball."""
        out: FloatArray = self.ball.target_mean + self.a @ self.ball.fit
        return out

    @cached_property
    def regret(self) -> FloatArray:
        """Regret (T,) of each row, in nats: the log of the normaliser of its density."""
        return regret(self.ball, self.a, self.b, self.noise_variance)

    @property
    def mean(self) -> FloatArray:
        """Expected label, (T,)."""
        return self._moments[0]

    @property
    def std(self) -> FloatArray:
        """Standard deviation of the label, (T,)."""
        return self._moments[1]

    @cached_property
    def _moments(self) -> tuple[FloatArray, FloatArray]:
        mean, std = np.empty(len(self._x)), np.empty(len(self._x))
        for rows, table in self._tables():
            mean[rows], std[rows] = table.moments()
        scale = np.sqrt(self.ball.omega)
        return self.mode + mean / scale, std / scale

    def log_prob(self, y: Any) -> FloatArray:
        """Log-density at y, in nats; exact at each point. Eq. (N11)."""
        y = np.asarray(y, dtype=float)
        deviations, shape = self._as_columns(np.sqrt(self.ball.omega) * (y - self.mode))
        s = deviations.copy()
        step = max(_BLOCK_NUMBERS // (self._x.shape[1] * max(s.shape[1], 1)), 1)
        for first in range(0, len(self._moves), step):
            rows = self._moves[first : first + step]
            s[rows] = genie_residual(self.ball, self._x[rows], deviations[rows])
        noise = -0.5 * (s / self._sigma) ** 2 - 0.5 * np.log(2 * np.pi * self.noise_variance)
        return _as_given(noise - self.regret[:, None], shape)

    def cdf(self, y: Any) -> FloatArray:
        """Probability of a label of at most y; y broadcasts against (T,)."""
        y = np.asarray(y, dtype=float)
        return self._by_table(Table.cdf, np.sqrt(self.ball.omega) * (y - self.mode))

    def ppf(self, q: Any) -> FloatArray:
        """Label below which the probability is q; q broadcasts against (T,)."""
        q = check_levels(q) + np.zeros(len(self._x))
        out: FloatArray = self.mode + self._by_table(Table.ppf, q) / np.sqrt(self.ball.omega)
        return out

    def interval(self, coverage: float) -> FloatArray:
        """Central interval (T, 2) that holds the label with this probability."""
        return central_interval(self.ppf, coverage)

    def sample(self, n_samples: int = 1, random_state: RandomState = None) -> FloatArray:
        """Random labels (T, n_samples)."""
        rng = np.random.default_rng(random_state)
        return self.ppf(rng.random((n_samples, len(self._x)))).T

    def _tables(self) -> Iterator[tuple[IntArray, Table]]:
        for rows, curve in curves(self.ball, self._x[self._moves], self._sigma, self._sigma):
            yield self._moves[rows], Table.of(curve, self._sigma)
        still = np.setdiff1d(np.arange(len(self._x)), self._moves)
        if len(still):
            yield still, Table.of_noise(len(still), self._sigma)

    def _by_table(
        self, answer: Callable[[Table, FloatArray], FloatArray], values: FloatArray
    ) -> FloatArray:
        columns, shape = self._as_columns(values)
        out = np.empty_like(columns)
        for rows, table in self._tables():
            step = max(_BLOCK_NUMBERS // (16 * len(rows)), 1)
            for first in range(0, columns.shape[1], step):
                block = np.s_[rows, first : first + step]
                out[block] = answer(table, columns[block])
        return _as_given(out, shape)

    def _as_columns(self, values: FloatArray) -> tuple[FloatArray, tuple[int, ...]]:
        """Values (..., T) as (T, m), and their shape."""
        return np.moveaxis(values, -1, 0).reshape(len(self._x), -1), values.shape


def _as_given(columns: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    return np.moveaxis(columns.reshape(shape[-1:] + shape[:-1]), 0, -1)
