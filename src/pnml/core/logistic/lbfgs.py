"""Many smooth convex problems minimised side by side, each with its own step and memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pnml.core.arrays import FloatArray
from pnml.core.logistic.training import IntArray

# Number of stored pairs of steps and gradient changes.
_MEMORY = 20
# A step is too long where the slope at its end has turned by more than this share.
_TURNED = 0.8
_SHORTENINGS = 25
_LEAST_CURVATURE = np.finfo(float).tiny  # one over it is finite

# Points or directions (p, n) of the problems (p,) → gradients or preconditioned directions (p, n).
Batched = Callable[[FloatArray, IntArray], FloatArray]


@dataclass
class Search:
    """State of L-BFGS searches side by side: point, gradient and memory of each problem."""

    ids: IntArray  # (p,)  of the problems that are not finished
    points: FloatArray  # (p, n)
    slopes: FloatArray  # (p, n)  gradients

    def __post_init__(self) -> None:
        self._pairs: deque[tuple[FloatArray, FloatArray, FloatArray]] = deque(maxlen=_MEMORY)

    def keep(self, mask: npt.NDArray[np.bool_]) -> None:
        """Drop all problems but those where `mask` (p,) is True."""
        self.ids, self.points, self.slopes = self.ids[mask], self.points[mask], self.slopes[mask]
        self._pairs = deque(
            ((s[mask], y[mask], r[mask]) for s, y, r in self._pairs), maxlen=_MEMORY
        )

    def direction(self, precondition: Batched) -> FloatArray:
        """Descent direction (p, n) of each problem, by L-BFGS; not finite where sums overflow.

        `precondition` takes vectors (p, n) and the ids (p,) of their problems.
        """
        v, shares = self.slopes.copy(), []
        with np.errstate(over="ignore", invalid="ignore"):  # the caller drops what is not finite
            for s, y, r in reversed(self._pairs):
                share = r * _dots(s, v)
                shares.append(share)
                v -= share[:, None] * y
            v = precondition(v, self.ids)
            for (s, y, r), share in zip(self._pairs, reversed(shares), strict=True):
                v += (share - r * _dots(y, v))[:, None] * s
        return -v

    def go(self, way: FloatArray, gradient: Batched) -> None:
        """Move each problem along `way` (p, n), shortened where the slope would change sign.

        `gradient` takes points (p, n) and the ids (p,) of their problems and returns gradients (p,
        n).
        """
        falls = _dots(self.slopes, way)
        points = self.points + way
        slopes = gradient(points, self.ids)
        ends = _dots(slopes, way)
        length = np.ones(len(way))
        far = np.flatnonzero(~(ends <= -_TURNED * falls))
        for _ in range(_SHORTENINGS):
            if not len(far):
                break
            # Where the slope would be 0 if it changed evenly; convexity puts it inside.
            with np.errstate(divide="ignore", invalid="ignore"):
                share = falls[far] / (falls[far] - ends[far])
            length[far] *= np.clip(np.nan_to_num(share), 0.1, 0.7)
            points[far] = self.points[far] + length[far, None] * way[far]
            slopes[far] = gradient(points[far], self.ids[far])
            ends[far] = _dots(slopes[far], way[far])
            far = far[~(ends[far] <= -_TURNED * falls[far])]
        self._remember(points - self.points, slopes - self.slopes)
        self.points, self.slopes = points, slopes

    def _remember(self, s: FloatArray, y: FloatArray) -> None:
        turn = _dots(s, y)
        # A pair without curvature is round-off; a factor of 0 excludes it.
        curved = turn > _LEAST_CURVATURE
        self._pairs.append((s, y, np.divide(1.0, turn, out=np.zeros_like(turn), where=curved)))


def _dots(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("pi,pi->p", a, b))
