"""Sinks: one class per file format that record batches are written to."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Protocol, cast

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from pnml.errors import MOST_PATH, InputError, shorten
from pnml.readers.batches import cast_batch
from pnml.readers.formulas import escaped, escaped_names

_GROUP_ROWS = 131_072
_GROUP_BYTES = 64 * 2**20
_GZIP_LEVEL = 4


class Sink(Protocol):
    """A sink: takes batches of one schema and writes them in one file format."""

    schema: pa.Schema

    def write(self, batch: pa.RecordBatch) -> None:
        """Append the rows of a batch."""

    def close(self) -> None:
        """Finish the file."""


def sink_ending(path: str | Path) -> str:
    """The ending that names the file format of a sink; raises for an unknown one.

    >>> sink_ending("scored.CSV.gz"), sink_ending("-")
    ('.csv.gz', '.csv')
    """
    if str(path) == "-":
        return ".csv"
    name = Path(path).name.lower()
    for known in sorted(SINKS, key=len, reverse=True):
        if name.endswith(known) and name != known:
            return known
    raise InputError(
        f"{shorten(path, MOST_PATH)} does not end as a table does; end it in one of "
        f"{', '.join(SINKS)}, or give - for standard output."
    )


def decoded_schema(schema: pa.Schema) -> pa.Schema:
    """The schema a sink can write: categories and extension types as plain values.

    >>> decoded_schema(pa.schema([("c", pa.dictionary(pa.int8(), pa.string()))])).types
    [DataType(string)]
    """
    return pa.schema([(field.name, _plain(field.type)) for field in schema])


def refuse_no_text(path: str | Path) -> None:
    """Raise InputError if a path is not one of CSV or TSV text, where formulas can be escaped.

    >>> refuse_no_text("scored.csv")
    """
    if not sink_ending(path).startswith((".csv", ".tsv")):
        raise InputError(
            f"{shorten(path, MOST_PATH)} keeps texts apart from formulas, so --escape-formulas is "
            "for .csv and .tsv files; leave it out."
        )


def open_sink(
    file: BinaryIO, ending: str, schema: pa.Schema, name: str, *, escape_formulas: bool = False
) -> Sink:
    """The sink for batches of a schema; raises InputError if the format cannot hold a column.

    `ending` names the format, such as ".csv"; `name` is the file in messages.
    """
    schema = decoded_schema(schema)
    make = partial(SINKS[ending], escape=True) if escape_formulas else SINKS[ending]
    first_of_type = {field.type: field for field in reversed(list(schema))}
    for field in first_of_type.values():
        column = pa.schema([field])
        nothing = pa.array([None], field.type)
        try:
            trial = make(BytesIO(), column)
            trial.write(pa.RecordBatch.from_arrays([nothing], schema=column))
            trial.close()
        except pa.ArrowException as error:
            raise InputError(
                f"Column {shorten(field.name)!r} is of type {shorten(field.type)}, which "
                f"{shorten(name, MOST_PATH)} cannot hold; leave the column out or write another "
                "kind of file."
            ) from error
    return make(file, schema)


class _CsvSink:
    def __init__(
        self, file: BinaryIO, schema: pa.Schema, delimiter: str, escape: bool = False
    ) -> None:
        if any(map(_is_binary, schema.types)):
            raise pa.ArrowInvalid("Bytes are no text.")
        self.schema, self._escape = schema, escape
        if escape:
            types = zip(escaped_names(schema), schema.types, strict=True)
            schema = pa.schema(list(types))
        options = pyarrow.csv.WriteOptions(delimiter=delimiter)
        self._writer = pyarrow.csv.CSVWriter(file, schema, write_options=options)

    def write(self, batch: pa.RecordBatch) -> None:
        batch = cast_batch(batch, self.schema)
        self._writer.write_batch(escaped(batch) if self._escape else batch)

    def close(self) -> None:
        self._writer.close()


class _GzipSink:
    """CSV through gzip; the same rows give the same bytes."""

    def __init__(
        self, file: BinaryIO, schema: pa.Schema, delimiter: str, escape: bool = False
    ) -> None:
        self.schema = schema
        self._stream = gzip.GzipFile("", "wb", _GZIP_LEVEL, file, mtime=0)
        self._csv = _CsvSink(cast(BinaryIO, self._stream), schema, delimiter, escape)

    def write(self, batch: pa.RecordBatch) -> None:
        self._csv.write(batch)

    def close(self) -> None:
        self._csv.close()
        self._stream.close()


class _ParquetSink:
    def __init__(self, file: BinaryIO, schema: pa.Schema) -> None:
        self.schema = schema
        # Numbers rarely repeat: pyarrow would build a dictionary of them and then drop it.
        words = [field.name for field in schema if not pa.types.is_primitive(field.type)]
        self._writer = pyarrow.parquet.ParquetWriter(
            file, schema, write_page_checksum=True, use_dictionary=words
        )
        self._waiting: list[pa.RecordBatch] = []

    def write(self, batch: pa.RecordBatch) -> None:
        # Each call of pyarrow makes a row group, and readers want few of them.
        self._waiting.append(cast_batch(batch, self.schema))
        rows = sum(batch.num_rows for batch in self._waiting)
        if rows >= _GROUP_ROWS or sum(batch.nbytes for batch in self._waiting) >= _GROUP_BYTES:
            self._flush()

    def close(self) -> None:
        try:
            self._flush()
        finally:
            self._writer.close()

    def _flush(self) -> None:
        waiting, self._waiting = self._waiting, []
        if waiting:
            self._writer.write_table(pa.Table.from_batches(waiting))


class _ArrowSink:
    def __init__(self, file: BinaryIO, schema: pa.Schema, compression: str | None) -> None:
        self.schema = schema
        options = pa.ipc.IpcWriteOptions(compression=compression)
        self._writer = pa.ipc.new_file(file, schema, options=options)

    def write(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(cast_batch(batch, self.schema))

    def close(self) -> None:
        self._writer.close()


SINKS: dict[str, Callable[..., Sink]] = {
    ".csv": partial(_CsvSink, delimiter=","),
    ".tsv": partial(_CsvSink, delimiter="\t"),
    ".csv.gz": partial(_GzipSink, delimiter=","),
    ".tsv.gz": partial(_GzipSink, delimiter="\t"),
    ".parquet": _ParquetSink,
    ".pq": _ParquetSink,
    ".arrow": partial(_ArrowSink, compression=None),
    ".ipc": partial(_ArrowSink, compression=None),
    ".feather": partial(_ArrowSink, compression="lz4"),
}


def _plain(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return _plain(kind.value_type)
    if isinstance(kind, pa.BaseExtensionType):
        return _plain(kind.storage_type)
    return pa.string() if kind == pa.string_view() else kind


def _is_binary(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
        or pa.types.is_binary_view(kind)
    )
