"""Least squares over all models of bounded norm, with more features than rows too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pnml.core.arrays import EPS, FloatArray
from pnml.core.find_relations import relations_of
from pnml.core.geometry import attribution
from pnml.core.geometry.spectrum import Spectrum
from pnml.core.leave_one_out import NOISE_FLOOR, LeaveOneOut
from pnml.core.norm_ball.ball import Ball
from pnml.core.norm_ball.bound import regret_bound
from pnml.core.norm_ball.leave_one_out import Folds
from pnml.core.norm_ball.predictive import NormBallPredictive
from pnml.core.relations import Relations, broken_by
from pnml.core.selection import some_rows
from pnml.core.statistic.factor import Factor
from pnml.core.trust import Evidence, Reference
from pnml.learners.protocol import Inputs, rises_with

_NOISE_GRID = 121
_NOISE_RANGE = (NOISE_FLOOR, 10.0)  # times the variance of y
# Leave-one-out decomposes an r × r matrix per row; this many operations are spent on it.
_FOLD_OPERATIONS, _FEWEST_FOLDS, _MOST_FOLDS = 1e11, 16, 200


@dataclass(frozen=True)
class NormBall:
    """Fitted norm-ball learner: pNML over all linear models whose slopes have a bounded norm."""

    spectrum: Spectrum
    ball: Ball
    noise_variance: float
    loo: LeaveOneOut
    relations: Relations | None = None  # of the columns; None in a file of an older version

    inputs: ClassVar[Inputs] = Inputs()  # the genie's curve is traced for finite rows only

    @property
    def reference(self) -> Reference:
        """Regrets of training rows, each left out."""
        return self.loo.reference

    @property
    def is_min_norm(self) -> bool:
        """Whether the ball's radius is the norm of the least-norm fit to the training rows.

        If so, leave-one-out takes another radius for each left-out row: that of the other rows'
        fit.
        """
        norm = float(np.linalg.norm(self.ball.t))
        return abs(self.ball.radius - norm) <= 8 * EPS * norm

    @property
    def slopes(self) -> FloatArray:
        """Slopes (d,) of the least-squares fit inside the ball."""
        slopes: FloatArray = self.spectrum.V @ self.ball.fit
        return slopes

    @property
    def intercept(self) -> float:
        """Intercept of the fit inside the ball: its prediction at x = 0."""
        return float(self.spectrum.y_mean[0] - self.spectrum.center @ self.slopes)

    def predictive(self, X: FloatArray) -> NormBallPredictive:
        """Predictive distribution of the label of each row."""
        return NormBallPredictive(self.ball, *self._coordinates(X), self.noise_variance)

    def mean(self, X: FloatArray) -> FloatArray:
        """Mean (n,) of the predictive distribution; it differs from slopes·x + intercept."""
        return self.predictive(X).mean

    def regret(self, X: FloatArray) -> FloatArray:
        """Regret (n,) of rows, in nats."""
        return self.predictive(X).regret

    def regret_bound(self, X: FloatArray) -> FloatArray:
        """Proven upper bound (n,) on the regret of rows, in nats."""
        return regret_bound(self.ball, *self._coordinates(X), self.noise_variance)

    def leverage(self, X: FloatArray) -> FloatArray:
        """exp(regret) − 1 (n,) of rows, which stands for their leverage."""
        return rises_with(self.regret(X))

    def evidence(self, X: FloatArray, regret: FloatArray | None = None) -> Evidence:
        """Regret, and which rows break linear relations between columns (`Relations.broken`).

        Pass the `regret` (n,) if it is already known.
        """
        broken = broken_by(self.relations, X)
        return Evidence(self.regret(X) if regret is None else regret, broken=broken)

    def explain(self, X: FloatArray) -> FloatArray:
        """Part (n, d) of exp(regret) − 1 that each feature causes, ≥ 0.

        Computed for the ridge fit that gives the row the same regret.
        """
        return attribution.explain_regret(self.spectrum, X, self.regret(X))

    def _coordinates(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        a, outside = self.spectrum.coordinates(X)
        return a, np.linalg.norm(outside, axis=1)


def solve_norm_ball(
    X: FloatArray,
    y: FloatArray,
    radius: float | None,
    noise_variance: float | None,
    *,
    intercept: bool,
) -> NormBall:
    """Fit the norm-ball learner to rows X (n, d) and targets y (n,).

    `radius` None takes the norm of the least-norm fit. `noise_variance` None takes the value of
    smallest mean leave-one-out log-loss.
    """
    factor = Factor.of(X, y)
    spectrum = Spectrum.of_factor(factor, intercept=intercept, unit_columns=False)
    ball = _ball_of(spectrum, radius)
    rows = some_rows(len(X), most_folds(spectrum))
    folds = Folds.of(spectrum, X[rows], y[rows], radius)
    if noise_variance is None:
        grid = np.geomspace(*_NOISE_RANGE, _NOISE_GRID) * float(np.var(y))
        noise_variance = float(grid[np.argmin(folds.log_losses(grid).mean(axis=0))])
    relations = relations_of(X, None, factor)
    return NormBall(spectrum, ball, noise_variance, folds.summary(noise_variance), relations)


def most_folds(spectrum: Spectrum) -> int:
    """How many training rows leave-one-out uses: 16 to 200, fewer if the rank is large."""
    rank = max(len(spectrum.h2), 1)
    return int(np.clip(_FOLD_OPERATIONS / (20 * rank**3), _FEWEST_FOLDS, _MOST_FOLDS))


def _ball_of(spectrum: Spectrum, radius: float | None) -> Ball:
    t = spectrum.z[:, 0] / np.sqrt(spectrum.h2)
    omega = 1 / (1 + spectrum.intercept_share)
    y_mean = float(spectrum.y_mean[0])
    if radius is None:
        return Ball.min_norm(spectrum.h2, t, omega, y_mean)
    return Ball(spectrum.h2, t, radius, omega, y_mean)
