"""Selective prediction: risk when doubtful rows are left unanswered."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pnml.metrics.checks import finite, numbers, same_length

if TYPE_CHECKING:
    import numpy.typing as npt

    from pnml.core.arrays import FloatArray


class RiskCoverageCurve(NamedTuple):
    """Risk–coverage curve: share of rows answered and their mean loss at k thresholds, each (k,).

    >>> risk_coverage_curve([0.0, 1.0], [0.9, 0.2]).thresholds.tolist()
    [0.9, 0.2]
    """

    coverage: FloatArray  # share of rows answered
    risk: FloatArray  # their mean loss
    thresholds: FloatArray  # falling; the last answers every row


def risk_coverage_curve(loss: npt.ArrayLike, confidence: npt.ArrayLike) -> RiskCoverageCurve:
    """Risk–coverage curve: mean loss of the rows answered at each share. Eq. (M7).

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
    """Area under the risk–coverage curve: mean risk over all numbers of rows answered. Eq. (M8).

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


def _loss_by_confidence(
    loss: npt.ArrayLike, confidence: npt.ArrayLike
) -> tuple[FloatArray, npt.NDArray[np.intp], FloatArray]:
    """Summed loss and number of rows at each distinct confidence, from the highest down."""
    losses, c = finite(loss, "loss"), numbers(confidence, "confidence")
    same_length(losses, "loss", c, "confidence")
    levels, group = np.unique(c, return_inverse=True)
    total = np.bincount(group, weights=losses).astype(np.float64)
    return total[::-1], np.bincount(group)[::-1], levels[::-1]
