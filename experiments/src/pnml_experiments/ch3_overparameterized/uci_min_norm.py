"""The min-norm fit and the pNML of its norm ball on a split of a UCI set, by two protocols."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pnml.core.arrays import EPS, FloatArray
from pnml.core.gaussian import regret as whole_regret
from pnml.core.geometry.spectrum import Spectrum
from pnml.core.norm_ball.ball import Ball
from pnml.core.norm_ball.bound import regret_bound
from pnml.core.norm_ball.genie import genie_residual
from pnml.core.norm_ball.genie_curve import curves
from pnml.core.norm_ball.regret import density, mean_density, regret_path
from pnml.core.statistic.factor import Factor
from pnml_experiments.ch3_overparameterized.printed_bound import printed_ball_bound

# Noise variances that are tried, for targets of unit variance.
_NOISE = np.geomspace(1e-6, 10.0, 36)
# Below this share of its squared norm outside the span, print takes a row to be inside.
_NEAR = 1e-3
# The largest loss that print knows, and beyond which it drops a row.
_MOST = -float(np.log(EPS))
# A row with less than this share of its norm outside the span is inside.
_ROUNDING = 1e-12
_TRAINING, _VALIDATION, _TEST = 10_000, 200, 1_000

BoolArray = npt.NDArray[np.bool_]
# From a ball, coordinates (n, r), distances (n,) and noise variances (S,) to regrets (n, S).
Regrets = Callable[[Ball, FloatArray, FloatArray, FloatArray], FloatArray]


@dataclass(frozen=True)
class Rows:
    """Rows X (n, d) and their targets y (n,)."""

    X: FloatArray
    y: FloatArray

    def first(self, n: int) -> Rows:
        """The first n of them."""
        return Rows(self.X[:n], self.y[:n])


@dataclass(frozen=True)
class Split:
    """Training, validation and test rows."""

    train: Rows
    validation: Rows
    test: Rows


@dataclass(frozen=True)
class Losses:
    """What both learners lose on test rows, (n,) each, in nats."""

    pnml: FloatArray
    min_norm: FloatArray
    regret: FloatArray
    bound: FloatArray
    printed_bound: FloatArray
    printed_bound_near: FloatArray  # with the closed form for rows near the span
    kept: BoolArray  # rows that the protocol counts


class Bounds(NamedTuple):
    """Bounds of the regrets of rows, (n,) each, in nats."""

    proven: FloatArray
    printed: FloatArray
    printed_near: FloatArray  # with the closed form for rows near the span


@dataclass(frozen=True)
class Genies:
    """Rows as a genie sees them that is told their labels."""

    error: FloatArray  # (n,)  of the min-norm fit
    squared: FloatArray  # (n,)  squared residual of the genie
    regrets: Callable[[FloatArray], FloatArray]  # noise variances (S,) → (n, S)
    bounds: Callable[[float], Bounds]

    def log_losses(self, noise_variances: FloatArray) -> FloatArray:
        """Loss of pNML, (n, S): that of the genie plus the regret. Eq. (P2)."""
        return self.genie_losses(noise_variances) + self.regrets(noise_variances)

    def genie_losses(self, noise_variances: FloatArray) -> FloatArray:
        """Loss of the genie, (n, S)."""
        squares = self.squared[:, None] / noise_variances
        losses: FloatArray = 0.5 * (np.log(2 * np.pi * noise_variances) + squares)
        return losses


@dataclass(frozen=True)
class Family:
    """All models of at most the norm of the min-norm fit, or all models, to rows of one span."""

    ball: Ball
    center: FloatArray  # (d,)
    V: FloatArray  # (d, r)
    near: float  # rows with less than this share outside the span are judged by all models
    regrets: Regrets

    @property
    def share(self) -> float:
        """Leverage of the intercept."""
        return 1 / self.ball.omega - 1

    def genies(self, rows: Rows) -> Genies:
        """What hindsight makes of rows."""
        x = rows.X - self.center
        a = x @ self.V
        outside = x - a @ self.V.T
        b, size = (np.linalg.norm(part, axis=1) for part in (outside, x))
        b = np.where(b > _ROUNDING * size, b, 0.0)
        bounded = b**2 >= self.near * size**2
        error = rows.y - self.ball.target_mean - a @ self.ball.t
        leverage = (a**2) @ (1 / self.ball.h2) + self.share
        squared = (error / (1 + leverage)) ** 2
        squared[bounded] = self._squared(a[bounded], b[bounded], error[bounded])

        def regrets(noise_variances: FloatArray) -> FloatArray:
            found = np.repeat(whole_regret(leverage)[:, None], len(noise_variances), axis=1)
            if bounded.any():
                found[bounded] = self.regrets(self.ball, a[bounded], b[bounded], noise_variances)
            return found

        def bounds(noise_variance: float) -> Bounds:
            proven, printed, near = (np.array(whole_regret(leverage)) for _ in Bounds._fields)
            if np.isfinite(self.near):
                printed = printed_ball_bound(self.ball, a, b, noise_variance)
            proven[bounded] = regret_bound(self.ball, a[bounded], b[bounded], noise_variance)
            near[bounded] = printed[bounded]
            return Bounds(proven, printed, near)

        return Genies(error, squared, regrets, bounds)

    def _squared(self, a: FloatArray, b: FloatArray, error: FloatArray) -> FloatArray:
        """Squared residual of genies of bounded norm. Eq. (N11)."""
        omega, s = self.ball.omega, np.sqrt(self.ball.omega) * error
        if self.ball.radius > 0:
            s = genie_residual(self.ball, self.ball.coordinates(a, b), s[:, None])[:, 0]
        squared: FloatArray = omega * s**2
        return squared


def doubled_regrets(
    ball: Ball, a: FloatArray, b: FloatArray, noise_variances: FloatArray
) -> FloatArray:
    """Regrets (n, S) as if labels below the fit were the mirror image of those above it.

    So print integrates. The sphere bends the two sides in different ways, Eq. (N5).
    """
    x, noise = ball.coordinates(a, b), ball.noise(noise_variances)
    growth = np.zeros((len(x), len(noise)))
    if ball.radius == 0:
        return growth
    for rows, curve in curves(ball, x, float(np.min(noise)), float(np.max(noise))):
        s, moved = curve.middle_s[:, 1:], curve.middle_deviation[:, 1:] - curve.middle_s[:, 1:]
        half = np.maximum(moved, 0.0) * mean_density(0 * s / noise, s / noise) / noise
        residuals = curve.upper.s.reshape(len(s), 1, -1)
        steps = curve.upper.dp.reshape(len(s), -1, 1)
        growth[rows] = half + np.matmul(density(residuals, noise[:, None]), steps)[..., 0]
    return np.log1p(2 * growth)


def read_split(stored: Mapping[str, npt.NDArray[Any]], k: int) -> Split:
    """Rows of a published split; columns and target have mean 0 and variance 1 over training.

    The last tenth of the training rows is for validation.
    """
    rows = stored[f"train_{k}"].astype(int)
    train, validation = np.split(rows, [int(0.9 * len(rows))])
    test = stored[f"test_{k}"].astype(int)
    X, y = (_scaled(stored[name].astype(float), train) for name in ("X", "y"))
    parts = (train[:_TRAINING], validation[:_VALIDATION], test[:_TEST])
    return Split(*(Rows(X[part], y[part]) for part in parts))


def _scaled(values: FloatArray, rows: npt.NDArray[np.intp]) -> FloatArray:
    spread = values[rows].std(axis=0)
    # round-off of a constant column must not be blown up to variance 1
    spread = np.where(spread > 10 * EPS * np.abs(values[rows]).max(axis=0), spread, 1.0)
    scaled: FloatArray = (values - values[rows].mean(axis=0)) / spread
    return scaled


def as_printed(split: Split) -> Split:
    """The same rows, each of unit norm, and then a column of ones."""

    def unit(rows: Rows) -> Rows:
        X = rows.X / np.linalg.norm(rows.X, axis=1, keepdims=True)
        return Rows(np.column_stack([X, np.ones(len(X))]), rows.y)

    return Split(unit(split.train), unit(split.validation), unit(split.test))


def sizes_of(split: Split) -> list[int]:
    """Numbers of training rows: all up to that of columns, then ten more, evenly in the log."""
    n, d = split.train.X.shape
    more = np.geomspace(d + 1, n, 10).round().astype(int)
    return sorted({*range(2, d + 1), *more.tolist()})


def printed_losses(split: Split, n: int) -> Losses:
    """Losses after n training rows, by the protocol behind the printed figures.

    The noise of pNML is the mean of what would be best for each validation row alone; half of the
    label axis stands for all of it; rows on which the genie loses too much are dropped.
    """
    family = _printed_family(split.train.first(n))
    tried, told = family.genies(split.validation), family.genies(split.test)
    best = _NOISE[np.argmin(tried.log_losses(_NOISE), axis=1)]
    noise = np.array([np.mean(best)])
    likelihood = np.exp(-_fit_losses(told.error, float(np.mean(tried.error**2))))
    genie, regrets = told.genie_losses(noise)[:, 0], told.regrets(noise)[:, 0]
    bounds = told.bounds(float(noise[0]))
    fit = -np.log(likelihood + EPS)
    return Losses(genie + regrets, fit, regrets, *bounds, kept=genie <= _MOST)


def fair_losses(split: Split, n: int) -> Losses:
    """Losses after n training rows; each learner has the noise best for all validation rows."""
    family = _fair_family(split.train, n)
    tried, told = family.genies(split.validation), family.genies(split.test)
    noise = np.array([_NOISE[np.argmin(tried.log_losses(_NOISE).mean(axis=0))]])
    fit = _fit_losses(told.error, float(np.mean(tried.error**2)))
    genie, regrets = told.genie_losses(noise)[:, 0], told.regrets(noise)[:, 0]
    bounds = told.bounds(float(noise[0]))
    return Losses(genie + regrets, fit, regrets, *bounds, kept=np.ones(len(fit), dtype=bool))


def _fit_losses(error: FloatArray, noise_variance: float) -> FloatArray:
    losses: FloatArray = 0.5 * (np.log(2 * np.pi * noise_variance) + error**2 / noise_variance)
    return losses


def _printed_family(train: Rows) -> Family:
    U, h, Vt = np.linalg.svd(train.X, full_matrices=False)
    kept = h**2 > EPS
    h, t = h[kept], (U.T @ train.y)[kept] / h[kept]
    near = np.inf if len(h) == train.X.shape[1] else _NEAR
    center = np.zeros(train.X.shape[1])
    return Family(Ball.min_norm(h**2, t), center, Vt[kept].T, near, doubled_regrets)


def _fair_family(train: Rows, n: int) -> Family:
    """All models once the rows span what all training rows span, the norm ball before."""
    found, full = (
        Spectrum.of_factor(Factor.of(rows.X, rows.y), intercept=True, unit_columns=False)
        for rows in (train.first(n), train)
    )
    t, omega = found.z[:, 0] / np.sqrt(found.h2), 1 / (1 + found.intercept_share)
    near = np.inf if len(found.h2) >= len(full.h2) else 0.0
    ball = Ball.min_norm(found.h2, t, omega, float(found.y_mean[0]))
    return Family(ball, found.center, found.V, near, regret_path)
