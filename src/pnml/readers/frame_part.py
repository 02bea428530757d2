"""A table in memory as a part of a table source, beside files."""

from __future__ import annotations

from collections.abc import Collection, Generator

import pyarrow as pa
import pyarrow.types as pt

from pnml.errors import InputError, shorten
from pnml.readers.batches import MOST_BYTES, MOST_ROWS
from pnml.readers.expected import PLAIN, Expected
from pnml.readers.file_errors import refuse_repeated
from pnml.readers.frame_in_memory import FrameInMemory
from pnml.readers.pandas_columns import Spare, none_spare
from pnml.readers.parquet_or_arrow_file import Piece, converted_piece

_NESTED = (pt.is_nested, pt.is_binary, pt.is_large_binary, pt.is_fixed_size_binary, pt.is_interval)


class FramePart:
    """A table in memory; its rows come in pieces as those of a file do.

    >>> frame = FrameInMemory(pa.table({"x": [1, 2]}), "Table")
    >>> [piece.batch.num_rows for piece in FramePart(frame).pieces()]
    [2]
    """

    def __init__(self, file: FrameInMemory, columns: Collection[str] | None = None) -> None:
        self.file = file
        names = file.table.column_names
        if not names:
            raise InputError(f"{file.label} has no columns; give a table with columns and rows.")
        refuse_repeated(names, file.label)
        self.names = tuple(names)
        self.columns = tuple(name for name in names if columns is None or name in columns)
        self._table = plain_columns(file.table.select(list(self.columns)))
        self.schema: pa.Schema = self._table.schema

    def has_rows(self) -> bool:
        """Whether the table has any row."""
        return bool(self._table.num_rows)

    def pieces(self, skip: int = 0) -> Generator[Piece, None, None]:
        """The columns asked for, in pieces of some rows each, from piece `skip` on."""
        rows, size = self._table.num_rows, self._table.nbytes
        step = max(1_024, min(MOST_ROWS, rows * MOST_BYTES // max(size, 1)))
        done = 0
        for number, start in enumerate(range(0, rows, step)):
            part = self._table.slice(start, step).combine_chunks()
            done += part.num_rows
            if number >= skip:
                yield Piece(part.to_batches()[0], self.file.size * done // rows)

    def converted(
        self, piece: Piece, schema: pa.Schema, expected: Expected = PLAIN
    ) -> pa.RecordBatch:
        """The rows of a piece with the columns and types of `schema`, in its order."""
        return converted_piece(piece, schema, expected)


def plain_columns(table: pa.Table) -> pa.Table:
    """The table without metadata and extension types."""
    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        kind = column.type
        if isinstance(kind, pa.BaseExtensionType):
            column = pa.chunked_array([c.storage for c in column.chunks], kind.storage_type)
        columns[name] = column
    return pa.table(columns)


def refuse_nested(schema: pa.Schema, label: str, spare: Spare = none_spare) -> None:
    """Raise InputError for columns of lists, structs or bytes that are not spare.

    `spare` tells by name whether the cells of a column are not needed; `label` is the table in
    messages.

    >>> refuse_nested(pa.schema([("x", pa.list_(pa.int8()))]), "Table")
    Traceback (most recent call last):
    ...
    pnml.errors.InputError: Column 'x' of Table holds cells of type list<item: int8>, each of \
which is no single value; turn them into numbers or words, or leave the column out.
    """
    for field in schema:
        if spare(field.name):
            continue
        kind = field.type
        kind = kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind
        kind = kind.value_type if pt.is_dictionary(kind) else kind
        if any(test(kind) for test in _NESTED):
            raise InputError(
                f"Column {shorten(field.name)!r} of {label} holds cells of type {shorten(kind)}, "
                "each of which is no single value; turn them into numbers or words, or leave the "
                "column out."
            )
