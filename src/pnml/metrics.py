"""Metrics that scikit-learn lacks: detection, open sets, selective answers, intervals.

A score is high where a row is believed to be in-distribution (known): pass the *negative* regret.
Scores may be infinite, as the regret of a row outside the training span is; they may not be NaN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pnml.core.errors import InputError

if TYPE_CHECKING:
    import numpy.typing as npt

    from pnml.core.arrays import FloatArray

__all__ = [
    "OSCRCurve",
    "RiskCoverageCurve",
    "aurc",
    "ccr_at_fpr",
    "detection_accuracy",
    "fpr_at_tpr",
    "interval_coverage",
    "interval_score",
    "interval_width",
    "oscr_area",
    "oscr_curve",
    "risk_coverage_curve",
    "tnr_at_tpr",
]


class OSCRCurve(NamedTuple):
    """Correct classification rate against false positive rate, a point per threshold."""

    fpr: FloatArray
    ccr: FloatArray
    thresholds: FloatArray  # falling; the first, +inf, rejects every row


class RiskCoverageCurve(NamedTuple):
    """Mean loss of the rows answered against their share, a point per threshold."""

    coverage: FloatArray
    risk: FloatArray
    thresholds: FloatArray  # falling; the last answers every row


def tnr_at_tpr(scores_in: npt.ArrayLike, scores_out: npt.ArrayLike, *, tpr: float = 0.95) -> float:
    """Share of outliers turned away while ``tpr`` of the ordinary rows pass. Eq. (M2).

    Parameters
    ----------
    scores_in, scores_out : array-like of shape (n,), (m,)
        Scores of in-distribution and of out-of-distribution rows; high means in-distribution.
    tpr : float in (0, 1]
        The share of in-distribution rows that must pass.

    Examples
    --------
    >>> tnr_at_tpr([4.0, 3.0, 2.0, 1.0], [2.5, 1.0, 0.5, 0.0], tpr=0.75)
    0.75
    """
    t, s_out = _threshold_at_tpr(scores_in, scores_out, tpr)
    return float(np.mean(s_out < t))


def fpr_at_tpr(scores_in: npt.ArrayLike, scores_out: npt.ArrayLike, *, tpr: float = 0.95) -> float:
    """Share of outliers that slip through while ``tpr`` of the ordinary rows pass. Eq. (M2).

    Known as FPR95 at the default ``tpr``. Arguments as in `tnr_at_tpr`.

    Examples
    --------
    >>> fpr_at_tpr([4.0, 3.0, 2.0, 1.0], [2.5, 1.0, 0.5, 0.0], tpr=0.75)
    0.25
    """
    t, s_out = _threshold_at_tpr(scores_in, scores_out, tpr)
    return float(np.mean(s_out >= t))


def detection_accuracy(scores_in: npt.ArrayLike, scores_out: npt.ArrayLike) -> float:
    """Accuracy of the best threshold if both kinds of rows were equally common. Eq. (M3).

    At least 0.5, which rejecting every row already gives. Arguments as in `tnr_at_tpr`.

    Examples
    --------
    >>> detection_accuracy([4.0, 3.0, 2.0, 1.0], [2.5, 1.0, 0.5, 0.0])
    0.75
    """
    s_in = np.sort(_numbers(scores_in, "scores_in"))
    s_out = np.sort(_numbers(scores_out, "scores_out"))
    t = np.concatenate([s_in, s_out])
    tnr = np.searchsorted(s_out, t, side="left") / s_out.size
    return float(max(0.5, np.max(0.5 * (_share_at_least(s_in, t, s_in.size) + tnr))))


def oscr_curve(
    scores_known: npt.ArrayLike, correct_known: npt.ArrayLike, scores_unknown: npt.ArrayLike
) -> OSCRCurve:
    """How much is classified correctly at each rate of unknown rows let in. Eq. (M4).

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


def risk_coverage_curve(loss: npt.ArrayLike, confidence: npt.ArrayLike) -> RiskCoverageCurve:
    """Mean loss of the rows answered, as a function of the share answered. Eq. (M7).

    There is a point for each distinct confidence, because rows that tie are answered together.

    Parameters
    ----------
    loss : array-like of shape (n,)
        Loss of each row; finite.
    confidence : array-like of shape (n,)
        Rows are answered from the highest down; pass the negative regret.

    Examples
    --------
    >>> curve = risk_coverage_curve([0.0, 1.0, 0.0, 1.0], [0.9, 0.2, 0.9, 0.2])
    >>> curve.coverage.tolist(), curve.risk.tolist()
    ([0.5, 1.0], [0.0, 0.5])
    """
    total, count, thresholds = _loss_by_confidence(loss, confidence)
    answered = np.cumsum(count)
    return RiskCoverageCurve(answered / answered[-1], np.cumsum(total) / answered, thresholds)


def aurc(loss: npt.ArrayLike, confidence: npt.ArrayLike) -> float:
    """Area under the risk–coverage curve: mean risk over all numbers of rows. Eq. (M8).

    Rows that tie in confidence are answered in random order, and the expectation is returned: a
    constant confidence gives the mean loss. Arguments as in `risk_coverage_curve`.

    Examples
    --------
    >>> aurc([0.0, 0.0, 0.0, 1.0], [0.9, 0.4, 0.8, 0.2])
    0.0625
    """
    total, count, _ = _loss_by_confidence(loss, confidence)
    cumulative = np.cumsum(np.repeat(total / count, count))
    return float(np.mean(cumulative / np.arange(1, cumulative.size + 1)))


def interval_coverage(y: npt.ArrayLike, interval: npt.ArrayLike) -> float:
    """Share of rows whose value lies in its interval, ends included. Eq. (M9).

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
    """Mean width of intervals of shape (n, 2), in the unit of the target. Eq. (M10).

    Examples
    --------
    >>> interval_width([[0.0, 1.0], [0.0, 3.0]])
    2.0
    """
    low, high = _ends(interval)
    return float(np.mean(high - low))


def interval_score(y: npt.ArrayLike, interval: npt.ArrayLike, *, coverage: float = 0.9) -> float:
    """Winkler score: mean width plus a fine for each miss, in the target's unit. Eq. (M11).

    Small is good: neither wide nor overconfident intervals pay.

    Parameters
    ----------
    y, interval
        As in `interval_coverage`.
    coverage : float in (0, 1)
        The coverage that the intervals were made for.

    Examples
    --------
    >>> interval_score([1.0, 4.0], [[0.0, 2.0], [0.0, 3.0]], coverage=0.5)
    4.5
    """
    values, low, high = _rows_and_ends(y, interval)
    if not 0.0 < coverage < 1.0:
        raise InputError(f"coverage is {coverage}, which is no share: pass a number in (0, 1).")
    miss = np.maximum(low - values, 0.0) + np.maximum(values - high, 0.0)
    return float(np.mean(high - low + 2.0 / (1.0 - coverage) * miss))


def _threshold_at_tpr(
    scores_in: npt.ArrayLike, scores_out: npt.ArrayLike, tpr: float
) -> tuple[float, FloatArray]:
    """The highest threshold that lets the asked share of scores_in pass; scores_out. Eq. (M1)."""
    s_in, s_out = _numbers(scores_in, "scores_in"), _numbers(scores_out, "scores_out")
    if not 0.0 < tpr <= 1.0:
        raise InputError(f"tpr is {tpr}, which is no share above 0: pass a number in (0, 1].")
    # The smallest k with k / n >= tpr; the product alone may round to either side.
    k = int(np.floor(tpr * s_in.size))
    k += k / s_in.size < tpr
    return float(np.sort(s_in)[s_in.size - k]), s_out


def _share_at_least(ascending: FloatArray, t: FloatArray, out_of: int) -> FloatArray:
    """Number of sorted values that reach each threshold, as a share of ``out_of``."""
    reached = ascending.size - np.searchsorted(ascending, t, side="left")
    return np.asarray(reached / out_of, dtype=np.float64)


def _loss_by_confidence(
    loss: npt.ArrayLike, confidence: npt.ArrayLike
) -> tuple[FloatArray, npt.NDArray[np.intp], FloatArray]:
    """Summed loss and number of rows at each distinct confidence, from the highest down."""
    losses, c = _finite(loss, "loss"), _numbers(confidence, "confidence")
    _same_length(losses, "loss", c, "confidence")
    levels, group = np.unique(c, return_inverse=True)
    total = np.bincount(group, weights=losses).astype(np.float64)
    return total[::-1], np.bincount(group)[::-1], levels[::-1]


def _open_set(
    scores_known: npt.ArrayLike, correct_known: npt.ArrayLike, scores_unknown: npt.ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Known scores, those of them classified correctly and unknown scores, the last two sorted."""
    known = _numbers(scores_known, "scores_known")
    correct = _numbers(correct_known, "correct_known")
    _same_length(known, "scores_known", correct, "correct_known")
    if not np.all((correct == 0.0) | (correct == 1.0)):
        raise InputError(
            "correct_known holds values other than True and False: pass predicted == true class."
        )
    return (
        known,
        np.sort(known[correct == 1.0]),
        np.sort(_numbers(scores_unknown, "scores_unknown")),
    )


def _rows_and_ends(
    y: npt.ArrayLike, interval: npt.ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray]:
    values, (low, high) = _finite(y, "y"), _ends(interval)
    _same_length(values, "y", low, "interval")
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


def _numbers(values: npt.ArrayLike, name: str) -> FloatArray:
    v = np.asarray(values, dtype=np.float64)
    if v.ndim != 1 or not v.size:
        raise InputError(f"{name} has shape {v.shape}, not (n,) with n > 0: pass one value a row.")
    if np.isnan(v).any():
        raise InputError(
            f"{name} holds {np.isnan(v).sum()} NaN, which no threshold can rank: drop those rows."
        )
    return v


def _finite(values: npt.ArrayLike, name: str) -> FloatArray:
    v = _numbers(values, name)
    if np.isinf(v).any():
        raise InputError(
            f"{name} holds {np.isinf(v).sum()} infinite values among finite ones: drop those rows."
        )
    return v


def _same_length(a: FloatArray, a_name: str, b: FloatArray, b_name: str) -> None:
    if a.size != b.size:
        raise InputError(
            f"{a_name} has {a.size} rows but {b_name} has {b.size}: pass both for the same rows."
        )
