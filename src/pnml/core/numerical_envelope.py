"""Twice universality over any distributions: the largest of their densities, integrated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.core.distributions.normal import (
    Predictive,
    RandomState,
    central_interval,
    check_levels,
)
from pnml.core.envelope_panels import ERROR, Members, sweep
from pnml.errors import InputError

_BLOCK_ROWS = 64


class Summary(NamedTuple):
    """Summary of an envelope, the largest of m densities normalised, for each of T rows."""

    mean: FloatArray  # (T,)
    std: FloatArray  # (T,)
    log_mass: FloatArray  # (T,)  log of the normaliser Z, in nats
    shares: FloatArray  # (T, m)  probability of the labels that each class explains best
    error: FloatArray  # (T,)  estimated error of Z, relative to it


@dataclass(frozen=True)
class NumericalEnvelope:
    """Numerical envelope: distributions of labels, the largest of m densities normalised. Eq. (U8).

    The density of a label is exact up to the normaliser Z, which is found by adaptive quadrature;
    its estimated error is below 1e-8 of Z, and so is that of every probability. Rows where no
    class has a density have unknown labels: log_prob −inf, std inf, every interval the whole line.

    >>> from pnml.core.distributions.normal import Normal
    >>> parts = [Normal(np.zeros(1), np.full(1, s), np.full(1, r)) for s, r in ((1, 0.1), (2, 0.7))]
    >>> two = NumericalEnvelope.of(parts)
    >>> two.log_mass.round(4), abs(two.mean).round(4), two.regret.round(4)
    (array([0.2797]), array([0.]), array([0.6049]))
    """

    members: Members

    @classmethod
    def of(cls, parts: Sequence[Predictive]) -> NumericalEnvelope:
        """The envelope of the distributions of m model classes, all of the labels of T rows."""
        return cls(Members(tuple(parts)))

    @cached_property
    def mode(self) -> FloatArray:
        """The likeliest label (T,): the mode of the model class with the highest peak."""
        peaks = np.stack([part.log_prob(part.mode) for part in self.members.parts])
        modes = np.stack([part.mode for part in self.members.parts])
        best = np.take_along_axis(modes, peaks.argmax(axis=0)[None], axis=0)[0]
        return np.asarray(np.where(self._unknown, modes.mean(axis=0), best))

    @property
    def mean(self) -> FloatArray:
        """The expected label, (T,)."""
        return self.summary.mean

    @property
    def std(self) -> FloatArray:
        """Standard deviation of the label, (T,)."""
        return self.summary.std

    @property
    def log_mass(self) -> FloatArray:
        """Log of the normaliser Z (T,) in nats: the price of not knowing the model class."""
        return self.summary.log_mass

    @property
    def shares(self) -> FloatArray:
        """Probability (T, m) of the labels that each model class explains best. Eq. (U5)."""
        return self.summary.shares

    @cached_property
    def regret(self) -> FloatArray:
        """Expected regret (T,) to the genie of the class that explains the label best. Eq. (U4)."""
        regrets = np.column_stack([part.regret for part in self.members.parts])
        taking_part = self.shares > 0
        parts = np.multiply(self.shares, regrets, where=taking_part, out=np.zeros_like(regrets))
        return np.asarray(np.where(self._unknown, np.inf, parts.sum(axis=1) + self.log_mass))

    @cached_property
    def summary(self) -> Summary:
        """Mean, std, normaliser and class shares of all rows, computed once, in blocks of rows.

        Raises InputError where the normaliser of a row is not known to 1e-8 of itself.
        """
        n, m = len(self._unknown), len(self.members.parts)
        mean = self.mode.copy()
        std, log_mass, error = np.full(n, np.inf), np.full(n, np.inf), np.zeros(n)
        shares = np.full((n, m), 1 / m)
        for rows, found in self._blocks():
            mean[rows], std[rows] = found.panels.moments(self.mode[rows])
            log_mass[rows], error[rows] = np.maximum(found.log_mass, 0.0), found.error
            shares[rows] = found.shares
        _refuse_inaccurate(error)
        return Summary(mean, std, log_mass, shares, error)

    def log_prob(self, y: Any) -> FloatArray:
        """Log-density of the labels y, which broadcast against (T,)."""
        y = np.asarray(y, dtype=float)
        best = self.members.log_prob(y).max(axis=0)
        out = np.where(np.isinf(y) | self._unknown, -np.inf, best - self.log_mass)
        return np.where(np.isnan(y), np.nan, out)

    def cdf(self, y: Any) -> FloatArray:
        """Probability of a label of at most y; y broadcasts against (T,)."""
        values, shape = self._flat(np.asarray(y, dtype=float))
        out = np.where(np.isinf(values), (values > 0) * 1.0, 0.5)
        for rows, found in self._blocks():
            out[:, rows] = found.panels.cdf(values[:, rows])
        return np.where(np.isnan(values), np.nan, out).reshape(shape)

    def ppf(self, q: Any) -> FloatArray:
        """Label below which the probability is q; q broadcasts against (T,)."""
        levels, shape = self._flat(check_levels(q))
        out = np.where(levels == 0.5, self.mode, np.copysign(np.inf, levels - 0.5))
        for rows, found in self._blocks():
            out[:, rows] = found.panels.ppf(levels[:, rows])
        return out.reshape(shape)

    def interval(self, coverage: float) -> FloatArray:
        """Central interval (T, 2) that holds the label with this probability."""
        return central_interval(self.ppf, coverage)

    def sample(self, n_samples: int = 1, random_state: RandomState = None) -> FloatArray:
        """Draw labels (T, n_samples)."""
        rng = np.random.default_rng(random_state)
        tiny = np.finfo(np.float64).tiny
        return self.ppf(rng.uniform(tiny, 1.0, (n_samples, len(self._unknown)))).T

    @cached_property
    def _unknown(self) -> Any:
        """Rows in which no class has a density."""
        return ~np.any([np.isfinite(part.std) for part in self.members.parts], axis=0)

    def _blocks(self) -> Iterator[tuple[Any, Any]]:
        """Panels of the rows with a density, block by block; they are not kept."""
        known = np.flatnonzero(~self._unknown)
        for first in range(0, len(known), _BLOCK_ROWS):
            rows = known[first : first + _BLOCK_ROWS]
            yield rows, sweep(self.members.rows(rows))

    def _flat(self, values: FloatArray) -> tuple[FloatArray, tuple[int, ...]]:
        """Values as (K, T), and the shape of the result."""
        shape = np.broadcast_shapes(values.shape, self._unknown.shape)
        return np.broadcast_to(values, shape).reshape(-1, len(self._unknown)), shape


def _refuse_inaccurate(error: FloatArray) -> None:
    if np.any(error > ERROR):
        raise InputError(
            f"The envelope of row {int(np.argmax(error))} is known to {error.max():.0e} only, not "
            f"to {ERROR:g}: its classes are too narrow for the size of the labels; centre y, or "
            "leave the narrowest class out."
        )
