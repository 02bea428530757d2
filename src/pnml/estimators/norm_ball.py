"""Over-parameterised least squares: the pNML of all models of bounded norm."""

from __future__ import annotations

from typing import Literal, Self

from sklearn.utils.validation import check_is_fitted

from pnml.core.arrays import FloatArray
from pnml.core.geometry.spectrum import Spectrum
from pnml.core.user_types import ArrayOrFrame, NumberOrLoo
from pnml.errors import InputError
from pnml.estimators.base import RegressorBase, checked_rows
from pnml.estimators.registry import register
from pnml.estimators.validation import (
    check_flag,
    check_number_or_loo,
    check_training_rows,
    is_number,
    refuse_too_little,
)
from pnml.learners.finite import like_input
from pnml.learners.norm_ball import NormBall, solve_norm_ball


class NormBallRegressor(RegressorBase):
    """Least squares with slopes of bounded norm, for more features than rows, with a regret.

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
    radius_, noise_variance_ : the radius and the noise, as given or as learnt from the rows
    loo_ : leave-one-out residuals, sds, regrets and log-losses of the rows left out

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(10, 30))
    >>> model = NormBallRegressor().fit(X, X[:, 0])
    >>> regret, bound = model.regret(X[:1] + 1), model.regret_bound(X[:1] + 1)
    >>> bool(0 < regret[0] <= bound[0])
    True
    """

    learner_: NormBall

    def __init__(
        self,
        *,
        radius: float | Literal["min-norm"] = "min-norm",
        fit_intercept: bool = False,
        noise_variance: NumberOrLoo = "loo",
    ) -> None:
        self.radius = radius
        self.fit_intercept = fit_intercept
        self.noise_variance = noise_variance

    def fit(self, X: ArrayOrFrame, y: ArrayOrFrame) -> Self:
        """Learn from rows X (n, n_features) and targets y (n,)."""
        radius = _check_radius(self.radius)
        noise = check_number_or_loo("noise_variance", self.noise_variance, positive=True)
        intercept = check_flag("fit_intercept", self.fit_intercept)
        X, y = check_training_rows(self, X, y)
        refuse_too_little(y, {"noise_variance": noise})
        self.learner_ = solve_norm_ball(X, y, radius, noise, intercept=intercept)
        return self

    def regret_bound(self, X: ArrayOrFrame) -> FloatArray:
        """Proven upper bound (n,) on the regret of each row, in nats; never below `regret`."""
        rows = checked_rows(self, X)
        return like_input(self.learner_.regret_bound(rows), rows)

    @property
    def spectrum_(self) -> Spectrum:
        """Singular value decomposition of the training rows: directions and scales."""
        check_is_fitted(self)
        return self.learner_.spectrum

    @property
    def radius_(self) -> float:
        """Largest norm that the slopes may have: as given, or that of the minimum-norm fit."""
        check_is_fitted(self)
        return self.learner_.ball.radius

    @property
    def coef_(self) -> FloatArray:
        """Slopes of the fit inside the ball, (n_features,)."""
        check_is_fitted(self)
        return self.learner_.slopes

    @property
    def intercept_(self) -> float:
        """The intercept: the prediction for a row of zeros."""
        check_is_fitted(self)
        return self.learner_.intercept

    @property
    def noise_variance_(self) -> float:
        """Variance of the noise in the labels: as given, or as leave-one-out estimated it."""
        check_is_fitted(self)
        return self.learner_.noise_variance


def _check_radius(radius: float | str) -> float | None:
    if isinstance(radius, str) and radius == "min-norm":
        return None
    if isinstance(radius, str) or not is_number(radius) or radius <= 0:
        raise InputError(
            f"radius is {radius!r}, but it must be a finite number greater than 0 or "
            '"min-norm"; pass radius="min-norm" for the norm of the least-squares fit.'
        )
    return float(radius)


register(
    "norm-ball",
    lambda: NormBallRegressor(fit_intercept=True),
    task="regression",
    about="more columns than rows",
    rows=2_000,
    place=4,
)
