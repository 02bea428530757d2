"""Regrets of the targets summed, for any weights of the models, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from pnml.active.checks import LogProbabilities
from pnml.active.dial_kernels import LANES, Kernel, fastest_kernel
from pnml.core.arrays import FloatArray
from pnml.errors import InputError

_ROWS = 256  # weights at a time: their normalisers stay in cache, too
_GATHERED = 4096  # weights that are made at once
_NUMBER = 8  # bytes
DEFAULT_MEMORY = 128 * 2**20

Advance = Callable[[int], None]


@dataclass(frozen=True)
class Scorer:
    """Targets, cut into blocks that fit into the memory there is."""

    targets: LogProbabilities  # (M, K, C)
    kernel: Kernel
    rows: int  # weights that are made at once
    lanes: int  # targets at a time
    # the targets cut once and for all; where there is no room, they are cut each time
    kept: list[tuple[int, list[Any]]] = field(default_factory=list, repr=False)

    @classmethod
    def within(cls, max_memory: float, targets: LogProbabilities, rows: int) -> Scorer:
        """A scorer for about this many rows of weights that holds at most max_memory bytes."""
        M, K, C = (int(size) for size in targets.shape)
        lanes, most = min(LANES, K), min(_GATHERED, rows)
        kernel = fastest_kernel(rows * targets.size)

        def needed(rows: int, lanes: int) -> int:
            # weights in two forms, some with all that a kernel makes of them; winners; a block
            # while it is made and while it is used, and sums
            some = min(rows, _ROWS)
            making = some * M * (2 * _NUMBER + kernel.bytes_per_weight)
            block = M * lanes * (3 * _NUMBER + kernel.bytes_per_target)
            return _NUMBER * (2 * rows * M + 3 * some * lanes + 2**15) + making + block

        while needed(most, lanes) > max_memory and max(most, lanes) > 1:
            most, lanes = (most // 2, lanes) if most >= lanes else (most, lanes // 2)
        if needed(most, lanes) > max_memory:
            raise InputError(
                f"max_memory is {max_memory:,.0f} bytes, but {M} models need "
                f"{needed(most, lanes):,} at least; raise it, or use fewer models."
            )
        scorer = cls(targets, kernel, most, lanes)
        if needed(most, lanes) + kernel.bytes_per_target * M * K * C <= max_memory:
            scorer.kept.extend((lanes, list(blocks)) for lanes, blocks in scorer._cut())
        return scorer

    def scores(self, a: FloatArray, advance: Advance = lambda rows: None) -> FloatArray:
        """Scores (R,) of weights a (R, M). Eq. (I1)."""
        found = np.zeros(len(a))
        for start in range(0, len(a), _ROWS):
            part = slice(start, start + _ROWS)
            self._add(np.ascontiguousarray(a[part]), found[part])
            advance(len(found[part]))
        return found

    def _add(self, a: FloatArray, found: FloatArray) -> None:
        group = factors_at_once(self.targets.shape[2])
        weights = self.kernel.rows(a)
        for lanes, blocks in self.kept or self._cut():
            normalisers = np.zeros((len(a), lanes))
            for block in blocks:
                self.kernel.add(weights, block, normalisers)
            for start in range(0, lanes, group):
                found += np.log(np.multiply.reduce(normalisers[:, start : start + group], axis=1))

    def _cut(self) -> Iterator[tuple[int, Iterable[Any]]]:
        for start in range(0, self.targets.shape[1], self.lanes):
            part = self.targets[:, start : start + self.lanes]
            yield part.shape[1], map(partial(self._block, part), range(part.shape[2]))

    def _block(self, part: LogProbabilities, c: int) -> Any:
        return self.kernel.block(part[:, :, c].astype(np.float64))


def factors_at_once(classes: int) -> int:
    """How many normalisers can be multiplied before their logarithm is taken. Eq. (I2).

    Each is between 1 and the number of classes, so neither do products vanish nor, if they are of
    few enough, overflow.

    >>> factors_at_once(10), factors_at_once(1)
    (64, 64)
    """
    return int(min(64, 300 / max(np.log10(classes), 1e-9)))
