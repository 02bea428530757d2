"""Over-parameterised least squares: the pNML of all models of bounded norm."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from pnml.core.arrays import FloatArray
from pnml.core.geometry import attribution
from pnml.core.geometry.spectrum import Spectrum
from pnml.core.leave_one_out import NOISE_FLOOR, LeaveOneOut
from pnml.core.norm_ball.ball import Ball
from pnml.core.norm_ball.bound import regret_bound
from pnml.core.norm_ball.folds import Folds
from pnml.core.norm_ball.predictive import NormBallPredictive
from pnml.core.statistic.factor import Factor
from pnml.errors import InputError
from pnml.estimators.base import RegretRegressorMixin
from pnml.estimators.selection import some_rows
from pnml.estimators.validation import (
    check_flag,
    check_number_or_loo,
    check_training_rows,
    is_number,
    like_input,
    refuse_too_little,
)

_NOISE_GRID = 121
_NOISE_RANGE = (NOISE_FLOOR, 10.0)  # times the variance of y
# Leave-one-out decomposes an r × r matrix per row; this many operations are spent on it.
_FOLD_OPERATIONS, _FEWEST_FOLDS, _MOST_FOLDS = 1e11, 16, 200


class NormBallRegressor(RegretRegressorMixin, BaseEstimator):
    """Least squares with more features than rows: exact regret, and a proven bound on it.

    The class is all linear models whose slopes have at most a given norm. Its fit is the
    minimum-norm interpolator when the radius is that fit's own norm. The distribution of a label
    is not Gaussian: its mode is the fit, its mean is not.

    Parameters
    ----------
    radius : "min-norm" or float, default="min-norm"
        Bound on the norm of the slopes; ``"min-norm"`` is the norm of the least-squares fit of
        smallest norm.
    fit_intercept : bool, default=False
        Fit an intercept, which is not bounded.
    noise_variance : float or "loo", default="loo"
        Variance of the noise. ``"loo"`` minimises the pooled leave-one-out log-loss over a grid
        from a millionth to ten times the variance of y; an interpolating fit leaves no residual
        to estimate it from. At most 200 rows are left out, drawn at random with a fixed seed,
        fewer for more than 300 directions.

    Attributes
    ----------
    coef_, intercept_ : slopes (n_features,) and intercept of the fit inside the ball
    radius_, noise_variance_ : the radius and the noise in use
    loo_ : leave-one-out residuals, sds, regrets and log-losses of the rows left out

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(10, 30))
    >>> model = NormBallRegressor().fit(X, X[:, 0])
    >>> regret, bound = model.regret(X[:1] + 1), model.regret_bound(X[:1] + 1)
    >>> bool(0 < regret[0] <= bound[0])
    True
    """

    def __init__(
        self, *, radius: Any = "min-norm", fit_intercept: bool = False, noise_variance: Any = "loo"
    ) -> None:
        self.radius = radius
        self.fit_intercept = fit_intercept
        self.noise_variance = noise_variance

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from rows X (n, n_features) and targets y (n,)."""
        radius = _check_radius(self.radius)
        noise = check_number_or_loo("noise_variance", self.noise_variance, positive=True)
        check_flag("fit_intercept", self.fit_intercept)
        X, y = check_training_rows(self, X, y)
        refuse_too_little(y, {"noise_variance": noise})
        factor = Factor.of(X, y)
        self.spectrum_ = Spectrum.of_factor(
            factor, intercept=self.fit_intercept, unit_columns=False
        )
        self._ball = self._ball_of(radius)
        self.radius_ = self._ball.radius
        self.coef_ = self.spectrum_.V @ self._ball.fit
        self.intercept_ = float(self.spectrum_.y_mean[0] - self.spectrum_.center @ self.coef_)
        self._choose_noise(X, y, radius, noise)
        return self

    def _ball_of(self, radius: float | None) -> Ball:
        spectrum = self.spectrum_
        t = spectrum.z[:, 0] / np.sqrt(spectrum.h2)
        omega = 1 / (1 + spectrum.intercept_share)
        y_mean = float(spectrum.y_mean[0])
        if radius is None:
            return Ball.min_norm(spectrum.h2, t, omega, y_mean)
        return Ball(spectrum.h2, t, radius, omega, y_mean)

    def _choose_noise(
        self, X: FloatArray, y: FloatArray, radius: float | None, noise: float | None
    ) -> None:
        rank = max(len(self.spectrum_.h2), 1)
        most = int(np.clip(_FOLD_OPERATIONS / (20 * rank**3), _FEWEST_FOLDS, _MOST_FOLDS))
        rows = some_rows(len(X), most)
        folds = Folds.of(self.spectrum_, X[rows], y[rows], radius)
        if noise is None:
            grid = np.geomspace(*_NOISE_RANGE, _NOISE_GRID) * float(np.var(y))
            noise = float(grid[np.argmin(folds.log_losses(grid).mean(axis=0))])
        self.noise_variance_ = noise
        self._loo = folds.summary(noise)

    def regret_bound(self, X: Any) -> Any:
        """Proven upper bound on the regret of each row, in nats; never below `regret`."""
        X = self._checked(X)
        a, b = self._coordinates(X)
        return like_input(regret_bound(self._ball, a, b, self.noise_variance_), X)

    def explain(self, X: Any) -> Any:
        """Share of each feature in ``exp(regret) − 1`` of each row: (n, n_features), ≥ 0.

        The row is explained by the ridge regression that has the same regret.
        """
        X = self._checked(X)
        return like_input(attribution.explain_regret(self.spectrum_, X, self._regret(X)), X)

    def _coordinates(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        a, outside = self.spectrum_.coordinates(X)
        return a, np.linalg.norm(outside, axis=1)

    def _distribution(self, X: FloatArray) -> NormBallPredictive:
        return NormBallPredictive(self._ball, *self._coordinates(X), self.noise_variance_)

    def _leave_one_out(self) -> LeaveOneOut:
        return self._loo

    def _hides_nonfinite(self) -> bool:
        return True  # the genie's curve is traced for finite rows only


def _check_radius(radius: Any) -> float | None:
    if isinstance(radius, str) and radius == "min-norm":
        return None
    if not is_number(radius) or radius <= 0:
        raise InputError(
            f"radius is {radius!r}, but it must be a finite number greater than 0 or "
            '"min-norm"; pass radius="min-norm" for the norm of the least-squares fit.'
        )
    return float(radius)
