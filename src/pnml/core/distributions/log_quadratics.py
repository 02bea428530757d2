"""Functions of one variable whose logarithm is a quadratic on each piece of the line."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.core.distributions import piecewise_integral as integral
from pnml.errors import InputError


@dataclass(frozen=True)
class Quadratics:
    """Functions of y for T rows: log-density q0 + q1 u + q2 u² on each of P pieces of the line.

    Here u = y − origin. Neighbouring edges may coincide (an empty piece), so rows with fewer pieces
    fit in one array.
    """

    edges: FloatArray  # (T, P+1)  ascending, from −inf to inf
    origin: FloatArray  # (T, P)    finite, near the piece: keeps the quadratic free of cancellation
    q0: FloatArray  # (T, P)
    q1: FloatArray  # (T, P)
    q2: FloatArray  # (T, P)    never above 0

    def __post_init__(self) -> None:
        coefficients = np.stack([self.origin, self.q0, self.q1, self.q2])
        if not np.all(np.isfinite(coefficients)) or np.any(self.q2 > 0):
            raise InputError(
                "A piece needs finite coefficients and a curvature q2 of at most 0, got "
                f"q2 up to {np.max(self.q2, initial=0.0)}: check the values that built it."
            )
        ends_right = np.all(np.isneginf(self.edges[:, 0]) & np.isposinf(self.edges[:, -1]))
        if not ends_right or np.any(self.edges[:, 1:] < self.edges[:, :-1]):
            raise InputError(
                "The edges of a row must ascend from -inf to inf, and these do not: sort them."
            )

    def monotone(self) -> Monotone:
        """The same pieces, each cut at its peak into halves that fall away from it. Eq. (Q1)."""
        left, right = self.edges[:, :-1] - self.origin, self.edges[:, 1:] - self.origin
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            vertex = -0.5 * self.q1 / self.q2
        flat = self.q2 == 0
        vertex = np.where(flat, np.where(self.q1 == 0, 0.0, np.copysign(np.inf, self.q1)), vertex)
        peak = np.clip(vertex, left, right)
        used = right > left
        if not np.all(np.isfinite(peak[used])):
            raise InputError(
                "The density grows without end on an outer piece, so no distribution has it: "
                "a straight outer piece must fall outwards."
            )
        peak = np.where(used, peak, 0.0)
        slope = self.q1 + 2 * self.q2 * peak
        level = np.where(used, self.q0 + peak * (self.q1 + self.q2 * peak), -np.inf)
        widths = np.where(used, peak - left, 0.0), np.where(used, right - peak, 0.0)
        return Monotone(
            start=_interleave(self.edges[:, :-1], np.where(used, self.origin + peak, np.inf)),
            near=_interleave(self.origin + peak, self.origin + peak),
            side=_interleave(-np.ones_like(peak), np.ones_like(peak)),
            level=_interleave(level, level),
            slope=_interleave(np.maximum(slope, 0.0), np.maximum(-slope, 0.0)),
            curve=_interleave(np.abs(2 * self.q2), np.abs(2 * self.q2)),
            width=_interleave(*widths),
        )

    def log_masses(self) -> FloatArray:
        """Log of the integral over each piece, (T, P) for T rows of P pieces. Eq. (Q3)."""
        halves = self.monotone().log_masses()
        return np.asarray(np.logaddexp(halves[:, 0::2], halves[:, 1::2]))


@dataclass(frozen=True)
class Monotone:
    """Pieces whose log-density falls: level − slope·u − curve·u²/2 at distance u from the peak.

    T rows of P pieces; u runs from `near` to the right where `side` is 1, to the left where it is
    −1.
    """

    start: FloatArray  # (T, P)  left edge
    near: FloatArray  # (T, P)  where the piece is highest
    side: FloatArray  # (T, P)  +1 when it lies right of `near`, −1 when left
    level: FloatArray  # (T, P)
    slope: FloatArray  # (T, P)
    curve: FloatArray  # (T, P)
    width: FloatArray  # (T, P)  may be inf

    def log_masses(self) -> FloatArray:
        """Log of the integral over each piece, (T, P) for T rows of P pieces. Eq. (Q3)."""
        with np.errstate(divide="ignore"):
            return np.asarray(
                self.level + np.log(integral.mass(self.width, self.slope, self.curve))
            )

    def compact(self) -> Monotone:
        """The same pieces without empty ones, but for those that pad rows with fewer pieces."""
        empty = self.width == 0
        order = np.argsort(empty, axis=1, kind="stable")
        order = order[:, : int(np.max(np.sum(~empty, axis=1), initial=1))]
        padding = np.take_along_axis(empty, order, axis=1)

        def pick(values: FloatArray, fill: float) -> FloatArray:
            return np.where(padding, fill, np.take_along_axis(values, order, axis=1))

        return Monotone(
            start=pick(self.start, np.inf),
            near=pick(self.near, 0.0),
            side=pick(self.side, 1.0),
            level=pick(self.level, -np.inf),
            slope=pick(self.slope, 0.0),
            curve=pick(self.curve, 1.0),
            width=pick(self.width, 0.0),
        )


def _interleave(first: FloatArray, second: FloatArray) -> FloatArray:
    return np.stack([first, second], axis=2).reshape(len(first), -1)
