"""Other acquisition functions than DIAL, from the same log-probabilities.

The candidate with the largest score is the best.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import entr, rel_entr

from pnml.active.checks import IntArray, as_array, check_pair, log_probabilities
from pnml.core.arrays import FloatArray
from pnml.errors import InputError
from pnml.runtime.checks import check_count

# Most pairs of labels whose probabilities are held together.
_BLOCK_NUMBERS = 2**21


def entropy_scores(logp_candidates: Any) -> FloatArray:
    """Acquisition score (N,): entropy in nats of a candidate's mean class probabilities. Eq. (I20).

    The mean is over the models; a large score means an uncertain label.

    Parameters
    ----------
    logp_candidates : array or tensor (M, N, C)
        Log-probabilities of the C classes of each of N candidates by each of M models.

    Examples
    --------
    >>> entropy_scores(np.log([[[0.5, 0.5], [0.9, 0.1]]])).round(2)
    array([0.69, 0.33])
    """
    p = _mean(log_probabilities(logp_candidates, "candidates"))
    scores: FloatArray = entr(p).sum(axis=-1)
    return scores


def margin_scores(logp_candidates: Any) -> FloatArray:
    """Acquisition score (N,): second largest minus largest probability of a label. Eq. (I21).

    The probabilities are means over the models of ``logp_candidates`` (M, N, C), as in
    `entropy_scores`; a score near 0 means undecided.

    >>> margin_scores(np.log([[[0.5, 0.4, 0.1], [0.9, 0.1, 0.0001]]])).round(2)
    array([-0.1, -0.8])
    """
    p = _mean(log_probabilities(logp_candidates, "candidates"))
    if p.shape[1] < 2:
        raise InputError("A margin needs two classes, but there is one; pass log-probabilities.")
    best = np.partition(p, -2, axis=-1)
    scores: FloatArray = best[:, -2] - best[:, -1]
    return scores


def bald_scores(logp_candidates: Any) -> FloatArray:
    """Acquisition score (N,): information in nats of a label about the model. Eq. (I22).

    It is the mutual information of the candidate's label and the choice of the model, and takes
    ``logp_candidates`` (M, N, C) as `entropy_scores` does.

    >>> bald_scores(np.log([[[0.9, 0.1], [0.5, 0.5]], [[0.1, 0.9], [0.5, 0.5]]])).round(2)
    array([0.37, 0.  ])
    """
    logs = log_probabilities(logp_candidates, "candidates")
    conditional = np.zeros(logs.shape[1])
    for part in logs:  # one model at a time
        conditional += entr(np.exp(part.astype(np.float64, copy=False))).sum(axis=-1)
    scores: FloatArray = entr(_mean(logs)).sum(axis=-1) - conditional / len(logs)
    return scores


def epig_scores(logp_candidates: Any, logp_targets: Any) -> FloatArray:
    """Acquisition score (N,): mean information in nats about a target's label. Eq. (I23).

    It is the mutual information of the labels of candidate and target, averaged over the targets.
    It takes ``logp_candidates`` (M, N, C) as `entropy_scores` does, and ``logp_targets`` (M, K, C):
    the same of the K inputs that will be predicted.

    >>> targets = np.log([[[0.9, 0.1]], [[0.1, 0.9]]])
    >>> epig_scores(np.log([[[0.9, 0.1], [0.5, 0.5]], [[0.1, 0.9], [0.5, 0.5]]]), targets).round(2)
    array([0.22, 0.  ])
    """
    a, b = check_pair(logp_candidates, logp_targets)
    M, N, C = a.shape
    q = np.exp(b.reshape(M, -1).astype(np.float64, copy=False))  # (M, KC)
    step = max(1, _BLOCK_NUMBERS // (C * q.shape[1]))
    scores: FloatArray = np.empty(N)
    for start in range(0, N, step):
        part = a[:, start : start + step].astype(np.float64, copy=False)
        p = np.exp(part.reshape(M, -1))  # (M, nC)
        independent = np.outer(p.mean(axis=0), q.mean(axis=0))
        information = rel_entr(p.T @ q / M, independent).sum(axis=1)
        scores[start : start + step] = information.reshape(-1, C).sum(axis=1)
    scores /= b.shape[1]
    return scores


def ual_scores(logp_candidates: Any, logp_targets: Any) -> FloatArray:
    """Acquisition score (N,): minus what a target's label would still tell of the model. Eq. (I26).

    Universal active learning takes the candidate after whose label the labels of the targets have
    least left to tell of the model, in nats. The score is that of `epig_scores`, with the same
    arguments, minus what the targets tell now; this is the same for all candidates, so UAL and EPIG
    pick alike.

    >>> targets = np.log([[[0.9, 0.1]], [[0.1, 0.9]]])
    >>> ual_scores(np.log([[[0.9, 0.1], [0.5, 0.5]], [[0.1, 0.9], [0.5, 0.5]]]), targets).round(2)
    array([-0.15, -0.37])
    """
    now = float(np.mean(bald_scores(logp_targets)))
    scores: FloatArray = epig_scores(logp_candidates, logp_targets) - now
    return scores


def k_center(candidates: Any, centers: Any, n: int = 1) -> IntArray:
    """Positions (n,) of candidates picked one by one by k-center, in this order. Eq. (I24).

    Each pick is the candidate farthest from all centers and earlier picks.

    Parameters
    ----------
    candidates : array or tensor (N, d)
        Features of the rows that can be labelled.
    centers : array or tensor (L, d)
        Features of the labelled rows; there may be none.
    n : int, default=1
        Number of candidates to pick.

    Examples
    --------
    >>> k_center([[0.0], [4.0], [5.0], [2.0]], [[0.0]], 2)
    array([2, 3])
    """
    x, c = _features(candidates, "candidates"), _features(centers, "centers")
    n = check_count("n", n, len(x), "candidates")
    if len(c) and c.shape[1] != x.shape[1]:
        raise InputError(
            f"The candidates have {x.shape[1]} features but the centers {c.shape[1]}; pass the "
            "same features of both."
        )
    distance = np.full(len(x), np.inf)
    for center in c:
        distance = np.minimum(distance, _squared_distance(x, center))
    picks = np.empty(n, dtype=np.intp)
    for t in range(n):
        picks[t] = distance.argmax()  # ties go to the first
        distance = np.minimum(distance, _squared_distance(x, x[picks[t]]))
        distance[picks[t]] = -np.inf
    return picks


def best_of(scores: FloatArray, n: int) -> IntArray:
    """Positions (n,) of the n largest acquisition scores, best first; ties go to the first.

    >>> best_of(np.array([1.0, 3.0, 3.0, 2.0]), 3)
    array([1, 2, 3])
    """
    n = check_count("n", n, len(scores), "candidates")
    return np.argsort(-scores, kind="stable")[:n]


def _mean(logs: Any) -> FloatArray:
    """Mean probabilities (N, C) of the models."""
    total = np.zeros(logs.shape[1:])
    for part in logs:
        total += np.exp(part.astype(np.float64, copy=False))
    return total / len(logs)


def _squared_distance(x: FloatArray, center: FloatArray) -> FloatArray:
    distance: FloatArray = ((x - center) ** 2).sum(axis=1)
    return distance


def _features(values: Any, name: str) -> FloatArray:
    rows = as_array(values, name).astype(np.float64, copy=False)
    if rows.ndim != 2:
        raise InputError(
            f"The {name} have shape {rows.shape}, but a row of features for each is needed; pass "
            "an array (N, d)."
        )
    if not np.isfinite(rows).all():
        raise InputError(f"The {name} hold NaN or infinite features; fill them in or drop them.")
    return rows
