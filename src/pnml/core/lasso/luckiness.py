"""ℓ1 luckiness: pNML over all linear models, each weighted by w(θ) = exp(−τ‖θ‖₁/σ²).

The genie's weight ω is n/(n+1) when an unpenalised intercept is fitted to n training rows, and 1
without an intercept; means are zero then. Eq. (L9).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy.special import logsumexp

from pnml.core.arrays import FloatArray
from pnml.core.conditions import NOT_NEGATIVE, OF_ROWS
from pnml.core.distributions.log_quadratics import Quadratics
from pnml.core.distributions.piecewise import PiecewiseLogQuadratic
from pnml.core.lasso.path import Horizon, Start, genie_path, lasso

MASS_DEPTH = 45.0  # nats: deeper parts are below the round-off of the mass
DENSITY_DEPTH = 745.0  # nats: the density of deeper parts underflows


@dataclass(frozen=True)
class L1Fit:
    """ℓ1 luckiness: a lasso fit with the statistics that the genie of a new row needs.

    >>> fit = L1Fit.of(np.eye(1), np.array([2.0]), 0.5, np.zeros(1), 0.0, 1.0)
    >>> fit.predict(np.array([[3.0]])), fit.regret(np.array([[3.0]]), np.array([1.0])).round(4)
    (array([4.5]), array([[1.9941]]))
    """

    start: Start
    x_mean: Annotated[FloatArray, "d", OF_ROWS]
    y_mean: float
    weight: Annotated[float, NOT_NEGATIVE]  # ω

    @classmethod
    def of(
        cls,
        gram: FloatArray,
        moment: FloatArray,
        penalty: float,
        x_mean: FloatArray,
        y_mean: float,
        weight: float,
    ) -> L1Fit:
        """The lasso fit from XᵀX (M, M) and XᵀY (M,), both about the means `x_mean` and `y_mean`.

        `weight` is n/(n+1) with an intercept and n training rows, and 1 without an intercept.
        """
        coef = lasso(gram, moment, np.array([penalty]))[0]
        return cls(Start.of(gram, moment, penalty, coef), x_mean, y_mean, weight)

    @property
    def coef(self) -> FloatArray:
        """Coefficients of the lasso, (M,)."""
        return self.start.coef

    def predict(self, X: FloatArray) -> FloatArray:
        """Labels (T,) that the lasso predicts for rows X (T, M)."""
        return np.asarray(self.y_mean + (X - self.x_mean) @ self.coef)

    def profiles(self, X: FloatArray, horizon: Horizon) -> Iterable[Profile]:
        """For each row of X (T, M) the genie's residual and norm as functions of the label.

        `horizon` says how far along the label the genie's path is followed.
        """
        return (Profile.of(self.start, row, self.y_mean, horizon) for row in X - self.x_mean)

    def predictive(self, X: FloatArray, noise_variance: float) -> PiecewiseLogQuadratic:
        """Distributions of the labels of rows X (T, M) under Gaussian noise. Eq. (L12)."""
        horizon = Horizon(noise_variance, DENSITY_DEPTH, self.weight)
        return predictive(list(self.profiles(X, horizon)), self.start.penalty, noise_variance)

    def regret(self, X: FloatArray, noise_variances: FloatArray) -> FloatArray:
        """Regret (T, S), in nats, of rows X (T, M) at each of S noise variances. Eq. (L13).

        One walk along the genie's path of a row serves all noise variances.
        """
        horizon = Horizon(float(np.max(noise_variances)), MASS_DEPTH, self.weight)
        out = [
            np.maximum(profile.log_mass(self.start.penalty, noise_variances), 0.0)
            for profile in self.profiles(X, horizon)
        ]
        return np.array(out).reshape(len(X), len(noise_variances))


@dataclass(frozen=True)
class Profile:
    """Residual and ‖θ‖₁ of the genie of one row over the row's label, straight on J segments.

    The genie is the lasso fit θ with the row and one label added. On segment j the residual is
    residual[j] + residual_slope[j]·(label − origin[j]), and likewise the norm.
    """

    edges: FloatArray  # (J+1,)
    origin: FloatArray  # (J,)
    residual: FloatArray  # (J,)
    residual_slope: FloatArray  # (J,)
    norm: FloatArray  # (J,)  less that of the lasso fit to the training rows alone
    norm_slope: FloatArray  # (J,)

    @classmethod
    def of(cls, start: Start, row: FloatArray, y_mean: float, horizon: Horizon) -> Profile:
        """Profile of a new row, given as `row` = x − x̄ (M,), in units of y. Eq. (L9).

        `start` holds the lasso fit to the training rows, `y_mean` the mean of their labels.
        """
        root = np.sqrt(horizon.weight)
        path = genie_path(start, root * row, horizon)
        return cls(
            y_mean + path.edges / root,
            y_mean + path.origin / root,
            root * path.residual,
            horizon.weight * path.residual_slope,
            path.norm - path.fitted_norm(),
            root * path.norm_slope,
        )

    def log_density(
        self, penalty: float, noise_variances: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Coefficients q0, q1, q2, (S, J) each, of the log-density of the label. Eq. (L12).

        Before normalisation it is q0 + q1 u + q2 u² on each of J segments, with u = label − origin,
        for each of S noise variances: log p by the label's own genie, plus the log of the genie's
        luckiness relative to the lasso fit. `penalty` is the ℓ1 penalty.
        """
        v = noise_variances[:, None]
        q0 = -(0.5 * self.residual**2 + penalty * self.norm) / v - 0.5 * np.log(2 * np.pi * v)
        q1 = -(self.residual * self.residual_slope + penalty * self.norm_slope) / v
        return q0, q1, -0.5 * self.residual_slope**2 / v

    def log_mass(self, penalty: float, noise_variances: FloatArray) -> FloatArray:
        """Relative regret (S,), in nats: log-integral of the density over labels. Eq. (L13).

        One for each noise variance. It may be negative, because ‖θ‖₁ has kinks. `penalty` is the ℓ1
        penalty.
        """
        terms = self.log_density(penalty, noise_variances)
        edges = np.broadcast_to(self.edges, (len(noise_variances), len(self.edges)))
        origin = np.broadcast_to(self.origin, terms[0].shape)
        return np.asarray(logsumexp(Quadratics(edges, origin, *terms).log_masses(), axis=1))

    def log_prob(self, label: float, penalty: float, noise_variances: FloatArray) -> FloatArray:
        """Log-density (S,) of one label at each noise variance, before normalisation. Eq. (L12)."""
        j = min(max(int(np.searchsorted(self.edges, label)) - 1, 0), len(self.origin) - 1)
        q0, q1, q2 = (q[:, j] for q in self.log_density(penalty, noise_variances))
        u = label - self.origin[j]
        return np.asarray(q0 + u * (q1 + u * q2))


def predictive(
    profiles: list[Profile], penalty: float, noise_variance: float
) -> PiecewiseLogQuadratic:
    """Distributions of the labels of the rows with these profiles, by ℓ1 luckiness. Eq. (L12).

    `penalty` is the ℓ1 penalty. The regret of a row is the log of its normaliser, or 0 if negative.
    """
    n_pieces = max((len(profile.origin) for profile in profiles), default=1)
    edges = np.full((len(profiles), n_pieces + 1), np.inf)
    terms = np.zeros((4, len(profiles), n_pieces))  # origin, q0, q1, q2; spare pieces are empty
    for t, profile in enumerate(profiles):
        used = len(profile.origin)
        edges[t, : used + 1] = profile.edges
        log_density = profile.log_density(penalty, np.array([noise_variance]))
        terms[:, t, :used] = profile.origin, *(q[0] for q in log_density)
    edges[:, 0] = -np.inf
    return PiecewiseLogQuadratic.of(Quadratics(edges, *terms))
