"""Predictive distribution from the residuals of held-back rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.core.distributions.normal import RandomState, central_interval, check_levels


@dataclass(frozen=True)
class Tabulated:
    """Distributions of labels mean ± scale·s, with s from m sorted scores, signs alike. Eq. (C3).

    A score is the absolute residual of a held-back row divided by its scale. Central intervals are
    the conformal ones. The density is constant over groups of √m scores: over the gaps between
    single scores it would be so ragged that labels lose 0.42 nats by it.

    >>> dist = Tabulated(np.zeros(1), np.ones(1), np.zeros(1), np.arange(1.0, 20.0))
    >>> dist.interval(0.9)
    array([[-18.,  18.]])
    """

    mean: FloatArray  # (n,)
    scale: FloatArray  # (n,)  ν
    regret: FloatArray  # (n,)  nats
    scores: FloatArray  # (m,)  sorted, ≥ 0

    @property
    def mode(self) -> FloatArray:
        """The predictions (n,), about which labels scatter alike on both sides."""
        return self.mean

    @property
    def std(self) -> FloatArray:
        """Standard deviation (n,): root mean square of the scores, times the row's scale."""
        return self._times(float(np.sqrt(np.mean(self.scores**2))))

    @cached_property
    def _table(self) -> tuple[FloatArray, FloatArray]:
        """Scores from 0 up, √m apart and strictly increasing, and the share of scores above."""
        m = len(self.scores)
        ranks = np.append(np.arange(m, 0, -max(1, int(np.sqrt(m)))), 0)[::-1]
        knots = np.concatenate([[0.0], self.scores])[ranks]
        least = 1e-12 * max(float(knots[-1]), 1e-300)
        return np.maximum.accumulate(knots + least * ranks), 1 - ranks / (m + 1)

    @property
    def _beyond(self) -> float:
        """Decay length of the density beyond the last score, where it goes on without a jump."""
        knots, above = self._table
        share = (above[-2] - above[-1]) / above[-1]
        return float((knots[-1] - knots[-2]) / share)

    def _tail(self, u: FloatArray) -> FloatArray:
        """Log-probability of a score above u: linear between knots, exponential beyond."""
        knots, above = self._table
        beyond = np.maximum(u - knots[-1], 0.0) / self._beyond
        log_tail: FloatArray = np.log(np.interp(u, knots, above)) - beyond
        return log_tail

    def cdf(self, y: Any) -> FloatArray:
        """Probability of a label of at most y; y broadcasts against (n,)."""
        with np.errstate(invalid="ignore"):
            u = np.nan_to_num((np.asarray(y, dtype=float) - self.mean) / self.scale)
        half = 0.5 * np.exp(self._tail(np.abs(u)))
        return np.where(u < 0, half, 1 - half)

    def log_prob(self, y: Any) -> FloatArray:
        """Log-density at labels y, in nats, constant over groups of √m scores."""
        knots, above = self._table
        density = np.log(-np.diff(above) / np.diff(knots) / 2)
        with np.errstate(invalid="ignore", divide="ignore"):
            u = np.abs(np.asarray(y, dtype=float) - self.mean) / self.scale
            at = np.clip(np.searchsorted(knots, u, side="right") - 1, 0, len(density) - 1)
            beyond = np.maximum(u - knots[-1], 0.0) / self._beyond
            level = density[at] - np.log(self.scale)
        return np.where(np.isinf(self.scale), -np.inf, level - beyond)

    def ppf(self, q: Any) -> FloatArray:
        """Label below which the probability is at least q: mean ± scale·score, or infinite."""
        q = check_levels(q)
        m = len(self.scores)
        rank = np.ceil((m + 1) * np.abs(2 * q - 1) - 1e-9).astype(int)
        table = np.concatenate([[0.0], self.scores, [np.inf]])
        half = np.where(rank == 0, 0.0, self._times(table[np.minimum(rank, m + 1)]))
        out: FloatArray = self.mean + np.where(q < 0.5, -half, half)
        return out

    def _times(self, score: Any) -> FloatArray:
        """Scores in the row's scale: where that is infinite no score is small, not even 0."""
        with np.errstate(invalid="ignore"):
            return np.where(np.isinf(self.scale), np.inf, score * self.scale)

    def interval(self, coverage: float) -> FloatArray:
        """Central interval (n, 2); covers at this rate if rows are exchangeable. Eq. (C1)."""
        return central_interval(self.ppf, coverage)

    def sample(self, n_samples: int = 1, random_state: RandomState = None) -> FloatArray:
        """Random labels (n, n_samples): mean ± scale times a random score."""
        rng = np.random.default_rng(random_state)
        shape = (len(self.mean), n_samples)
        size = self._times(rng.choice(self.scores, size=shape).T).T
        out: FloatArray = self.mean[:, None] + size * rng.choice([-1.0, 1.0], size=shape)
        return out
