"""Cells to be scored that are no numbers or dates: marked as bad, never an error."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from pnml.core.arrays import FloatArray
from pnml.tables.cell_values import (
    BoolArray,
    Column,
    as_dates,
    as_numbers,
    codes_of,
    is_date,
    is_words,
)

IntArray = npt.NDArray[np.int64]

# Readers deliver cells that they cannot read as numbers in a column of this name and the
# column's own: the text of the cell, null where the cell was read.
UNREADABLE = "\0unreadable:"

_DATE = re.compile(
    r"\s*\d{4,6}-\d{2}-\d{2}"
    r"(Z|[ T]\d{2}(:\d{2}(:\d{2}(\.\d+)?)?)?(?P<zone>Z|[+-]\d{2}:?\d{2})?)?\s*"
)
_TIME = re.compile(r"\s*(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?\s*")
_ZONE = r":\d{2}(\.\d+)?(Z|[+-]\d{2}:?\d{2})\s*$"
_NO_DATE = "a date of another kind"
_HOURS, _MINUTES = 24, 60
_GAPS = ("", "nan")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = timedelta(days=1)


def read_cells(
    cells: Column, name: str, kind: str, has_zone: bool | None = None
) -> tuple[FloatArray, BoolArray]:
    """Numbers, days or seconds (n,) of cells, NaN where there is none, and which (n,) are bad.

    `kind` is "number", "date" (days since 1970) or "time" (seconds). A date is bad if it names a
    time zone although `has_zone` is False, or names none although it is True; if `has_zone` is
    None, most of these cells decide.

    >>> read_cells(pa.array(["1.5", "abc", None]), "age", "number")
    (array([1.5, nan, nan]), array([False,  True, False]))
    """
    type_ = cells.type
    if pt.is_dictionary(type_):
        cells, type_ = cells.cast(type_.value_type), type_.value_type
    text = is_words(type_) and not pt.is_boolean(type_)
    if not (text or pt.is_null(type_)):
        unlike = is_date(type_) and has_zone not in (None, _is_zoned(type_))
        if unlike or is_date(type_) != (kind == "date"):
            return np.full(len(cells), np.nan), _valid(cells)
        read = as_dates if kind == "date" else as_numbers
        return read(cells, name), np.zeros(len(cells), dtype=bool)
    words = cells.cast(pa.string())
    try:
        if kind == "date":
            odd = _odd_zones(words, has_zone)
            return np.where(odd, np.nan, as_dates(words, name)), odd
        values = pc.utf8_trim_whitespace(words).cast(pa.float64())
        return _floats(values), np.zeros(len(cells), dtype=bool)
    except (pa.ArrowInvalid, ValueError):
        return _one_by_one(words, kind, has_zone)


def names_zone(cells: Column) -> bool:
    """Whether a column of dates has a time zone; for text, whether most cells name one.

    >>> names_zone(pa.array(["2024-01-31T10:00:00Z"])), names_zone(pa.array(["2024-01-31"]))
    (True, False)
    """
    type_ = cells.type
    if pt.is_dictionary(type_):
        cells, type_ = cells.cast(type_.value_type), type_.value_type
    if not is_words(type_):
        return _is_zoned(type_)
    found = zoned(cells.cast(pa.string()))
    return bool(2 * found.sum() > _valid(cells).sum())


def first_of_other_zone(words: Column, has_zone: bool) -> str | None:
    """The first date with a time zone if `has_zone` is False, or without one if True; or None."""
    words = words.cast(pa.string())
    places = np.flatnonzero(_odd_zones(words, has_zone))
    return str(words[int(places[0])].as_py()) if len(places) else None


def _is_zoned(type_: pa.DataType) -> bool:
    return getattr(type_, "tz", None) is not None


def zoned(words: Column) -> BoolArray:
    """Booleans (n,): whether each date, given as text, names a time zone such as Z or +02:00."""
    if isinstance(words, pa.ChunkedArray):
        words = words.combine_chunks()
    matches = pc.fill_null(pc.match_substring_regex(words, _ZONE), False)
    found: BoolArray = matches.to_numpy(zero_copy_only=False)
    return found


def _odd_zones(words: Column, has_zone: bool | None) -> BoolArray:
    """Booleans (n,): dates that name a time zone but must not, or name none but must."""
    if has_zone is None:
        has_zone = names_zone(words)
    found = zoned(words)
    return _valid(words) & ~found if has_zone else found


def _one_by_one(words: Column, kind: str, has_zone: bool | None) -> tuple[FloatArray, BoolArray]:
    """Values of texts and which are bad, found by reading each distinct text on its own."""
    if isinstance(words, pa.ChunkedArray):
        words = words.combine_chunks()
    if kind == "date":
        words = pc.if_else(pa.array(_odd_zones(words, has_zone)), _NO_DATE, words)
    coded = words.dictionary_encode()
    read = {"date": _days, "time": _seconds}.get(kind, _number)
    values = np.array([*map(read, coded.dictionary.to_pylist()), np.nan])
    codes = codes_of(coded)
    numbers = values[codes]  # code −1, missing, takes the last
    gaps = (word.strip().lower() in _GAPS for word in coded.dictionary.to_pylist())
    blank = np.array([*gaps, True])
    return numbers, np.isnan(numbers) & ~blank[codes]


def _number(word: str) -> float:
    try:
        return float(word) if "_" not in word else np.nan
    except ValueError:
        return np.nan


def _seconds(word: str) -> float:
    if not (found := _TIME.fullmatch(word)):
        return _number(word)
    hours, minutes, seconds = found.groups(default="0")
    return 3600 * int(hours) + 60 * int(minutes) + float(seconds)


def _days(word: str) -> float:
    if not _DATE.fullmatch(word):
        return np.nan
    try:
        stamp = datetime.fromisoformat(word.strip())
    except ValueError:
        return np.nan
    return (stamp.replace(tzinfo=stamp.tzinfo or UTC) - _EPOCH) / _DAY


def unread_date(words: pa.Array) -> int | None:
    """Index of the first word that is a date that does not exist, such as 2024-02-30; or None."""
    for place, word in enumerate(words.to_pylist()):
        if word is not None and _DATE.fullmatch(word) and np.isnan(_days(word)):
            return place
    return None


def odd_zones(words: pa.Array, counts: IntArray) -> IntArray:
    """Indices of the dates that differ from most: with a time zone among dates without, or reverse.

    `words` are distinct dates as text, `counts` (n,) the number of cells that hold each.
    """
    found = [_DATE.fullmatch(word) for word in words.to_pylist()]
    zoned = np.array([match is not None and match["zone"] is not None for match in found])
    fewer = zoned if 2 * counts[zoned].sum() <= counts.sum() else ~zoned
    return np.flatnonzero(fewer).astype(np.int64)


def odd_times(words: pa.Array, counts: IntArray) -> IntArray:
    """Indices of impossible times such as 24:00:00, if all words are times and most are possible.

    `counts` (n,) is the number of cells that hold each word. Otherwise the result is empty.
    """
    found = [_TIME.fullmatch(word or "") for word in words.to_pylist()]
    if not all(found):
        return np.zeros(0, dtype=np.int64)
    parts = [tuple(float(part) for part in match.groups(default="0")) for match in found if match]
    odd = np.array([h >= _HOURS or m >= _MINUTES or s >= _MINUTES for h, m, s in parts], dtype=bool)
    few = 2 * counts[odd].sum() < counts.sum()
    return np.flatnonzero(odd & few).astype(np.int64)


def are_dates(words: pa.Array) -> BoolArray:
    """Booleans (n,): whether each word is written as an ISO 8601 date, which may not exist."""
    return np.array([w is not None and bool(_DATE.fullmatch(w)) for w in words.to_pylist()])


def _valid(cells: Column) -> BoolArray:
    if isinstance(cells, pa.ChunkedArray):
        cells = cells.combine_chunks()
    valid: BoolArray = pc.is_valid(cells).to_numpy(zero_copy_only=False)
    return valid


def _floats(column: Column) -> FloatArray:
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    values: FloatArray = column.to_numpy(zero_copy_only=False)
    return values
