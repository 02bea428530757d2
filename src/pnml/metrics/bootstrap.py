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
    """A number with the low and the high end of its confidence interval, as by bootstrap.

    >>> value, low, high = Estimate(0.93, 0.91, 0.95)
    >>> low < value < high
    True
    """

    value: float
    low: float
    high: float


def tail(confidence: float) -> float:
    """Probability beyond each end of a bootstrap interval of this confidence.

    >>> round(tail(0.95), 3)
    0.025
    """
    return (1 - share(confidence, "confidence")) / 2


def percentile_estimates(values: FloatArray, draws: FloatArray, outside: float) -> list[Estimate]:
    """Bootstrap estimates of k values, with percentile intervals of their r draws (r, k).

    `outside` is the probability beyond each end of an interval.

    >>> percentile_estimates(np.array([0.5]), np.linspace(0, 1, 5)[:, None], outside=0.25)
    [Estimate(value=0.5, low=0.25, high=0.75)]
    """
    low, high = np.quantile(draws, [outside, 1 - outside], axis=0)
    ends = zip(values, low, high, strict=True)
    return [Estimate(float(value), float(least), float(most)) for value, least, most in ends]


def draw_blocks(resamples: int, width: int) -> Iterator[int]:
    """Sizes of blocks of bootstrap draws, in sum `resamples`; a draw holds `width` numbers.

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
    """Counts (times, levels): how many rows of each level every one of `times` bootstraps draws.

    `place` (n,) is the level of each row, such as its rank among distinct scores, from 0 to
    `levels` − 1; rows with a larger number are drawn but not counted.
    """
    n = len(place)
    draws = (rng.integers(n, size=n, dtype=np.int32) for _ in range(times))
    counts = [np.bincount(place[rows], minlength=levels)[:levels] for rows in draws]
    return np.stack(counts).astype(np.float64)
