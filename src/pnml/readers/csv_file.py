"""One CSV file: its header, its blocks of rows, and errors in them."""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping
from contextlib import closing
from functools import cached_property
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from pnml.errors import InputError, shorten
from pnml.readers.batches import one_array
from pnml.readers.column_type import is_number
from pnml.readers.csv_text import Block, ReadOptions, blocks, read_text, reads_as_number, row_ends
from pnml.readers.encoding_and_compression import pieces as text_pieces
from pnml.readers.file_errors import reading, refuse_repeated, shown_cell
from pnml.readers.file_kind import delimiter_of
from pnml.readers.find_files import TableFile

_GUESSES = ";\t|:,"
_GUESSED_ROWS = 20
_PADDED = r"^\s*[+-]?0\d"
_PADDED_OR_LONG = rf"{_PADDED}|^\s*[+-]?\d{{17,}}\s*$"  # more digits than a float keeps


class CsvFile:
    """A CSV file; the constructor reads the header only."""

    def __init__(
        self, file: TableFile, options: ReadOptions, columns: Collection[str] | None = None
    ) -> None:
        self.file, self._options = file, options
        self._delimiter = options.delimiter or delimiter_of(file.path)
        with closing(self._raw_blocks()) as raw_blocks:
            first = next(raw_blocks, None)
        data = b"" if first is None else first.data
        self._skip = 0
        self._check_text(first or Block(b"", 0, 0))
        self._skip = self._header_end(data)
        self.names = self._header(data[: self._skip], data)
        self.columns = tuple(name for name in self.names if columns is None or name in columns)

    @cached_property
    def schema(self) -> pa.Schema:
        """Columns with the types of the first block."""
        with closing(self.pieces()) as pieces:
            first = next(pieces, None)
        if first is None:
            return pa.schema([(name, pa.null()) for name in self.names])
        return self._inferred(first)

    def codes(self) -> list[str]:
        """Numeric columns whose first block has a cell that a number would change, such as 007."""
        with closing(self.pieces()) as pieces:
            first = next(pieces, None)
        if first is None:
            return []
        texts = self._parsed(first.data, dict.fromkeys(self.names, pa.string()))
        patterns = {
            field.name: _PADDED if pa.types.is_integer(field.type) else _PADDED_OR_LONG
            for field in self.schema
            if is_number(field.type)
        }
        return [
            name
            for name, pattern in patterns.items()
            if pc.any(pc.match_substring_regex(texts[name], pattern)).as_py()
        ]

    def has_rows(self) -> bool:
        """Whether rows follow the header."""
        with closing(self.pieces()) as pieces:
            return next(pieces, None) is not None

    def pieces(self, skip: int = 0) -> Generator[Block, None, None]:
        """Blocks of whole rows without the header, from block `skip` on."""
        with closing(self._raw_blocks()) as raw_blocks:
            for block in raw_blocks:
                data = block.data[self._skip :] if block.number == 0 else block.data
                if data[:1] in b"\r\n" and not data.strip(b"\r\n"):
                    continue
                if skip:
                    skip -= 1
                else:
                    yield Block(data, block.number, block.position)

    def converted(self, block: Block, schema: pa.Schema) -> pa.RecordBatch | pa.Schema:
        """The rows with the types of the schema; or the types they have where these do not fit."""
        self._check_text(block)
        types = {field.name: field.type for field in schema}
        try:
            table = self._parsed(block.data, types, schema.names)
        except pa.ArrowInvalid:
            return self._inferred(block)
        arrays = [one_array(table[name]) for name in schema.names]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def refuse_text(self, block: Block, columns: Collection[str]) -> None:
        """Raise for the first cell that is not a number, in columns that must hold numbers."""
        texts = self._parsed(block.data, dict.fromkeys(self.names, pa.string()))
        for column in columns:
            for index, value in enumerate(texts[column].to_pylist()):
                if value is not None and not reads_as_number(value):
                    raise InputError(
                        f"Column {shorten(column)!r} of {self.file.label} holds "
                        f"{shown_cell(value)} in row {self._row(block, index)}, but the column "
                        "must hold numbers; mend the cell, or name it with --missing if it means "
                        "missing."
                    )

    def _raw_blocks(self) -> Generator[Block, None, None]:
        name = self.file.label
        with closing(text_pieces(self.file.path, name, self._options.encoding)) as pieces:
            yield from blocks(pieces, self._delimiter, name)

    def _header_end(self, data: bytes) -> int:
        """The end of the first row that is not blank."""
        blank = len(data) - len(data.lstrip(b"\r\n"))
        ends = row_ends(data, self._delimiter)
        return next((int(end) for end in ends if end > blank), len(data))

    def _header(self, header: bytes, data: bytes) -> tuple[str, ...]:
        name = self.file.label
        if not header.strip():
            raise InputError(f"{self.file.label} is empty; give a table with a header and rows.")
        with reading(name):
            texts = read_text(header + b"\n", self._delimiter, None, None, ()).schema.names
        names = [text.strip() or f"unnamed {n}" for n, text in enumerate(texts, start=1)]
        refuse_repeated(names, name)
        if len(names) == 1 and self._options.delimiter is None:
            self._refuse_other_delimiter(names[0], data)
        return tuple(names)

    def _refuse_other_delimiter(self, column: str, data: bytes) -> None:
        """Raise for one column whose rows all hold the same number of another delimiter."""
        ends = [0, *row_ends(data, self._delimiter)[: _GUESSED_ROWS + 1].tolist(), len(data)]
        texts = [data[a:b].decode().strip() for a, b in pairwise(ends)]
        texts = [text for text in texts if text][:_GUESSED_ROWS]
        for mark in _GUESSES:
            counts = {text.count(mark) for text in texts}
            if mark != self._delimiter and mark in column and len(counts) == 1:
                shown = "$'\\t'" if mark == "\t" else repr(mark)
                raise InputError(
                    f"{self.file.label} has one column, {shown_cell(column)}; it looks separated "
                    f"by {mark!r}: pass --delimiter {shown}."
                )

    def _check_text(self, block: Block) -> None:
        """Raise for bytes that are not UTF-8 text."""
        data = block.data
        if b"\0" in data:
            raise InputError(
                f"{self.file.label} holds NUL bytes, so it is not a text table, or not a whole "
                "one; give CSV, Parquet or Arrow."
            )
        if data.isascii():
            return
        try:
            data.decode()
        except UnicodeDecodeError as error:
            before = len(row_ends(data[: error.start], self._delimiter))
            raise InputError(
                f"{self.file.label} is not UTF-8 text (see its row {self._row(block, before)}); "
                "save it as UTF-8 or pass --encoding latin-1."
            ) from None

    def _row(self, block: Block, index: int) -> int:
        """The number of a row in its file; the header is row 1."""
        skip = self._skip if block.number == 0 else 0
        before = 0
        with closing(self._raw_blocks()) as raw_blocks:
            for other in raw_blocks:
                data = other.data if other.number < block.number else other.data[:skip]
                before += len(row_ends(data, self._delimiter))
                if other.number == block.number:
                    break
        return before + index + 1

    def _parsed(
        self,
        data: bytes,
        types: Mapping[str, pa.DataType] | None,
        columns: Collection[str] | None = None,
    ) -> pa.Table:
        words, names = self._options.missing_words(), list(self.names)
        only = None if columns is None else list(columns)
        return read_text(data, self._delimiter, names, types, words, columns=only)

    def _inferred(self, block: Block) -> pa.Schema:
        """The types that a block has by itself; raises for rows of another length."""
        self._check_text(block)
        try:
            return self._parsed(block.data, None).schema
        except pa.ArrowInvalid as error:
            self._refuse_ragged(block)
            raise InputError(
                f"{self.file.label} cannot be read as CSV ({shorten(error, 200)}); check its "
                "delimiter and quotes."
            ) from error

    def _refuse_ragged(self, block: Block) -> None:
        ragged: list[pyarrow.csv.InvalidRow] = []

        def note(row: pyarrow.csv.InvalidRow) -> str:
            ragged.append(row)
            return "error"

        try:
            read_text(block.data, self._delimiter, list(self.names), None, (), note)
        except pa.ArrowInvalid as error:
            if not ragged:
                return
            row, count = self._row(block, ragged[0].number - 1), ragged[0].actual_columns
            cells = "1 cell" if count == 1 else f"{count} cells"
            raise InputError(
                f"Row {row} of {self.file.label} has {cells}, but its header has "
                f"{ragged[0].expected_columns}; mend that row, or pass the right --delimiter."
            ) from error
