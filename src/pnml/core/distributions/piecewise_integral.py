"""Mass, moments and quantiles of one piece exp(−bu − au²/2), u measured from its highest point.

Both b and a are at least 0, so the exponent is a sum of terms of one sign: nothing cancels, however
narrow the piece or however deep in a tail it lies.
"""

from __future__ import annotations

import numpy as np
from scipy.special import erfcx

from pnml.core.arrays import EPS, FloatArray

_FEW, _FEW_WEIGHTS = np.polynomial.legendre.leggauss(10)  # exact to round-off for a drop below 1
_MANY, _MANY_WEIGHTS = np.polynomial.legendre.leggauss(48)  # likewise for a drop below 50
_DEEP = 50.0  # exp(−50) of the peak is below round-off
_STEEP = 1e4  # beyond it the Mills ratio is its two-term series
_CLOSE = 16 * EPS  # relative step at which Newton has converged
_MAX_NEWTON = 200


def drop(u: FloatArray, b: FloatArray, a: FloatArray) -> FloatArray:
    """Fall b·u + a·u²/2 of the log-density of a piece at distance u from its peak. Eq. (Q1)."""
    with np.errstate(invalid="ignore", over="ignore"):
        linear = np.where(b > 0, b * u, 0.0)
        quadratic = np.where(a > 0, 0.5 * a * u * u, 0.0)
    return np.asarray(linear + quadratic)


def tail(b: FloatArray, a: FloatArray) -> FloatArray:
    """Integral over the tail of a piece: ∫₀^∞ exp(−bu − au²/2) du, by the Mills ratio. Eq. (Q2)."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        root = np.sqrt(a)
        z = np.where(b > 0, b / root, 0.0)
        mills = np.sqrt(np.pi / 2) * erfcx(z / np.sqrt(2)) / root
        series = (1 - a / b / b) / b
    return np.where(z > _STEEP, series, mills)


def mass(u: FloatArray, b: FloatArray, a: FloatArray) -> FloatArray:
    """Integral over a piece: ∫₀^u exp(−bt − at²/2) dt, to round-off for any u ≤ ∞. Eq. (Q3)."""
    u, b, a = np.broadcast_arrays(u, b, a)
    fall = drop(u, b, a)
    out = np.array(u, dtype=np.float64)
    big = fall >= 1
    bb, ab, ub = b[big], a[big], u[big]
    with np.errstate(invalid="ignore", over="ignore"):
        far_slope = bb + np.where(ab > 0, ab * ub, 0.0)
    out[big] = tail(bb, ab) - np.exp(-fall[big]) * tail(far_slope, ab)
    small = (fall < 1) & (fall > 0)
    us = u[small][:, None]
    t = us * (0.5 + 0.5 * _FEW)
    values = np.exp(-drop(t, b[small][:, None], a[small][:, None]))
    out[small] = 0.5 * us[:, 0] * (values @ _FEW_WEIGHTS)
    return out


def moments(width: FloatArray, b: FloatArray, a: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of the distance u from the peak inside a piece. Eq. (Q4).

    The density is proportional to exp(−bu − au²/2) for 0 ≤ u ≤ width; all arrays have one shape.
    """
    with np.errstate(divide="ignore", over="ignore"):
        deep = 2 * _DEEP / (b + np.sqrt(b * b + 2 * a * _DEEP))
    cut = np.minimum(width, deep)[..., None]
    u = cut * (0.5 + 0.5 * _MANY)
    w = np.exp(-drop(u, b[..., None], a[..., None])) * _MANY_WEIGHTS
    total = w.sum(-1)
    mean = (w * u).sum(-1) / total
    variance = (w * (u - mean[..., None]) ** 2).sum(-1) / total
    return mean, variance


def _from_peak(target: FloatArray, b: FloatArray, a: FloatArray) -> FloatArray:
    """u with mass(u) = target: Newton on a concave function, from its left, cannot overshoot."""
    u = target.copy()
    for _ in range(_MAX_NEWTON):
        step = (target - mass(u, b, a)) * np.exp(drop(u, b, a))
        u = u + np.maximum(step, 0.0)
        if np.all(step <= _CLOSE * u):
            break
    return u


def _from_far_end(
    log_target: FloatArray, width: FloatArray, b: FloatArray, a: FloatArray
) -> FloatArray:
    """u with log(mass(width) − mass(u)) = log_target: Newton on a concave function, bracketed."""
    low, high = np.zeros_like(width), width.copy()
    u = np.minimum(mass(width, b, a), width / 2)
    for _ in range(_MAX_NEWTON):
        rest = mass(width - u, b + a * u, a)
        with np.errstate(divide="ignore", invalid="ignore"):
            excess = np.log(rest) - drop(u, b, a) - log_target
            new = u + excess * rest
        low, high = np.where(excess > 0, u, low), np.where(excess > 0, high, u)
        inside = (new >= low) & (new <= high)
        middle = np.where(np.isfinite(high), 0.5 * (low + high), 2 * low)
        new = np.where(inside, new, middle)
        done = np.abs(new - u) <= _CLOSE * new
        u = new
        if np.all(done):
            break
    return u


def distance(
    near: FloatArray, far: FloatArray, width: FloatArray, b: FloatArray, a: FloatArray
) -> FloatArray:
    """Distance u from the peak that splits the mass of a piece into shares near and far. Eq. (Q5).

    The density is proportional to exp(−bu − au²/2) for 0 ≤ u ≤ width. Both `near`, the share up to
    u, and `far` = 1 − near are given, so that a share of 1e-300 on either side is resolved.
    """
    out = np.empty_like(near)
    left = near <= far
    bl, al = b[left], a[left]
    out[left] = _from_peak(near[left] * mass(width[left], bl, al), bl, al)
    br, ar, wr = b[~left], a[~left], width[~left]
    with np.errstate(divide="ignore"):
        log_target = np.log(far[~left]) + np.log(mass(wr, br, ar))
    empty = np.isneginf(log_target)
    solved = _from_far_end(
        np.where(empty, 0.0, log_target)[~empty], wr[~empty], br[~empty], ar[~empty]
    )
    ends = wr.copy()
    ends[~empty] = solved
    out[~left] = ends
    return np.minimum(out, width)
