"""One set of columns and types for all the files of a table."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from pnml.errors import InputError
from pnml.readers.csv_file import CsvPart
from pnml.readers.csv_rows import Block
from pnml.readers.file_errors import listed
from pnml.readers.promotion import is_number, joined, joined_or_text
from pnml.readers.typed_file import TypedPart

Part = CsvPart | TypedPart


def common_schema(parts: Sequence[Part], full: Part | None, name: str) -> pa.Schema:
    """Columns in the order of the first file; of CSV files only `full`, with rows, is looked into.

    Columns that were not asked for may differ.
    """
    for part in parts[1:]:
        _refuse_other_columns(parts[0], part)
    if full is None:
        what = "a header" if isinstance(parts[0], CsvPart) else "columns"
        raise InputError(f"{name} has {what} but no rows; give a table with rows.")
    schema = pa.schema([full.schema.field(column) for column in parts[0].columns])
    for part in parts:
        if isinstance(part, TypedPart):
            schema = _joined(schema, part, full)
    return schema


def wanted_schema(schema: pa.Schema, numeric: set[str], text: set[str]) -> pa.Schema:
    """The types to read CSV columns with at first.

    >>> wanted_schema(pa.schema([("code", pa.int64())]), set(), {"code"}).types
    [DataType(string)]
    """
    fields = []
    for field in schema:
        if field.name in text:
            fields.append(field.with_type(pa.string()))
        elif field.name in numeric and not is_number(field.type):
            fields.append(field.with_type(pa.float64()))
        else:
            fields.append(field)
    return pa.schema(fields)


def widened_schema(
    schema: pa.Schema, found: pa.Schema, part: CsvPart, block: Block, numeric: set[str]
) -> pa.Schema:
    """Types that also hold a block that by itself has the types found."""
    texts = [
        name
        for name in part.names
        if name in numeric and not (is_number(kind := found.field(name).type) or _is_null(kind))
    ]
    if texts:
        part.refuse_text(block, texts)
    wider = joined_schema(schema, found)
    if wider.equals(schema):
        # A moment may be too far away for the unit that all others have.
        wider = pa.schema(
            field.with_type(pa.string()) if pa.types.is_temporal(field.type) else field
            for field in schema
        )
    if wider.equals(schema):
        raise InputError(
            f"{part.file.name} holds cells that fit no type; look for odd cells in its columns."
        )
    return wider


def joined_schema(schema: pa.Schema, other: pa.Schema) -> pa.Schema:
    """Types for the cells of CSV columns of which two blocks gave these types."""
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
        f"{other.file.name} {' and '.join(words)} as against {first.file.name}; "
        "give files with the same columns."
    )


def _joined(schema: pa.Schema, part: TypedPart, first: Part) -> pa.Schema:
    fields = []
    for field in schema:
        other = part.schema.field(field.name).type
        kind = joined(field.type, other)
        if kind is None:
            raise InputError(
                f"Column {field.name!r} is {other} in {part.file.name} but {field.type} in "
                f"{first.file.name}; write both with one type."
            )
        fields.append(field.with_type(kind))
    return pa.schema(fields)


def _is_null(kind: pa.DataType) -> bool:
    return bool(pa.types.is_null(kind))
