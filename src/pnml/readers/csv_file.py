"""One CSV file: its header, its blocks of rows, and errors in them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping
from contextlib import closing
from functools import cached_property
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from pnml.errors import InputError, shorten
from pnml.readers.batches import one_array
from pnml.readers.cell_formats import CellFormats
from pnml.readers.column_type import is_number
from pnml.readers.csv_columns import CsvColumns, Look
from pnml.readers.csv_text import Block, ReadOptions, blocks, count_cells, read_text, row_ends
from pnml.readers.delimiters import refuse_other_delimiter, sniffed
from pnml.readers.encoding_and_compression import pieces as text_pieces
from pnml.readers.expected import PLAIN, UNREADABLE, Expected, read_or_null
from pnml.readers.file_errors import (
    impossible_date,
    reading,
    refuse_many_columns,
    refuse_repeated,
    shown_cell,
)
from pnml.readers.file_kind import delimiter_of
from pnml.readers.find_files import TableFile

_PADDED_OR_LONG = r"^\s*[+-]?0\d|^\s*[+-]?\d{17,}\s*$"  # more digits than a float keeps

T = TypeVar("T")


class CsvFile:
    """A CSV file; the constructor reads the header only.

    `columns` are those to read, None for all.
    """

    def __init__(
        self, file: TableFile, options: ReadOptions, columns: Collection[str] | None = None
    ) -> None:
        self.file, self._options = file, options
        self._delimiter = options.delimiter or delimiter_of(file.path)
        self._skip = 0
        first = self._first_raw()
        if (
            options.delimiter is None
            and (mark := sniffed(first.data, self._delimiter)) != self._delimiter
        ):
            self._delimiter = mark
            first = self._first_raw()
        data = first.data
        self._check_text(first)
        self._skip = self._header_end(data)
        self.names = self._header(data[: self._skip], data)
        self.columns = tuple(name for name in self.names if columns is None or name in columns)
        self._columns = CsvColumns(self._parsed, self.names, self._delimiter, options.formats)

    @property
    def schema(self) -> pa.Schema:
        """All columns with their types, inferred from the first block of rows."""
        return self._look.schema

    @property
    def padded(self) -> list[str]:
        """Names of columns of whole numbers whose first block of rows has a cell such as 007."""
        return self._look.padded

    @property
    def impossible_dates(self) -> list[str]:
        """Names of text columns that would be dates but for one that does not exist.

        As found in the first block of rows.
        """
        return self._look.impossible_dates

    @cached_property
    def _look(self) -> Look:
        first = self._first()
        if first is None:
            return Look(pa.schema([(name, pa.null()) for name in self.names]), [], [])
        return self._inferring(first, self._columns.look)

    def codes(self) -> list[str]:
        """Names of numeric columns with a cell that only text keeps, such as 007 or 20 digits.

        In the first block of rows.
        """
        first = self._first()
        amounts = [f.name for f in self.schema if is_number(f.type) and not _is_whole(f.type)]
        if first is None or not amounts:
            return self.padded
        texts = self._parsed(first.data, dict.fromkeys(amounts, pa.string()), amounts)
        return self.padded + [
            name
            for name in amounts
            if pc.any(pc.match_substring_regex(texts[name], _PADDED_OR_LONG)).as_py()
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

    def converted(
        self, block: Block, schema: pa.Schema, expected: Expected = PLAIN
    ) -> pa.RecordBatch | pa.Schema:
        """The rows of a block with the types of `schema`; or a schema that fits better."""
        self._check_text(block)
        batch = self._columns.converted(block.data, schema, expected)
        if batch is None:
            return self._inferred(block)
        if isinstance(batch, pa.RecordBatch):
            if batch.num_columns > len(schema):
                self._refuse_commas(block, batch, expected)
            codes = set(self._columns.padded(block.data, schema)) - expected.numeric
            if codes:
                return pa.schema(
                    field.with_type(pa.string()) if field.name in codes else field
                    for field in schema
                )
        return batch

    def _refuse_commas(self, block: Block, batch: pa.RecordBatch, expected: Expected) -> None:
        """Raise for columns of numbers in which all cells have a decimal comma."""
        for name in expected.numeric & set(batch.schema.names):
            failed = UNREADABLE + name
            unread = failed in batch.schema.names and batch[name].null_count == len(batch)
            if unread and self._columns.formats.decimal == "." and _comma_numbers(batch[failed]):
                self.refuse_text(block, [name])

    def refuse_text(self, block: Block, columns: Collection[str]) -> None:
        """Raise InputError for the first cell that is no number in columns of numbers."""
        texts = self._parsed(block.data, dict.fromkeys(columns, pa.string()), columns)
        for column in columns:
            cells = one_array(texts[column])
            _, failed = read_or_null(cells, pa.float64(), self._columns.formats)
            bad = pc.index(pc.is_valid(failed), True).as_py()
            if bad >= 0:
                raise InputError(
                    f"Column {shorten(column)!r} of {self.file.label} holds "
                    f"{shown_cell(failed[bad].as_py())} in row {self._row(block, bad)}, but the "
                    f"column must hold numbers; {self._advice(cells, failed)}"
                )

    def refuse_impossible_dates(self, block: Block | None, columns: Collection[str]) -> None:
        """Raise InputError for the first cell of a block that is written as a date but is none.

        `block` is some rows of the file; None: the first ones.
        """
        if not columns or (block := block or self._first()) is None:
            return
        texts = self._parsed(block.data, dict.fromkeys(columns, pa.string()), columns)
        for column in columns:
            cells = one_array(texts[column])
            bad = self._columns.formats.impossible_dates(cells)
            if bad:
                row = self._row(block, pc.index(cells, pa.scalar(bad[0])).as_py())
                fault = self._columns.formats.date_fault(bad[0])
                raise impossible_date(column, self.file.label, bad[0], row, fault)

    def with_dates(
        self, schema: pa.Schema, columns: Collection[str], expected: Expected
    ) -> pa.Schema:
        """The schema with a type of dates for those of `columns` that are text in the first block.

        Columns of which `expected` says whether they name a time zone are left as they are.
        """
        names = [
            n
            for n in columns
            if n in schema.names
            and expected.zone_of(n) is None
            and pa.types.is_string(self.schema.field(n).type)
        ]
        if not names or (first := self._first()) is None:
            return schema
        texts = self._parsed(first.data, dict.fromkeys(names, pa.string()), names)
        for name in names:
            kind = self._columns.formats.date_type(one_array(texts[name]))
            schema = schema.set(schema.get_field_index(name), pa.field(name, kind))
        return schema

    def _advice(self, cells: pa.Array, failed: pa.Array) -> str:
        """What to do about cells that are no numbers."""
        units = self._columns.formats.units(cells)
        if len(units) > 1:
            return f"amounts in {units[0]} and {units[1]} are mixed, so write all in one unit."
        if self._columns.formats.decimal == "." and _comma_numbers(failed):
            return "if the comma is its decimal mark, pass --decimal ','."
        return "mend the cell, or name it with --missing if it means missing."

    def _first(self) -> Block | None:
        """The first block with rows."""
        with closing(self.pieces()) as pieces:
            return next(pieces, None)

    def _first_raw(self) -> Block:
        with closing(self._raw_blocks()) as raw_blocks:
            return next(raw_blocks, Block(b"", 0, 0))

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
        cells = count_cells(header, self._delimiter)
        refuse_many_columns(cells, name, self._options.max_columns)
        with reading(name):
            texts = read_text(header + b"\n", self._delimiter, None, None, ()).schema.names
        names = [text.strip() or f"unnamed {n}" for n, text in enumerate(texts, start=1)]
        refuse_repeated(names, name)
        if len(names) == 1 and self._options.delimiter is None:
            refuse_other_delimiter(name, names[0], data, self._delimiter)
        return tuple(names)

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
        point = self._options.decimal
        return read_text(data, self._delimiter, names, types, words, columns=only, point=point)

    def _inferred(self, block: Block) -> pa.Schema:
        """Column types inferred from the cells of one block alone."""
        return self._inferring(block, self._columns.inferred)

    def _inferring(self, block: Block, infer: Callable[[bytes], T]) -> T:
        """What `infer` finds in a block; raises InputError for rows of another length."""
        self._check_text(block)
        try:
            return infer(block.data)
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


def _is_whole(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind))


def _comma_numbers(texts: pa.Array) -> bool:
    """Whether all cells are numbers with a decimal comma."""
    comma = CellFormats(",", ".").numbers(texts)
    return bool(comma.null_count == texts.null_count)
