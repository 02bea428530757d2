"""One CSV file: its header, its blocks of rows, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping
from contextlib import closing
from functools import cached_property
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from pnml.errors import InputError
from pnml.readers import csv_rows as rows
from pnml.readers.batches import one_array
from pnml.readers.compression import pieces
from pnml.readers.csv_rows import Block
from pnml.readers.csv_text import ReadOptions, read_text, reads_as_number
from pnml.readers.file_errors import cell, reading, refuse_repeated
from pnml.readers.file_kind import delimiter_of
from pnml.readers.find_files import TableFile
from pnml.readers.promotion import is_number

_GUESSES = ";\t|:,"
_GUESSED_ROWS = 20
_PADDED = r"^\s*[+-]?0\d"
_PADDED_OR_LONG = rf"{_PADDED}|^\s*[+-]?\d{{17,}}\s*$"  # more digits than a float keeps


class CsvPart:
    """A CSV file, of which only the header has been read."""

    def __init__(
        self, file: TableFile, options: ReadOptions, columns: Collection[str] | None = None
    ) -> None:
        self.file, self._options = file, options
        self._delimiter = options.delimiter or delimiter_of(file.path)
        with closing(self._raw_blocks()) as found:
            first = next(found, None)
        data = b"" if first is None else first.data
        self._skip = 0
        self._check_text(first or Block(b"", 0, 0))
        self._skip = self._header_end(data)
        self.names = self._header(data[: self._skip], data)
        self.columns = tuple(name for name in self.names if columns is None or name in columns)

    @cached_property
    def schema(self) -> pa.Schema:
        """Columns and their types, as the first block has them."""
        with closing(self.pieces()) as found:
            first = next(found, None)
        if first is None:
            return pa.schema([(name, pa.null()) for name in self.names])
        return self._inferred(first)

    def codes(self) -> list[str]:
        """Columns of numbers in whose first block a cell would come back otherwise, such as 007."""
        with closing(self.pieces()) as found:
            first = next(found, None)
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
        """Whether anything follows the header."""
        with closing(self.pieces()) as found:
            return next(found, None) is not None

    def pieces(self, skip: int = 0) -> Generator[Block, None, None]:
        """Blocks of whole rows, less the header; `skip` of them are passed over."""
        with closing(self._raw_blocks()) as found:
            for block in found:
                data = block.data[self._skip :] if block.number == 0 else block.data
                if data[:1] in b"\r\n" and not data.strip(b"\r\n"):
                    continue
                if skip:
                    skip -= 1
                else:
                    yield Block(data, block.number, block.position)

    def converted(self, block: Block, schema: pa.Schema) -> pa.RecordBatch | pa.Schema:
        """Rows of the schema's types, in its order; or what types they need instead."""
        self._check_text(block)
        types = {field.name: field.type for field in schema}
        try:
            table = self._parsed(block.data, types, schema.names)
        except pa.ArrowInvalid:
            return self._inferred(block)
        arrays = [one_array(table[name]) for name in schema.names]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def refuse_text(self, block: Block, columns: Collection[str]) -> None:
        """Refuse the first cell that is no number in columns that should hold numbers."""
        texts = self._parsed(block.data, dict.fromkeys(self.names, pa.string()))
        for column in columns:
            for index, value in enumerate(texts[column].to_pylist()):
                if value is not None and not reads_as_number(value):
                    raise InputError(
                        f"Column {column!r} of {self.file.name} holds {cell(value)} in row "
                        f"{self._row(block, index)}, but the column must hold numbers; mend the "
                        "cell, or name it with --missing if it means missing."
                    )

    def _raw_blocks(self) -> Generator[Block, None, None]:
        name = self.file.name
        with closing(pieces(self.file.path, name, self._options.encoding)) as found:
            yield from rows.blocks(found, self._delimiter, name)

    def _header_end(self, data: bytes) -> int:
        """Where the first row that is not blank ends."""
        blank = len(data) - len(data.lstrip(b"\r\n"))
        ends = rows.row_ends(data, self._delimiter)
        return next((int(end) for end in ends if end > blank), len(data))

    def _header(self, header: bytes, data: bytes) -> tuple[str, ...]:
        name = self.file.name
        if not header.strip():
            raise InputError(f"{name} is empty; give a table with a header and rows.")
        with reading(name):
            found = read_text(header + b"\n", self._delimiter, None, None, ()).schema.names
        names = [text.strip() or f"unnamed {n}" for n, text in enumerate(found, start=1)]
        refuse_repeated(names, name)
        if len(names) == 1 and self._options.delimiter is None:
            self._refuse_other_delimiter(names[0], data)
        return tuple(names)

    def _refuse_other_delimiter(self, column: str, data: bytes) -> None:
        """Refuse a table of one column whose rows all hold the same count of a usual delimiter."""
        ends = [0, *rows.row_ends(data, self._delimiter)[: _GUESSED_ROWS + 1].tolist(), len(data)]
        texts = [data[a:b].decode().strip() for a, b in pairwise(ends)]
        texts = [text for text in texts if text][:_GUESSED_ROWS]
        for mark in _GUESSES:
            counts = {text.count(mark) for text in texts}
            if mark != self._delimiter and mark in column and len(counts) == 1:
                shown = "$'\\t'" if mark == "\t" else repr(mark)
                raise InputError(
                    f"{self.file.name} has one column, {cell(column)}; it looks separated by "
                    f"{mark!r}: pass --delimiter {shown}."
                )

    def _check_text(self, block: Block) -> None:
        """Refuse what is no UTF-8 text."""
        data = block.data
        if b"\0" in data:
            raise InputError(
                f"{self.file.name} holds NUL bytes, so it is not a text table, or not a whole "
                "one; give CSV, Parquet or Arrow."
            )
        if data.isascii():
            return
        try:
            data.decode()
        except UnicodeDecodeError as error:
            before = len(rows.row_ends(data[: error.start], self._delimiter))
            raise InputError(
                f"{self.file.name} is not UTF-8 text (see its row {self._row(block, before)}); "
                "save it as UTF-8 or pass --encoding latin-1."
            ) from None

    def _row(self, block: Block, index: int) -> int:
        """The number of a row in its file, where the header is row 1."""
        skip = self._skip if block.number == 0 else 0
        before = 0
        with closing(self._raw_blocks()) as found:
            for other in found:
                data = other.data if other.number < block.number else other.data[:skip]
                before += len(rows.row_ends(data, self._delimiter))
                if other.number == block.number:
                    break
        return before + index + 1

    def _parsed(
        self,
        data: bytes,
        types: Mapping[str, pa.DataType] | None,
        columns: Collection[str] | None = None,
    ) -> pa.Table:
        words, chosen = self._options.missing_words(), None if columns is None else list(columns)
        names = list(self.names)
        return read_text(data, self._delimiter, names, types, words, columns=chosen)

    def _inferred(self, block: Block) -> pa.Schema:
        """The types that a block alone would have; refuses rows of another length."""
        self._check_text(block)
        try:
            return self._parsed(block.data, None).schema
        except pa.ArrowInvalid as error:
            self._refuse_ragged(block)
            raise InputError(
                f"{self.file.name} cannot be read as CSV ({error}); check its delimiter and quotes."
            ) from error

    def _refuse_ragged(self, block: Block) -> None:
        found: list[pyarrow.csv.InvalidRow] = []

        def note(row: pyarrow.csv.InvalidRow) -> str:
            found.append(row)
            return "error"

        try:
            read_text(block.data, self._delimiter, list(self.names), None, (), note)
        except pa.ArrowInvalid as error:
            if not found:
                return
            row = self._row(block, found[0].number - 1)
            cells = "1 cell" if found[0].actual_columns == 1 else f"{found[0].actual_columns} cells"
            raise InputError(
                f"Row {row} of {self.file.name} has {cells}, but its header has "
                f"{found[0].expected_columns}; mend that row, or pass the right --delimiter."
            ) from error
