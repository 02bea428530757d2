"""Leave-one-out of ℓ1 luckiness without refits: every fold's path starts at the full-data lasso.

The fold's rows with the left-out row at its own label are all rows, so the full fit lies on the
fold's path. Eq. (L14).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pnml.core.arrays import FloatArray
from pnml.core.distributions.piecewise import PiecewiseLogQuadratic
from pnml.core.lasso.luckiness import DENSITY_DEPTH, MASS_DEPTH, Profile, predictive
from pnml.core.lasso.path import Horizon, Start, lasso
from pnml.errors import InputError

_OWN_COLUMN = 0.9  # share of a column's square above which a row is left out, not subtracted
_ON_PATH = 1e-9  # relative error of stationarity that a fit on the path may have


@dataclass(frozen=True)
class L1Folds:
    """Leave-one-out of the lasso: n centred training rows, and the lasso fit to all of them."""

    X: FloatArray  # (n, M)
    y: FloatArray  # (n,)
    gram: FloatArray  # (M, M)
    moment: FloatArray  # (M,)
    coef: FloatArray  # (M,)
    penalty: float
    weight: float  # ω of a genie beside n − 1 rows: (n−1)/n with an intercept, 1 without

    @classmethod
    def of(
        cls, X: FloatArray, y: FloatArray, penalty: float, weight: float, coef: FloatArray
    ) -> L1Folds:
        """Folds of centred rows X (n, M), y (n,); `coef` (M,) is the lasso fit to all of them.

        `penalty` is the ℓ1 penalty; `weight` is (n−1)/n with an intercept and 1 without.
        """
        if len(X) < 2:
            raise InputError(
                f"Leave-one-out needs at least 2 training rows, got {len(X)}: give more rows."
            )
        return cls(X, y, X.T @ X, X.T @ y, coef, penalty, weight)

    def losses(
        self, rows: npt.NDArray[np.intp], noise_variances: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Log-loss and regret of training rows, each left out: two arrays (k, S), in nats.

        `rows` are the indices of k rows; there are S noise variances. One walk along the lasso path
        of a row serves all noise variances. Eq. (L14).
        """
        spread, shape = float(np.max(noise_variances)), (len(rows), len(noise_variances))
        losses, regrets = np.empty(shape), np.empty(shape)
        for k, (i, profile) in enumerate(self._profiles(rows, spread, MASS_DEPTH)):
            log_mass = profile.log_mass(self.penalty, noise_variances)
            log_prob = profile.log_prob(float(self.y[i]), self.penalty, noise_variances)
            losses[k], regrets[k] = log_mass - log_prob, np.maximum(log_mass, 0.0)
        return losses, regrets

    def predictive(
        self, rows: npt.NDArray[np.intp], noise_variance: float
    ) -> PiecewiseLogQuadratic:
        """Distributions of the labels of training rows, each predicted by the others. Eq. (L14).

        `rows` are indices; labels are relative to the mean of y.
        """
        profiles = self._profiles(rows, noise_variance, DENSITY_DEPTH)
        return predictive([profile for _, profile in profiles], self.penalty, noise_variance)

    def _profiles(
        self, rows: npt.NDArray[np.intp], spread: float, depth: float
    ) -> Iterator[tuple[int, Profile]]:
        for i in rows.tolist():
            start, reach = self._start(i, depth)
            row, y_mean = self.X[i] / self.weight, self.y[i] * (1 - 1 / self.weight)
            yield i, Profile.of(start, row, y_mean, Horizon(spread, reach, self.weight))

    def _start(self, i: int, depth: float) -> tuple[Start, float]:
        """Start of the path of fold i, and the depth at which it reaches the row's own label."""
        gram, moment, magnitude = self._without(i)
        root = np.sqrt(self.weight)
        residual = float(self.y[i] - self.X[i] @ self.coef) / root
        if self._on_path(gram, moment + self.X[i] / root * residual, magnitude):
            start = Start.of(gram, moment, self.penalty, self.coef, residual, magnitude)
            return start, depth
        coef = lasso(gram, moment, np.array([self.penalty]))[0]
        return Start.of(gram, moment, self.penalty, coef), DENSITY_DEPTH

    def _without(self, i: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Gram and moment of the other rows about their mean, and the size of the Gram's sums."""
        x, y = self.X[i] / np.sqrt(self.weight), self.y[i] / np.sqrt(self.weight)
        squares = self.gram.diagonal()
        if not np.any(x * x > _OWN_COLUMN * squares):
            return self.gram - np.outer(x, x), self.moment - x * y, squares
        # subtracting a row that makes up a column would leave its round-off
        back = 1 / self.weight - 1
        others = np.delete(self.X, i, axis=0) + back * self.X[i]
        labels = np.delete(self.y, i) + back * self.y[i]
        gram = others.T @ others
        return gram, others.T @ labels, gram.diagonal()

    def _on_path(self, gram: FloatArray, linear: FloatArray, magnitude: FloatArray) -> bool:
        """Whether the full fit is stationary for the fold's own statistics."""
        scale = np.sqrt(magnitude)
        correlation = linear - gram @ self.coef
        off = np.abs(correlation) - self.penalty
        used = self.coef != 0
        off[used] = np.abs(correlation[used] - self.penalty * np.sign(self.coef[used]))
        size = np.abs(linear) + scale * float(scale @ np.abs(self.coef)) + self.penalty
        return bool(np.all(off <= _ON_PATH * size))
