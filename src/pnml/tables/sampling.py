"""A uniform sample of the rows of a table that is read once."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from pnml.core.arrays import FloatArray


class Reservoir:
    """The rows with the smallest of random keys, in the order in which they came."""

    def __init__(self, size: int, seed: int = 0) -> None:
        self.size = size
        self.total = 0
        self._rng = np.random.default_rng(seed)
        self._keys: FloatArray = np.empty(0)
        self._parts: list[pa.Table] = []

    def add(self, rows: pa.RecordBatch | pa.Table) -> None:
        """Offer rows."""
        keys = self._rng.random(rows.num_rows)
        self.total += rows.num_rows
        wanted = keys < self._threshold()
        if not wanted.any():
            return
        kept = rows if wanted.all() else rows.filter(pa.array(wanted))
        table = pa.Table.from_batches([kept]) if isinstance(kept, pa.RecordBatch) else kept
        self._parts.append(table)
        self._keys = np.concatenate([self._keys, keys[wanted]])
        if len(self._keys) > 2 * self.size:
            self._shrink()

    def _threshold(self) -> float:
        full = len(self._keys) >= self.size
        return float(np.partition(self._keys, self.size - 1)[self.size - 1]) if full else 1.0

    def _shrink(self) -> None:
        if len(self._keys) > self.size:
            first = np.sort(np.argpartition(self._keys, self.size - 1)[: self.size])
            self._parts = [pa.concat_tables(self._parts).take(pa.array(first)).combine_chunks()]
            self._keys = self._keys[first]

    def rows(self) -> pa.Table:
        """The sample."""
        self._shrink()
        return pa.concat_tables(self._parts).combine_chunks()


def uniform_rows(batches: Iterable[pa.RecordBatch], size: int) -> tuple[pa.Table, int]:
    """At most `size` rows, each as likely as any other, and how many there were."""
    reservoir = Reservoir(size)
    for batch in batches:
        reservoir.add(batch)
    return reservoir.rows(), reservoir.total
