"""Columns of a block of CSV text: their types, and their cells with given types."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from pnml.readers.batches import one_array
from pnml.readers.cell_formats import SIGNS, CellFormats
from pnml.readers.column_type import is_number, joined
from pnml.readers.expected import Expected, read_or_null, with_unreadable
from pnml.readers.leading_zeros import padded_columns

_SAMPLE = 100  # cells that tell a column of words from one of numbers or dates
_MOST = 0.5  # share of cells written as dates, above which an impossible one is no word
_PADDED = r"^\s*[+-]?0\d+\s*$"

# Bytes of a block with types for some columns, and only some of the columns, as a table.
Parse = Callable[[bytes, Mapping[str, pa.DataType] | None, Collection[str] | None], pa.Table]


class Look(NamedTuple):
    """What the first block of rows of a CSV file tells of its columns.

    `schema` has the types of all columns; `padded` are names of columns of whole numbers with a
    cell such as 007; `impossible_dates` are text columns that would be dates but for one that does
    not exist.
    """

    schema: pa.Schema
    padded: list[str]  # columns of whole numbers with a cell such as 007
    impossible_dates: list[str]  # text columns that would be dates but for one that does not exist


class CsvColumns:
    """Types and cells of the columns of a CSV file, in its formats of numbers and dates.

    `parse` turns the bytes of a block of rows into a table; `names` are all columns of the file.
    """

    def __init__(self, parse: Parse, names: tuple[str, ...], delimiter: str, formats: CellFormats):
        self._parse, self._names, self._delimiter = parse, names, delimiter
        self.formats = formats
        self._as_text: set[str] = set()  # columns that only our own formats read

    def inferred(self, data: bytes) -> pa.Schema:
        """The column types of a block of rows, inferred from its cells alone."""
        return self._typed(self._parse(data, None, None), data)

    def look(self, data: bytes) -> Look:
        """Types and odd cells of the columns, from the first block of rows."""
        table = self._parse(data, None, None)
        schema = self._typed(table, data)
        texts = [field.name for field in schema if pt.is_string(field.type)]
        impossible = [name for name in texts if self._has_impossible(one_array(table[name]))]
        return Look(schema, self.padded(data, schema), impossible)

    def _typed(self, table: pa.Table, data: bytes) -> pa.Schema:
        if self.formats.is_digits:
            table = self._with_digit_dates(table, data)
        fields = []
        for field in table.schema:
            if pt.is_string(field.type):
                kind = self._format_of(table[field.name])
                if kind is not None:
                    self._as_text.add(field.name)
                    field = field.with_type(kind)
            fields.append(field)
        return pa.schema(fields)

    def _with_digit_dates(self, table: pa.Table, data: bytes) -> pa.Table:
        """The table with text for columns of whole numbers that are dates such as 20241231."""
        names = [field.name for field in table.schema if pt.is_integer(field.type)]
        texts = self._parse(data, dict.fromkeys(names, pa.string()), names)
        for name in names:
            if self.formats.are_dates(one_array(texts[name])):
                table = table.set_column(table.column_names.index(name), name, texts[name])
        return table

    def _has_impossible(self, cells: pa.Array) -> bool:
        """Whether most of the first cells are written as dates, and one of all is impossible."""
        cells = cells.drop_null()
        _, dates = self.formats.share(cells[:_SAMPLE].to_pylist())
        return dates > _MOST and bool(self.formats.impossible_dates(cells))

    def converted(
        self, data: bytes, schema: pa.Schema, expected: Expected
    ) -> pa.RecordBatch | pa.Schema | None:
        """The rows of a block with the types of `schema`; wider types, or None, if they do not fit.

        Wider types come as a schema to read the block with instead; None: infer the types from the
        block.
        """
        own = {name for name in self._as_text if name in schema.names} - _texts(schema)
        types = {field.name: field.type for field in schema}
        try:
            table = self._parse(data, types | dict.fromkeys(own, pa.string()), schema.names)
        except pa.ArrowInvalid:
            if not (expected.lenient or self._may_be_formatted(data)):
                return None
            own = {f.name for f in schema if is_number(f.type) or pt.is_temporal(f.type)}
            try:
                table = self._parse(data, types | dict.fromkeys(own, pa.string()), schema.names)
            except pa.ArrowInvalid:
                return None
        if own:
            return self._own_formats(table, schema, own, expected)
        arrays = [one_array(table[name]) for name in schema.names]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def padded(self, data: bytes, schema: pa.Schema) -> list[str]:
        """Names of columns of whole numbers with a cell such as 007 in the block of rows."""
        numbers = [field.name for field in schema if pt.is_integer(field.type)]
        if not numbers:
            return []
        places = padded_columns(data, self._delimiter, len(self._names))
        if places is not None:
            return [name for name in numbers if self._names.index(name) in places]
        texts = self._parse(data, dict.fromkeys(numbers, pa.string()), numbers)
        return [
            name
            for name in numbers
            if pc.any(pc.match_substring_regex(texts[name], _PADDED)).as_py()
        ]

    def _format_of(self, column: pa.ChunkedArray) -> pa.DataType | None:
        cells = one_array(column).drop_null()
        # the first use of pyarrow's own functions on such cells imports pandas, which takes time
        numbers, dates = self.formats.share(cells[:_SAMPLE].to_pylist())
        if numbers < 1 and (self.formats.date_format is None or dates < 1):
            return None
        return self.formats.type_of(cells)

    def _may_be_formatted(self, data: bytes) -> bool:
        formats = self.formats
        if formats.thousands is not None or formats.date_format is not None:
            return True
        return any(sign.encode() in data for sign in SIGNS)

    def _own_formats(
        self, table: pa.Table, schema: pa.Schema, own: set[str], expected: Expected
    ) -> pa.RecordBatch | pa.Schema | None:
        arrays, unreadable, wider = [], {}, schema
        for place, field in enumerate(schema):
            column = one_array(table[field.name])
            if field.name in own:
                texts = column
                column, failed = read_or_null(
                    texts, field.type, self.formats, expected.zone_of(field.name)
                )
                if failed.null_count < len(failed):
                    if not self._may_be_null(field, failed, expected):
                        return None
                    unreadable[field.name] = failed
                    kind = self._wider(field.type, failed)
                    wider = wider.set(place, field.with_type(kind))
                elif column.null_count == texts.null_count and not expected.lenient:
                    self._note(field.name, texts, field.type)
            arrays.append(column)
        if not wider.equals(schema):
            return wider
        return with_unreadable(arrays, schema, unreadable)

    def _note(self, name: str, texts: pa.Array, kind: pa.DataType) -> None:
        """Remember a column whose cells pyarrow cannot read by itself."""
        if name in self._as_text:
            return
        try:
            texts.cast(kind)
        except pa.ArrowInvalid:
            self._as_text.add(name)

    def _may_be_null(self, field: pa.Field, failed: pa.Array, expected: Expected) -> bool:
        if expected.may_be_null(field.name):
            return True
        if not expected.lenient or not pt.is_temporal(field.type):
            return False
        failed = failed.drop_null()
        return len(self.formats.impossible_dates(failed)) == len(pc.unique(failed))

    def _wider(self, kind: pa.DataType, failed: pa.Array) -> pa.DataType:
        """The type that more of the cells can be read with."""
        other = pa.float64() if is_number(kind) else pa.timestamp("us", getattr(kind, "tz", None))
        both = joined(kind, other)
        if both is None or both.equals(kind):
            return kind
        return both if self.formats.read(failed, both).null_count < len(failed) else kind


def _texts(schema: pa.Schema) -> set[str]:
    return {field.name for field in schema if pt.is_string(field.type)}
