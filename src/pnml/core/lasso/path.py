"""Exact lasso fits along a line: down a grid of penalties, or as one label runs over all values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy.special import logsumexp

from pnml.core.arrays import FloatArray
from pnml.core.conditions import NOT_NEGATIVE
from pnml.core.lasso.active_set import TIE, ActiveSet, Direction, in_range, slide
from pnml.core.lasso.walk import Stretch, Walk
from pnml.errors import InputError


def lasso(gram: FloatArray, moment: FloatArray, penalties: FloatArray) -> FloatArray:
    """Lasso fits (L, M): minimisers of ½θᵀAθ − bᵀθ + τ‖θ‖₁ for each τ of `penalties` (L,).

    A is `gram` = XᵀX (M, M) and b is `moment` = XᵀY (M,). One walk leads from the penalty at which
    every coefficient is zero to the smallest one given. Eq. (L11).

    >>> lasso(np.diag([1.0, 4.0]), np.array([3.0, 2.0]), np.array([1.0, 2.5]))
    array([[2.  , 0.25],
           [0.5 , 0.  ]])
    """
    if len(penalties) == 0 or not np.all(penalties > 0):
        raise InputError(
            f"The ℓ1 penalty must be above 0, got {np.min(penalties, initial=np.inf)}: "
            "use ordinary least squares for no penalty."
        )
    top = float(np.max(np.abs(moment), initial=0.0))
    fits = np.zeros((len(penalties), len(moment)))
    todo = [int(k) for k in np.argsort(-penalties, kind="stable") if penalties[k] < top]
    active, nothing = ActiveSet(gram, np.diagonal(gram).copy()), np.zeros_like(moment)
    stretches = Walk(active, moment, nothing, top, -1.0, 0.0, nothing).stretches()
    stretch = next(stretches) if todo else None
    for k in todo:
        while stretch is not None and stretch.penalty - stretch.length > penalties[k]:
            stretch = next(stretches)
        if stretch is not None:
            fits[k] = stretch.coef + (stretch.penalty - penalties[k]) * stretch.direction.coef
    lengths = np.abs(fits) @ active.scale
    noise = TIE * (np.abs(moment) + active.scale * lengths[:, None])
    return np.where(np.abs(fits) * active.magnitude > noise, fits, 0.0)  # no zeros of round-off


@dataclass(frozen=True)
class Start:
    """Known lasso fit from which a path along the label of one row starts.

    A = XᵀX and b = XᵀY are those of the other rows; the row itself comes in with its label.
    """

    active: ActiveSet
    moment: Annotated[FloatArray, "d"]  # b
    penalty: Annotated[float, NOT_NEGATIVE]
    coef: Annotated[FloatArray, "d"]
    residual: float  # of the moving row at this fit
    dependent: list[int]  # columns of the fit that depend on its others in A

    @classmethod
    def of(
        cls,
        gram: FloatArray,
        moment: FloatArray,
        penalty: float,
        coef: FloatArray,
        residual: float = 0.0,
        magnitude: FloatArray | None = None,
    ) -> Start:
        """Start at `coef` (M,), which minimises ½θᵀAθ − (b + x·residual)ᵀθ + τ‖θ‖₁.

        A is `gram` (M, M), b is `moment` (M,), τ the penalty, x the row whose label moves, and
        `residual` its residual at this fit: 0 for the fit without x. `magnitude` (M,) is the size
        of the sums behind the diagonal of A, as a measure of round-off; None takes the diagonal.
        """
        active = ActiveSet(gram, np.diagonal(gram).copy() if magnitude is None else magnitude)
        dependent = active.hold(np.flatnonzero(coef))
        return cls(active, moment, penalty, coef, residual, dependent)

    def walk(self, row: FloatArray, side: float) -> Iterator[Stretch]:
        """Straight parts of the path of fits as the label of `row` rises (side 1) or falls (−1).

        On side −1 label and row are mirrored, so that the label rises there as well.
        """
        active, drift, position = self.active.copy(), side * row, side * self.residual
        walk = Walk(active, self.moment, drift, self.penalty, 0.0, position, self.coef)
        return walk.stretches(self._slide(active, drift))

    def _slide(self, active: ActiveSet, drift: FloatArray) -> Direction | None:
        """The slide (a move of θ at constant residual) that contains the fit, or None. Eq. (L8)."""
        if len(self.dependent) != 1:
            return None
        j = self.dependent[0]
        combination, _ = active.outside(j)
        gain = float(drift[j] - combination @ drift)
        if in_range(active, j, combination, gain, float(drift @ active.solve(drift)[0])):
            return None
        return slide(active, j, combination, 1.0 if gain > 0 else -1.0)


@dataclass(frozen=True)
class Horizon:
    """Where a lasso path over labels may end: less than exp(−depth) of the mass lies beyond.

    The mass is the integral over labels of exp(−(½ω·residual² + τ‖θ‖₁)/σ²), for this σ² and smaller
    ones; τ is the penalty, and ω is n/(n+1) with an intercept and n training rows, else 1.
    """

    noise_variance: float  # σ²
    depth: float  # nats
    weight: float = 1.0  # ω

    def near(self, residual: float, least: float) -> bool:
        """Whether a cheap condition for the end of the path holds; `passed` is asked only then.

        `residual` is the genie's here, `least` the least energy ½ω·residual² + τ‖θ‖₁ so far.
        """
        ceiling = 0.5 * self.weight * residual * residual
        return residual > 0 and ceiling > self.depth * self.noise_variance + least

    def passed(self, segments: FloatArray, penalty: float, pull: float) -> bool:
        """Whether the path may end where the last of the segments begins. Eq. (L10).

        `segments` (J, 5) has the label, the residual, its slope, ‖θ‖₁ and its slope where each
        begins; `pull` is the penalty divided by the largest |x_j| of the row.
        """
        label, residual, _, norm, _ = segments.T
        energy = 0.5 * self.weight * residual**2 + penalty * norm
        ceiling = 0.5 * self.weight * residual[-1] ** 2
        highest = np.maximum(energy[1:], energy[:-1])
        low, width = highest <= ceiling, np.diff(label)
        if not np.any(low & (width > 0)):
            return False
        log_seen = logsumexp(-highest[low] / self.noise_variance, b=np.maximum(width[low], 0.0))
        beyond = self.noise_variance / self.rise(residual[-1], pull)
        beyond += max(residual[-1] - label[-1], 0.0)
        return bool(np.log(beyond) - ceiling / self.noise_variance + self.depth <= log_seen)

    def rise(self, residual: float, pull: float) -> float:
        """Least rate at which the energy rises with the label beyond this residual. Eq. (L10).

        The energy is ½ω·residual² + τ‖θ‖₁ with the penalty τ; `pull` is τ divided by the largest
        |x_j| of the row.
        """
        return min(self.weight * residual, pull)


@dataclass(frozen=True)
class GeniePath:
    """Lasso path of the genie over the label y of one row x: J straight segments. Eq. (L8).

    On segment j, with u = y − origin[j]: θ = coef[j] + u·coef_slope[j], and likewise the genie's
    residual at x and ‖θ‖₁. Beyond a horizon θ stands still and the norm rises at its least rate.
    """

    edges: FloatArray  # (J+1,)  from −inf to inf
    origin: FloatArray  # (J,)
    residual: FloatArray  # (J,)
    residual_slope: FloatArray  # (J,)
    norm: FloatArray  # (J,)
    norm_slope: FloatArray  # (J,)
    coef: FloatArray  # (J, M)
    coef_slope: FloatArray  # (J, M)

    def at(self, labels: FloatArray) -> FloatArray:
        """Coefficients (n, M) of the genie at labels (n,)."""
        j = np.clip(np.searchsorted(self.edges, labels) - 1, 0, len(self.origin) - 1)
        return self.coef[j] + (labels - self.origin[j])[:, None] * self.coef_slope[j]

    def fitted_norm(self) -> float:
        """‖θ‖₁ of the fit without the row: where the genie's residual is zero."""
        with np.errstate(invalid="ignore"):
            begin = np.where(self.residual_slope > 0, self.edges[:-1] - self.origin, 0.0)
        below = np.flatnonzero(self.residual + self.residual_slope * begin <= 0)
        j = int(below[-1]) if len(below) else 0
        u = -self.residual[j] / self.residual_slope[j] if self.residual_slope[j] > 0 else 0.0
        u = np.clip(u, self.edges[j] - self.origin[j], self.edges[j + 1] - self.origin[j])
        return float(self.norm[j] + self.norm_slope[j] * u)


def genie_path(start: Start, row: FloatArray, horizon: Horizon | None = None) -> GeniePath:
    """Path of the genie of `row` (M,): lasso fits with the row added, for all its labels. Eq. (L8).

    `start` is a fit on the path. `horizon` ends the path where hardly any mass lies beyond; with
    None it is followed to its last kink.

    >>> start = Start.of(np.eye(1), np.array([2.0]), 0.5, np.array([1.5]))
    >>> genie_path(start, np.array([1.0])).edges
    array([-inf, -2.5, -1.5,  1.5,  inf])
    """
    down, up = (_one_side(start, row, side, horizon) for side in (-1.0, 1.0))
    mirror = np.array([-1.0, -1.0, 1.0, 1.0, -1.0])  # label, residual, its slope, ‖θ‖₁, its slope
    segments = np.concatenate([(down[0] * mirror)[::-1], up[0]])
    label, residual, residual_slope, norm, norm_slope = segments.T
    n_down = len(down[0])
    edges = np.concatenate([[-np.inf], label[:n_down], label[n_down + 1 :], [np.inf]])
    return GeniePath(
        np.maximum.accumulate(edges),
        label,
        residual,
        residual_slope,
        norm,
        norm_slope,
        np.concatenate([down[1][::-1], up[1]]),
        np.concatenate([-down[2][::-1], up[2]]),
    )


def _one_side(
    start: Start, row: FloatArray, side: float, horizon: Horizon | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Segments of one side, (J, 5), their coefficients and slopes; mirrored where side is −1."""
    stretches, drift = start.walk(row, side), side * row
    if horizon is None:
        return _segments(list(stretches), drift)
    with np.errstate(divide="ignore"):
        pull = float(start.penalty / np.max(np.abs(row), initial=0.0))
    parts: list[Stretch] = []
    least = np.inf
    for part in stretches:
        parts.append(part)
        if np.isfinite(part.length) and horizon.near(part.position, least):
            segments, coef, slope = _segments(parts, drift)
            if horizon.passed(segments, start.penalty, pull):
                rise = horizon.rise(part.position, pull)
                segments[-1, 2], segments[-1, 4], slope[-1] = 0.0, rise / start.penalty, 0.0
                return segments, coef, slope
        square = part.position * part.position  # may be infinite, where a power would raise
        energy = 0.5 * horizon.weight * square + start.penalty * np.abs(part.coef).sum()
        least = min(least, float(energy))
    return _segments(parts, drift)


def _segments(parts: list[Stretch], drift: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Stretches as functions of the label: (J, 5) scalars, coefficients, their slopes. Eq. (L8)."""
    coef = np.array([part.coef for part in parts])
    pace = np.array([part.direction.coef for part in parts])
    signs = np.array([part.signs for part in parts])
    residual = np.array([part.position for part in parts])
    speed = np.array([part.direction.speed for part in parts])
    rate = speed + pace @ drift  # label per unit of the walk
    norm, norm_rate = np.abs(coef).sum(axis=1), (signs * pace).sum(axis=1)
    scalars = (residual + coef @ drift, residual, speed / rate, norm, norm_rate / rate)
    return np.stack(scalars, axis=1), coef, pace / rate[:, None]
