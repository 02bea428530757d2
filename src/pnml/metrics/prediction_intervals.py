"""Coverage, width and score of prediction intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pnml.errors import InputError
from pnml.metrics.checks import finite, same_length, weighted_mean

if TYPE_CHECKING:
    import numpy.typing as npt

    from pnml.core.arrays import FloatArray


def interval_coverage(y: npt.ArrayLike, interval: npt.ArrayLike) -> float:
    """Coverage of prediction intervals: share of values inside, ends included. Eq. (M9).

    Parameters
    ----------
    y : array-like of shape (n,)
        The values that came out.
    interval : array-like of shape (n, 2)
        Lower and upper ends, as ``predict_interval`` returns them; they may be infinite.

    Examples
    --------
    >>> interval_coverage([1.0, 9.0], [[0.0, 1.0], [0.0, 3.0]])
    0.5
    """
    values, low, high = _rows_and_ends(y, interval)
    return float(np.mean((low <= values) & (values <= high)))


def interval_width(interval: npt.ArrayLike) -> float:
    """Mean width of prediction intervals (n, 2), in the unit of the target. Eq. (M10).

    Examples
    --------
    >>> interval_width([[0.0, 1.0], [0.0, 3.0]])
    2.0
    """
    low, high = _ends(interval)
    return float(np.mean(high - low))


def interval_score(
    y: npt.ArrayLike,
    interval: npt.ArrayLike,
    *,
    coverage: float = 0.9,
    sample_weight: npt.ArrayLike | None = None,
) -> float:
    """Winkler score of prediction intervals: mean width plus penalties of misses. Eq. (M11).

    Smaller is better: wide intervals cost, and so do misses, the more the higher the coverage.

    Parameters
    ----------
    y, interval
        As in `interval_coverage`.
    coverage : float in (0, 1)
        The coverage that the intervals were made for.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows in the mean.

    Examples
    --------
    >>> interval_score([1.0, 4.0], [[0.0, 2.0], [0.0, 3.0]], coverage=0.5)
    4.5
    """
    values, low, high = _rows_and_ends(y, interval)
    if not 0.0 < coverage < 1.0:
        raise InputError(f"coverage is {coverage}, which is no share: pass a number in (0, 1).")
    miss = np.maximum(low - values, 0.0) + np.maximum(values - high, 0.0)
    score = high - low + 2.0 / (1.0 - coverage) * miss
    return weighted_mean(score, sample_weight)


def _rows_and_ends(
    y: npt.ArrayLike, interval: npt.ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray]:
    values, (low, high) = finite(y, "y"), _ends(interval)
    same_length(values, "y", low, "interval")
    return values, low, high


def _ends(interval: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    ends = np.asarray(interval, dtype=np.float64)
    if ends.ndim != 2 or ends.shape[1] != 2 or not ends.size:
        raise InputError(f"interval has shape {ends.shape}, not (n, 2): pass lower and upper ends.")
    low, high = ends.T
    if not np.all(low <= high):
        bad = int(np.argmin(low <= high))
        raise InputError(
            f"interval {bad} runs from {low[bad]} to {high[bad]}: order its ends and drop NaN rows."
        )
    return low, high
