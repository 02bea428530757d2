"""Search for the candidates with the least worst-case score, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from pnml.active.checks import IntArray, LogProbabilities
from pnml.active.dial_kernels import LANES, Kernel, fastest_kernel
from pnml.core.arrays import FloatArray
from pnml.errors import InputError

DEFAULT_MEMORY = 128 * 2**20
_ROWS = 256  # weight rows scored together: their normalisers stay in cache
_GATHERED = 4096  # weight rows built together
_NUMBER = 8  # bytes
_TOGETHER = 8  # candidates finished together: the kernel is faster on several rows

Advance = Callable[[int], None]


@dataclass(frozen=True)
class Candidates:
    """Candidates of a DIAL search, and weights of the models after picks. Eqs. (I1), (I5).

    There are M models, N candidates, C classes and P label paths: sequences of labels that the
    earlier picks are assumed to have. A variant of a candidate is one of its labels after one label
    path: variant v is label v % C after path v // C. Its weights (M,) are, for each model, the sum
    of the log-probabilities of all these labels.
    """

    logp: LogProbabilities  # (M, N, C)
    paths: FloatArray  # (P, M)  log-probabilities of the labels of earlier picks; 0 if none

    @classmethod
    def alone(cls, logp: LogProbabilities) -> Candidates:
        """Candidates before the first pick, from log-probabilities (M, N, C)."""
        return cls(logp, np.zeros((1, len(logp))))

    @property
    def count(self) -> int:
        """Number of candidates."""
        return int(self.logp.shape[1])

    @property
    def variants(self) -> int:
        """Number of variants of each candidate: classes times label paths."""
        return int(self.logp.shape[2]) * len(self.paths)

    def rows(self, index: IntArray, variant: IntArray) -> FloatArray:
        """Weights (R, M) of the models: row r is for variant[r] of candidate index[r]."""
        classes = self.logp.shape[2]
        own: FloatArray = self.logp[:, index, variant % classes].T.astype(np.float64)
        weights: FloatArray = own + self.paths[variant // classes]
        return weights

    def all_rows(self, index: IntArray) -> FloatArray:
        """Weights (n, V, M) of the M models for all V variants of the n candidates in `index`."""
        own = self.logp[:, index].transpose(1, 2, 0).astype(np.float64)  # (n, C, M)
        weights = own[:, None] + self.paths[:, None]  # (n, P, C, M)
        return weights.reshape(len(index), self.variants, len(self.logp))

    def blocks(self, most_rows: int) -> Iterator[IntArray]:
        """Iterator over positions of candidates, in groups of at most `most_rows` variants in all.

        A group has one candidate at least.
        """
        step = max(1, most_rows // self.variants)
        return (
            np.arange(start, min(start + step, self.count)) for start in range(0, self.count, step)
        )

    def by_flatness(self, most_rows: int) -> IntArray:
        """Variants (N, V) of every candidate, those that separate the models least first.

        A label that separates no models leaves every target its own best model, so it has the
        largest score. The measure is the largest weight minus the mean weight. Eq. (I4).
        `most_rows` bounds the variants that are sorted together.
        """
        order = np.empty((self.count, self.variants), dtype=np.intp)
        for index in self.blocks(most_rows):
            own = self.logp[:, index[0] : index[-1] + 1].astype(np.float64, copy=False)
            gaps = [_gap_to_mean(own + w[:, None, None] if w.any() else own) for w in self.paths]
            order[index] = np.argsort(np.hstack(gaps), axis=-1, kind="stable")  # NaN comes last
        return order


@dataclass(frozen=True)
class Scorer:
    """Scorer of a DIAL search: sums of the targets' regrets, computed in blocks of targets."""

    targets: LogProbabilities  # (M, K, C)
    kernel: Kernel
    rows: int  # weight rows built together
    lanes: int  # targets of a block
    # prepared blocks of all targets; empty if they do not fit into memory
    kept: list[tuple[int, list[Any]]] = field(default_factory=list, repr=False)

    @classmethod
    def within(cls, max_memory: float, targets: LogProbabilities, rows: int) -> Scorer:
        """A scorer for about `rows` rows of weights that uses at most max_memory bytes.

        `targets` are log-probabilities (M, K, C) of K targets.
        """
        M, K, C = (int(size) for size in targets.shape)
        lanes, most = min(LANES, K), min(_GATHERED, rows)
        kernel = fastest_kernel(rows * targets.size)

        def needed(rows: int, lanes: int) -> int:
            # weights twice, a part of them prepared for the kernel, winners, one block while it
            # is built and used, and sums
            scored = min(rows, _ROWS)
            prepared = scored * M * (2 * _NUMBER + kernel.bytes_per_weight)
            block = M * lanes * (3 * _NUMBER + kernel.bytes_per_target)
            return _NUMBER * (2 * rows * M + 3 * scored * lanes + 2**15) + prepared + block

        while needed(most, lanes) > max_memory and max(most, lanes) > 1:
            most, lanes = (most // 2, lanes) if most >= lanes else (most, lanes // 2)
        if needed(most, lanes) > max_memory:
            raise InputError(
                f"max_memory is {max_memory:,.0f} bytes, but {M} models need "
                f"{needed(most, lanes):,} at least; raise it, or use fewer models."
            )
        scorer = cls(targets, kernel, most, lanes)
        if needed(most, lanes) + kernel.bytes_per_target * M * K * C <= max_memory:
            scorer.kept.extend((lanes, list(blocks)) for lanes, blocks in scorer._blocks())
        return scorer

    def scores(self, a: FloatArray, advance: Advance = lambda rows: None) -> FloatArray:
        """DIAL scores (R,) of weights a (R, M): sums of the targets' regrets in nats. Eq. (I1).

        `advance` is called with the number of rows that are done.
        """
        scores = np.zeros(len(a))
        for start in range(0, len(a), _ROWS):
            part = slice(start, start + _ROWS)
            self._add(np.ascontiguousarray(a[part]), scores[part])
            advance(len(scores[part]))
        return scores

    def _add(self, a: FloatArray, scores: FloatArray) -> None:
        group = factors_at_once(self.targets.shape[2])
        weights = self.kernel.rows(a)
        for lanes, blocks in self.kept or self._blocks():
            normalisers = np.zeros((len(a), lanes))
            for block in blocks:
                self.kernel.add(weights, block, normalisers)
            for start in range(0, lanes, group):
                scores += np.log(np.multiply.reduce(normalisers[:, start : start + group], axis=1))

    def _blocks(self) -> Iterator[tuple[int, Iterable[Any]]]:
        for start in range(0, self.targets.shape[1], self.lanes):
            part = self.targets[:, start : start + self.lanes]
            yield part.shape[1], map(partial(self._block, part), range(part.shape[2]))

    def _block(self, part: LogProbabilities, c: int) -> Any:
        return self.kernel.block(part[:, :, c].astype(np.float64))


@dataclass(frozen=True)
class Selection:
    """Result of a DIAL search: positions of candidates, best first, scores, and rows scored."""

    index: IntArray  # (n,)
    scores: FloatArray  # (n,)  sums of regrets in nats
    rows_scored: int


def least_worst(
    scorer: Scorer, candidates: Candidates, n: int, allowed: IntArray, advance: Advance
) -> Selection:
    """The n candidates in `allowed` whose largest score is least; ties go to the first. Eq. (I3).

    The score of any label is a lower bound of the worst case, Eq. (I4). The search scores the label
    of each candidate that separates the models least, then completes candidates in the order of
    this bound, until the bound exceeds the n-th best worst case. `allowed` are positions of
    candidates; `advance` is called with the number of rows that are done.
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
    picks = np.argsort(worst, kind="stable")[:n]
    return Selection(allowed[picks], worst[picks], scored)


def _worst_cases(
    scorer: Scorer, candidates: Candidates, index: IntArray, order: IntArray, last: float
) -> tuple[FloatArray, int]:
    """Largest scores of all variants but the first, and the number of rows scored.

    A candidate is dropped once its worst case exceeds `last`.
    """
    worst = np.full(len(index), -np.inf)
    scored = 0
    for part in np.array_split(np.arange(1, order.shape[1]), max(1, (order.shape[1] - 1) // 3)):
        alive = np.flatnonzero(worst <= last)
        if len(alive) == 0 or len(part) == 0:
            break
        variants = order[alive][:, part]
        rows = candidates.rows(np.repeat(index[alive], len(part)), variants.ravel())
        scores = scorer.scores(rows).reshape(variants.shape)
        worst[alive] = np.maximum(worst[alive], scores.max(axis=1))
        scored += len(rows)
    return worst, scored


def _gap_to_mean(a: FloatArray) -> FloatArray:
    """Largest minus mean of weights (M, n, C) over the models, (n, C)."""
    with np.errstate(invalid="ignore"):  # labels that no model allows
        gap: FloatArray = a.max(axis=0) - a.mean(axis=0)
    return gap


def factors_at_once(classes: int) -> int:
    """How many normalisers a DIAL search multiplies before taking the logarithm. Eq. (I2).

    A normaliser is the exponential of a target's regret. It is between 1 and the number of classes,
    so a product of this many cannot overflow.

    >>> factors_at_once(10), factors_at_once(1)
    (64, 64)
    """
    return int(min(64, 300 / max(np.log10(classes), 1e-9)))
