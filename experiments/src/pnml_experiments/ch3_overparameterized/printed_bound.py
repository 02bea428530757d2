"""The upper bound on the regret as the thesis prints it; some rows exceed it."""

from __future__ import annotations

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.core.norm_ball.ball import Ball


def printed_bound(
    kappa: FloatArray, outside: FloatArray, spread: float, noise_variance: float
) -> FloatArray:
    """The bound of the main text, in nats, from κ, ‖x⊥‖², θ*ᵀX⁺X⁺ᵀθ* and σ².

    >>> printed_bound(np.array([0.5]), np.array([0.0]), 1.0, 1e-3).round(4)
    array([0.4055])
    """
    root = np.cbrt(outside * spread / (np.pi * noise_variance))
    return np.asarray(np.log((1 + kappa) * (1 + 2 * outside) + 3 * root))


def printed_ball_bound(
    ball: Ball, a: FloatArray, b: FloatArray, noise_variance: float
) -> FloatArray:
    """The printed bound (n,) of rows with the coordinates a (n, r) at the distances b (n,).

    With an intercept it is that of the centred problem, Eq. (N13).

    >>> ball = Ball.min_norm(np.array([4.0]), np.array([0.5]))
    >>> found = printed_ball_bound(ball, np.array([[0.0]]), np.array([10.0]), 1e-6)
    >>> np.exp(found).round()
    array([578.])
    """
    x, sigma = ball.coordinates(a, b), float(ball.noise(noise_variance))
    kappa = (x[:, :-1] ** 2) @ (1 / ball.h2)
    spread = float(np.sum(ball.t**2 / ball.h2))
    bound: FloatArray = printed_bound(kappa, x[:, -1] ** 2, spread, sigma**2) - np.log(ball.omega)
    return bound
