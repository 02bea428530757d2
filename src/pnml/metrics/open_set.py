"""Measures of open-set recognition: OSCR curve, its area and CCR, with confidence intervals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pnml.errors import InputError
from pnml.metrics.bootstrap import (
    Estimate,
    draw_blocks,
    percentile_estimates,
    redrawn_counts,
    tail,
)
from pnml.metrics.checks import numbers, same_length

if TYPE_CHECKING:
    import numpy.typing as npt

    from pnml.core.arrays import FloatArray


class OSCRCurve(NamedTuple):
    """Open-set curve: correct classification and false positive rate at k thresholds, each (k,).

    >>> curve = oscr_curve([3.0, 2.0], [True, False], [1.0])
    >>> curve.fpr.tolist(), curve.ccr.tolist()
    ([0.0, 0.0, 0.0, 1.0], [0.0, 0.5, 0.5, 0.5])
    """

    fpr: FloatArray  # share of unknown rows that are let in
    ccr: FloatArray  # share of known rows that are let in and classified correctly
    thresholds: FloatArray  # falling; the first, +inf, rejects every row


def oscr_curve(
    scores_known: npt.ArrayLike, correct_known: npt.ArrayLike, scores_unknown: npt.ArrayLike
) -> OSCRCurve:
    """Open-set curve: correct classification rate by rate of unknown rows let in. Eq. (M4).

    The curve runs from (0, 0) to (1, closed-set accuracy).

    Parameters
    ----------
    scores_known : array-like of shape (n,)
        Scores of rows whose class was in training; high means known.
    correct_known : array-like of bool, shape (n,)
        Whether the classifier named the right class of each of these rows.
    scores_unknown : array-like of shape (m,)
        Scores of rows of classes never seen in training.

    Examples
    --------
    >>> curve = oscr_curve([3.0, 2.0, 1.0, 0.5], [True, False, True, True], [2.0, 0.0])
    >>> curve.fpr.tolist()
    [0.0, 0.0, 0.5, 0.5, 0.5, 1.0]
    >>> curve.ccr.tolist()
    [0.0, 0.25, 0.25, 0.5, 0.75, 0.75]
    """
    known, right, unknown = _open_set(scores_known, correct_known, scores_unknown)
    t = np.unique(np.concatenate([known, unknown]))[::-1]
    fpr = _share_at_least(unknown, t, unknown.size)
    ccr = _share_at_least(right, t, known.size)
    return OSCRCurve(np.append(0.0, fpr), np.append(0.0, ccr), np.append(np.inf, t))


def oscr_area(
    scores_known: npt.ArrayLike, correct_known: npt.ArrayLike, scores_unknown: npt.ArrayLike
) -> float:
    """Open-set area: chance that a known row is right and outscores an unknown one. Eq. (M6).

    This is the area under `oscr_curve`, whose arguments it takes; a tie counts one half. It is at
    most the closed-set accuracy, and the AUROC where every known row is classified correctly.

    Examples
    --------
    >>> oscr_area([3.0, 2.0, 1.0, 0.5], [True, False, True, True], [2.0, 0.0])
    0.5
    """
    known, right, unknown = _open_set(scores_known, correct_known, scores_unknown)
    below = np.searchsorted(unknown, right, side="left")
    not_above = np.searchsorted(unknown, right, side="right")
    return float(np.sum(below + not_above)) / (2 * known.size * unknown.size)


def ccr_at_fpr(
    scores_known: npt.ArrayLike,
    correct_known: npt.ArrayLike,
    scores_unknown: npt.ArrayLike,
    *,
    fpr: npt.ArrayLike = (0.1, 0.2, 0.6, 0.8, 1.0),
) -> FloatArray:
    """Share of known rows let in and classified right, for each rate in `fpr`. Eq. (M5).

    Parameters
    ----------
    scores_known, correct_known, scores_unknown
        As in `oscr_curve`: a high score means known.
    fpr : array-like of float in [0, 1]
        Largest shares of unknown rows to let in, one result for each; nothing is interpolated.

    Examples
    --------
    >>> ccr_at_fpr([3.0, 2.0, 1.0, 0.5], [True, False, True, True], [2.0, 0.0], fpr=[0.1, 0.5])
    array([0.25, 0.75])
    """
    known, right, unknown = _open_set(scores_known, correct_known, scores_unknown)
    levels, m = np.asarray(fpr, dtype=np.float64), unknown.size
    if not np.all((levels >= 0.0) & (levels <= 1.0)):
        raise InputError(f"fpr is {levels}, which is no rate: pass numbers in [0, 1].")
    # The largest k with k / m <= level; the product alone may round to either side.
    k = np.ceil(levels * m).astype(np.int64)
    k = np.where(k / m <= levels, k, k - 1)
    # With k unknowns allowed in, the threshold sits just above the next one, so S > bar, not >=.
    bar = unknown[::-1][np.minimum(k, m - 1)]
    passed = right.size - np.searchsorted(right, bar, side="right")
    return np.asarray(np.where(k < m, passed, right.size) / known.size, dtype=np.float64)


def _open_set(
    scores_known: npt.ArrayLike, correct_known: npt.ArrayLike, scores_unknown: npt.ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Known scores, those of them classified correctly and unknown scores, the last two sorted."""
    known = numbers(scores_known, "scores_known")
    correct = numbers(correct_known, "correct_known")
    same_length(known, "scores_known", correct, "correct_known")
    if not np.all((correct == 0.0) | (correct == 1.0)):
        raise InputError(
            "correct_known holds values other than True and False: pass predicted == true class."
        )
    return (
        known,
        np.sort(known[correct == 1.0]),
        np.sort(numbers(scores_unknown, "scores_unknown")),
    )


# False positive rates at which correct classification rates are usually printed.
FPR = (0.1, 0.2, 0.6, 0.8, 1.0)


@dataclass(frozen=True)
class OpenSetMetrics:
    """Open-set metrics: how well unknown rows stay out while known ones are classified.

    >>> estimates = open_set_metrics([3.0, 2.0, 1.0], [True, True, True], [0.5, 0.0], fpr=(0.1,))
    >>> estimates.area.value, estimates.ccr[0].value
    (1.0, 1.0)
    """

    area: Estimate  # under the curve
    fpr: tuple[float, ...]  # false positive rates
    ccr: tuple[Estimate, ...]  # correct classification rate at each of those
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
    """Open-set metrics: area under the OSCR curve and CCR at several FPR, with intervals.

    CCR is the correct classification rate, FPR the false positive rate. The intervals are
    percentiles of bootstrap draws: known and unknown rows are drawn again with replacement, as many
    of each as there are, Eq. (O13). The same seed draws the same rows, so scores of the same rows
    can be compared draw by draw.

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


def _share_at_least(ascending: FloatArray, t: FloatArray, out_of: int) -> FloatArray:
    """Number of sorted values that reach each threshold, as a share of ``out_of``."""
    reached = ascending.size - np.searchsorted(ascending, t, side="left")
    return np.asarray(reached / out_of, dtype=np.float64)
