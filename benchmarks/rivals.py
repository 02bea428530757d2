"""The same numbers by the ways one would write down first."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq

from benchmarks.timing import FloatArray


def refits(X: FloatArray, y: FloatArray, alphas: Iterable[float], folds: int) -> FloatArray:
    """Folds (L, folds, 4) of ridge regression, a refit each: residual, K, B and C.

    The four numbers serve all four learners, so one refit is made where a naive loop makes four.
    """
    A, penalty = _design(X)
    out = []
    for alpha in alphas:
        for i in range(folds):
            keep = np.arange(len(A)) != i
            P = np.linalg.inv(A[keep].T @ A[keep] + alpha * penalty)
            out.append(_fold(P, P @ (A[keep].T @ y[keep]), A[i], y[i]))
    return np.array(out).reshape(-1, folds, 4)


def downdates(X: FloatArray, y: FloatArray, alphas: Iterable[float], folds: int) -> FloatArray:
    """The folds of `refits`, each by a rank-one downdate of one inverse per penalty."""
    A, penalty = _design(X)
    gram, moment = A.T @ A, A.T @ y
    out = []
    for alpha in alphas:
        P = np.linalg.inv(gram + alpha * penalty)
        for i in range(folds):
            Pa = P @ A[i]
            P_left = P + np.outer(Pa, Pa) / (1 - A[i] @ Pa)
            out.append(_fold(P_left, P_left @ (moment - A[i] * y[i]), A[i], y[i]))
    return np.array(out).reshape(-1, folds, 4)


def downdates_at_once(X: FloatArray, y: FloatArray, alphas: Iterable[float]) -> FloatArray:
    """The folds of `downdates`, all rows in one matrix product per penalty."""
    A, penalty = _design(X)
    gram, moment = A.T @ A, A.T @ y
    out = []
    for alpha in alphas:
        P = np.linalg.inv(gram + alpha * penalty)
        PA, theta = A @ P, P @ moment
        g = 1 - np.einsum("ij,ij->i", A, PA)
        left_out = (y - A @ theta) / g
        C = np.einsum("ij,ij->i", PA[:, 1:], PA[:, 1:]) / g**2
        B = PA[:, 1:] @ theta[1:] / g - left_out * C * g
        out.append(np.column_stack([left_out, 1 / g, B, C]))
    return np.array(out)


def _design(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Rows with a column of ones, which the penalty leaves alone."""
    A = np.column_stack([np.ones(len(X)), X])
    return A, np.diag(np.r_[0.0, np.ones(X.shape[1])])


def _fold(P: FloatArray, theta: FloatArray, a: FloatArray, y: float) -> FloatArray:
    Pa = P @ a
    return np.array([y - a @ theta, 1 + a @ Pa, theta[1:] @ Pa[1:], Pa[1:] @ Pa[1:]])


def norm_ball_regret(X: FloatArray, y: FloatArray, x: FloatArray, noise_variance: float) -> float:
    """Regret of one row in the min-norm ball: adaptive quadrature over refits to each label.

    One eigendecomposition serves all labels; each refit is a root search for its multiplier.
    """
    U, h, Vt = np.linalg.svd(X, full_matrices=False)
    fit = Vt.T @ (U.T @ y / h)
    radius, sigma = float(np.linalg.norm(fit)), float(np.sqrt(noise_variance))
    h2, V = np.linalg.eigh(X.T @ X + np.outer(x, x))
    h2 = np.maximum(h2, 0.0)
    moment, row, centre = V.T @ (X.T @ y), V.T @ x, float(x @ fit)

    def density(label: float) -> float:
        pull = moment + row * label

        def too_long(log_penalty: float) -> float:
            return float(np.linalg.norm(pull / (h2 + np.exp(log_penalty)))) - radius

        if label == centre:
            residual = 0.0
        else:
            penalty = np.exp(brentq(too_long, -60.0, 60.0, xtol=1e-13, rtol=1e-14))
            residual = label - float(row @ (pull / (h2 + penalty)))
        return float(np.exp(-0.5 * (residual / sigma) ** 2) / (sigma * np.sqrt(2 * np.pi)))

    # no model of the ball predicts more than R‖x‖, so beyond 9 sigma of that nothing is left
    reach = radius * float(np.linalg.norm(x)) + abs(centre) + 9 * sigma
    sides = (
        quad(density, *ends, epsabs=1e-9, epsrel=1e-9, limit=500)[0]
        for ends in ((centre - reach, centre), (centre, centre + reach))
    )
    return float(np.log(sum(sides)))
