"""Checks of scores and losses: arrays for the metrics, or one sentence why not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pnml.errors import InputError
from pnml.runtime.checks import is_whole

if TYPE_CHECKING:
    import numpy.typing as npt

    from pnml.core.arrays import FloatArray


def numbers(values: npt.ArrayLike, name: str) -> FloatArray:
    """Values (n,) for a metric, as floats that may be infinite; raises InputError for NaN.

    `name` is what the message calls them.
    """
    v = np.asarray(values, dtype=np.float64)
    if v.ndim != 1 or not v.size:
        raise InputError(f"{name} has shape {v.shape}, not (n,) with n > 0: pass one value a row.")
    if np.isnan(v).any():
        raise InputError(
            f"{name} holds {np.isnan(v).sum()} NaN, which no threshold can rank: drop those rows."
        )
    return v


def finite(values: npt.ArrayLike, name: str) -> FloatArray:
    """Values (n,) for a metric, as floats; raises InputError for NaN and infinite values.

    `name` is what the message calls them.
    """
    v = numbers(values, name)
    if np.isinf(v).any():
        raise InputError(
            f"{name} holds {np.isinf(v).sum()} infinite values among finite ones: drop those rows."
        )
    return v


def same_length(a: FloatArray, a_name: str, b: FloatArray, b_name: str) -> None:
    """Raise InputError if arrays a and b for a metric, named in the message, differ in length."""
    if a.size != b.size:
        raise InputError(
            f"{a_name} has {a.size} rows but {b_name} has {b.size}: pass both for the same rows."
        )


def weighted_mean(values: FloatArray, sample_weight: npt.ArrayLike | None) -> float:
    """Mean of values (n,) over rows, with weights (n,) of 0 or more, or None for equal ones."""
    if sample_weight is None:
        return float(np.mean(values))
    weights = finite(sample_weight, "sample_weight")
    same_length(values, "y", weights, "sample_weight")
    if weights.min() < 0 or not weights.any():
        raise InputError(
            "sample_weight has a negative value or nothing but zeros: pass weights of 0 or more, "
            "some above 0."
        )
    used = weights > 0  # a row that does not count may have an infinite loss
    return float(np.average(values[used], weights=weights[used]))


def share(value: float, name: str) -> float:
    """The value of the argument `name`; raises InputError unless it is above 0 and below 1."""
    if not 0.0 < value < 1.0:
        raise InputError(f"{name} is {value}, which is no share: pass a number in (0, 1).")
    return float(value)


def whole(value: int, name: str, least: int) -> int:
    """The value of the argument `name`; raises InputError unless it is whole and ≥ `least`."""
    if not is_whole(value, least):
        raise InputError(f"{name} is {value!r}: pass a whole number of at least {least}.")
    return int(value)
