"""Record batches: their size, their columns and the types of these."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

LEAST_ROWS = 1_024
MOST_ROWS = 131_072
MOST_BYTES = 32 * 2**20


def resized(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of 1,024 to 131,072 rows; wide rows and the end give smaller ones.

    >>> batch = pa.record_batch({"x": [1.0, 2.0]})
    >>> [batch.num_rows for batch in resized([batch, batch.slice(0, 0), batch])]
    [4]
    """
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        waiting.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= LEAST_ROWS or size >= MOST_BYTES:
            yield from _sliced(_combined(waiting))
            waiting, rows, size = [], 0, 0
    if waiting:
        yield _combined(waiting)


def cast_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The rows of a batch with the types of a schema that has the same columns.

    >>> cast_batch(pa.record_batch({"x": [1]}), pa.schema([("x", pa.float64())])).column(0).type
    DataType(double)
    """
    arrays = [
        column if column.type.equals(field.type) else column.cast(field.type)
        for column, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def one_array(column: pa.ChunkedArray) -> pa.Array:
    """A column of a batch as one contiguous array.

    >>> len(one_array(pa.chunked_array([[1], [2, 3]])))
    3
    """
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _combined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    if all(batch.schema.equals(batches[0].schema) for batch in batches[1:]):
        whole = pa.Table.from_batches(batches)
    else:  # some have columns of unreadable cells
        tables = [pa.Table.from_batches([batch]) for batch in batches]
        whole = pa.concat_tables(tables, promote_options="default")
    return whole.combine_chunks().to_batches()[0]


def _sliced(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    parts = -(-batch.num_rows // MOST_ROWS)
    step = -(-batch.num_rows // parts)
    for start in range(0, batch.num_rows, step):
        yield batch.slice(start, step)
