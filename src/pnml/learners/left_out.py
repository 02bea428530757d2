"""Distributions that a learner predicts for its training rows, each left out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

import numpy as np
import numpy.typing as npt

from pnml.core.arrays import FloatArray
from pnml.core.distributions.normal import Normal
from pnml.core.distributions.piecewise import PiecewiseLogQuadratic
from pnml.core.lasso.leave_one_out import L1Folds
from pnml.core.norm_ball.leave_one_out import Folds
from pnml.core.norm_ball.predictive import NormBallPredictive
from pnml.learners.lasso import Lasso
from pnml.learners.norm_ball import NormBall, most_folds

IntArray = npt.NDArray[np.intp]

_MOST = 200  # rows left out of learners that are not Gaussian


@dataclass(frozen=True)
class BallFolds:
    """Left-out predictive distributions of the norm-ball learner, one ball for each row."""

    folds: Folds
    noise_variance: float

    def rows(self, rows: IntArray) -> NormBallPredictive:
        """Predictive distribution of one left-out row; `rows` holds its position alone."""
        fold = self.folds.folds[int(rows[0])]
        return NormBallPredictive(fold.ball, fold.a, fold.b, self.noise_variance)


@singledispatch
def left_out(learner: Any, X: FloatArray, y: FloatArray, rows: IntArray) -> Any:
    """Predictive distributions of some training rows, each predicted from all other rows.

    X (n, d) and y (n,) are all training rows, `rows` are indices into them. Calling
    ``.rows(np.array([i]))`` on the result gives the distribution of the i-th of these indices.
    Gaussian learners read it from `loo`.
    """
    loo = learner.loo
    means = y - loo.residuals
    known = np.isfinite(means)
    stds = np.where(known, loo.sds, np.inf)
    return Normal(np.where(known, means, 0.0), stds, loo.regrets).rows(rows)


@left_out.register
def _(learner: Lasso, X: FloatArray, y: FloatArray, rows: IntArray) -> Any:
    spectrum, choice = learner.spectrum, learner.choice
    n, shift = len(X), float(spectrum.y_mean[0])
    weight = 1 - 1 / n if spectrum.intercept_share > 0 else 1.0
    folds = L1Folds.of(X - spectrum.center, y - shift, choice.alpha, weight, learner.slopes)
    dist = folds.predictive(rows, choice.noise_variance)
    pieces = replace(dist.pieces, start=dist.pieces.start + shift, near=dist.pieces.near + shift)
    return PiecewiseLogQuadratic(pieces, dist.log_mass, dist.regret)


@left_out.register
def _(learner: NormBall, X: FloatArray, y: FloatArray, rows: IntArray) -> Any:
    ball = learner.ball
    radius = None if learner.is_min_norm else ball.radius
    return BallFolds(Folds.of(learner.spectrum, X[rows], y[rows], radius), learner.noise_variance)


def most_left_out(learner: Any) -> int:
    """Number of rows that `left_out` should be given for a learner, to bound its time."""
    return most_folds(learner.spectrum) if isinstance(learner, NormBall) else _MOST
