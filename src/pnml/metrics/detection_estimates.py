"""All metrics of a detector at once, each with a confidence interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import ndtri

from pnml.metrics.checks import share, whole
from pnml.metrics.ranking import Ranking

if TYPE_CHECKING:
    import numpy.typing as npt

    from pnml.core.arrays import FloatArray

_TPR = 0.95
# Countings of all rows that are held at once: about this many numbers.
_BLOCK_NUMBERS = 2**16


class Estimate(NamedTuple):
    """A number with its confidence interval.

    >>> value, low, high = Estimate(0.93, 0.91, 0.95)
    >>> low < value < high
    True
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class DetectionMetrics:
    """How well a score tells ordinary rows from outliers. Shares between 0 and 1.

    >>> found = detection_metrics([3.0, 2.0, 1.0, 0.2], [0.5, 0.0])
    >>> found.auroc.value, found.fpr95.value
    (0.875, 0.5)
    """

    auroc: Estimate
    aupr_in: Estimate  # ordinary rows are the positives
    aupr_out: Estimate  # outliers are the positives
    fpr95: Estimate
    tnr95: Estimate
    detection_accuracy: Estimate


def detection_metrics(
    scores_in: npt.ArrayLike,
    scores_out: npt.ArrayLike,
    *,
    confidence: float = 0.95,
    resamples: int = 200,
    seed: int = 0,
) -> DetectionMetrics:
    """AUROC, AUPR, FPR95, TNR at TPR 95 % and detection accuracy, with confidence intervals.

    The interval of the AUROC is DeLong's on the logit scale, Eq. (O11); the others are percentiles
    of rows drawn again with replacement, of either kind as many as there were, Eq. (O13). Where
    the scores make no mistake at all, rows drawn again make none either and the interval has
    no width.

    Parameters
    ----------
    scores_in, scores_out : array-like of shape (n,), (m,)
        Scores of in-distribution and of out-of-distribution rows; high means in-distribution.
    confidence : float in (0, 1)
        Coverage of the intervals.
    resamples : int
        How often rows are drawn again; the same rows for every metric.
    seed : int
        Seed of the draws.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> found = detection_metrics(rng.normal(1, 1, 500), rng.normal(-1, 1, 500))
    >>> [round(number, 3) for number in found.auroc]
    [0.932, 0.915, 0.946]
    """
    ranking = Ranking.of(scores_in, scores_out)
    tails = (1 - share(confidence, "confidence")) / 2
    levels = [tails, 1 - tails]
    found = _five(ranking)[0]  # (5,)
    drawn = _redrawn(ranking, whole(resamples, "resamples", 2), seed)
    low, high = np.quantile(drawn, levels, axis=0)  # (5,) each
    aupr_in, aupr_out, fpr95, tnr95, accuracy = (
        Estimate(float(v), float(a), float(b)) for v, a, b in zip(found, low, high, strict=True)
    )
    auroc = _delong(ranking, tails)
    return DetectionMetrics(auroc, aupr_in, aupr_out, fpr95, tnr95, accuracy)


def _five(ranking: Ranking) -> FloatArray:
    """The metrics that are drawn again, (r, 5)."""
    fpr = ranking.false_positives(_TPR)
    return np.stack(
        [
            ranking.precision_area(),
            ranking.precision_area_of_outliers(),
            fpr,
            1 - fpr,
            ranking.best_accuracy(),
        ],
        axis=1,
    )


def _redrawn(ranking: Ranking, resamples: int, seed: int) -> FloatArray:
    rng = np.random.default_rng(seed)
    width = max(ranking.ins.shape[1], sum(ranking.totals))
    step = max(1, _BLOCK_NUMBERS // width)
    return np.concatenate(
        [
            _five(ranking.drawn(min(step, resamples - start), rng))
            for start in range(0, resamples, step)
        ]
    )


def _delong(ranking: Ranking, tail: float) -> Estimate:
    """AUROC with DeLong's variance, its ends found where the log-odds are normal. Eq. (O11)."""
    n, m = ranking.totals
    ins, outs = ranking.ins[0], ranking.outs[0]
    area = float(ranking.area()[0])
    beaten = (m - np.cumsum(outs) + outs / 2) / m  # share of outliers below each score
    beating = (np.cumsum(ins) - ins / 2) / n  # share of ordinary rows above it
    variance = sum(
        float(counts @ (shares - area) ** 2) / max(counts.sum() - 1, 1) / counts.sum()
        for counts, shares in ((ins, beaten), (outs, beating))
    )
    if variance == 0 or not 0 < area < 1:
        return Estimate(area, area, area)
    odds = np.log(area) - np.log1p(-area)
    reach = float(ndtri(1 - tail)) * np.sqrt(variance) / (area * (1 - area))
    low, high = 1 / (1 + np.exp(-(odds + np.array([-reach, reach]))))
    return Estimate(area, float(low), float(high))
