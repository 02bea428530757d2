"""Estimates with bootstrap intervals: rows drawn again with replacement. Eq. (O13)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pnml.metrics.checks import share, whole

if TYPE_CHECKING:
    import numpy.typing as npt

    from pnml.core.arrays import FloatArray

# Numbers held at once while rows are drawn again.
_BLOCK_NUMBERS = 2**16


class Estimate(NamedTuple):
    """A number with its confidence interval, such as a bootstrap interval.

    >>> value, low, high = Estimate(0.93, 0.91, 0.95)
    >>> low < value < high
    True
    """

    value: float
    low: float
    high: float


def tail(confidence: float) -> float:
    """Probability outside a bootstrap interval, on either side.

    >>> round(tail(0.95), 3)
    0.025
    """
    return (1 - share(confidence, "confidence")) / 2


def percentile_estimates(values: FloatArray, draws: FloatArray, outside: float) -> list[Estimate]:
    """Bootstrap estimates of values (k,) with percentile intervals of their draws (r, k).

    >>> percentile_estimates(np.array([0.5]), np.linspace(0, 1, 5)[:, None], outside=0.25)
    [Estimate(value=0.5, low=0.25, high=0.75)]
    """
    low, high = np.quantile(draws, [outside, 1 - outside], axis=0)
    ends = zip(values, low, high, strict=True)
    return [Estimate(float(value), float(least), float(most)) for value, least, most in ends]


def draw_blocks(resamples: int, width: int) -> Iterator[int]:
    """Sizes of blocks of bootstrap draws, `resamples` in all; a draw holds `width` numbers.

    >>> list(draw_blocks(5, 2**15))
    [2, 2, 1]
    """
    resamples = whole(resamples, "resamples", 2)
    step = max(1, _BLOCK_NUMBERS // width)
    for start in range(0, resamples, step):
        yield min(step, resamples - start)


def redrawn_counts(
    place: npt.NDArray[np.intp], levels: int, times: int, rng: np.random.Generator
) -> FloatArray:
    """How often each level comes up (times, levels) when a bootstrap draws rows again.

    `place` gives the level of each row; rows with a place from `levels` on count nowhere.
    """
    n = len(place)
    draws = (rng.integers(n, size=n, dtype=np.int32) for _ in range(times))
    counts = [np.bincount(place[rows], minlength=levels)[:levels] for rows in draws]
    return np.stack(counts).astype(np.float64)
