"""Four learners on the same rows: penalty and noise by one rule, and what they say of new rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from pnml.core import gaussian, luckiness
from pnml.core.arrays import FloatArray
from pnml.core.distributions.normal import Normal, Predictive
from pnml.core.geometry.spectrum import Spectrum
from pnml.core.leave_one_out import (
    BAYES,
    LUCKINESS,
    NOISE_FLOOR,
    PNML,
    RIDGE,
    Folds,
    Learner,
    Path,
    folds_of,
    leave_one_out,
    pooled,
)
from pnml.core.selection import penalties, select
from pnml.core.statistic.factor import Factor

# From a spectrum, rows (n, d), a penalty and a noise variance to the labels of the rows.
Says = Callable[[Spectrum, FloatArray, float, float], Normal]


@dataclass(frozen=True)
class Method:
    """How the folds of a learner are judged, and what it says of new rows."""

    folds: Learner
    says: Says


@dataclass(frozen=True)
class Chosen:
    """A penalty and a noise variance."""

    alpha: float
    noise_variance: float


def _plain(spectrum: Spectrum, X: FloatArray, alpha: float, noise_variance: float) -> Normal:
    """The ridge fit with the same noise everywhere."""
    std = np.full(len(X), np.sqrt(noise_variance))
    return Normal(spectrum.fitted(X, alpha), std, np.zeros(len(X)))


def _bayes(spectrum: Spectrum, X: FloatArray, alpha: float, noise_variance: float) -> Normal:
    """The ridge fit with the spread of its Bayesian posterior. Eq. (R3)."""
    std = np.sqrt(noise_variance) * gaussian.bayes_spread(spectrum.leverage(X, alpha))
    return Normal(spectrum.fitted(X, alpha), std, np.zeros(len(X)))


METHODS: Mapping[str, Method] = {
    "ridge": Method(RIDGE, _plain),
    "Bayes": Method(BAYES, _bayes),
    "pNML": Method(PNML, gaussian.predictive),
    "luckiness": Method(LUCKINESS, luckiness.predictive),
}


@dataclass(frozen=True)
class Trained:
    """Training rows, seen along a whole path of penalties."""

    X: FloatArray  # (n, d)
    y: FloatArray  # (n,)

    @cached_property
    def spectrum(self) -> Spectrum:
        """Geometry of the rows; the intercept is not penalised."""
        return Spectrum.of_factor(Factor.of(self.X, self.y), intercept=True, unit_columns=False)

    @cached_property
    def interpolates(self) -> bool:
        """Whether some fit meets all rows."""
        return len(self.spectrum.h2) + 1 >= len(self.y)

    @cached_property
    def floor(self) -> float:
        """The least noise variance that is believed. Eq. (V4)."""
        return NOISE_FLOOR * float(np.var(self.y))

    @cached_property
    def alphas(self) -> FloatArray:
        """Penalties that are tried."""
        return penalties(self.spectrum.h2, self.interpolates)

    @cached_property
    def blocks(self) -> list[Folds]:
        """One fold per row and penalty."""
        return self.folds(self.alphas)

    def folds(self, alphas: FloatArray) -> list[Folds]:
        """One fold per row and each of these penalties. Eq. (V1)."""
        return list(folds_of(self.spectrum, self.X, self.y, np.ones(len(self.y)), alphas))

    def path(self, method: Method) -> Path:
        """Left-out loss of a learner along the penalties. Eq. (V2)."""
        return pooled(self.blocks, method.folds, None, self.floor)

    def standard_error(self, method: Method, at: Chosen) -> float:
        """Standard error of the left-out loss at one penalty."""
        folds = self.folds(np.array([at.alpha]))
        return leave_one_out(folds, method.folds, at.noise_variance).standard_error

    def chosen(self, method: Method) -> Chosen:
        """Penalty and noise by the rule of the estimators here. Eq. (V3)."""
        found = select(
            self.folds,
            method.folds,
            None,
            None,
            h2=self.spectrum.h2,
            interpolates=self.interpolates,
            floor=self.floor,
        )
        return Chosen(found.alpha, found.noise_variance)

    def least_squares(self) -> Chosen:
        """No penalty: the least-squares fit of smallest norm. Its folds are the limit. Eq. (V1)."""
        path = pooled(self.folds(np.zeros(1)), RIDGE, None, self.floor)
        return Chosen(0.0, float(path.noise_variance[0]))

    def says(self, method: Method, at: Chosen) -> Callable[[FloatArray], Normal]:
        """What takes new rows to their labels."""
        return partial(self._said, method, at)

    def _said(self, method: Method, at: Chosen, X: FloatArray) -> Normal:
        return method.says(self.spectrum, X, at.alpha, at.noise_variance)


def mean_losses(told: Predictive, y: FloatArray) -> tuple[float, float]:
    """Mean squared error, and mean log-loss in nats.

    >>> told = Normal(np.zeros(2), np.ones(2), np.zeros(2))
    >>> mse, log_loss = mean_losses(told, np.array([1.0, -1.0]))
    >>> mse, round(log_loss, 3)
    (1.0, 1.419)
    """
    return float(np.mean((told.mean - y) ** 2)), float(-np.mean(told.log_prob(y)))
