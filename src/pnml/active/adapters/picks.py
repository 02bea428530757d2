"""Which candidates, and how good: what all adapters ask for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pnml.active.candidates import Candidates, IntArray
from pnml.active.checks import LogProbabilities, check_count, check_pair
from pnml.active.dial import dial_scores, dial_select, dial_select_batch, told
from pnml.active.dial_search import DEFAULT_MEMORY, Scorer
from pnml.core.arrays import FloatArray


def chosen(
    candidates: LogProbabilities, targets: LogProbabilities, n: int, label_paths: int | None
) -> IntArray:
    """The n candidates to label: each on its own, Eq. (I3), or in view of others, Eq. (I5).

    >>> logs = np.log(np.random.default_rng(0).dirichlet(np.ones(3), size=(9, 5)))
    >>> bool(chosen(logs, logs, 2, None)[0] == chosen(logs, logs, 2, 1)[0])
    True
    """
    if label_paths is None:
        return dial_select(candidates, targets, n, progress=False)
    return dial_select_batch(candidates, targets, n, label_paths=label_paths, progress=False)


def worst_cases(
    candidates: LogProbabilities, targets: LogProbabilities, n: int, label_paths: int | None
) -> FloatArray:
    """Largest scores (n, N) of all candidates at each of n picks, infinite once picked.

    The least of each row, of equals the first, are the picks of `chosen`.

    >>> logs = np.log(np.random.default_rng(0).dirichlet(np.ones(3), size=(9, 5)))
    >>> bool(all(worst_cases(logs, logs, 3, None).argmin(axis=1) == chosen(logs, logs, 3, None)))
    True
    """
    if label_paths is None:
        alone = dial_scores(candidates, targets, progress=False).max(axis=1)
        each: Iterator[FloatArray] = (alone.copy() for _ in range(n))
    else:
        each = _in_view(candidates, targets, label_paths)
    found = np.empty((n, candidates.shape[1]))
    picked: list[int] = []
    for row in found:
        row[:] = next(each)
        row[picked] = np.inf
        picked.append(int(row.argmin()))
    return found


def _in_view(a: Any, b: Any, label_paths: int) -> Iterator[FloatArray]:
    """Largest scores (N,) of all candidates, after the least of all that came before."""
    a, b = check_pair(a, b)
    label_paths = check_count("label_paths", label_paths)
    candidates, left = Candidates.alone(a), np.ones(a.shape[1], dtype=bool)
    scorer = Scorer.within(DEFAULT_MEMORY, b, a[0].size)
    while True:
        worst = np.empty(candidates.count)
        for index in candidates.blocks(scorer.rows):
            rows = candidates.all_rows(index).reshape(-1, len(a))
            worst[index] = scorer.scores(rows).reshape(len(index), -1).max(axis=1)
        yield worst
        pick = int(np.where(left, worst, np.inf).argmin())
        left[pick] = False
        candidates = told(scorer, candidates, np.array([pick]), label_paths)
