"""Direction of a lasso fit after a kink where several columns are tied."""

from __future__ import annotations

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.core.lasso.active_set import TIE, ActiveSet, Direction, in_range, slide


def cone_direction(
    active: ActiveSet, drift: FloatArray, penalty_drift: float, signs: FloatArray, tied: list[int]
) -> Direction:
    """Direction of a lasso fit at a kink, in the cone that keeps it optimal. Eq. (L6).

    Minimises ½dᵀAd − eᵀd, e = drift − penalty_drift·signs, over d (M,) that is free on the columns
    of `active` and may move coefficients of `tied` only to the side of their sign. A is XᵀX;
    `drift` (M,) and `penalty_drift` are the rates at which the linear term XᵀY and the penalty
    change along the path; `tied` are columns with coefficient 0 that may begin to move. Those that
    do join `active`.
    """
    return _Cone(active, drift, penalty_drift, signs, tied).direction()


class _Cone:
    """Lawson and Hanson's active-set method; each round lowers the objective, so none recurs."""

    def __init__(
        self,
        active: ActiveSet,
        drift: FloatArray,
        penalty_drift: float,
        signs: FloatArray,
        tied: list[int],
    ) -> None:
        self.active, self.signs, self.penalty_drift = active, signs, penalty_drift
        self.e = drift - penalty_drift * signs
        self.waiting = set(tied)  # columns that rest at zero
        self.entered: list[int] = []  # members of `active` that came from `tied`
        self.d, self.image = active.solve(self.e)

    def direction(self) -> Direction:
        """The minimiser, or the slide along which the objective falls without end. Eq. (L7)."""
        for _ in range(10 + 5 * len(self.waiting)):  # round-off could cause an endless loop
            j, gain = self._keenest()
            if j < 0:
                break
            combination, rest = self.active.outside(j)
            self.waiting.remove(j)
            if rest > 0:
                self.active.enter(j, combination, rest)
            else:
                leverage = float(self.e @ self.d)
                if self.penalty_drift != 0 or in_range(self.active, j, combination, gain, leverage):
                    continue  # it keeps up with the others by itself
                move = slide(self.active, j, combination, float(self.signs[j]))
                if not self._give_way(move, combination):
                    return move
            self._descend(j)
        return Direction(self.d, self.image, 1.0)

    def _keenest(self) -> tuple[int, float]:
        """The resting column that gains most by moving, and its gain; −1 when none does."""
        scale = self.active.scale
        noise = TIE * (np.abs(self.e) + scale * float(scale @ np.abs(self.d)))
        gain = self.signs * (self.e - self.image)
        willing = [j for j in self.waiting if gain[j] > noise[j]]
        j = max(willing, key=lambda k: float(gain[k] / noise[k]), default=-1)
        return j, float(gain[j]) if j >= 0 else 0.0

    def _give_way(self, move: Direction, combination: FloatArray) -> bool:
        """Follow a slide until an entered member reaches zero and swaps; False if none does."""
        blocking = [k for k in self.entered if self.signs[k] * move.coef[k] < 0]
        if not blocking:
            return False
        out = min(blocking, key=lambda k: float(-self.d[k] / move.coef[k]))
        self.d = self.d - self.d[out] / move.coef[out] * move.coef
        self.d[out] = 0.0
        self.active.exchange(out, move.sliding, combination)
        self.entered.remove(out)
        self.waiting.add(out)
        return True

    def _descend(self, j: int) -> None:
        """Move to the minimiser on the members, of which j is new; drop those that would turn."""
        target, image = self.active.solve(self.e)
        if self.signs[j] * target[j] <= 0:  # its gain was round-off
            self.active.leave(j)
            self.d, self.image = self.active.solve(self.e)
            return
        self.entered.append(j)
        d = self.d
        while turning := [k for k in self.entered if self.signs[k] * target[k] < 0]:
            out = min(turning, key=lambda k: float(d[k] / (d[k] - target[k])))
            d = d + d[out] / (d[out] - target[out]) * (target - d)
            d[out] = 0.0
            self.active.leave(out)
            self.entered.remove(out)
            self.waiting.add(out)
            target, image = self.active.solve(self.e)
        self.d, self.image = target, image
