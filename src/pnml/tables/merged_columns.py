"""Merge one column of several encoders, and map its encoded numbers to the merged column."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.tables.encoder import CategoryColumn, ConstantColumn, HashedColumn, NumberColumn
from pnml.tables.encoder_columns import AnyColumn
from pnml.tables.roles import MOST_LEVELS
from pnml.tables.word_hashes import PLACES, Hashes, hash_signs, hash_slots, word_hashes
from pnml.tables.word_times import MOST, Times, none_seen, seen_again


def kind_of(column: AnyColumn) -> str:
    """Kind of a column for merging models: "number", "date", "word", or "gap" if always empty.

    Times count as numbers, since older model files call them so.
    """
    return "number" if column.kind == "time" else column.kind


def zone_of(same: Sequence[AnyColumn]) -> bool | None:
    """Whether the dates of a column name a time zone; None if the models differ or do not know.

    `same` holds this column of each model.
    """
    zones = zones_of(same)
    return zones.pop() if len(zones) == 1 else None


def zones_of(same: Sequence[AnyColumn]) -> set[bool | None]:
    """Whether the dates of a column name a time zone, in each of several models; None: unknown."""
    dates = [c for c in same if isinstance(c, NumberColumn | ConstantColumn) and c.kind == "date"]
    return {column.has_zone for column in dates}


def joined_column(same: Sequence[AnyColumn], place: int) -> AnyColumn:
    """The merged column of several models, at positions from `place` on in an encoded row.

    `same` holds the column of one name in each model.
    """
    kinds = {kind_of(column) for column in same}
    gaps = "gap" in kinds or any(column.missing is not None for column in same)
    if kinds == {"gap"}:
        return same[0]
    if kinds <= {"number", "date", "gap"}:
        return _numbers(same, place, gaps, "date" in kinds)
    return _words(same, place, gaps)


def _numbers(same: Sequence[AnyColumn], place: int, gaps: bool, is_date: bool) -> AnyColumn:
    numbers = [c for c in same if isinstance(c, NumberColumn)]
    constants = [c for c in same if isinstance(c, ConstantColumn) and c.low is not None]
    low, high = _range([*numbers, *constants])
    name = same[0].name
    if not numbers and low == high and not gaps:
        return ConstantColumn(name, constants[0].kind, low, high, has_zone=zone_of(same))
    fill, scale = (numbers[0].fill, numbers[0].scale) if numbers else (low or 0.0, 1.0)
    missing = place + 1 if gaps else None
    is_time = any(column.kind == "time" for column in same)
    return NumberColumn(
        name, is_date, fill, scale, place, missing, low, high, is_time, zone_of(same)
    )


def _range(columns: Sequence[NumberColumn | ConstantColumn]) -> tuple[float | None, float | None]:
    """Least and largest value in any model; None where one of them does not know its own."""
    lows = [c.low for c in columns if c.low is not None]
    highs = [c.high for c in columns if c.high is not None]
    if len(lows) < len(columns) or len(highs) < len(columns):
        return None, None
    return min(lows), max(highs)


def _words(same: Sequence[AnyColumn], place: int, gaps: bool) -> AnyColumn:
    name = same[0].name
    words = dict.fromkeys(word for column in same for word in _levels(column))
    hashed = [c for c in same if isinstance(c, HashedColumn)]
    if len(words) == 1 and not hashed and not gaps:
        return ConstantColumn(name, "word", word=next(iter(words)))
    known, times = _joint_times(same)
    if not hashed and len(words) <= MOST_LEVELS:
        end = place + len(words)
        missing = end if gaps else None
        order = np.searchsorted(known, word_hashes(words))
        often = () if times is None else tuple(times[order].tolist())
        return CategoryColumn(name, tuple(words), (*range(place, end),), missing, often)
    end = place + PLACES
    return HashedColumn(name, known, tuple(range(place, end)), end if gaps else None, times)


def _joint_times(same: Sequence[AnyColumn]) -> tuple[Hashes, Times | None]:
    """Sorted hashes of the words of all models, and their counts; None if a model has no counts."""
    known, times = np.zeros(0, dtype=np.int64), none_seen()
    forgotten = False
    for column in same:
        if isinstance(column, HashedColumn):
            hashes, seen = column.known, column.times
        else:
            hashes, seen = word_hashes(_levels(column)), _times(column)
        forgotten |= seen is None
        more = np.ones(len(hashes), dtype=int) if seen is None else seen
        known, times = seen_again(known, times, hashes, more)
    return known, None if forgotten else times


def _times(column: AnyColumn) -> Times | None:
    """How often training saw each word of a column, at most 3; None if the model has no counts."""
    if isinstance(column, CategoryColumn):
        return np.array(column.times, dtype=np.uint8) if column.times else None
    return np.full(len(_levels(column)), MOST, dtype=np.uint8)


def _levels(column: AnyColumn) -> tuple[str, ...]:
    if isinstance(column, CategoryColumn):
        return column.levels
    return (column.word,) if isinstance(column, ConstantColumn) and column.word is not None else ()


def move(A: FloatArray, b: FloatArray, new: AnyColumn, old: AnyColumn) -> None:
    """Write the map from one column of a model to the merged column into A and b. Eq. (B3).

    x → A x + b takes encoded rows of that model to those of the merged model. `old` and `new` are
    the column in the two models; only the entries of A and b at their positions are written.
    """
    if isinstance(new, ConstantColumn):
        return
    if isinstance(new, NumberColumn):
        _move_number(A, b, new, old)
    else:
        _move_words(A, b, new, old)
    if new.missing is None:
        return
    if old.missing is not None:
        A[new.missing, old.missing] = 1.0
    elif isinstance(old, ConstantColumn) and old.kind == "gap":
        b[new.missing] = 1.0


def _move_number(A: FloatArray, b: FloatArray, new: NumberColumn, old: AnyColumn) -> None:
    """Change the unit and the zero of a column; missing cells stay at zero."""
    if isinstance(old, NumberColumn):
        A[new.value, old.value] = old.scale / new.scale
        b[new.value] = shift = (old.fill - new.fill) / new.scale
        if old.missing is not None:
            A[new.value, old.missing] = -shift
    elif isinstance(old, ConstantColumn) and old.low is not None:
        b[new.value] = (old.low - new.fill) / new.scale


def _move_words(
    A: FloatArray, b: FloatArray, new: CategoryColumn | HashedColumn, old: AnyColumn
) -> None:
    if isinstance(old, HashedColumn):
        A[new.places[:PLACES], old.hash_places] = 1.0  # merged words are hashed, too
        return
    levels = _levels(old)
    if isinstance(new, CategoryColumn):
        place_of = dict(zip(new.levels, new.level_places, strict=True))
        places, signs = [place_of[word] for word in levels], np.ones(len(levels))
    else:
        hashes = word_hashes(levels)
        places = np.array(new.hash_places)[hash_slots(hashes)].tolist()
        signs = hash_signs(hashes)
    for k, (place, sign) in enumerate(zip(places, signs, strict=True)):
        if isinstance(old, CategoryColumn):
            A[place, old.level_places[k]] = sign
        else:
            b[place] = sign
