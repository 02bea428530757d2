"""Metrics of a detector at one threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pnml.errors import InputError
from pnml.metrics.ranking import Ranking

if TYPE_CHECKING:
    import numpy.typing as npt


def tnr_at_tpr(scores_in: npt.ArrayLike, scores_out: npt.ArrayLike, *, tpr: float = 0.95) -> float:
    """Share of outliers rejected while ``tpr`` of the ordinary rows pass. Eq. (M2).

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
    """Share of outliers accepted while ``tpr`` of the ordinary rows pass. Eq. (M2).

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
    """Accuracy of the best threshold if both kinds of rows were equally common. Eq. (M3).

    At least 0.5, which rejecting every row already gives. Arguments as in `tnr_at_tpr`.

    Examples
    --------
    >>> detection_accuracy([4.0, 3.0, 2.0, 1.0], [2.5, 1.0, 0.5, 0.0])
    0.75
    """
    return float(Ranking.of(scores_in, scores_out).best_accuracy()[0])
