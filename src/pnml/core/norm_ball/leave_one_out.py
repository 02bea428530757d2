"""Leave-one-out of the norm ball, each fold from the spectrum of all rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.core.geometry.spectrum import Spectrum
from pnml.core.leave_one_out import ALONE, LeaveOneOut
from pnml.core.norm_ball.ball import Ball, constrained_multiplier
from pnml.core.norm_ball.predictive import NormBallPredictive
from pnml.core.norm_ball.regret import regret_path


@dataclass(frozen=True)
class Fold:
    """A leave-one-out fold: the norm ball of the other rows, and the row in its coordinates."""

    ball: Ball
    a: FloatArray  # (1, r)
    b: FloatArray  # (1,)


@dataclass(frozen=True)
class Folds:
    """n training rows, each left out: norm balls of the others, genies' residuals. Eq. (N20)."""

    folds: list[Fold]
    targets: FloatArray  # (n,)
    residual: FloatArray  # (n,)  of the genie with the row's own label

    @classmethod
    def of(cls, spectrum: Spectrum, X: FloatArray, y: FloatArray, radius: float | None) -> Folds:
        """Folds of training rows X (n, d), y (n,); `spectrum` is that of all training rows.

        `radius` is that of every ball; None takes in each fold the norm of its own least-squares
        fit.
        """
        a = spectrum.components(X)
        centred = y - float(spectrum.y_mean[0])
        folds = [_fold(spectrum, *row, radius) for row in zip(a, centred, strict=True)]
        radii = np.array([fold.ball.radius for fold in folds])
        return cls(folds, y, _genie_residuals(spectrum, a, centred, radii))

    def regrets(self, noise_variances: FloatArray) -> FloatArray:
        """Left-out regrets (n, S), in nats, at each of S noise variances."""
        return np.array([regret_path(f.ball, f.a, f.b, noise_variances)[0] for f in self.folds])

    def log_losses(self, noise_variances: FloatArray) -> FloatArray:
        """Left-out log-losses (n, S), in nats: loss of the genie plus regret, Eq. (P3).

        S is the number of noise variances.
        """
        squares = self.residual[:, None] ** 2 / noise_variances
        loss = 0.5 * (np.log(2 * np.pi * noise_variances) + squares)
        return loss + self.regrets(noise_variances)

    def summary(self, noise_variance: float) -> LeaveOneOut:
        """Left-out residual, standard deviation, regret and log-loss of every row, (n,) each."""
        at = [NormBallPredictive(f.ball, f.a, f.b, noise_variance) for f in self.folds]
        mean = np.array([dist.mean[0] for dist in at])
        noise = np.array([noise_variance])
        return LeaveOneOut(
            self.targets - mean,
            np.array([dist.std[0] for dist in at]),
            self.regrets(noise)[:, 0],
            self.log_losses(noise)[:, 0],
            np.ones(len(mean)),
        )


def _fold(spectrum: Spectrum, a: FloatArray, y: float, radius: float | None) -> Fold:
    """Ball without one row, whose centred coordinates are a (r,) and y. Eq. (N21).

    With C² = I − uuᵀ, the other rows have the same Gram as C diag(h): an r × r matrix, however
    many rows there are, and its condition number is not squared.
    """
    n, intercept = spectrum.weight, spectrum.intercept_share > 0
    shift = n / (n - 1) if intercept and n > 1 else 1.0  # the mean moves away from the row
    h = np.sqrt(spectrum.h2)
    u = np.sqrt(shift) * a / h
    size = float(np.linalg.norm(u))
    left = max(1 - size**2, 0.0)
    c = np.sqrt(left) if left > ALONE else 0.0
    direction = u / size if size > 0 else u
    R = np.diag(h) - (1 - c) * np.outer(direction, direction * h)
    targets = spectrum.z[:, 0] - np.sqrt(shift) * y * u
    along = float(direction @ targets)
    targets = targets + direction * (along / c - along if c > 0 else -along)
    U, singular, Vt = np.linalg.svd(R)
    rank = len(h) - (c == 0.0)  # without a row that is alone, its direction is gone
    U, singular, Vt = U[:, :rank], singular[:rank], Vt[:rank]
    x = shift * a
    inside = Vt @ x
    b = float(np.linalg.norm(x - Vt.T @ inside)) if c == 0.0 else 0.0
    omega = 1 - 1 / n if intercept and n > 1 else 1.0
    mean = float(spectrum.y_mean[0]) - (y / (n - 1) if intercept and n > 1 else 0.0)
    h2, t = singular**2, (U.T @ targets) / singular
    norm = float(np.linalg.norm(t)) if radius is None else radius
    return Fold(Ball(h2, t, norm, omega, mean), inside[None], np.array([b]))


def _genie_residuals(
    spectrum: Spectrum, a: FloatArray, y: FloatArray, radii: FloatArray
) -> FloatArray:
    """Residuals of fits to all rows, each within the ball of its fold.

    With the row's own label, the genie of a fold fits all rows, so all folds share one spectrum.
    """
    h, z = np.sqrt(spectrum.h2), spectrum.z[:, 0]
    U = a / h
    lam = constrained_multiplier(spectrum.h2, z / h, radii)[:, None]
    with np.errstate(invalid="ignore"):
        left = np.where(np.isinf(lam), 1.0, lam / (spectrum.h2 + lam))
    fitted_exactly = np.sum(U * U, axis=1) + spectrum.intercept_share > 1 - ALONE
    rest = np.where(fitted_exactly, 0.0, y - U @ z)
    residual: FloatArray = rest + np.sum(U * left * z, axis=1)
    return residual
