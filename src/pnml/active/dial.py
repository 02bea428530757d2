"""DIAL: pick the candidates whose worst-case label lowers the regret of the targets most."""

from __future__ import annotations

from typing import Any

import numpy as np

from pnml.active.checks import IntArray, check_pair
from pnml.active.dial_search import DEFAULT_MEMORY, Advance, Candidates, Scorer, least_worst
from pnml.core.arrays import FloatArray
from pnml.runtime.checks import check_count, check_positive
from pnml.runtime.progress import Progress, reporting


def dial_scores(
    logp_candidates: Any,
    logp_targets: Any,
    *,
    max_memory: float = DEFAULT_MEMORY,
    progress: Progress = None,
) -> FloatArray:
    """DIAL scores (N, C): regret of the targets in nats if candidate n has label c. Eq. (I1).

    For each label of a target, the genie is the one of the M models with the largest product of the
    probabilities of this label and of the candidate's label; ties go to the first. The regret of a
    target is the log of the sum, over its labels, of the probabilities by their genies; a score is
    the sum of the regrets of all targets. The best candidate is the one whose largest score over
    its labels is smallest.

    Parameters
    ----------
    logp_candidates : array or tensor (M, N, C)
        Log-probabilities of the C classes of each of N candidates by each of M models.
    logp_targets : array or tensor (M, K, C)
        The same, by the same models, of the K inputs that will be predicted.
    max_memory : float, default=128 MiB
        Bytes of working memory, in addition to the arguments and the result.
    progress : callable, bool or None
        A function of (done, total), or whether to show a bar; None shows one on a terminal.

    Examples
    --------
    >>> targets = np.log([[[0.9, 0.1]], [[0.2, 0.8]]])  # one target on which two models differ
    >>> useful = np.log([[[0.95, 0.05]], [[0.05, 0.95]]])  # its label separates the models
    >>> useless = np.log(np.full((2, 1, 2), 0.5))
    >>> dial_scores(np.concatenate([useful, useless], axis=1), targets).round(2)
    array([[0.  , 0.  ],
           [0.53, 0.53]])
    """
    a, b = check_pair(logp_candidates, logp_targets)
    candidates = Candidates.alone(a)
    total = candidates.count * candidates.variants
    scorer = Scorer.within(check_positive("max_memory", max_memory), b, total)
    with reporting(progress, total, "Scoring candidates") as advance:
        return all_scores(scorer, candidates, advance)


def dial_select(
    logp_candidates: Any,
    logp_targets: Any,
    n: int = 1,
    *,
    max_memory: float = DEFAULT_MEMORY,
    progress: Progress = None,
) -> IntArray:
    """Positions (n,) of the candidates with the least worst-case DIAL scores, best first. Eq. (I3).

    They are those that `dial_scores` ranks first by the largest score over labels, with ties going
    to the first, but most labels of most candidates are not scored. The parameters are those of
    `dial_scores`.

    >>> targets, useful = np.log([[[0.9, 0.1]], [[0.2, 0.8]]]), np.log([[[0.9, 0.1]], [[0.1, 0.9]]])
    >>> dial_select(np.concatenate([np.log(np.full((2, 1, 2), 0.5)), useful], axis=1), targets)
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
    """Positions (n,) of candidates to label together, each picked given the earlier. Eq. (I5).

    After a pick, the models are weighted as if they had seen it with its worst label, so the next
    pick covers what is still open. The search follows the `label_paths` worst label sequences of
    the picks. If these are all sequences, the worst case is over all labels of the batch; the cost
    is proportional to `label_paths`. The other parameters are those of `dial_scores`.

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
            picks[t] = least_worst(scorer, candidates, 1, left, _ignore).index[0]
            left = left[left != picks[t]]
            candidates = after_pick(scorer, candidates, picks[t : t + 1], label_paths)
            advance(1)
    return picks


def _ignore(rows: int) -> None:
    """Progress that is not shown."""


def all_scores(scorer: Scorer, candidates: Candidates, advance: Advance = _ignore) -> FloatArray:
    """DIAL scores (N, V) in nats of all V variants of all N candidates, as in `Candidates`."""
    scores = np.empty((candidates.count, candidates.variants))
    for index in candidates.blocks(scorer.rows):
        rows = candidates.all_rows(index).reshape(-1, len(candidates.logp))
        scores[index] = scorer.scores(rows, advance).reshape(len(index), -1)
    return scores


def after_pick(scorer: Scorer, candidates: Candidates, pick: IntArray, most: int) -> Candidates:
    """DIAL candidates with models weighted as after a pick with its worst labels. Eq. (I5).

    `pick` (1,) is the position of the pick, and `most` the number of label paths to keep: those
    with the largest scores.
    """
    rows = candidates.all_rows(pick)[0]
    worst = np.argsort(-scorer.scores(rows), kind="stable")[:most]
    return Candidates(candidates.logp, rows[worst])
