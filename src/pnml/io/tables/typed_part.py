"""One Parquet or Arrow file, whose columns have their types already."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from typing import Any, NamedTuple, Protocol

import pyarrow as pa
import pyarrow.parquet

from pnml.core.errors import InputError
from pnml.io.tables.batches import MOST_ROWS
from pnml.io.tables.finding import TableFile
from pnml.io.tables.kinds import Kind
from pnml.io.tables.refusals import reading, refuse_repeated

_PARQUET_ROWS = 65_536
_PARQUET_BYTES = 32 * 2**20  # of a batch, if all its cells were numbers
_BUFFER_BYTES = 2**18


class Piece(NamedTuple):
    """Some rows, and how many bytes of the file they and all before them take."""

    batch: pa.RecordBatch
    position: int


class _Opened(Protocol):
    """What both kinds of file offer once they are open."""

    schema: pa.Schema

    def pieces(self, size: int) -> Iterator[Piece]:
        """All rows in order, of a file of this size."""


class TypedPart:
    """A Parquet or Arrow file, of which only the schema has been read."""

    def __init__(self, file: TableFile) -> None:
        self.file = file
        with reading(file.name), _opened(file) as opened:
            schema = opened.schema.remove_metadata()
            schema = pa.schema([field.remove_metadata().with_nullable(True) for field in schema])
            names = schema.names
        if not names:
            raise InputError(f"{file.name} has no columns; give a table with columns and rows.")
        refuse_repeated(names, file.name)
        self.schema: pa.Schema = schema
        self.names = tuple(names)

    def has_rows(self) -> bool:
        """Whether there is any row."""
        with closing(self.pieces()) as found:
            return any(piece.batch.num_rows for piece in found)

    def pieces(self) -> Generator[Piece, None, None]:
        """The rows, some at a time."""
        with reading(self.file.name), _opened(self.file) as opened:
            yield from opened.pieces(self.file.size)

    def converted(self, piece: Piece, schema: pa.Schema) -> pa.RecordBatch:
        """Rows of the schema's types, in its order."""
        with reading(self.file.name):
            batch = piece.batch.select(schema.names)
            batch.validate(full=True)  # what the file says is taken as it stands till here
            arrays = [
                column if column.type.equals(field.type) else column.cast(field.type)
                for column, field in zip(batch.columns, schema, strict=True)
            ]
            return pa.RecordBatch.from_arrays(arrays, schema=schema)


@contextmanager
def _opened(file: TableFile) -> Iterator[_Opened]:
    if file.kind is Kind.PARQUET:
        # With a buffer in advance and none in between, pyarrow holds a whole row group.
        with pyarrow.parquet.ParquetFile(
            file.path,
            pre_buffer=False,
            buffer_size=_BUFFER_BYTES,
            page_checksum_verification=True,
        ) as parquet:
            yield _Parquet(parquet)
    else:
        with pa.memory_map(str(file.path)) as memory:
            yield _arrow(memory)


class _Parquet:
    def __init__(self, file: pyarrow.parquet.ParquetFile) -> None:
        self._file = file
        self.schema = file.schema_arrow

    def pieces(self, size: int) -> Iterator[Piece]:
        total = max(self._file.metadata.num_rows, 1)
        width = max(len(self.schema), 1)
        rows = min(_PARQUET_ROWS, max(1_024, _PARQUET_BYTES // (8 * width)))
        done = 0
        for batch in self._file.iter_batches(batch_size=rows):
            done += batch.num_rows
            yield Piece(batch, size * done // total)


def _arrow(memory: pa.MemoryMappedFile) -> _Opened:
    start = memory.read(6)
    memory.seek(0)
    if start == b"ARROW1":
        return _ArrowFile(pa.ipc.open_file(memory))
    return _ArrowStream(pa.ipc.open_stream(memory), memory)


class _ArrowFile:
    def __init__(self, reader: pa.RecordBatchFileReader) -> None:
        self._reader = reader
        self.schema = reader.schema

    def pieces(self, size: int) -> Iterator[Piece]:
        count = self._reader.num_record_batches
        for place in range(count):
            yield from _sliced(self._reader.get_batch(place), size * (place + 1) // count)


class _ArrowStream:
    def __init__(self, reader: pa.RecordBatchStreamReader, memory: Any) -> None:
        self._reader, self._memory = reader, memory
        self.schema = reader.schema

    def pieces(self, size: int) -> Iterator[Piece]:
        for batch in self._reader:
            yield from _sliced(batch, min(self._memory.tell(), size))


def _sliced(batch: pa.RecordBatch, position: int) -> Iterator[Piece]:
    for start in range(0, batch.num_rows, MOST_ROWS):
        yield Piece(batch.slice(start, MOST_ROWS), position)
