"""Softmax heads refitted with a label, under a bound or a penalty on the norm of their slopes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize

from pnml.core.arrays import FloatArray

_SAME_NORM = 1e-4  # relative distance from the radius at which a multiplier is found
_MOST_MULTIPLIERS = 60
_LARGEST_STEP = 3.0  # of the logarithm of a multiplier
_NOTHING = 1e-9  # multiplier of a bound that is not met
_GRADIENT = 1e-4  # in the units of the preconditioner: the loss is then right to about 1e-8


@dataclass(frozen=True)
class Whitening:
    """Features to columns of unit covariance over the training rows, and a constant column."""

    mean: FloatArray  # (d,)
    root: FloatArray  # (d, r)

    @classmethod
    def of(cls, features: FloatArray) -> Whitening:
        """Of training features (n, d); directions without variance are dropped."""
        mean = features.mean(axis=0)
        _, s, Vt = np.linalg.svd(features - mean, full_matrices=False)
        kept = s > 1e-6 * s[0]
        return cls(mean, Vt[kept].T / (s[kept] / np.sqrt(len(features))))

    def rows(self, features: FloatArray) -> FloatArray:
        """Rows (n, r + 1), the constant last."""
        return np.column_stack([(features - self.mean) @ self.root, np.ones(len(features))])

    def norm(self, weight: FloatArray) -> float:
        """Norm, in these columns, of the slopes (C, d) of a head; a shift of all is left out."""
        slopes = np.linalg.pinv(self.root) @ (weight - weight.mean(axis=0)).T
        return float(np.linalg.norm(slopes))


@dataclass(frozen=True)
class Rows:
    """Training rows of a head: the constant is the last column."""

    X: FloatArray  # (n, p)
    labels: npt.NDArray[np.intp]  # (n,)
    classes: int

    def loss(self, w: FloatArray, penalty: float) -> tuple[float, FloatArray]:
        """Sum of the losses plus λ‖slopes‖²/2, and its gradient, at weights (p·C,)."""
        W = w.reshape(self.X.shape[1], self.classes)
        z = self.X @ W
        top = z.max(axis=1, keepdims=True)
        e = np.exp(z - top)
        total = e.sum(axis=1, keepdims=True)
        at = np.arange(len(z)), self.labels
        value = float(np.sum(np.log(total[:, 0]) + top[:, 0] - z[at]))
        e /= total
        e[at] -= 1
        gradient = self.X.T @ e
        gradient[:-1] += penalty * W[:-1]
        return value + 0.5 * penalty * float(np.sum(W[:-1] ** 2)), gradient.ravel()

    def factor(self, W: FloatArray, penalty: float) -> FloatArray:
        """Upper Cholesky factor of the Hessian at weights (p, C); a shift of all is held."""
        z = self.X @ W
        p = np.exp(z - z.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        n, d, C = *self.X.shape, self.classes
        rows = np.einsum("nd,nc->ndc", self.X, p).reshape(n, d * C)
        H = -(rows.T @ rows)
        for c in range(C):
            H[c::C, c::C] += (self.X * p[:, c : c + 1]).T @ self.X
        ridge = np.full((d, C), max(penalty, 1e-3))
        return np.asarray(cholesky(H + np.diag(ridge.ravel())))

    def with_row(self, x: FloatArray, label: int) -> Rows:
        """The rows and one more."""
        return Rows(np.vstack([self.X, x]), np.append(self.labels, label), self.classes)

    def fit(self, start: FloatArray, penalty: float, factor: FloatArray) -> FloatArray:
        """Penalised fit (p, C), from a start, in the coordinates of a factor of the Hessian."""

        def there(v: FloatArray) -> tuple[float, FloatArray]:
            value, gradient = self.loss(solve_triangular(factor, v), penalty)
            return value, solve_triangular(factor, gradient, trans=1)

        options: Any = {"maxiter": 500, "maxcor": 20, "gtol": _GRADIENT, "ftol": 1e-13}
        begin = factor @ start.ravel()
        found = minimize(there, begin, jac=True, method="L-BFGS-B", options=options)
        return np.asarray(solve_triangular(factor, found.x).reshape(start.shape))


@dataclass(frozen=True)
class Bounded:
    """The best head with slopes of at most a norm, and its genies."""

    rows: Rows
    radius: float

    @cached_property
    def best(self) -> tuple[FloatArray, float]:
        """Weights (p, C) of the fit to the rows, and the multiplier of the bound."""
        W = np.zeros((self.rows.X.shape[1], self.rows.classes))
        penalty = len(self.rows.X) / 10
        for _ in range(3):  # towards the multiplier, with a factor of the Hessian near it
            factor = self.rows.factor(W, penalty)
            W, penalty = _bounded(self.rows, self.radius, W, penalty, factor)
        return W, penalty

    @cached_property
    def _factor(self) -> FloatArray:
        return self.rows.factor(*self.best)

    def log_prob(self, X: FloatArray) -> FloatArray:
        """Log-probabilities (n, C) by the fit itself."""
        z = X @ self.best[0]
        return np.asarray(z - np.logaddexp.reduce(z, axis=1, keepdims=True))

    def genies(self, X: FloatArray, *, penalised: bool = False) -> FloatArray:
        """Log-probability (n, C) of each label by the fit that has the row with that label.

        Bounded by the radius or, if penalised, with the multiplier of the fit without the row.
        """
        labels = range(self.rows.classes)
        return np.array([[self._genie(x, c, penalised) for c in labels] for x in X])

    def _genie(self, x: FloatArray, label: int, penalised: bool) -> float:
        W, penalty = self.best
        rows = self.rows.with_row(x, label)
        if penalised:
            W = rows.fit(W, penalty, self._factor)
        else:
            W, _ = _bounded(rows, self.radius, W, penalty, self._factor)
        z = x @ W
        return float(z[label] - np.logaddexp.reduce(z))


def _bounded(
    rows: Rows, radius: float, W: FloatArray, penalty: float, factor: FloatArray
) -> tuple[FloatArray, float]:
    """Fit with slopes of a norm, and its multiplier: by secants in the multiplier.

    A fit inside the ball is the best without a bound; then the multiplier falls to nothing.
    """
    low, high = 0.0, np.inf
    points: list[tuple[float, float]] = []
    for _ in range(_MOST_MULTIPLIERS):
        W = rows.fit(W, penalty, factor)
        norm = float(np.linalg.norm(W[:-1]))
        if abs(norm / radius - 1) < _SAME_NORM or (norm < radius and penalty < _NOTHING):
            break
        low, high = (penalty, high) if norm > radius else (low, penalty)
        points.append((np.log(penalty), np.log(norm / radius)))
        penalty = _next(points, low, high)
    return W, penalty


def _next(points: list[tuple[float, float]], low: float, high: float) -> float:
    """The next multiplier: a secant of log(norm/radius) in its logarithm, kept in its bracket."""
    at, excess = points[-1]
    trial = at + 2 * excess
    if len(points) > 1 and excess != points[-2][1]:
        trial = at - excess * (at - points[-2][0]) / (excess - points[-2][1])
    trial = float(np.clip(trial, at - _LARGEST_STEP, at + _LARGEST_STEP))
    if not np.log(max(low, 1e-300)) < trial < np.log(high):
        known = low > 0 and np.isfinite(high)
        trial = 0.5 * (np.log(low) + np.log(high)) if known else at + np.copysign(1.0, excess)
    return float(np.exp(trial))
