"""Open-set metrics: classification and rejection of classes never seen in training."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pnml.errors import InputError
from pnml.metrics.checks import numbers, same_length, share_at_least

if TYPE_CHECKING:
    import numpy.typing as npt

    from pnml.core.arrays import FloatArray


class OSCRCurve(NamedTuple):
    """Correct classification rate against false positive rate, a point per threshold.

    >>> curve = oscr_curve([3.0, 2.0], [True, False], [1.0])
    >>> curve.fpr.tolist(), curve.ccr.tolist()
    ([0.0, 0.0, 0.0, 1.0], [0.0, 0.5, 0.5, 0.5])
    """

    fpr: FloatArray
    ccr: FloatArray
    thresholds: FloatArray  # falling; the first, +inf, rejects every row


def oscr_curve(
    scores_known: npt.ArrayLike, correct_known: npt.ArrayLike, scores_unknown: npt.ArrayLike
) -> OSCRCurve:
    """Correct classification rate at each rate of unknown rows let in. Eq. (M4).

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
    fpr = share_at_least(unknown, t, unknown.size)
    ccr = share_at_least(right, t, known.size)
    return OSCRCurve(np.append(0.0, fpr), np.append(0.0, ccr), np.append(np.inf, t))


def oscr_area(
    scores_known: npt.ArrayLike, correct_known: npt.ArrayLike, scores_unknown: npt.ArrayLike
) -> float:
    """Chance that a known row is classified correctly and outscores an unknown one. Eq. (M6).

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
    """Correct classification rate at each rate of unknown rows that is allowed in. Eq. (M5).

    Parameters
    ----------
    scores_known, correct_known, scores_unknown
        As in `oscr_curve`.
    fpr : array-like of float in [0, 1]
        The rates allowed, one answer each. No more is let in, and nothing is interpolated.

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
