"""The candidates with the least worst case, without scoring every label of every candidate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pnml.active.candidates import Candidates, IntArray
from pnml.active.dial_search import Advance, Scorer
from pnml.core.arrays import FloatArray

_TOGETHER = 8  # candidates finished at a time: the kernel is faster on several rows


@dataclass(frozen=True)
class Selection:
    """Which candidates, best first, with their worst cases, and what it took to find them."""

    index: IntArray  # (n,)
    scores: FloatArray  # (n,)  sums of regrets in nats
    rows_scored: int


def least_worst(
    scorer: Scorer, candidates: Candidates, n: int, allowed: IntArray, advance: Advance
) -> Selection:
    """The n of the allowed candidates whose largest score is least; of equals the first. Eq. (I3).

    The score of any one label is a lower bound of the worst case, Eq. (I4): the flattest label of
    all candidates is scored first, then all labels of one candidate after the other in order of
    that bound, until the bound passes the n-th best worst case.
    """
    order = candidates.by_flatness(scorer.rows)[allowed]
    bounds = np.empty(len(allowed))
    for start in range(0, len(allowed), scorer.rows):
        part = slice(start, start + scorer.rows)
        bounds[part] = scorer.scores(candidates.rows(allowed[part], order[part, 0]), advance)
    turn = np.argsort(bounds, kind="stable")
    worst = np.full(len(allowed), np.inf)
    scored, last = len(allowed), np.inf  # last: the n-th best worst case so far
    for start in range(0, len(turn), _TOGETHER):
        batch = turn[start : start + _TOGETHER]
        batch = batch[bounds[batch] <= last]
        if len(batch) == 0:
            break
        worst[batch], rows = _worst_cases(scorer, candidates, allowed[batch], order[batch], last)
        worst[batch] = np.maximum(worst[batch], bounds[batch])
        scored += rows
        advance(rows)
        if start + _TOGETHER >= n:
            last = float(np.partition(worst, n - 1)[n - 1])
    picked = np.argsort(worst, kind="stable")[:n]
    return Selection(allowed[picked], worst[picked], scored)


def _worst_cases(
    scorer: Scorer, candidates: Candidates, index: IntArray, order: IntArray, last: float
) -> tuple[FloatArray, int]:
    """Largest scores of variants after the first, and how many were scored.

    A candidate whose worst case so far has passed `last` is out, whatever its other labels say.
    """
    worst = np.full(len(index), -np.inf)
    scored = 0
    for part in np.array_split(np.arange(1, order.shape[1]), max(1, (order.shape[1] - 1) // 3)):
        alive = np.flatnonzero(worst <= last)
        if len(alive) == 0 or len(part) == 0:
            break
        variants = order[alive][:, part]
        rows = candidates.rows(np.repeat(index[alive], len(part)), variants.ravel())
        found = scorer.scores(rows).reshape(variants.shape)
        worst[alive] = np.maximum(worst[alive], found.max(axis=1))
        scored += len(rows)
    return worst, scored
