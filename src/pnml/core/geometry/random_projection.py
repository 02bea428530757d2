"""Error of the regret after a random projection of the features."""

from __future__ import annotations

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.errors import InputError

# Of a Gaussian vector: how far its length lies from the root of its dimension on average.
_OWN_SPREAD = 0.5


def effective_dimension(squares: FloatArray, alpha: float) -> float:
    """Effective dimension Σ h²/(h² + alpha) of rows with singular values h. Eq. (K6).

    `squares` are the h², `alpha` is the ridge penalty; without a penalty it is the rank. It says
    how many random features are needed.

    >>> effective_dimension(np.array([100.0, 1.0, 0.01]), 1.0)
    1.5
    """
    squares = np.asarray(squares, dtype=float)
    return float(np.sum(squares / (squares + alpha))) if alpha > 0 else float(np.sum(squares > 0))


def distortion(dimension: float, size: int, chance: float) -> float:
    """Bound on the relative change of lengths by a random projection to `size` features. Eq. (K8).

    The bound fails with a probability of at most `chance`; `dimension` is the effective dimension
    of the training rows.

    >>> round(distortion(24.0, 1000, 0.01), 3)
    0.277
    """
    _check(size > 0, "size", size, "a number of features above 0")
    _check(0 < chance < 1, "chance", chance, "a probability between 0 and 1")
    unlucky = np.sqrt(2 * np.log(2 / chance))
    return float((np.sqrt(dimension + 1) + _OWN_SPREAD + unlucky) / np.sqrt(size))


def regret_error(dimension: float, size: int, chance: float = 0.01) -> float:
    """Bound, in nats, on the change of a regret by projection to `size` random features. Eq. (K9).

    The bound fails with a probability of at most `chance`; `dimension` is the effective dimension
    of the training rows. Infinite if `size` is too small for a bound.

    >>> round(regret_error(24.0, 10_000), 2), regret_error(24.0, 50)
    (0.18, inf)
    """
    t = distortion(dimension, size, chance)
    return float(-2 * np.log1p(-t)) if t < 1 else float("inf")


def size_for(dimension: float, error: float, chance: float = 0.01) -> int:
    """Number of random features that changes a regret by at most `error` nats. Eq. (K9).

    This fails with a probability of at most `chance`; `dimension` is the effective dimension of the
    training rows.

    >>> size_for(24.0, 0.5)
    1567
    """
    _check(error > 0, "error", error, "a number of nats above 0")
    return int(np.ceil((distortion(dimension, 1, chance) / -np.expm1(-error / 2)) ** 2))


def _check(fine: bool, name: str, value: float, what: str) -> None:
    if not fine:
        raise InputError(f"{name} is {value!r}, but it must be {what}; pass such a one.")
