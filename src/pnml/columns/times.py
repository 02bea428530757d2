"""Dates and durations as numbers, and back to text."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from pnml.core.arrays import FloatArray

_DAY = 86_400e6  # microseconds
_SECOND = 1e6
_FINER = ("ns", "ps", "fs", "as")
_COARSER = {"us": 1.0, "ms": 1e3, "s": 1e6, "m": 60e6, "h": 3600e6, "D": _DAY, "W": 7 * _DAY}

DateUnit = Literal["D", "s", "us"]
_MOST_DAYS = 1e8  # datetime64[us] ends a little later


def days(stamps: npt.NDArray[np.datetime64]) -> FloatArray:
    """Days since 1970 (n,) of dates; NaN for NaT. Every time unit gives the same numbers."""
    return _microseconds(stamps) / _DAY


def seconds(spans: npt.NDArray[np.timedelta64]) -> FloatArray:
    """Seconds (n,) of time spans; NaN for NaT."""
    return _microseconds(spans) / _SECOND


def stamps_of(cells: list[Any]) -> npt.NDArray[np.datetime64]:
    """Dates and datetimes as datetime64 (n,) in UTC; those without a time zone stay as they are."""
    return np.array([_plain(cell) for cell in cells], dtype="datetime64[us]")


def seconds_of(cells: list[Any]) -> FloatArray:
    """Seconds (n,) of durations, and of times of day since midnight."""
    return np.array([_whole_microseconds(cell) for cell in cells], dtype=np.float64) / _SECOND


def has_zone(cell: Any) -> bool:
    """Whether a date says in which time zone it is."""
    return isinstance(cell, datetime) and cell.tzinfo is not None


def date_text(value: float, unit: DateUnit) -> str:
    """A number of days since 1970 as a date, to the day ("D"), second ("s") or finer ("us")."""
    if not abs(value) < _MOST_DAYS:
        return f"{value:.6g} days after 1970"
    stamp = np.array(round(value * _DAY), dtype="datetime64[us]")
    return str(np.datetime_as_string(stamp, unit=unit)).replace("T", " ")


def span_text(value: float) -> str:
    """A number of seconds as a duration, such as "1 day, 0:00:05"."""
    try:
        return str(timedelta(seconds=value))
    except OverflowError:
        return f"{value:.6g} s"


def _microseconds(values: npt.NDArray[Any]) -> FloatArray:
    """An exact whole number of microseconds, rounded to float64 once: equal for all units."""
    unit, count = np.datetime_data(values.dtype)
    base = values.dtype.kind
    if unit in ("Y", "M") and base == "M":
        values, unit, count = values.astype("M8[D]"), "D", 1
    elif unit in _FINER:
        values, unit, count = values.astype(f"{base}8[us]"), "us", 1
    whole = values.astype(np.int64).astype(np.float64)
    return np.where(np.isnat(values), np.nan, whole * (_COARSER.get(unit, np.nan) * count))


def _whole_microseconds(cell: timedelta | time | np.timedelta64) -> float:
    if isinstance(cell, np.timedelta64):
        return float(_microseconds(np.array([cell]))[0])
    if isinstance(cell, time):
        seconds = 3600 * cell.hour + 60 * cell.minute + cell.second
        cell = timedelta(seconds=seconds, microseconds=cell.microsecond)
    return float(cell // timedelta(microseconds=1))


def _plain(cell: date | np.datetime64) -> Any:
    if isinstance(cell, datetime):
        if cell.tzinfo is not None:
            cell = cell.astimezone(UTC)
        return cell.replace(tzinfo=None)
    return cell
