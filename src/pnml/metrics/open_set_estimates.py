"""All open-set metrics of a score, each with a confidence interval."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pnml.metrics.bootstrap import (
    Estimate,
    draw_blocks,
    percentile_estimates,
    redrawn_counts,
    tail,
)
from pnml.metrics.open_set import OSCRCurve, ccr_at_fpr, oscr_area, oscr_curve

if TYPE_CHECKING:
    import numpy.typing as npt

    from pnml.core.arrays import FloatArray

# False positive rates at which correct classification rates are usually printed.
FPR = (0.1, 0.2, 0.6, 0.8, 1.0)


@dataclass(frozen=True)
class OpenSetMetrics:
    """How well a score keeps unknown rows out while known ones are classified. Shares of 1.

    >>> estimates = open_set_metrics([3.0, 2.0, 1.0], [True, True, True], [0.5, 0.0], fpr=(0.1,))
    >>> estimates.area.value, estimates.ccr[0].value
    (1.0, 1.0)
    """

    area: Estimate  # under the curve
    fpr: tuple[float, ...]
    ccr: tuple[Estimate, ...]  # at each of those rates
    curve: OSCRCurve = field(repr=False, compare=False)


def open_set_metrics(
    scores_known: npt.ArrayLike,
    correct_known: npt.ArrayLike,
    scores_unknown: npt.ArrayLike,
    *,
    fpr: tuple[float, ...] = FPR,
    confidence: float = 0.95,
    resamples: int = 200,
    seed: int = 0,
) -> OpenSetMetrics:
    """Area under the OSCR curve and CCR at several FPR, with confidence intervals.

    The intervals are percentiles of rows drawn again with replacement, each kind as often as it
    occurs, Eq. (O13). The same seed draws the same rows, so scores of the same rows can be
    compared draw by draw.

    Parameters
    ----------
    scores_known, correct_known, scores_unknown
        As in `pnml.metrics.oscr_curve`.
    fpr : tuple of float in [0, 1]
        False positive rates (unknown rows let in) at which to give the CCR.
    confidence : float in (0, 1)
        Coverage of the intervals.
    resamples : int
        Number of draws.
    seed : int
        Seed of the draws.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> right = rng.random(500) < 0.9
    >>> estimates = open_set_metrics(rng.normal(1, 1, 500), right, rng.normal(-1, 1, 500))
    >>> [round(number, 3) for number in estimates.area]
    [0.805, 0.778, 0.832]
    >>> estimates.ccr[-1].value == float(right.mean())
    True
    """
    rows = (scores_known, correct_known, scores_unknown)
    curve = oscr_curve(*rows)
    values = np.append(oscr_area(*rows), ccr_at_fpr(*rows, fpr=fpr))
    outside = tail(confidence)
    draws = np.concatenate(list(_redrawn(_Places.of(*rows), fpr, resamples, seed)))
    area, *ccr = percentile_estimates(values, draws, outside)
    return OpenSetMetrics(area, tuple(float(level) for level in fpr), tuple(ccr), curve)


@dataclass(frozen=True)
class _Places:
    """Rank of each row among the distinct scores, from the highest score down."""

    known: npt.NDArray[np.intp]  # (n,)  after the last for rows classified wrongly
    unknown: npt.NDArray[np.intp]  # (m,)
    levels: int

    @classmethod
    def of(
        cls,
        scores_known: npt.ArrayLike,
        correct_known: npt.ArrayLike,
        scores_unknown: npt.ArrayLike,
    ) -> _Places:
        known, unknown = (np.asarray(s, dtype=np.float64) for s in (scores_known, scores_unknown))
        levels, place = np.unique(np.concatenate([known, unknown]), return_inverse=True)
        place = len(levels) - 1 - place
        right = np.asarray(correct_known, dtype=bool)
        ends = np.where(right, place[: len(known)], len(levels))
        return cls(ends, place[len(known) :], len(levels))


def _redrawn(
    places: _Places, fpr: tuple[float, ...], resamples: int, seed: int
) -> Iterator[FloatArray]:
    """Area and CCR (r, 1 + len(fpr)) of rows drawn again, a block of draws at a time."""
    # one generator for each kind: the drawn rows must not depend on the size of a block
    of_known, of_unknown = (np.random.default_rng([seed, kind]) for kind in (0, 1))
    for times in draw_blocks(resamples, places.levels):
        right = redrawn_counts(places.known, places.levels, times, of_known)
        unknown = redrawn_counts(places.unknown, places.levels, times, of_unknown)
        yield _area_and_rates(right, unknown, len(places.known), len(places.unknown), fpr)


def _area_and_rates(
    right: FloatArray, unknown: FloatArray, n: int, m: int, fpr: tuple[float, ...]
) -> FloatArray:
    """Area and CCR from counts (r, levels) of correct and of unknown rows. Eqs. (M6), (M5)."""
    let_in, answered = np.cumsum(unknown, axis=1), np.cumsum(right, axis=1)
    area = np.sum(right * (m - let_in + unknown / 2), axis=1) / (n * m)
    rates = [area]
    for level in fpr:
        at = np.sum(let_in / m <= level, axis=1)  # scores that may still be a threshold
        last = np.take_along_axis(answered, np.maximum(at - 1, 0)[:, None], axis=1)[:, 0]
        rates.append(np.where(at > 0, last, 0.0) / n)
    return np.stack(rates, axis=1)
