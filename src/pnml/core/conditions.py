"""Conditions on the numbers of a field, declared beside it and checked where a file is read.

``weight: Annotated[float, POSITIVE]`` or ``h2: Annotated[FloatArray, "r", NOT_NEGATIVE]``. Numbers
without a condition must be finite and at most 1e250 in size: no sum of squares of rows, whose
values are at most 1e100, is larger.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

_LARGEST = 1e250
_LARGEST_SUM = 1e250  # of squares: then no number is above its root
_LARGEST_VALUE = 1e101  # of a row less another; fitting refuses rows with more than 1e100
_SMALLEST = float(np.nextafter(0.0, 1.0))


@dataclass(frozen=True)
class Condition:
    """Condition on the numbers in a field of a model file: from `low` to `high`, and in `words`.

    `in_order`: the numbers must also ascend. `may_be_nan`: every number is accepted, NaN too.

    >>> POSITIVE.holds(0.5), POSITIVE.holds(0.0), NOT_NEGATIVE.holds(np.array([0.0, np.nan]))
    (True, False, False)
    """

    words: str
    low: float = -_LARGEST
    high: float = _LARGEST
    in_order: bool = False
    may_be_nan: bool = False

    def holds(self, values: Any) -> bool:
        """Whether a number, or every number of an array, meets the condition; an empty array does.

        NaN does not, unless `may_be_nan`.
        """
        if self.may_be_nan:
            return True
        if isinstance(values, (float, int)):
            return bool(self.low <= values <= self.high)
        if not values.size:
            return True
        if self.in_order:
            return self._holds_in_order(values)
        if self.low == -_LARGEST and values.dtype == np.float64:
            flat = values if values.ndim == 1 else values.ravel(order="K")
            with np.errstate(over="ignore", invalid="ignore"):
                squares = flat.dot(flat)  # one pass instead of two
            if squares <= _LARGEST_SUM:
                return True
        # the least and the largest number are NaN where any is
        if not np.minimum.reduce(values, axis=None).item() >= self.low:
            return False
        return self.high == np.inf or np.maximum.reduce(values, axis=None).item() <= self.high

    def _holds_in_order(self, values: Any) -> bool:
        """Whether an array (n,) ascends, and its first and last number are within the limits."""
        rising = np.logical_and.reduce(values[1:] >= values[:-1])
        return bool(rising and self.low <= values[0].item() and values[-1].item() <= self.high)


FINITE = Condition("finite")
POSITIVE = Condition("finite and above 0", _SMALLEST)
NOT_NEGATIVE = Condition("finite and 0 or more", 0.0)
OF_ROWS = Condition("at most 1e101 in size", -_LARGEST_VALUE, _LARGEST_VALUE)
SHARE = Condition("from 0 to 1", 0.0, 1.0)
# Regret and leverage are infinite for a row that is unlike every other row.
MAY_BE_INFINITE = Condition("0 or more, perhaps infinite", 0.0, np.inf)
NOT_NAN = Condition("other than NaN", -np.inf, np.inf)
IN_ORDER = Condition("0 or more and in order", 0.0, np.inf, in_order=True)
COUNT = Condition("0 or more", 0, 2**62)
ANY_NUMBER = Condition("any", may_be_nan=True)
