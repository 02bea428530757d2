"""The common schema of the files of a table."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from pnml.errors import MOST_PATH, InputError, shorten
from pnml.readers.column_type import is_number, joined, joined_or_text
from pnml.readers.csv_file import CsvFile
from pnml.readers.csv_text import Block
from pnml.readers.expected import Expected, is_text
from pnml.readers.file_errors import listed
from pnml.readers.frame_part import FramePart
from pnml.readers.parquet_or_arrow_file import TypedFile

Part = CsvFile | TypedFile | FramePart  # one file of a table, or a table in memory


def common_schema(parts: Sequence[Part], full: Part | None, name: str) -> pa.Schema:
    """The schema of all files of a table: columns of the first file, types that hold all cells.

    CSV columns have the types of `full`, the first file with rows; None if no file has rows, which
    raises InputError. All files must have the columns that were asked for; others may differ.
    `name` is that of the table, for messages.
    """
    for part in parts[1:]:
        _refuse_other_columns(parts[0], part)
    if full is None:
        what = "a header" if isinstance(parts[0], CsvFile) else "columns"
        raise InputError(
            f"{shorten(name, MOST_PATH)} has {what} but no rows; give a table with rows."
        )
    schema = pa.schema([full.schema.field(column) for column in parts[0].columns])
    for part in parts:
        if not isinstance(part, CsvFile):
            schema = _joined(schema, part, full)
    return schema


def wanted_schema(schema: pa.Schema, expected: Expected, text: set[str]) -> pa.Schema:
    """The schema to start reading CSV columns with: `text` as text, others as expected of them.

    >>> wanted_schema(pa.schema([("code", pa.int64())]), Expected(), {"code"}).types
    [DataType(string)]
    """
    return pa.schema(
        field.with_type(pa.string() if field.name in text else expected.type_of(field))
        for field in schema
    )


def wanted_typed(schema: pa.Schema, expected: Expected, text: set[str]) -> pa.Schema:
    """The schema of a typed table, in which text is to be read as the numbers or dates expected.

    Columns in `text` stay text.

    >>> expected = Expected.of(["x"], lenient=True)
    >>> wanted_typed(pa.schema([("x", pa.string())]), expected, set()).types
    [DataType(double)]
    """
    return pa.schema(
        field.with_type(expected.type_of(field))
        if is_text(field.type) and field.name not in text
        else field
        for field in schema
    )


def widened_schema(
    schema: pa.Schema, of_block: pa.Schema, part: CsvFile, block: Block, expected: Expected
) -> pa.Schema:
    """The schema with types widened so that they also hold a block of rows of a CSV file.

    `of_block` are the types of the block by itself. Unless reading is lenient, raises InputError
    for text in columns of numbers and for dates that do not exist.
    """
    if expected.lenient:
        of_block = _as_expected(schema, of_block, expected)
    else:
        _refuse_bad_cells(schema, of_block, part, block, expected)
    wider = joined_schema(schema, of_block)
    if wider.equals(schema):
        # A timestamp may be out of range for the unit of all others.
        wider = pa.schema(
            field.with_type(pa.string()) if pa.types.is_temporal(field.type) else field
            for field in schema
        )
    if wider.equals(schema):
        raise InputError(
            f"{part.file.label} holds cells that fit no type; look for odd cells in its columns."
        )
    return wider


def _refuse_bad_cells(
    schema: pa.Schema, of_block: pa.Schema, part: CsvFile, block: Block, expected: Expected
) -> None:
    """Raise for text among numbers, and for dates that do not exist."""
    kinds = {name: of_block.field(name).type for name in part.names if name in of_block.names}
    texts = [
        name
        for name, kind in kinds.items()
        if name in expected.numeric and not (is_number(kind) or _is_null(kind))
    ]
    if texts:
        part.refuse_text(block, texts)
    dates = [
        field.name
        for field in schema
        if (_is_null(field.type) or pa.types.is_temporal(field.type))
        and pa.types.is_string(kinds[field.name])
    ]
    part.refuse_impossible_dates(block, dates)


def _as_expected(schema: pa.Schema, of_block: pa.Schema, expected: Expected) -> pa.Schema:
    """The types of a block, but those of `schema` for text in columns where text becomes null."""
    return pa.schema(
        schema.field(field.name)
        if field.name in schema.names
        and expected.may_be_null(field.name)
        and joined(schema.field(field.name).type, field.type) is None
        else field
        for field in of_block
    )


def joined_schema(schema: pa.Schema, other: pa.Schema) -> pa.Schema:
    """The schema with each type widened to hold that of the same column in `other`; else text."""
    return pa.schema(
        field.with_type(joined_or_text(field.type, other.field(field.name).type))
        for field in schema
    )


def _refuse_other_columns(first: Part, other: Part) -> None:
    ours, theirs = set(first.columns), set(other.columns)
    lacking = [name for name in first.columns if name not in theirs]
    more = [name for name in other.columns if name not in ours]
    if not lacking and not more:
        return
    words = []
    if lacking:
        words.append(f"lacks {listed(lacking)}")
    if more:
        words.append(f"also has {listed(more)}")
    raise InputError(
        f"{other.file.label} {' and '.join(words)} as against {first.file.label}; "
        "give files with the same columns."
    )


def _joined(schema: pa.Schema, part: TypedFile | FramePart, first: Part) -> pa.Schema:
    fields = []
    for field in schema:
        other = part.schema.field(field.name).type
        kind = joined(field.type, other)
        if kind is None:
            raise InputError(
                f"Column {shorten(field.name)!r} is {shorten(other)} in {part.file.label} but "
                f"{shorten(field.type)} in {first.file.label}; write both with one type."
            )
        fields.append(field.with_type(kind))
    return pa.schema(fields)


def _is_null(kind: pa.DataType) -> bool:
    return bool(pa.types.is_null(kind))
