"""Regret in the leaves of frozen trees: the effect of adding a row with its label to its leaf.

A tree is a table with one entry per leaf. A new row enters one leaf only, so the genie follows from
counts. A forest is the mean of its trees, each with the row added. Counts may be fractional.
"""

from __future__ import annotations

import numpy as np
from scipy.special import xlog1py

from pnml.core.arrays import FloatArray
from pnml.core.geometry import attribution


def class_scores(counts: FloatArray, prior: float = 0.0) -> FloatArray:
    """Probability (…, C) that each class's genie gives it, times its luck. Eqs. (T1) and (T4).

    The genie of a class counts the row with that class in its leaf. `counts` (…, C) are the
    training rows of each class in a leaf; luck is the luckiness relative to the fit without the
    row, 1 without a prior.

    >>> class_scores(np.array([3.0, 0.0]))
    array([1.  , 0.25])
    """
    N_c = counts + prior
    N = N_c.sum(axis=-1, keepdims=True)
    luck = np.exp(_log_luck(N_c, prior) - _log_luck(N, prior * counts.shape[-1]))
    scores: FloatArray = (N_c + 1) / (N + 1) * luck
    return scores


def class_leverage(counts: FloatArray, prior: float = 0.0) -> FloatArray:
    """Leverage (…) in a leaf with class counts (…, C): the sum of its `class_scores` less one.

    The regret is log(1 + leverage). Without a prior (C − 1)/(n + 1), exactly that for every split
    of n rows among the C classes. Eqs. (T2) and (T4).

    >>> class_leverage(np.array([[3.0, 0.0], [0.0, 0.0]]))
    array([0.25, 1.  ])
    """
    C = counts.shape[-1]
    N_c = counts + prior
    N = N_c.sum(axis=-1)
    gains = (N_c + 1) * np.expm1(_log_luck(N_c, prior))
    loss = np.expm1(_log_luck(N, prior * C))
    # sorted, so that the order of the classes does not even matter to the last bit
    above = C - 1 + np.sort(gains, axis=-1).sum(axis=-1) - (N + 1) * loss
    leverage: FloatArray = np.maximum(above, 0.0) / ((N + 1) * (1 + loss))
    return leverage


def _log_luck(N: FloatArray, prior: float) -> FloatArray:
    """Log of (1 + 1/N)^prior; 0 without a prior, even in an empty leaf."""
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(xlog1py(prior, 1 / N), dtype=float)


def moved(weight: FloatArray) -> FloatArray:
    """Share 1/(n + 1) of the way that the mean of n rows moves to an added label. Eq. (T6).

    `weight` is n, the training rows in each leaf.

    >>> moved(np.array([0.0, 4.0]))
    array([1. , 0.2])
    """
    return 1 / (weight + 1)


def value_leverage(weight: FloatArray) -> FloatArray:
    """Leverage (n,), exp(regret) − 1, of rows whose leaves hold `weight` (n, T) rows. Eq. (T7).

    One leaf for each of T trees. 1/weight for a single tree; infinite where all leaves are empty.

    >>> value_leverage(np.array([[4.0], [0.0]]))
    array([0.25,  inf])
    """
    move = moved(weight)
    with np.errstate(divide="ignore", over="ignore"):
        leverage: FloatArray = move.mean(axis=1) / (weight * move).mean(axis=1)
    return leverage


def explain(falls: FloatArray, leverage: FloatArray, at_root: float) -> FloatArray:
    """Part (n, d) of the leverage of each row that the splits on each feature cause. Eq. (T10).

    The parts of a row are ≥ 0 and sum to its `leverage` (n,) minus `at_root`, the leverage in a
    tree without splits. They are in proportion to `falls` (n, d), the result of `Partition.falls`:
    how much the splits on each feature thin out the training rows on the way to the leaf. Where the
    leverage is infinite, features with a fall above 0 get inf and the others 0.
    """
    lost = np.isinf(leverage)[:, None] & (falls > 0)
    above = np.maximum(leverage - at_root, 0.0)
    return attribution.shares(np.where(lost, np.inf, falls), above)
