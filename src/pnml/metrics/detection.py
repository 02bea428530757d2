"""Measures of how well a score tells ordinary rows from outliers, with confidence intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from pnml.errors import InputError
from pnml.metrics.bootstrap import Estimate, draw_blocks, percentile_estimates, tail
from pnml.metrics.ranking import Ranking

if TYPE_CHECKING:
    import numpy.typing as npt

    from pnml.core.arrays import FloatArray


def tnr_at_tpr(scores_in: npt.ArrayLike, scores_out: npt.ArrayLike, *, tpr: float = 0.95) -> float:
    """True negative rate: share of outliers rejected while ``tpr`` of ordinary rows pass. Eq. (M2).

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
    return 1.0 - fpr_at_tpr(scores_in, scores_out, tpr=tpr)


def fpr_at_tpr(scores_in: npt.ArrayLike, scores_out: npt.ArrayLike, *, tpr: float = 0.95) -> float:
    """False positive rate: share of outliers that pass where ``tpr`` of ordinary rows do. Eq. (M2).

    Known as FPR95 at the default ``tpr``. Arguments as in `tnr_at_tpr`.

    Examples
    --------
    >>> fpr_at_tpr([4.0, 3.0, 2.0, 1.0], [2.5, 1.0, 0.5, 0.0], tpr=0.75)
    0.25
    """
    ranking = Ranking.of(scores_in, scores_out)
    if not 0.0 < tpr <= 1.0:
        raise InputError(f"tpr is {tpr}, which is no share above 0: pass a number in (0, 1].")
    return float(ranking.false_positives(tpr)[0])


def detection_accuracy(scores_in: npt.ArrayLike, scores_out: npt.ArrayLike) -> float:
    """Detection accuracy at the best threshold if both kinds of rows were equally common. Eq. (M3).

    At least 0.5, which rejecting every row already gives. Arguments as in `tnr_at_tpr`.

    Examples
    --------
    >>> detection_accuracy([4.0, 3.0, 2.0, 1.0], [2.5, 1.0, 0.5, 0.0])
    0.75
    """
    return float(Ranking.of(scores_in, scores_out).best_accuracy()[0])


_TPR = 0.95


@dataclass(frozen=True)
class DetectionMetrics:
    """How well a score detects outliers among ordinary rows. Shares between 0 and 1.

    >>> estimates = detection_metrics([3.0, 2.0, 1.0, 0.2], [0.5, 0.0])
    >>> estimates.auroc.value, estimates.fpr95.value
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
    """Detection metrics with intervals: AUROC, AUPR, FPR95, TNR at TPR 95 %, accuracy.

    The interval of the AUROC is DeLong's on the logit scale, Eq. (O11); the others are percentiles
    of bootstrap draws: in-distribution and out-of-distribution rows are drawn again with
    replacement, as many of each as there are, Eq. (O13). Where the scores make no mistake, rows
    drawn again make none either and the interval has no width.

    Parameters
    ----------
    scores_in, scores_out : array-like of shape (n,), (m,)
        Scores of in-distribution and of out-of-distribution rows; high means in-distribution.
    confidence : float in (0, 1)
        Coverage of the intervals.
    resamples : int
        Number of draws; all metrics use the same drawn rows.
    seed : int
        Seed of the draws.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> estimates = detection_metrics(rng.normal(1, 1, 500), rng.normal(-1, 1, 500))
    >>> [round(number, 3) for number in estimates.auroc]
    [0.932, 0.915, 0.946]
    """
    ranking = Ranking.of(scores_in, scores_out)
    auroc = _delong(ranking, tail(confidence))
    draws = _redrawn(ranking, resamples, seed)
    others = percentile_estimates(_five(ranking)[0], draws, tail(confidence))
    return DetectionMetrics(auroc, *others)


def _five(ranking: Ranking) -> FloatArray:
    """The metrics with bootstrap intervals (r, 5), in the order of `DetectionMetrics`."""
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
    """The five metrics of each bootstrap sample of the rows: (resamples, 5)."""
    rng = np.random.default_rng(seed)
    width = max(ranking.ins.shape[1], sum(ranking.totals))
    blocks = draw_blocks(resamples, width)
    return np.concatenate([_five(ranking.redrawn(times, rng)) for times in blocks])


def _delong(ranking: Ranking, outside: float) -> Estimate:
    """AUROC with DeLong's interval on the scale of log-odds. Eq. (O11)."""
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
    reach = float(ndtri(1 - outside)) * np.sqrt(variance) / (area * (1 - area))
    low, high = 1 / (1 + np.exp(-(odds + np.array([-reach, reach]))))
    return Estimate(area, float(low), float(high))
