"""The first rows of a table, by which its columns are judged, however it comes in batches."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from pnml.core.arrays import FloatArray

_CELL = 8.0  # bytes of a number, or of the place of a text


class FirstRows(NamedTuple):
    """The first rows of a table, and an iterator over all other rows; None if there are none."""

    look: pa.Table | None
    rest: Iterator[pa.RecordBatch] | None


def first_rows(batches: Iterator[pa.RecordBatch], rows: int, size: float) -> FirstRows:
    """The first rows of a table, at most `rows` rows and about `size` bytes, and all others.

    The split is the same however the rows are cut into batches; one row is always taken.

    >>> batches = [pa.record_batch({"x": [1, 2]}), pa.record_batch({"x": [3, 4]})]
    >>> first = first_rows(iter(batches), 3, 1e6)
    >>> first.look["x"].to_pylist(), next(first.rest)["x"].to_pylist()
    ([1, 2, 3], [4])
    """
    parts: list[pa.RecordBatch] = []
    used = 0.0
    for batch in batches:
        ends = used + np.cumsum(_bytes(batch))
        within = int(np.searchsorted(ends, size, side="right"))
        taken = min(max(within, 0 if parts else 1), rows, batch.num_rows)
        if taken:
            parts.append(batch.slice(0, taken))
            rows, used = rows - taken, float(ends[taken - 1])
        if taken < batch.num_rows:
            return FirstRows(pa.Table.from_batches(parts), chain([batch.slice(taken)], batches))
    return FirstRows(pa.Table.from_batches(parts) if parts else None, None)


def _bytes(batch: pa.RecordBatch) -> FloatArray:
    """Bytes of the cells of each row (n,), the same in whichever batch a row comes."""
    total = np.full(batch.num_rows, _CELL * batch.num_columns)
    for column in batch.columns:
        if pt.is_string(column.type) or pt.is_large_string(column.type):
            total += pc.fill_null(pc.binary_length(column), 0).to_numpy(zero_copy_only=False)
    return total
