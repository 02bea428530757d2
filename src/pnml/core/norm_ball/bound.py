"""Proven upper bounds on the regret of a norm ball, in closed form or by one smooth integral."""

from __future__ import annotations

from typing import Any

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.core.norm_ball.ball import Ball

# Residuals, in units of the noise, over which the integral of Eq. (N17) runs.
_LEAST, _MOST = 1e-7, 9.5
_NODES = 256
_NEWTON_STEPS = 40
_SQRT_2_OVER_PI = float(np.sqrt(2 / np.pi))


def regret_bound(ball: Ball, a: Any, b: Any, noise_variance: float) -> FloatArray:
    """Upper bound (T,), in nats, on the regret of rows by the pNML of a norm ball.

    `a` (T, r) are the components of the rows along the training directions, `b` (T,) their
    distances from the span. It is the smallest bound proven for the radius: Eq. (N17) for the
    min-norm ball, Eq. (N18) for all, Eq. (N19) for rows inside the span of the training rows.

    >>> ball = Ball.min_norm(np.array([4.0]), np.array([0.5]))
    >>> regret_bound(ball, [[1.0], [1.0]], [0.0, 2.0], noise_variance=0.01).round(3)
    array([0.223, 1.989])
    """
    x = ball.coordinates(a, b)
    sigma = float(ball.noise(noise_variance))
    growth = range_bound(ball.radius, np.linalg.norm(x, axis=1), sigma)
    inside, kappa = x[:, -1] == 0, (x[:, :-1] ** 2) @ (1 / ball.h2)
    growth[inside] = np.minimum(growth, kappa)[inside]
    if ball.excess == 0:
        spread = float(np.sqrt(np.sum(ball.t**2 / ball.h2)))  # √D
        psi = min_norm_bound(kappa[~inside], x[~inside, -1] ** 2 * spread / sigma)
        growth[~inside] = np.minimum(growth[~inside], psi)
    out: FloatArray = np.log1p(growth) - np.log(ball.omega)
    return out


def range_bound(radius: float, size: FloatArray, sigma: float) -> FloatArray:
    """Bound (T,) on exp(regret) − 1 at any radius, from |xᵀθ| ≤ radius·‖x‖. Eq. (N18).

    `size` (T,) are the norms ‖x‖ of the rows, `sigma` is the standard deviation of the noise.
    """
    return _SQRT_2_OVER_PI * radius * size / sigma


def min_norm_bound(kappa: FloatArray, ell: FloatArray) -> FloatArray:
    """Bound (T,) on exp(regret) − 1 in the min-norm ball: Ψ(κ, ℓ) − 1 with ℓ = b²√D/σ. Eq. (N17).

    κ (T,) is the leverage of the row's part inside the span, b its distance from the span, σ the
    noise, and D = Σ t²/h2 over the directions of the least-squares fit t.

    >>> min_norm_bound(np.array([0.5, 0.5]), np.array([0.0, 1.0])).round(3)
    array([0.5  , 2.256])
    """
    moving = ell > 0
    k, ell_ = kappa[:, None], np.where(moving, ell, 1.0)[:, None]
    first, last = (_room(k, ell_, s) for s in (_MOST, _LEAST))  # log q
    step = (last - first) / (_NODES - 1)
    q = np.exp(first + step * np.arange(_NODES))
    root = np.sqrt(k + 2 * q)
    s = ell_ * (np.sqrt(k) + root) / q**2
    rate = 2 - q / (root * (np.sqrt(k) + root))  # −d log s/d log q
    # the trapezoid rule: the integrand vanishes with all derivatives at both ends
    weight = s**3 * rate * np.exp(-0.5 * s * s) * _SQRT_2_OVER_PI
    extra = np.sum(weight * (q + 0.5 * np.sqrt(k * (k + 2 * q))), axis=1) * step[:, 0]
    out: FloatArray = np.where(moving, 0.5 * kappa + extra, kappa)
    return out


def _room(kappa: FloatArray, ell: FloatArray, s: float) -> FloatArray:
    """log q at which Eq. (N15) holds with equality for the residual s, by Newton's method."""
    v: FloatArray = (np.log(ell * np.sqrt(2.0)) - np.log(s)) / 1.5
    for _ in range(_NEWTON_STEPS):
        q = np.exp(v)
        root = np.sqrt(kappa + 2 * q)
        miss = np.log(ell * (np.sqrt(kappa) + root) / s) - 2 * v
        v += miss / (2 - q / (root * (np.sqrt(kappa) + root)))
    return v
