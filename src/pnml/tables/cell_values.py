"""Cells of a column as numbers or as words, from any arrow type."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from pnml.core.arrays import FloatArray
from pnml.errors import InputError, shorten

_DAY = 86_400e6  # microseconds

_SIGN = "[$€£¥%]?"
_GAP = r" \x{A0}\x{202F}"  # spaces, some of which break no line
_NUMBER = (
    rf"^\s*[+-]?{_SIGN}\s*[+-]?(\d+([.,]\d+)?|\d{{1,3}}([,'{_GAP}]\d{{3}})+([.,]\d+)?"
    rf"|\d{{1,3}}(\.\d{{3}})+,\d+)\s*{_SIGN}\s*$"
)
_DATE = r"^\s*\d{1,2}[/.]\d{1,2}[/.](\d{4}|\d{2})\b"
_DISGUISES = (
    (_NUMBER, "numbers", "1234.5", "--decimal and --thousands"),
    (_DATE, "dates", "2024-12-31", "--date-format"),
)

BoolArray = npt.NDArray[np.bool_]
Column: TypeAlias = pa.Array | pa.ChunkedArray


def is_date(kind: pa.DataType) -> bool:
    """Whether an arrow type is one of points in time: dates or timestamps."""
    return bool(pt.is_timestamp(kind) or pt.is_date(kind))


def is_number(kind: pa.DataType) -> bool:
    """Whether an arrow type is one of amounts: numbers, times of day or durations."""
    numeric = pt.is_integer(kind) or pt.is_floating(kind) or pt.is_decimal(kind)
    return bool(numeric or pt.is_time(kind) or pt.is_duration(kind))


def is_words(kind: pa.DataType) -> bool:
    """Whether an arrow type is treated as words: text, truth values, or categories of such values.

    Categories of whole numbers are words, too.
    """
    if pt.is_dictionary(kind):
        return is_words(kind.value_type) or bool(pt.is_integer(kind.value_type))
    text = pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind)
    return bool(text or pt.is_boolean(kind))


def as_numbers(column: Column, name: str) -> FloatArray:
    """Cells of a column as numbers (n,) in float64; times in seconds; NaN where missing.

    Raises InputError for dates and for text that is no number; `name` is the column, for messages.
    """
    kind = column.type
    if pt.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    try:
        if pt.is_time(kind) or pt.is_duration(kind):
            return _as_time(column)
        if is_date(kind):
            raise pa.ArrowInvalid("a date is no amount")
        if is_words(kind) and not pt.is_boolean(kind):
            column = pc.utf8_trim_whitespace(column.cast(pa.string()))
        return _floats(column.cast(pa.float64(), safe=False))  # long integers lose a digit
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InputError(
            f"Column {shorten(name)!r} holds {first_non_number(column)}, but the model knows it as "
            "a number; correct the cell, or fit anew with --categorical or --drop for this column."
        ) from error


def as_dates(column: Column, name: str) -> FloatArray:
    """Cells of a column as days since 1970 (n,), NaN where missing; text is read as ISO 8601 dates.

    Raises InputError for cells that are no dates; `name` is the column, for messages.
    """
    kind = column.type
    if is_date(kind):
        return _as_time(column)
    try:
        if not (is_words(kind) or pt.is_null(kind)):
            raise pa.ArrowInvalid("a number is no date")
        return _as_time(_moments(column.cast(pa.string())))
    except pa.ArrowInvalid as error:
        raise InputError(
            f"Column {shorten(name)!r} holds {first_non_number(column)}, but the model knows it as "
            "a date; write dates as YYYY-MM-DD, or fit anew with --drop for this column."
        ) from error


def _moments(words: Column) -> Column:
    """Words of ISO 8601 as moments, those with an offset from UTC as moments of UTC."""
    words = pc.utf8_trim_whitespace(words)
    has_offset = pc.match_substring_regex(words, r"(Z|[+-]\d{2}:?\d{2})$")
    local = pc.if_else(has_offset, None, words).cast(pa.timestamp("us"))
    shifted = pc.if_else(has_offset, words, None).cast(pa.timestamp("us", "UTC"))
    return pc.coalesce(local, shifted.cast(pa.timestamp("us")))


def as_words(column: Column, name: str) -> pa.DictionaryArray:
    """Cells of a column as an arrow dictionary array of strings; missing cells are null.

    Raises InputError for types without text, such as lists; `name` is the column, for messages.
    """
    kind = column.type
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pt.is_dictionary(kind):
        if pt.is_string(kind.value_type) and column.dictionary.null_count == 0:
            return column
        column, kind = column.dictionary_decode(), kind.value_type
    if pt.is_floating(kind):
        column = pc.if_else(pc.is_nan(column), None, column)
    try:
        return column.cast(pa.string()).dictionary_encode()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InputError(
            f"Column {shorten(name)!r} holds cells of type {shorten(kind)}, which cannot be "
            "written as words; turn them into text or numbers, or fit with --drop for this column."
        ) from error


def codes_of(words: pa.DictionaryArray) -> npt.NDArray[np.int64]:
    """Index (n,) of each cell's word in the dictionary of `words`; −1 for missing cells."""
    codes: npt.NDArray[np.int64] = pc.fill_null(words.indices.cast(pa.int64()), -1).to_numpy(
        zero_copy_only=False
    )
    return codes


def looks_numeric(values: pa.Array) -> npt.NDArray[np.bool_]:
    """Booleans (n,): whether a text is a plain number such as 1.5e3; a code such as 007 is not."""
    pattern = r"^\s*[+-]?((0|[1-9]\d*)\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
    matches: npt.NDArray[np.bool_] = pc.fill_null(
        pc.match_substring_regex(values, pattern), False
    ).to_numpy(zero_copy_only=False)
    return matches


def are_codes(words: pa.Array) -> bool:
    """Whether any of the words is a code: digits with a leading zero, such as 007."""
    return bool(pc.any(pc.match_substring_regex(words, r"^\s*[+-]?0\d+\s*$")).as_py())


def unread_format(words: pa.Array) -> str:
    """Part of a message, if words are numbers or dates in a format that is not read; else "".

    >>> unread_format(pa.array(["1,234.50", "950.00"]))
    "numbers written as '1,234.50', but without --decimal and --thousands only 1234.5 is read"
    """
    if are_codes(words):
        return ""
    words = words.filter(pa.array(~looks_numeric(words))).drop_null()
    for pattern, what, plain, options in _DISGUISES:
        if len(words) and pc.all(pc.match_substring_regex(words, pattern)).as_py():
            example = shorten(words[0].as_py())
            return f"{what} written as {example!r}, but without {options} only {plain} is read"
    return ""


def _as_time(column: Column) -> FloatArray:
    kind = column.type
    if is_date(kind):
        stamps = column.cast(pa.timestamp("us", tz=getattr(kind, "tz", None)), safe=False)
        return _floats(stamps.cast(pa.int64()).cast(pa.float64(), safe=False)) / _DAY
    if pt.is_time(kind):
        column = column.cast(pa.time64("us"))
    else:
        column = column.cast(pa.duration("us"), safe=False)
    return _floats(column.cast(pa.int64()).cast(pa.float64(), safe=False)) / 1e6


def _floats(column: Column) -> FloatArray:
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    values: FloatArray = column.to_numpy(zero_copy_only=False)
    return values


def first_non_number(column: Column) -> str:
    """Text for a message: the first cell that is not a number, quoted, or the type of the cells."""
    if not is_words(column.type):
        return f"cells of type {shorten(column.type)}"
    words = column.cast(pa.string())
    odd = ~looks_numeric(words) & ~words.is_null().to_numpy(zero_copy_only=False)
    first = int(odd.argmax())
    return f"{shorten(words[first].as_py())!r}" if odd.any() else "words"
