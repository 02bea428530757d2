"""Mean, spread, smallest and largest value of number columns, and which have missing cells."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np

from pnml.columns.words import BoolArray, IntArray
from pnml.core.arrays import EPS, FloatArray
from pnml.core.conditions import ANY_NUMBER, NOT_NEGATIVE

# Numbers from here on count as infinite: their squares, or those of multiples, overflow.
LARGEST = 1e100

_ROUND_OFF = 8 * EPS  # a column whose range is below this fraction of its size is constant


@dataclass(frozen=True)
class NumberScales:
    """Mean, spread, range and gaps (missing cells) of q columns of numbers in training.

    The spread of a constant column is 0 and is never replaced by 1: the column gives no feature,
    and another value than the constant is one that training never had.
    """

    mean: Annotated[FloatArray, "q"]  # 0 where training had no number
    spread: Annotated[
        FloatArray, "q", NOT_NEGATIVE
    ]  # 0 where all numbers are equal up to round-off
    low: Annotated[FloatArray, "q", ANY_NUMBER]  # NaN where training had no number
    high: Annotated[FloatArray, "q", ANY_NUMBER]
    gaps: Annotated[BoolArray, "q"]  # whether some training row had none

    @classmethod
    def of(cls, numbers: FloatArray, weights: FloatArray) -> NumberScales:
        """Scales of rows (n, q) with positive weights (n,); the numbers are finite or NaN."""
        gap = np.isnan(numbers)
        low, high = np.fmin.reduce(numbers, axis=0), np.fmax.reduce(numbers, axis=0)
        size = np.fmax(np.abs(low), np.abs(high))
        total = np.maximum(weights @ ~gap, np.finfo(np.float64).tiny)
        middle = np.nan_to_num(low + (high - low) / 2)  # so that an offset costs no digits
        centred = np.where(gap, 0.0, numbers - middle)
        mean = weights @ centred / total
        centred = np.where(gap, 0.0, centred - mean)
        most = np.abs(centred).max(axis=0, initial=0.0)  # so that tiny squares do not vanish
        unit = np.where(most > 0, most, 1.0)
        spread = unit * np.sqrt(weights @ (centred / unit) ** 2 / total)
        varies = high - low > _ROUND_OFF * size  # False for NaN
        return cls(middle + mean, np.where(varies, spread, 0.0), low, high, np.any(gap, axis=0))

    def __len__(self) -> int:
        return len(self.mean)

    @cached_property
    def varies(self) -> BoolArray:
        """Whether each column varied in training, and so gives a feature: (q,)."""
        return self.spread > 0

    @cached_property
    def marks_gaps(self) -> BoolArray:
        """Whether each column (q,) gives a feature for gaps: training had gaps and numbers."""
        marks: BoolArray = self.gaps & ~np.isnan(self.low)
        return marks

    @cached_property
    def gap_columns(self) -> IntArray:
        """Indices of the columns that give a feature for gaps."""
        return np.flatnonzero(self.marks_gaps).astype(np.int64)

    def snapped(self, numbers: FloatArray, plain: BoolArray) -> FloatArray:
        """The numbers (n, q) without rounding errors in columns that were constant in training.

        In a column that was constant in training, a number becomes that constant if it differs by
        rounding, or if one of the two is the float32 rounding of the other, so that neither 0.1 as
        float32 nor 0.1 + 0.2 for 0.3 is a new value. Other numbers stay as they are. `plain` (q,)
        is the mask of the columns to treat: ordinary numbers, not dates or durations.
        """
        constant = np.flatnonzero(~self.varies & plain & ~np.isnan(self.low))
        values, known = numbers[:, constant], self.low[constant]
        with np.errstate(over="ignore", invalid="ignore"):
            same = (values == _rounded(known)) | (_rounded(values) == known)
            same |= np.abs(values - known) <= _ROUND_OFF * np.abs(known)
        if not np.any(same & (values != known)):
            return numbers
        numbers = numbers.copy()
        numbers[:, constant] = np.where(same, known, values)
        return numbers

    def standardise(
        self, numbers: FloatArray
    ) -> tuple[FloatArray, BoolArray | None, BoolArray | None]:
        """Standardised numbers (n, ≤ q), gaps (n, q), and what training never had (n, q).

        The first has only the columns that vary; a gap is 0 in it, an infinite number ±1e100. The
        others are booleans, or None for "nowhere".
        """
        every = bool(self.varies.all())
        z = numbers - self.mean if every else numbers[:, self.varies] - self.mean[self.varies]
        with np.errstate(over="ignore"):
            z /= self.spread if every else self.spread[self.varies]
        gap = strange = None
        if not (z.size and z.max() < LARGEST and z.min() > -LARGEST) or not every:  # NaN: False
            gap = np.isnan(numbers)
            strange = self._strange(numbers, gap)
            strange[:, self.varies] |= np.abs(z) >= LARGEST
            np.clip(z, -LARGEST, LARGEST, out=z)
            z[gap[:, self.varies]] = 0.0
        return z, gap, strange

    def _strange(self, numbers: FloatArray, gap: BoolArray) -> BoolArray:
        """Gaps where training had none, and other values in constant columns."""
        strange = gap & ~self.gaps
        constant = np.flatnonzero(~self.varies)
        slack = _ROUND_OFF * np.maximum(np.abs(self.low), np.abs(self.high))[constant]
        values = numbers[:, constant]
        same = values >= self.low[constant] - slack  # False where training had no number
        same &= values <= self.high[constant] + slack
        strange[:, constant] |= ~same & ~gap[:, constant]
        return strange


def _rounded(numbers: FloatArray) -> FloatArray:
    """The numbers as float32 holds them."""
    return numbers.astype(np.float32).astype(np.float64)
