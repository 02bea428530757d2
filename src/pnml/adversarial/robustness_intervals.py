"""Robust accuracy and paired gains on the same rows, with bootstrap intervals."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pnml.errors import InputError
from pnml.metrics.bootstrap import Estimate
from pnml.metrics.checks import share, whole

BoolArray = npt.NDArray[np.bool_]


def share_held(
    held: npt.ArrayLike, *, confidence: float = 0.95, resamples: int = 2000, seed: int = 0
) -> Estimate:
    """Robust accuracy: share of rows that stayed correct, with a bootstrap interval. Eq. (E14).

    Parameters
    ----------
    held : array-like of bool of shape (n,)
        Whether each row was correct under all attacks.
    confidence : float in (0, 1)
        Coverage of the interval.
    resamples : int
        Number of bootstrap samples.
    seed : int
        Seed of the bootstrap.

    Examples
    --------
    >>> share_held([True] * 60 + [False] * 40)
    Estimate(value=0.6, low=0.5, high=0.7)
    >>> [round(number, 4) for number in share_held([False] * 100)]
    [0.0, 0.0, 0.0362]
    """
    rows = _flags(held, "held")
    return _estimate(rows.astype(float), 0.0, 1.0, confidence, resamples, seed)


def paired_gain(
    defended: npt.ArrayLike,
    static: npt.ArrayLike,
    *,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Estimate:
    """Robust accuracy of a defence minus another network's, with an interval. Eq. (E14).

    Both use the same bootstrap samples, so rows that are hard for both do not widen the interval.
    The other arguments are those of `share_held`.

    Parameters
    ----------
    defended, static : array-like of bool of shape (n,)
        Whether each row was correct under all attacks.

    Examples
    --------
    >>> gain = paired_gain([True] * 90 + [False] * 10, [True] * 70 + [False] * 30)
    >>> [round(number, 2) for number in gain]
    [0.2, 0.12, 0.28]
    """
    first, second = _flags(defended, "defended"), _flags(static, "static")
    if len(first) != len(second):
        raise InputError(
            f"defended has {len(first)} rows and static {len(second)}, but each row is compared "
            "with itself; pass the same rows for both."
        )
    difference = first.astype(float) - second.astype(float)
    return _estimate(difference, -1.0, 1.0, confidence, resamples, seed)


def _estimate(
    values: npt.NDArray[np.float64],
    least: float,
    most: float,
    confidence: float,
    resamples: int,
    seed: int,
) -> Estimate:
    """Mean of the values, and percentiles of its bootstrap distribution."""
    n, tail = len(values), (1 - share(confidence, "confidence")) / 2
    kinds, counts = np.unique(values, return_counts=True)
    rng = np.random.default_rng(seed)
    means = rng.multinomial(n, counts / n, size=whole(resamples, "resamples", 2)) @ kinds / n
    low, high = np.quantile(means, [tail, 1 - tail])
    value = float(values.mean())
    if len(kinds) == 1:  # all samples are equal, but the next row may differ
        unseen = 1 - tail ** (1 / n)
        low, high = value - unseen * (value - least), value + unseen * (most - value)
    return Estimate(value, float(low), float(high))


def _flags(held: npt.ArrayLike, name: str) -> BoolArray:
    flags = np.asarray(held)
    if flags.dtype != np.bool_ or flags.ndim != 1 or not len(flags):
        raise InputError(
            f"{name} is {flags.dtype} of shape {flags.shape}; pass True or False for each row."
        )
    return flags
