"""One Parquet or Arrow file, whose columns have types."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pyarrow as pa
import pyarrow.parquet

from pnml.errors import InputError
from pnml.readers.batches import MOST_ROWS, cast_batch
from pnml.readers.cell_formats import CellFormats
from pnml.readers.csv_text import MOST_COLUMNS
from pnml.readers.expected import PLAIN, Expected, is_text, read_or_null, with_unreadable
from pnml.readers.file_errors import reading, refuse_many_columns, refuse_repeated
from pnml.readers.file_kind import Kind
from pnml.readers.find_files import TableFile
from pnml.readers.remote import Place

_PARQUET_ROWS = 65_536
_PARQUET_BYTES = 32 * 2**20  # of a batch, if all its cells were numbers
_BUFFER_BYTES = 2**18
_RUN_PIECES = 8  # row groups are read together in runs of so many pieces, so few are short


class Piece(NamedTuple):
    """Some rows of a Parquet or Arrow file, and the number of file bytes up to their end."""

    batch: pa.RecordBatch
    position: int


class _Opened(Protocol):
    """An open file of either kind."""

    schema: pa.Schema

    def pieces(self, size: int, columns: list[str], skip: int) -> Iterator[Piece]:
        """These columns of the rows in order, from piece `skip` on; `size` is that of the file."""


class TypedFile:
    """A Parquet or Arrow file; the constructor reads the schema only.

    `columns` are those to read, None for all; a file with more than `most` columns raises
    InputError.
    """

    def __init__(
        self,
        file: TableFile,
        columns: Collection[str] | None = None,
        most: int = MOST_COLUMNS,
    ) -> None:
        self.file = file
        with reading(file.label), _opened(file) as opened:
            refuse_many_columns(len(opened.schema), file.label, most)
            schema = opened.schema.remove_metadata()
            schema = pa.schema([field.remove_metadata().with_nullable(True) for field in schema])
            names = schema.names
        if not names:
            raise InputError(f"{file.label} has no columns; give a table with columns and rows.")
        refuse_repeated(names, file.label)
        self.schema: pa.Schema = schema
        self.names = tuple(names)
        self.columns = tuple(name for name in names if columns is None or name in columns)

    def has_rows(self) -> bool:
        """Whether the file has any row."""
        with closing(self.pieces()) as pieces:
            return any(piece.batch.num_rows for piece in pieces)

    def pieces(self, skip: int = 0) -> Generator[Piece, None, None]:
        """The columns asked for, in pieces of some rows each, from piece `skip` on."""
        with reading(self.file.label), _opened(self.file, self.columns) as opened:
            yield from opened.pieces(self.file.size, list(self.columns), skip)

    def converted(
        self, piece: Piece, schema: pa.Schema, expected: Expected = PLAIN
    ) -> pa.RecordBatch:
        """The rows of a piece with the columns and types of `schema`, in its order."""
        with reading(self.file.label):
            return converted_piece(piece, schema, expected)


def converted_piece(piece: Piece, schema: pa.Schema, expected: Expected) -> pa.RecordBatch:
    r"""Rows of a typed table with the schema's types; text may be read as numbers or dates.

    That is done if `expected` is lenient: text that cannot be read becomes null, and stands in a
    further column.

    >>> batch = pa.record_batch({"x": ["1", "two"]})
    >>> schema = pa.schema([("x", pa.float64())])
    >>> expected = Expected.of(["x"], lenient=True)
    >>> converted_piece(Piece(batch, 0), schema, expected).to_pydict()
    {'x': [1.0, None], '\x00unreadable:x': [None, 'two']}
    """
    batch = piece.batch.select(schema.names)
    batch.validate(full=True)  # pyarrow has not validated the buffers before this line
    texts = [
        field.name
        for field in schema
        if expected.may_be_null(field.name)
        and is_text(batch.schema.field(field.name).type)
        and not is_text(field.type)
    ]
    if not texts:
        return cast_batch(batch, schema)
    unreadable = {}
    for name in texts:
        kind, place = schema.field(name).type, schema.get_field_index(name)
        values, failed = read_or_null(
            batch.column(name), kind, CellFormats(), expected.zone_of(name)
        )
        batch = batch.set_column(place, name, values)
        if failed.null_count < len(failed):
            unreadable[name] = failed
    return with_unreadable(cast_batch(batch, schema).columns, schema, unreadable)


@contextmanager
def _opened(file: TableFile, columns: Collection[str] | None = None) -> Iterator[_Opened]:
    """An open file; of an Arrow file only these columns are then read from the disk."""
    if file.kind is Kind.PARQUET:
        # With pre_buffer and without a buffer size, pyarrow keeps a whole row group in memory.
        path = file.path
        with pyarrow.parquet.ParquetFile(
            path if isinstance(path, Path) else path.open("rb"),
            pre_buffer=False,
            buffer_size=_BUFFER_BYTES,
            page_checksum_verification=True,
        ) as parquet:
            yield _Parquet(parquet)
    else:
        with _bytes(file.path) as stream:
            yield _arrow(stream, columns)


def _bytes(path: Place) -> Any:
    """The bytes of a file, read; a map of one that somebody cuts short would end the process."""
    if isinstance(path, Path):
        return pa.OSFile(str(path))
    return pa.PythonFile(path.open("rb"), mode="r")


class _Parquet:
    def __init__(self, file: pyarrow.parquet.ParquetFile) -> None:
        self._file = file
        self.schema = file.schema_arrow

    def pieces(self, size: int, columns: list[str], skip: int) -> Iterator[Piece]:
        total = max(self._file.metadata.num_rows, 1)
        width = max(len(columns), 1)
        rows = min(_PARQUET_ROWS, max(1_024, _PARQUET_BYTES // (8 * width)))
        done = 0
        for groups, count in self._runs(_RUN_PIECES * rows):
            pieces = -(-count // rows)
            if skip >= pieces:  # not read at all
                skip, done = skip - pieces, done + count
                continue
            batches = self._file.iter_batches(rows, row_groups=groups, columns=columns)
            for batch in batches:
                done += batch.num_rows
                if skip:
                    skip -= 1
                else:
                    yield Piece(batch, size * done // total)

    def _runs(self, least: int) -> Iterator[tuple[list[int], int]]:
        """Runs of neighbouring row groups with `least` rows or more, and their number of rows."""
        metadata, groups, count = self._file.metadata, [], 0
        for group in range(metadata.num_row_groups):
            groups.append(group)
            count += metadata.row_group(group).num_rows
            if count >= least:
                yield groups, count
                groups, count = [], 0
        if count:
            yield groups, count


def _arrow(stream: Any, columns: Collection[str] | None) -> _Opened:
    is_file = stream.read(6) == b"ARROW1"
    stream.seek(0)
    open_ipc = pa.ipc.open_file if is_file else pa.ipc.open_stream
    reader = open_ipc(stream)
    names = reader.schema.names
    if columns is not None and len(set(columns)) < len(names):
        wanted = [names.index(name) for name in columns]
        stream.seek(0)
        reader = open_ipc(stream, options=pa.ipc.IpcReadOptions(included_fields=wanted))
    return _ArrowFile(reader) if is_file else _ArrowStream(reader, stream)


class _ArrowFile:
    def __init__(self, reader: pa.RecordBatchFileReader) -> None:
        self._reader = reader
        self.schema = reader.schema

    def pieces(self, size: int, columns: list[str], skip: int) -> Iterator[Piece]:
        return islice(self._all(size, columns), skip, None)

    def _all(self, size: int, columns: list[str]) -> Iterator[Piece]:
        count = self._reader.num_record_batches
        for place in range(count):
            batch = self._reader.get_batch(place).select(columns)
            yield from _sliced(batch, size * (place + 1) // count)


class _ArrowStream:
    def __init__(self, reader: pa.RecordBatchStreamReader, stream: Any) -> None:
        self._reader, self._stream = reader, stream
        self.schema = reader.schema

    def pieces(self, size: int, columns: list[str], skip: int) -> Iterator[Piece]:
        return islice(self._all(size, columns), skip, None)

    def _all(self, size: int, columns: list[str]) -> Iterator[Piece]:
        for batch in self._reader:
            yield from _sliced(batch.select(columns), min(self._stream.tell(), size))


def _sliced(batch: pa.RecordBatch, position: int) -> Iterator[Piece]:
    for start in range(0, batch.num_rows, MOST_ROWS):
        yield Piece(batch.slice(start, MOST_ROWS), position)
