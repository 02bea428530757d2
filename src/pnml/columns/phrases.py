"""A number of a table, and the range that training had, in words."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from pnml.columns.times import DateUnit, date_text, span_text
from pnml.errors import shorten

_LONGEST = 40
_DIGITS = (6, 9, 12, 17)
_DATE_UNITS: tuple[DateUnit, ...] = ("D", "s", "us")

Write = Callable[[float], str]


def name_text(name: str) -> str:
    """A column's name for a message, shortened to 40 characters."""
    return shorten(name, most=_LONGEST)


def value_text(kind: str, value: float, low: float, high: float) -> str:
    """Text of a number, with digits enough to tell it from the ends of the training range.

    `kind` is that of the column (a date is shown as a date), `low` and `high` are the ends.

    >>> value_text("number", 1.0000001, 0.2, 1.0), value_text("number", math.nan, 0.2, 1.0)
    ('1.0000001', 'missing')
    """
    return "missing" if math.isnan(value) else _writer(kind, value, low, high)(value)


def known_text(kind: str, value: float, low: float, high: float, *, gaps: bool) -> str:
    """Text of the range that training had in a column, from `low` to `high`.

    `kind` is that of the column, `value` a number that the digits must tell from the ends, and
    `gaps` says whether training had missing cells.

    >>> known_text("number", 1.52, 0.2, 1.0, gaps=True)
    '0.2–1 or missing'
    >>> known_text("date", 19000.0, 18000.0, 18365.0, gaps=False)
    '2019-04-14 to 2020-04-13'
    """
    if math.isnan(low):
        return "always missing"
    write = _writer(kind, value, low, high)
    first, last = write(low), write(high)
    between = "–" if kind == "number" and low >= 0 else " to "
    known = f"always {first}" if first == last else f"{first}{between}{last}"
    return f"{known} or missing" if gaps else known


def _writer(kind: str, value: float, low: float, high: float) -> Write:
    """The shortest way of writing that tells the value and the ends of the range apart."""
    numbers = {number for number in (value, low, high) if not math.isnan(number)}
    ways = _ways(kind)
    for write in ways:
        if len({write(number) for number in numbers}) == len(numbers):
            return write
    return ways[-1]


def _ways(kind: str) -> list[Write]:
    if kind in ("date", "instant"):
        return [partial(date_text, unit=unit) for unit in _DATE_UNITS]
    if kind == "span":
        return [span_text]
    if kind == "truth":
        return [_truth]
    return [partial(_number, digits=digits) for digits in _DIGITS]


def _truth(number: float) -> str:
    return {0.0: "False", 1.0: "True"}.get(number) or _number(number, _DIGITS[0])


def _number(number: float, digits: int) -> str:
    if number.is_integer() and abs(number) < 1e15:
        return str(int(number))
    return f"{number:.{digits}g}"
