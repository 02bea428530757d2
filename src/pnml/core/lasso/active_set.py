"""The columns a lasso fit uses, and the direction in which the fit moves next."""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pnml.core.arrays import EPS, FloatArray

TIE = 1e-11  # relative size below which a quantity counts as zero and an event as simultaneous
_DEPENDENT = 1e-12  # share of a column outside the others below which it depends on them
_TRADE = 16 * EPS  # relative pivot below which a member has no part in a dependent column
_WELL_CONDITIONED = 1e-6  # least eigenvalue of columns of unit length that needs no care
_DRIFTED = 1e-9  # relative residual at which the updated inverse is made anew


class ActiveSet:
    """Columns S that a lasso fit uses, and the inverse of their block of XᵀX. Eq. (L5).

    There are M columns in all, and A = XᵀX is their Gram matrix (M, M). Arrays are replaced, never
    edited, so that copies share them.
    """

    def __init__(self, gram: FloatArray, magnitude: FloatArray) -> None:
        self.gram = gram  # (M, M)
        self.magnitude = magnitude  # (M,)  size of the sums from which the diagonal was formed
        self.scale: FloatArray = np.sqrt(magnitude)
        self.index: npt.NDArray[np.intp] = np.zeros(0, dtype=np.intp)  # (k,)
        self.inverse: FloatArray = np.zeros((0, 0))
        self.rows: FloatArray = gram[self.index]  # (k, M)

    def hold(self, columns: npt.NDArray[np.intp]) -> list[int]:
        """Fill an empty set with `columns`; returns those left out as dependent on others."""
        scale = self.scale[columns]
        block = self.gram[np.ix_(columns, columns)]
        with np.errstate(divide="ignore", invalid="ignore"):
            spectrum = np.linalg.eigvalsh(np.nan_to_num(block / np.outer(scale, scale)))
        if len(columns) and spectrum[0] > _WELL_CONDITIONED:
            self.index, self.rows = columns, self.gram[columns]
            self.inverse = np.asarray(np.linalg.inv(block), dtype=np.float64)
            return []
        dependent = []
        for j in columns.tolist():
            combination, rest = self.outside(j)
            if rest > 0:
                self.enter(j, combination, rest)
            else:
                dependent.append(j)
        return dependent

    def copy(self) -> ActiveSet:
        """Copy that can be changed without changing this set."""
        twin = ActiveSet.__new__(ActiveSet)
        twin.__dict__.update(self.__dict__)
        return twin

    def solve(self, rhs: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Coefficients θ, 0 outside S, with (Aθ)_S = rhs_S, and Aθ: both (M,). Eq. (L5).

        A is the Gram matrix XᵀX of all M columns, S the active ones.
        """
        index, rows = self.index, self.rows
        wanted = rhs[index]
        part = self.inverse.dot(wanted)
        image = part.dot(rows)
        lacking = wanted - image[index]
        if lacking.dot(lacking) > _DRIFTED**2 * wanted.dot(wanted):
            with suppress(np.linalg.LinAlgError):  # singular to round-off: nothing better is known
                self.inverse = np.asarray(np.linalg.inv(rows[:, index]), dtype=np.float64)
        correction = self.inverse.dot(lacking)
        theta = np.zeros(len(rhs))
        theta[index] = part + correction
        return theta, image + correction.dot(rows)

    def outside(self, j: int) -> tuple[FloatArray, float]:
        """Regression (M,) of column j on the active columns, and its squared length outside them.

        The length is exactly 0 if column j depends on them up to round-off.
        """
        combination, image = self.solve(self.gram[j])
        rest = float(self.gram[j, j] - image[j])
        return combination, rest if rest > self.round_off(j, combination) else 0.0

    def round_off(self, j: int, combination: FloatArray) -> float:
        """Squared length outside the active columns that round-off may leave of column j. Eq. (L5).

        `combination` (M,) are its coefficients on the active columns, from `outside`.
        """
        length = float(self.scale[j] + self.scale.dot(np.abs(combination)))
        return max(_DEPENDENT * float(self.magnitude[j]), 8 * EPS * length * length)

    def enter(self, j: int, combination: FloatArray, rest: float) -> None:
        """Make column j active, in place, and update the inverse.

        Call `outside(j)` first and pass its two results: `combination` (M,), the coefficients of
        column j on the active columns, and `rest`, its squared length outside them, which must be
        above 0 (j is independent of them).
        """
        k = len(self.index)
        border = np.empty(k + 1)
        border[:k], border[k] = combination[self.index], -1.0
        inverse = np.dot(border[:, None], border[None] / rest)
        inverse[:k, :k] += self.inverse
        index = np.empty(k + 1, dtype=np.intp)
        index[:k], index[k] = self.index, j
        self.inverse, self.index, self.rows = inverse, index, self.gram.take(index, axis=0)

    def leave(self, j: int) -> None:
        """Remove column j; the last column takes its place."""
        at, index = int((self.index == j).argmax()), self.index.copy()
        index[at] = index[-1]
        self.index = index[:-1]
        self.rows = self.gram.take(self.index, axis=0)
        column = self.inverse[at]
        if not column[at] > 0:  # no inverse of a positive block any more
            self.inverse = np.asarray(np.linalg.pinv(self.rows[:, self.index]), dtype=np.float64)
            return
        shrunk = self.inverse - np.dot(column[:, None], column[None] / column[at])
        shrunk[at] = shrunk[-1]
        shrunk[:, at] = shrunk[:, -1]
        self.inverse = shrunk[:-1, :-1]

    def exchange(self, out: int, into: int, combination: FloatArray) -> None:
        """Replace the active column `out` by `into`, which depends on the active columns.

        `combination` (M,) are the coefficients of `into` on them, from `outside`.
        """
        at = int((self.index == out).argmax())
        rest = float(combination[out] ** 2 / self.inverse[at, at])
        self.leave(out)
        self.enter(into, self.solve(self.gram[into])[0], rest)


class Direction(NamedTuple):
    """Direction in which a lasso fit moves: by `coef`, while the path advances by `speed`."""

    coef: FloatArray  # (M,)
    image: FloatArray  # (M,)  A·coef
    speed: float  # 1, or 0 where θ slides along a direction that the training rows do not see
    sliding: int = -1  # the column that a slide brings in beside the active set; −1 without one


def slide(active: ActiveSet, j: int, combination: FloatArray, sign: float) -> Direction:
    """Direction in which column j, dependent on the active set, trades places with it. Eq. (L7).

    The fit to the training rows stays as it is. `combination` (M,) are the coefficients of j on the
    active columns, from `ActiveSet.outside`; `sign` (±1) says to which side its coefficient moves.
    """
    coef = np.zeros_like(combination)
    part = combination[active.index]
    pivot = _TRADE * active.magnitude[j] * active.inverse.diagonal()
    coef[active.index] = np.where(part**2 > pivot, -sign * part, 0.0)
    coef[j] = sign
    return Direction(coef, np.zeros_like(coef), 0.0, j)


def in_range(
    active: ActiveSet, j: int, combination: FloatArray, gain: float, leverage: float
) -> bool:
    """Whether the `gain` of dependent column j is round-off alone, so that it rests. Eq. (L7).

    The gain is how fast the correlation of column j outgrows the penalty, `combination` (M,) its
    coefficients on the active columns, and `leverage` is eᵀd with d the direction of the active
    columns and e how fast the linear term outgrows their penalty.
    """
    return gain * gain <= active.round_off(j, combination) * leverage
