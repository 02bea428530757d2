"""A uniform sample of the rows of a table that is read once."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from pnml.core.arrays import FloatArray
from pnml.core.statistic.row_sample import smallest


class Reservoir:
    """Uniform sample of at most `size` rows of a table that is read batch by batch.

    Call `add` for each batch and `rows` at the end. Each row draws a random key, and the rows with
    the smallest keys are kept, in the order of the table. `total` is the number of rows added.
    """

    def __init__(self, size: int, seed: int = 0) -> None:
        self.size = size
        self.total = 0  # rows seen
        self._rng = np.random.default_rng(seed)
        self._keys: FloatArray = np.empty(0)  # of at most twice `size` rows, and one batch
        self._bound = 1.0  # rows with this key or a larger one are not in the sample
        self._parts: list[pa.Table] = []

    def add(self, rows: pa.RecordBatch | pa.Table) -> None:
        """Let the rows of a batch enter the sample."""
        keys = self._rng.random(rows.num_rows)
        self.total += rows.num_rows
        wanted = keys < self._bound
        if not wanted.any():
            return
        entering = rows if wanted.all() else rows.filter(pa.array(wanted))
        batch = isinstance(entering, pa.RecordBatch)
        self._parts.append(pa.Table.from_batches([entering]) if batch else entering)
        self._keys = np.concatenate([self._keys, keys[wanted]])
        if len(self._keys) > 2 * self.size:
            self._shrink()

    def _shrink(self) -> None:
        if len(self._keys) > self.size:
            first = smallest(self._keys, self.size)
            self._parts = [pa.concat_tables(self._parts).take(pa.array(first)).combine_chunks()]
            self._keys = self._keys[first]
            self._bound = float(self._keys.max())

    def rows(self) -> pa.Table:
        """The sample: at most `size` of the rows added so far, in the order they came."""
        self._shrink()
        return pa.concat_tables(self._parts).combine_chunks()


def uniform_rows(batches: Iterable[pa.RecordBatch], size: int) -> tuple[pa.Table, int]:
    """A uniform sample of at most `size` rows of all batches, and the number of all rows."""
    reservoir = Reservoir(size)
    for batch in batches:
        reservoir.add(batch)
    return reservoir.rows(), reservoir.total
