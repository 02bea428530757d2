"""Quadrature along the genie's curve, with panels at every scale of the multiplier."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numpy.polynomial.legendre import leggauss
from scipy.special import expit

from pnml.core.arrays import FloatArray
from pnml.core.norm_ball.ball import Ball
from pnml.core.norm_ball.genie import (
    Quadratic,
    Side,
    over_directions,
    own_sides,
    quadratic,
    resolvent,
    sums,
)
from pnml.core.norm_ball.multiplier_window import NEAR, NO_CHANGE, around_fit, near_crossing, window
from pnml.errors import InputError

# Logit of a multiplier that is negligible beside λ_R.
_NOTHING = -80.0
_BISECTIONS = 60
# Δ² at the fold itself is 0; this much of B² stands for it where it divides.
_FLOOR = 1e-40
# Logarithms of floating-point numbers are less than this apart.
_MOST_PANELS = 1500
# Panels of unit width in the logarithm of the multiplier; a few more open the fold.
NODES, WEIGHTS = leggauss(16)
_FOLD_PANELS = 4
# Among so few directions a row may well be parallel to the fit; the exact difference is then cheap.
_FEW_DIRECTIONS = 4
# Numbers in one chunk of rows, at about 256 nodes a row.
_SHARED_NUMBERS, _OWN_NUMBERS, _USUAL_NODES = 2**15, 2**19, 256

IntArray = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Curve:
    """Genies of T rows over all labels, at quadrature nodes: two sides, a middle. Eqs. (N7), (N8).

    The sides are labels below and above the prediction. They run outwards, in P panels of n nodes;
    their ds and dp carry the quadrature weights. In the middle residual and label are linear in
    each other.
    """

    lower: Side  # (T, P, n)
    upper: Side
    middle_s: FloatArray  # (T, 2)  residuals at the two ends of the middle piece
    middle_deviation: FloatArray  # (T, 2)


def curves(
    ball: Ball, x: FloatArray, smallest: float, largest: float
) -> Iterator[tuple[IntArray, Curve]]:
    """Pairs (indices of rows, Curve of their genies) for rows x (T, r+1), chunk by chunk.

    No row may be 0. `smallest` and `largest` are the standard deviations of the noise between which
    the curves will be used.
    """
    if ball.multiplier == 0:
        step = _SHARED_NUMBERS // _USUAL_NODES
        for rows in _chunks(np.arange(len(x)), step):
            yield rows, _from_fit(ball, x[rows], smallest, largest)
        return
    step = max(_OWN_NUMBERS // (x.shape[1] * _USUAL_NODES), 1)
    # if both residuals of a row at λ_R are negligible beside the noise, its fold is there
    p = 1.0 / (ball.directions.h2 + ball.multiplier)
    other = 2 * np.abs((x * ball.directions.moment) @ p**2) / ((x * x) @ p**2)
    at_fit = other <= NEAR * smallest
    for rows in _chunks(np.flatnonzero(at_fit), step):
        yield rows, _from_fit(ball, x[rows], smallest, largest)
    folded = np.flatnonzero(~at_fit)
    fold = np.concatenate(
        [np.zeros(0), *(find_fold(ball, x[rows]) for rows in _chunks(folded, 64 * step))]
    )
    # rows of one chunk share the panels beyond λ_R, so they should be as deep below it
    order = np.argsort(fold)
    for rows in _chunks(order, step):
        yield folded[rows], _from_fold(ball, x[folded[rows]], fold[rows], smallest, largest)


def _chunks(rows: IntArray, step: int) -> Iterator[IntArray]:
    return (rows[first : first + step] for first in range(0, len(rows), step))


def find_fold(ball: Ball, x: FloatArray) -> FloatArray:
    """Logit (T,) of λ_min/λ_R, where the two sides of a genie's curve meet. Eq. (N10).

    λ_min is the smallest multiplier (ridge penalty) of any genie of the row, and λ_R > 0 that of
    the fit without the row; −80 stands for λ_min = 0.
    """
    low, high = np.full(len(x), _NOTHING), np.full(len(x), -_NOTHING)
    open_at_zero = _on_curve(ball, x, low)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        inside = _on_curve(ball, x, middle)
        low, high = np.where(inside, low, middle), np.where(inside, middle, high)
    return np.where(open_at_zero, _NOTHING, high)


def _on_curve(ball: Ball, x: FloatArray, logit: FloatArray) -> npt.NDArray[np.bool_]:
    lam, delta = ball.multiplier * expit(logit), -ball.multiplier * expit(-logit)
    quad = quadratic(ball, x, resolvent(ball, lam[:, None]), delta[:, None])
    out: npt.NDArray[np.bool_] = quad.discriminant()[:, 0] >= 0
    return out


def _from_fit(ball: Ball, x: FloatArray, smallest: float, largest: float) -> Curve:
    """Curve whose middle piece is around the constrained fit; all rows share their multipliers."""
    start, stop = window(ball, x, smallest, largest, around_fit)
    u, du = _panels(np.array(start), np.array(stop))
    lower, upper = _shared_sides(ball, x, np.append(np.exp(start), np.exp(u)))
    weights = np.exp(u) * du
    return _curve((lower, upper), _weighted(lower, weights), _weighted(upper, weights))


def _from_fold(
    ball: Ball, x: FloatArray, fold: FloatArray, smallest: float, largest: float
) -> Curve:
    """Curve that starts at the fold, below λ_R, where each row has its own multipliers."""
    start, stop = window(ball, x, smallest, largest, near_crossing)
    start = min(start, float(np.log(0.5 * ball.multiplier * np.min(expit(-fold)))))
    inner, inner_weights = _fold_sides(ball, x, fold, start)
    u, du = _panels(np.array(start), np.array(stop))
    # one panel bridges λ_R, where the residual changes sign
    delta = np.exp(start) * np.vstack([NODES, np.exp(u - start)])
    weights = np.exp(start) * np.vstack([WEIGHTS, np.exp(u - start) * du])
    outer = _shared_sides(ball, x, np.append(0.0, delta))
    lower, upper = (
        _joined(_weighted(i, inner_weights), _weighted(o, weights))
        for i, o in zip(inner, outer, strict=True)
    )
    return _curve(inner, lower, upper)


def _curve(first: tuple[Side, Side], lower: Side, upper: Side) -> Curve:
    return Curve(
        lower,
        upper,
        np.stack([side.s[:, 0] for side in first], axis=1),
        np.stack([side.deviation[:, 0] for side in first], axis=1),
    )


def _shared_sides(ball: Ball, x: FloatArray, delta: FloatArray) -> tuple[Side, Side]:
    p = resolvent(ball, ball.multiplier + delta)
    if x.shape[1] <= _FEW_DIRECTIONS:
        quad = quadratic(ball, x, p, delta)
        return own_sides(ball, x, p.T[None], delta, quad, np.sqrt(quad.discriminant()))
    at = sums(ball, x, p, delta)
    return at.sides(np.sqrt(at.quadratic.discriminant()))


def _fold_sides(
    ball: Ball, x: FloatArray, fold: FloatArray, start: float
) -> tuple[tuple[Side, Side], FloatArray]:
    """Both sides from the fold to λ_R − e^start, and the weights of the nodes. Eq. (N10)."""
    T, zero = len(x), fold == _NOTHING
    depth, least = ball.multiplier * expit(-fold), ball.multiplier * expit(fold)
    # λ = λ_min + η² opens the fold; from where that stops, λ_R − λ = depth/(1 + e^w)
    opened = np.where(zero, NO_CHANGE * ball.directions.smallest, least)
    opened = np.minimum(opened, 0.5 * depth)
    eta, d_eta = _panels(np.zeros(T), np.sqrt(opened), _FOLD_PANELS)
    w, dw = _panels(np.log(opened / (depth - opened)), np.log(depth * np.exp(-start) - 1))
    depth, least = depth[:, None], least[:, None]
    eta2, w_flat = eta.reshape(T, -1) ** 2, w.reshape(T, -1)
    past = np.hstack([np.zeros((T, 1)), eta2, depth * expit(w_flat)])  # λ − λ_min
    delta = -np.hstack([depth, depth - eta2, depth * expit(-w_flat)])
    p, p_fold = resolvent(ball, least + past), resolvent(ball, least)
    quad, at_fold = quadratic(ball, x, p, delta), quadratic(ball, x, p_fold, -depth)
    base = np.where(zero[:, None], at_fold.discriminant(), 0.0)
    squared = _discriminant_from(base, past, _change_terms(ball, x, p, p_fold, quad, at_fold), quad)
    d = np.sqrt(np.maximum(squared, _FLOOR * at_fold.B**2))
    steps = depth[..., None] * expit(w) * expit(-w) * dw
    return own_sides(ball, x, p, delta, quad, d), np.concatenate([2 * eta * d_eta, steps], axis=1)


def _change_terms(
    ball: Ball,
    x: FloatArray,
    p: FloatArray,
    p_fold: FloatArray,
    at: Quadratic,
    at_fold: Quadratic,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Terms of (Δ²(λ) − Δ²(λ_min))/(λ − λ_min), without subtracting the two. Eq. (N10)."""
    g = ball.directions.moment
    m = p * p_fold * (p + p_fold)
    return (
        at.C * over_directions(g * g, m),
        -at_fold.gap * over_directions(x * x, m),
        -(at.B + at_fold.B) * over_directions(x * g, m),
    )


def _discriminant_from(
    base: FloatArray, past: FloatArray, terms: tuple[FloatArray, ...], at: Quadratic
) -> FloatArray:
    """Δ² by its change from the fold or, far from it, directly: whichever cancels less."""
    change = base + past * sum(terms)
    lost_by_change = base + past * sum(np.abs(term) for term in terms)
    lost_directly = at.B**2 + np.abs(at.C * at.gap)
    return np.where(lost_directly < lost_by_change, at.discriminant(), change)


def _panels(
    start: FloatArray, stop: FloatArray, count: int | None = None
) -> tuple[FloatArray, FloatArray]:
    """Gauss–Legendre nodes and weights (..., P, n) of equal panels, of unit width at most."""
    if count is None:
        width = float(np.max(stop - start))
        if not width <= _MOST_PANELS:
            raise InputError(
                "The genie's curve of a row leaves the range of floating-point numbers; rescale "
                "the columns, and fit again."
            )
        count = max(int(np.ceil(width)), 1)
    half = (stop - start)[..., None, None] / (2 * count)
    centres = (2 * np.arange(count) + 1)[:, None]
    return start[..., None, None] + half * (centres + NODES), half * np.ones((count, 1)) * WEIGHTS


def _weighted(side: Side, weights: FloatArray) -> Side:
    """Panels (T, P, n) of a side whose first column is the point where the first panel starts."""
    s, deviation, ds, dp = (
        part[:, 1:].reshape(len(part), *weights.shape[-2:])
        for part in (side.s, side.deviation, side.ds, side.dp)
    )
    return Side(s, deviation, ds * weights, dp * weights)


def _joined(inner: Side, outer: Side) -> Side:
    parts = zip(vars(inner).values(), vars(outer).values(), strict=True)
    return Side(*(np.concatenate(pair, axis=1) for pair in parts))
