"""Conformal scores of classes, which give sets of classes with stated coverage."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pnml.core.arrays import FloatArray


def least_ambiguous(log_prob: FloatArray, regrets: FloatArray) -> FloatArray:
    """Conformal score −log(p(y)√K) of every class of rows, with K = exp(regret), (n, C). Eq. (C5).

    Sets of classes by this score are the smallest on average (least ambiguous set-valued
    classifier, LAC). `log_prob` (n, C) are the classifier's, `regrets` (n,) in nats.

    >>> least_ambiguous(np.log([[0.75, 0.25]]), np.array([0.2])).round(2)
    array([[0.19, 1.29]])
    """
    return -log_prob - regrets[:, None] / 2


def cumulative(log_prob: FloatArray) -> FloatArray:
    """Conformal score of each class: total probability of more probable ones, (n, C). Eq. (C6).

    Sets of classes by this score grow with the number of plausible classes (adaptive prediction
    sets, APS); the most probable class scores 0, so no set is empty. Classes of equal probability
    score alike. `log_prob` (n, C) are the classifier's.

    >>> cumulative(np.log([[0.5, 0.2, 0.3]])).round(2)
    array([[0. , 0.8, 0.5]])
    """
    order = np.argsort(-log_prob, axis=1, kind="stable")
    down = np.take_along_axis(log_prob, order, axis=1)
    prob = np.exp(down)
    above = np.cumsum(prob, axis=1) - prob
    above[:, 0] = 0.0
    tied = np.zeros(down.shape, dtype=bool)
    tied[:, 1:] = down[:, 1:] == down[:, :-1]
    first = np.maximum.accumulate(np.where(tied, 0, np.arange(down.shape[1])), axis=1)
    above = np.take_along_axis(above, first, axis=1)  # of the first class as probable as this
    scores = np.empty_like(above)
    np.put_along_axis(scores, order, above, axis=1)
    return scores


def of_labels(scores: FloatArray, labels: npt.NDArray[np.intp]) -> FloatArray:
    """Conformal score (n,) of each row's own label, out of the scores (n, C) of all classes.

    `labels` (n,) are positions of classes, 0 to C − 1.
    """
    return scores[np.arange(len(labels)), labels]
