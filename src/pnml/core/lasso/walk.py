"""The walk of a lasso fit along a line on which its linear term and its penalty move.

The minimiser of ½θᵀAθ − (b + qs)ᵀθ + (τ + τ's)‖θ‖₁ is linear in s between kinks, at which a
coefficient reaches zero or a correlation reaches the penalty. Eq. (L4).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.core.lasso.active_set import TIE, ActiveSet, Direction
from pnml.core.lasso.cone import cone_direction
from pnml.errors import InputError


class Stretch(NamedTuple):
    """A straight part of a lasso path: fits coef + t·direction.coef for t from 0 to `length`.

    `position` and `penalty` are the walk's coordinate s and its penalty where the part begins.
    """

    position: float
    penalty: float
    coef: FloatArray  # (M,)
    signs: FloatArray  # (M,)  of the coefficients that move
    direction: Direction
    length: float  # inf on the last


class Walk:
    """Path of a lasso fit as s grows, with linear term b + q·s and penalty τ + τ'·s. Eq. (L4).

    It holds the current position s, the fit there and the columns that the fit uses.
    """

    def __init__(
        self,
        active: ActiveSet,
        linear: FloatArray,
        drift: FloatArray,
        penalty: float,
        penalty_drift: float,
        position: float,
        coef: FloatArray,
    ) -> None:
        self.active = active  # the columns of `coef`
        self.linear, self.drift = linear, drift  # (M,)  b, q
        self.penalty, self.penalty_drift = penalty, penalty_drift  # where it stands; τ'
        self.position, self.coef = position, coef
        self.signs: FloatArray = np.sign(coef)  # of coefficients in use or about to be
        self.correlation: FloatArray = np.zeros_like(coef)
        self._sizes = np.abs(linear), np.abs(drift), np.abs(drift) + abs(penalty_drift)

    def stretches(self, direction: Direction | None = None) -> Iterator[Stretch]:
        """Straight parts of the path, one after the other, from the current position.

        `direction` is given if the fit starts within a slide, where coefficients move at constant
        s. Raises InputError if there are too many kinks.
        """
        tied: list[int] = []
        if direction is None:
            direction, tied = self._turn(-1)
        for _ in range(2_000 + 200 * len(self.coef)):
            length, hit = self._next_event(direction, tied)
            yield Stretch(self.position, self.penalty, self.coef, self.signs, direction, length)
            if hit < 0:
                return
            self.position += length * direction.speed
            self.penalty += length * direction.speed * self.penalty_drift
            if direction.sliding < 0:
                direction, tied = self._simple_turn(hit, direction) or self._turn(hit)
                continue
            if direction.sliding != hit:
                combination = -direction.coef * direction.coef[direction.sliding]
                self.active.exchange(hit, direction.sliding, combination)
            direction, tied = self._turn(hit)
        raise InputError(
            "The lasso path has too many kinks to follow: some columns are nearly equal, or one "
            "row dwarfs all others; drop one of each such group or that row, or raise the penalty."
        )

    def _simple_turn(self, hit: int, before: Direction) -> tuple[Direction, list[int]] | None:
        """Turn where one column comes or goes and no other is near a change; None elsewhere."""
        active, signs = self.active.copy(), self.signs.copy()
        linear, size = self._here()
        leaving = before.coef[hit] != 0
        if leaving:
            active.leave(hit)
        coef, image = active.solve(linear - self.penalty * signs)  # exactly zero at `hit`
        if not leaving:
            combination, rest = active.outside(hit)
            if rest == 0:
                return None
            active.enter(hit, combination, rest)
            signs[hit] = 1.0 if linear[hit] > image[hit] else -1.0
        pace, pace_image = active.solve(self.drift - self.penalty_drift * signs)
        correlation = linear - image
        noise = self._noise(size, coef)
        unsettled = np.abs(correlation) >= self.penalty - noise
        unsettled[active.index] = (signs * coef * active.magnitude <= noise)[active.index]
        unsettled[hit] = not leaving and signs[hit] * pace[hit] <= 0
        if np.count_nonzero(unsettled):
            return None
        self.active, self.coef, self.signs, self.correlation = active, coef, signs, correlation
        return Direction(pace, pace_image, 1.0), [hit] if leaving else []

    def _turn(self, hit: int) -> tuple[Direction, list[int]]:
        """Turn at any kink; also returns the zero coefficients at the edge of moving. Eq. (L6)."""
        active = self.active
        linear, size = self._here()
        tied = {hit} - {-1}
        if hit in active.index.tolist():
            active.leave(hit)
        while True:
            coef, image = active.solve(linear - self.penalty * self.signs)
            noise = self._noise(size, coef)
            small = (self.signs * coef * active.magnitude <= noise)[active.index]
            if not small.any():
                break
            for j in active.index[small].tolist():
                active.leave(j)
                tied.add(j)
        self.coef, self.correlation = coef, linear - image
        near = np.abs(self.correlation) >= self.penalty - noise
        near[active.index] = False
        waiting = list(tied.union(near.nonzero()[0].tolist()))
        signs = self.signs.copy()
        signs[waiting] = np.sign(self.correlation[waiting])
        self.signs = signs
        return cone_direction(active, self.drift, self.penalty_drift, signs, waiting), waiting

    def _here(self) -> tuple[FloatArray, FloatArray]:
        """Linear term at this position, and the size of its terms."""
        size = self._sizes[0] + self._sizes[1] * abs(self.position)
        return self.linear + self.drift * self.position, size

    def _noise(self, size: FloatArray, coef: FloatArray) -> FloatArray:
        """Size (M,) up to which a sum counts as zero: a small share of a bound on its terms."""
        scale = self.active.scale
        return TIE * (size + scale * float(scale.dot(np.abs(coef))))

    def _next_event(self, direction: Direction, tied: list[int]) -> tuple[float, int]:
        """How far the walk stays straight, and the column that ends it; −1 when none does."""
        pace = self.signs * direction.coef
        distance = np.full(len(pace) + 1, np.inf)
        np.divide(self.signs * self.coef, -pace, out=distance[:-1], where=pace < 0)
        if direction.speed > 0:
            moves = self.drift - direction.image
            noise = self._noise(self._sizes[2], direction.coef)
            if self.penalty_drift == 0:  # only the penalty it moves towards can stop it
                self._until_tied(np.sign(moves), moves, noise, tied, distance)
            else:
                for side in (np.ones_like(pace), -np.ones_like(pace)):
                    self._until_tied(side, moves, noise, tied, distance)
        hit = int(distance.argmin())
        if hit == len(pace) or distance[hit] == np.inf:
            return np.inf, -1
        return max(float(distance[hit]), 0.0), hit

    def _until_tied(
        self,
        side: FloatArray,
        moves: FloatArray,
        noise: FloatArray,
        tied: list[int],
        distance: FloatArray,
    ) -> None:
        """Shorten to where side·correlation of an idle column reaches the penalty."""
        rate = side * moves - self.penalty_drift  # at which it gains on the penalty
        approaching = rate > noise
        approaching[self.active.index] = False
        for j in tied:
            approaching[j] &= self.signs[j] != side[j]
        until = np.full(len(rate), np.inf)
        np.divide(self.penalty - side * self.correlation, rate, out=until, where=approaching)
        np.minimum(distance[:-1], until, out=distance[:-1])
