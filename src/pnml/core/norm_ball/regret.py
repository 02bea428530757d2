"""Regret of the norm ball, exact, for any radius and for many noise levels at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtr

from pnml.core.arrays import FloatArray
from pnml.core.norm_ball.ball import Ball
from pnml.core.norm_ball.genie_curve import NODES, WEIGHTS, Curve, curves

_SQRT_2PI = float(np.sqrt(2 * np.pi))
# Numbers in one block of noise levels.
_BLOCK_NUMBERS = 2**18


def regret(ball: Ball, a: Any, b: Any, noise_variance: float) -> FloatArray:
    """Regret (T,), in nats, of rows by the pNML of a norm ball.

    `a` (T, r) are the components of the rows along the training directions, `b` (T,) their
    distances from the span. Γ = log K, K = ∫ p(y | x; θ̂_y) dy with θ̂_y the best model of the ball
    given y. Eq. (N1).

    >>> ball = Ball.min_norm(np.array([4.0]), np.array([0.5]))
    >>> np.exp(regret(ball, [[0.0]], [10.0], noise_variance=1e-6)).round(1)
    array([883.6])
    """
    return regret_path(ball, a, b, np.array([noise_variance]))[:, 0]


def regret_path(ball: Ball, a: Any, b: Any, noise_variances: FloatArray) -> FloatArray:
    """Regrets (T, S), in nats, of rows at each of S noise variances, in one pass. Eq. (N7).

    `a` (T, r) are the components of the rows along the training directions, `b` (T,) their
    distances from the span.
    """
    x = ball.coordinates(a, b)
    noise = ball.noise(noise_variances)
    growth = np.zeros((len(x), len(noise)))
    moved = np.flatnonzero(np.any(x != 0, axis=1) & (ball.radius > 0))
    for rows, curve in curves(ball, x[moved], float(np.min(noise)), float(np.max(noise))):
        step = max(_BLOCK_NUMBERS // curve.lower.s.size, 1)
        for first in range(0, len(noise), step):
            block = slice(first, first + step)
            growth[moved[rows], block] = growth_of(curve, noise[block])
    out: FloatArray = np.log1p(growth) - np.log(ball.omega)
    return out


def growth_of(curve: Curve, sigma: FloatArray) -> FloatArray:
    """K − 1 (T, S) of T rows under noise `sigma` (S,): ∫ φ_σ(s) d(prediction). Eq. (N7).

    K is the integral over labels of the genies' densities, and log K the regret up to a constant
    for the intercept; s is the genie's residual along the curve, φ_σ the normal density.
    """
    total = middle_growth(curve, sigma)
    for side in (curve.lower, curve.upper):
        s, dp = (part.reshape(len(part), 1, -1) for part in (side.s, side.dp))
        total = total + np.matmul(density(s, sigma[:, None]), np.moveaxis(dp, 1, 2))[..., 0]
    return total


def middle_growth(curve: Curve, sigma: FloatArray) -> FloatArray:
    """Part (T, S) of K − 1 from the middle piece of the curve, at noise `sigma` (S,). Eq. (N8).

    K is the integral over labels of the genies' densities; in the middle residual and label are
    linear in each other.
    """
    s, deviation = curve.middle_s, curve.middle_deviation
    moved = np.maximum(np.diff(deviation - s, axis=1), 0.0)
    return moved * mean_density(s[:, :1] / sigma, s[:, 1:] / sigma) / sigma


def density(s: FloatArray, sigma: float | FloatArray) -> FloatArray:
    """Normal density at s of mean 0 and standard deviation `sigma`; both broadcast."""
    z = s / sigma
    out: FloatArray = np.exp(-0.5 * z * z) / (_SQRT_2PI * sigma)
    return out


def mean_density(low: FloatArray, high: FloatArray) -> FloatArray:
    """Mean of the standard normal density between low and high ≥ low, elementwise."""
    width = high - low
    nodes = (low + high)[..., None] / 2 + width[..., None] / 2 * NODES
    narrow = density(nodes, 1.0) @ WEIGHTS / 2
    flip = low > 0  # the tail above 0 has more digits from below
    wide = ndtr(np.where(flip, -low, high)) - ndtr(np.where(flip, -high, low))
    out: FloatArray = np.where(width > 1, wide / np.maximum(width, 1.0), narrow)
    return out
