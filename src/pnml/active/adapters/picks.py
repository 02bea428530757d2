"""Picks and worst-case scores, as the adapters to other libraries need them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat

import numpy as np

from pnml.active.checks import IntArray, LogProbabilities, check_pair
from pnml.active.dial import (
    after_pick,
    all_scores,
    dial_scores,
    dial_select,
    dial_select_batch,
)
from pnml.active.dial_search import DEFAULT_MEMORY, Candidates, Scorer
from pnml.core.arrays import FloatArray
from pnml.runtime.checks import check_count


def picks_of(
    candidates: LogProbabilities, targets: LogProbabilities, n: int, label_paths: int | None
) -> IntArray:
    """Positions (n,) of n picks, independent, Eq. (I3), or each given the earlier ones, Eq. (I5).

    Candidates and targets are log-probabilities (M, N, C) and (M, K, C) by the same M models. Picks
    are independent if `label_paths` is None; a number is that of `dial_select_batch`.

    >>> logs = np.log(np.random.default_rng(0).dirichlet(np.ones(3), size=(9, 5)))
    >>> bool(picks_of(logs, logs, 2, None)[0] == picks_of(logs, logs, 2, 1)[0])
    True
    """
    if label_paths is None:
        return dial_select(candidates, targets, n, progress=False)
    return dial_select_batch(candidates, targets, n, label_paths=label_paths, progress=False)


def worst_cases(
    candidates: LogProbabilities, targets: LogProbabilities, n: int, label_paths: int | None
) -> FloatArray:
    """Worst-case DIAL scores (n, N) in nats of N candidates at each of n picks; inf once picked.

    The smallest score of each row, with ties going to the first, is the pick of `picks_of`, which
    has the same arguments.

    >>> logs = np.log(np.random.default_rng(0).dirichlet(np.ones(3), size=(9, 5)))
    >>> bool(all(worst_cases(logs, logs, 3, None).argmin(axis=1) == picks_of(logs, logs, 3, None)))
    True
    """
    if label_paths is None:
        alone: FloatArray = dial_scores(candidates, targets, progress=False).max(axis=1)
        scores: Iterator[FloatArray] = repeat(alone)
    else:
        scores = _after_each_pick(candidates, targets, label_paths)
    table = np.empty((n, candidates.shape[1]))
    picked: list[int] = []
    for row in table:
        row[:] = next(scores)
        row[picked] = np.inf
        picked.append(int(row.argmin()))
    return table


def _after_each_pick(
    a: LogProbabilities, b: LogProbabilities, label_paths: int
) -> Iterator[FloatArray]:
    """Largest scores (N,) of all candidates given earlier picks, pick by pick."""
    a, b = check_pair(a, b)
    label_paths = check_count("label_paths", label_paths)
    candidates, left = Candidates.alone(a), np.ones(a.shape[1], dtype=bool)
    scorer = Scorer.within(DEFAULT_MEMORY, b, a[0].size)
    while True:
        worst = all_scores(scorer, candidates).max(axis=1)
        yield worst
        pick = int(np.where(left, worst, np.inf).argmin())
        left[pick] = False
        candidates = after_pick(scorer, candidates, np.array([pick]), label_paths)
