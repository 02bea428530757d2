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
    """Regret in a leaf: what each label's genie gives it, times its luck. Eqs. (T1) and (T4).

    `counts` are (…, C) rows of each class in a leaf; without a prior the genie's luck is 1.

    >>> class_scores(np.array([3.0, 0.0]))
    array([1.  , 0.25])
    """
    N_c = counts + prior
    N = N_c.sum(axis=-1, keepdims=True)
    luck = np.exp(_log_luck(N_c, prior) - _log_luck(N, prior * counts.shape[-1]))
    scores: FloatArray = (N_c + 1) / (N + 1) * luck
    return scores


def class_leverage(counts: FloatArray, prior: float = 0.0) -> FloatArray:
    """Regret in a leaf with counts (…, C): K − 1, the sum of its scores less one.

    Without a prior (C − 1)/(n + 1), exactly that for every split of n among the classes.
    Eqs. (T2) and (T4).

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
    """Regret in a leaf: share 1/(n + 1) its mean moves to an added label. Eq. (T6).

    >>> moved(np.array([0.0, 4.0]))
    array([1. , 0.2])
    """
    return 1 / (weight + 1)


def value_leverage(weight: FloatArray) -> FloatArray:
    """Regret in leaves of weights (n, T), one for each tree: K − 1 of rows. Eq. (T7).

    1/n for a single tree; infinite where all leaves are empty.

    >>> value_leverage(np.array([[4.0], [0.0]]))
    array([0.25,  inf])
    """
    move = moved(weight)
    with np.errstate(divide="ignore", over="ignore"):
        leverage: FloatArray = move.mean(axis=1) / (weight * move).mean(axis=1)
    return leverage


def explain(falls: FloatArray, leverage: FloatArray, at_root: float) -> FloatArray:
    """Regret in leaves above that of the root, shared among features by falls (n, d). Eq. (T10).

    All terms are ≥ 0. Where the leverage is infinite, so are the features that led there.
    """
    lost = np.isinf(leverage)[:, None] & (falls > 0)
    above = np.maximum(leverage - at_root, 0.0)
    return attribution.shares(np.where(lost, np.inf, falls), above)
