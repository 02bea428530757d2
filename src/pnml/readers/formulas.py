"""Cells of CSV text that a spreadsheet would run as formulas."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

_START = r"\A([=+\-@\t\r])"


def escaped_names(schema: pa.Schema) -> list[str]:
    """Names of columns, with an apostrophe before those that begin as formulas do.

    >>> escaped_names(pa.schema([("=1+1", pa.int64()), ("age", pa.int64())]))
    ["'=1+1", 'age']
    """
    names: list[str] = pc.replace_substring_regex(
        pa.array(schema.names, pa.string()), _START, r"'\1"
    ).to_pylist()
    return names


def escaped(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows with an apostrophe before texts that begin as formulas do; numbers stay numbers.

    >>> escaped(pa.record_batch({"x": ["@sum", "a=b", None], "n": [-1, 2, 3]})).to_pydict()
    {'x': ["'@sum", 'a=b', None], 'n': [-1, 2, 3]}
    """
    columns = [
        pc.replace_substring_regex(column, _START, r"'\1") if _is_text(column.type) else column
        for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, names=escaped_names(batch.schema))


def _is_text(kind: pa.DataType) -> bool:
    return bool(pt.is_string(kind) or pt.is_large_string(kind))
