"""DIAL: which candidate, whatever its label turns out to be, lowers the regret of the targets."""

from __future__ import annotations

from typing import Any

import numpy as np

from pnml.active.candidates import Candidates, IntArray
from pnml.active.checks import check_count, check_pair, check_positive
from pnml.active.dial_search import DEFAULT_MEMORY, Scorer
from pnml.active.layered import Selection, least_worst
from pnml.active.progress import Progress, reporting
from pnml.core.arrays import FloatArray


def dial_scores(
    logp_candidates: Any,
    logp_targets: Any,
    *,
    max_memory: float = DEFAULT_MEMORY,
    progress: Progress = None,
) -> FloatArray:
    """Regret of all targets together, in nats, once a candidate has a label: (N, C). Eq. (I1).

    For each label of a target the one of M models answers that gives it, times the label of the
    candidate, the largest probability; of equals the first. A target's regret is the log of what
    its labels then sum to. A candidate is worth as much as its largest score is small.

    Parameters
    ----------
    logp_candidates : array or tensor (M, N, C)
        Log-probabilities of the classes of each candidate by each model.
    logp_targets : array or tensor (M, K, C)
        The same, by the same models, of the inputs that will be predicted.
    max_memory : float, default=128 MiB
        Bytes to work with, beside what came and what is returned.
    progress : callable, bool or None
        A function of (done, total), or whether a bar is shown; None shows one on a terminal.

    Examples
    --------
    >>> targets = np.log([[[0.9, 0.1]], [[0.2, 0.8]]])  # one, on which two models differ
    >>> tells = np.log([[[0.95, 0.05]], [[0.05, 0.95]]])  # its label tells them apart
    >>> says_nothing = np.log(np.full((2, 1, 2), 0.5))
    >>> dial_scores(np.concatenate([tells, says_nothing], axis=1), targets).round(2)
    array([[0.  , 0.  ],
           [0.53, 0.53]])
    """
    a, b = check_pair(logp_candidates, logp_targets)
    candidates = Candidates.alone(a)
    total = candidates.count * candidates.variants
    scorer = Scorer.within(check_positive("max_memory", max_memory), b, total)
    found = np.empty((candidates.count, candidates.variants))
    with reporting(progress, total, "Scoring candidates") as advance:
        for index in candidates.blocks(scorer.rows):
            rows = candidates.all_rows(index).reshape(-1, len(a))
            found[index] = scorer.scores(rows, advance).reshape(len(index), -1)
    return found


def dial_select(
    logp_candidates: Any,
    logp_targets: Any,
    n: int = 1,
    *,
    max_memory: float = DEFAULT_MEMORY,
    progress: Progress = None,
) -> IntArray:
    """The n candidates (n,) to label, best first: least worst case, each on its own. Eq. (I3).

    Exactly those that `dial_scores` would rank first, of equals the first, but most labels of most
    candidates need not be scored for it. The parameters are those of `dial_scores`.

    >>> targets, tells = np.log([[[0.9, 0.1]], [[0.2, 0.8]]]), np.log([[[0.9, 0.1]], [[0.1, 0.9]]])
    >>> dial_select(np.concatenate([np.log(np.full((2, 1, 2), 0.5)), tells], axis=1), targets)
    array([1])
    """
    a, b = check_pair(logp_candidates, logp_targets)
    n = check_count("n", n, a.shape[1], "candidates")
    candidates = Candidates.alone(a)
    total = candidates.count * candidates.variants
    scorer = Scorer.within(check_positive("max_memory", max_memory), b, total)
    with reporting(progress, total, "Choosing candidates") as advance:
        return least_worst(scorer, candidates, n, np.arange(candidates.count), advance).index


def dial_select_batch(
    logp_candidates: Any,
    logp_targets: Any,
    n: int = 1,
    *,
    label_paths: int = 1,
    max_memory: float = DEFAULT_MEMORY,
    progress: Progress = None,
) -> IntArray:
    """The n candidates (n,) to label together, each chosen in view of those before it. Eq. (I5).

    After a pick the models count as having seen it with its worst label, so that the next one is
    asked for what that left open. The labels of the picks are taken to be the worst for the batch
    so far; `label_paths` of such label sequences are followed at once. With as many as there are
    sequences the worst case is that over all labels of the batch; each costs as much as the first.
    The other parameters are those of `dial_scores`.

    >>> rng = np.random.default_rng(0)
    >>> p, q = rng.dirichlet(np.ones(3), size=(20, 9)), rng.dirichlet(np.ones(3), size=(20, 5))
    >>> dial_select_batch(np.log(p), np.log(q), 3).shape
    (3,)
    """
    a, b = check_pair(logp_candidates, logp_targets)
    n = check_count("n", n, a.shape[1], "candidates")
    label_paths = check_count("label_paths", label_paths)
    candidates, left, picks = Candidates.alone(a), np.arange(a.shape[1]), np.empty(n, dtype=np.intp)
    scorer = Scorer.within(check_positive("max_memory", max_memory), b, candidates.logp[0].size)
    with reporting(progress, n, "Choosing a batch") as advance:
        for t in range(n):
            picks[t] = _next(scorer, candidates, left).index[0]
            left = left[left != picks[t]]
            candidates = told(scorer, candidates, picks[t : t + 1], label_paths)
            advance(1)
    return picks


def _next(scorer: Scorer, candidates: Candidates, left: IntArray) -> Selection:
    return least_worst(scorer, candidates, 1, left, lambda rows: None)


def told(scorer: Scorer, candidates: Candidates, pick: IntArray, most: int) -> Candidates:
    """The candidates once a pick has its worst labels, those of the largest scores. Eq. (I5)."""
    rows = candidates.all_rows(pick)[0]
    worst = np.argsort(-scorer.scores(rows), kind="stable")[:most]
    return Candidates(candidates.logp, rows[worst])
