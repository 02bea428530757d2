"""The range of multipliers where the genie's residuals grow from negligible to the noise's tail."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from pnml.core.arrays import FloatArray
from pnml.core.norm_ball.ball import Ball
from pnml.core.norm_ball.genie import quadratic, resolvent

BoolArray = npt.NDArray[np.bool_]

# Residuals are followed from three millionths of the noise to where its tail is below 1e-17.
NEAR, FAR = 3e-6, 8.5
# Where they pass through 0 smoothly, half the noise is small enough.
_NEAR_SMOOTH = 0.5
# A multiplier this small beside the smallest h2 leaves a fit inside the span unchanged.
NO_CHANGE = 1e-14
_COARSE, _FINE = 24, 9


def around_fit(
    ball: Ball, x: FloatArray, delta: FloatArray, low: FloatArray, high: FloatArray, noise: float
) -> BoolArray:
    """Where (T, L) residuals are still negligible, so that a window of multipliers may start.

    T rows x (T, r+1) at L multipliers ball.multiplier + delta; `low` and `high` (T, L) are the
    absolute residuals of the genies below and above the prediction, `noise` is the standard
    deviation. In a ball that holds least squares, also where the multiplier changes nothing for a
    row in the span.
    """
    small: BoolArray = np.maximum(low, high) <= 2 * NEAR * noise
    if ball.multiplier > 0:
        return small
    unchanged: BoolArray = (x[:, -1:] == 0) & (delta <= NO_CHANGE * ball.directions.smallest)
    return small | unchanged


def near_crossing(
    ball: Ball, x: FloatArray, delta: FloatArray, low: FloatArray, high: FloatArray, noise: float
) -> BoolArray:
    """Where (T, L) the smaller residual is at most half the noise, as it is near λ_R.

    `low` and `high` (T, L) are the absolute residuals of the genies of T rows below and above the
    prediction, at L multipliers from λ_R = ball.multiplier on; `noise` is the standard deviation.
    The other arguments are not used.
    """
    out: BoolArray = np.minimum(low, high) <= _NEAR_SMOOTH * noise
    return out


def window(
    ball: Ball,
    x: FloatArray,
    smallest: float,
    largest: float,
    not_yet: Callable[..., BoolArray],
) -> tuple[float, float]:
    """Ends of the range of log(λ − λ_R) that matters to rows x (T, r+1). Eq. (N9).

    λ are the genies' multipliers, λ_R is ball.multiplier. `smallest` and `largest` are the standard
    deviations of the noise; `not_yet` is `around_fit` or `near_crossing` and says where residuals
    are still too small to matter.
    """
    grid = np.linspace(*_surely_enough(ball, x, smallest, largest), _COARSE)
    for _ in range(2):
        delta = np.exp(grid)
        quad = quadratic(ball, x, resolvent(ball, ball.multiplier + delta), delta)
        low, high = (np.abs(s) for s in quad.roots(np.sqrt(quad.discriminant())))
        before = np.all(not_yet(ball, x, delta, low, high, smallest), axis=0)
        after = np.all(np.minimum(low, high) >= FAR * largest, axis=0)
        # residuals only grow, so both flags switch once
        i = max(int(np.sum(before)) - 1, 0)
        j = min(int(np.sum(~after)), len(grid) - 1)
        start, stop = float(grid[i]), float(grid[j])
        later, sooner = grid[min(i + 1, len(grid) - 1)], grid[max(j - 1, 0)]
        grid = np.append(np.linspace(start, later, _FINE), np.linspace(sooner, stop, _FINE))
        grid.sort()
    return start, max(stop, start + 1.0)


def _surely_enough(
    ball: Ball, x: FloatArray, smallest: float, largest: float
) -> tuple[float, float]:
    near, b = NEAR * smallest, x[:, -1]
    if ball.multiplier == 0:
        inside = NO_CHANGE * ball.directions.smallest if bool(np.any(b == 0)) else np.inf
        low = min(near * float(np.min(b[b > 0], initial=np.inf)) / (3 * ball.radius), inside)
    else:
        p = 1.0 / (ball.directions.h2 + ball.multiplier)
        C = float(np.min((x * x) @ p**2))
        low = min(near**2 * C / (64 * float(ball.directions.fit**2 @ p)), ball.multiplier)
    size = float(np.max(np.linalg.norm(x, axis=1)))
    high = FAR * largest * size + float(np.linalg.norm(ball.directions.moment))
    start = float(np.log(low))
    return start, max(float(np.log(high / ball.radius)), start + 1.0)
