"""Conditions on the numbers of a field, declared beside it and checked where a file is read.

``weight: Annotated[float, POSITIVE]`` or ``h2: Annotated[FloatArray, "r", NOT_NEGATIVE]``. Numbers
without a condition must be finite.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Condition:
    """What the numbers of a field are, in words and as a test of a number or an array."""

    words: str
    holds: Callable[[Any], bool]


def _is_finite(values: Any) -> bool:
    with np.errstate(all="ignore"):
        # a sum is infinite or NaN where a number is; if finite ones overflow, all are looked at
        return bool(np.isfinite(np.sum(values)) or np.isfinite(values).all())


def _between(low: float, high: float, *, open_low: bool = False) -> Callable[[Any], bool]:
    """Whether all numbers are finite and between two ends; NaN is not."""

    def holds(values: Any) -> bool:
        if not np.size(values):
            return True
        least, most = np.min(values), np.max(values)  # NaN where any number is
        return bool((least > low if open_low else least >= low) and most <= high)

    return holds


def _in_order(values: Any) -> bool:
    return _between(0.0, np.inf)(values) and bool(np.all(values[1:] >= values[:-1]))


_LARGEST = float(np.finfo(np.float64).max)

FINITE = Condition("finite", _is_finite)
POSITIVE = Condition("finite and above 0", _between(0.0, _LARGEST, open_low=True))
NOT_NEGATIVE = Condition("finite and 0 or more", _between(0.0, _LARGEST))
SHARE = Condition("from 0 to 1", _between(0.0, 1.0))
# Of a row that no other row is like, regrets and leverages are infinite.
MAY_BE_INFINITE = Condition("0 or more, perhaps infinite", _between(0.0, np.inf))
NOT_NAN = Condition("other than NaN", _between(-np.inf, np.inf))
IN_ORDER = Condition("0 or more and in order", _in_order)
ANY_NUMBER = Condition("any", lambda values: True)
COUNT = Condition("0 or more", _between(0, 2**62))
