"""Cells of one table row in a file: numbers and texts as they are, dates and times as text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from importlib import import_module
from types import NoneType
from typing import Any

import numpy as np

from pnml.errors import InputError, shorten
from pnml.models.codec import value
from pnml.models.refusals import UnmetNeedError

_PLAIN = (NoneType, bool, int, float, str)
_GENERIC = (np.bool_, np.integer, np.floating, np.str_)


@dataclass(frozen=True)
class TimeCell:
    """A date, a time, a duration or a missing value of pandas, as a file holds it."""

    kind: str  # the class, one of those below
    text: str


def _pandas() -> Any:
    try:
        return import_module("pandas")
    except ModuleNotFoundError as error:
        raise UnmetNeedError(
            "it holds a time of pandas, which is not installed; run pip install pandas and load it "
            "again."
        ) from error


def _microseconds(cell: timedelta) -> str:
    return str(cell // timedelta(microseconds=1))


# Name of the class → the cell as text, and back.
_TIMES: dict[str, tuple[Callable[[Any], str], Callable[[str], Any]]] = {
    "date": (date.isoformat, date.fromisoformat),
    "datetime": (datetime.isoformat, datetime.fromisoformat),
    "timedelta": (_microseconds, lambda text: timedelta(microseconds=int(text))),
    "Timestamp": (lambda cell: cell.isoformat(), lambda text: _pandas().Timestamp(text)),
    "Timedelta": (lambda cell: cell.isoformat(), lambda text: _pandas().Timedelta(text)),
    "NaTType": (str, lambda text: _pandas().NaT),
    "NAType": (str, lambda text: _pandas().NA),
}


def stored_cells(cells: tuple[Any, ...]) -> tuple[Any, ...]:
    """The cells of a row as a file holds them; raises InputError for a type that it cannot hold.

    >>> stored_cells((1.5, "a", date(2020, 1, 2)))
    (1.5, 'a', TimeCell(kind='date', text='2020-01-02'))
    """
    return tuple(map(_stored, cells))


def _stored(cell: Any) -> Any:
    if _is_plain(cell):
        return cell
    kind = type(cell).__name__
    if kind not in _TIMES or type(cell).__module__.partition(".")[0] not in ("datetime", "pandas"):
        raise InputError(
            f"The typical training row of this model has a cell of {shorten(kind)}, which a model "
            "file cannot hold; fit it to numbers, texts, truth values and dates."
        )
    return TimeCell(kind, _TIMES[kind][0](cell))


def loaded_cells(cells: tuple[Any, ...]) -> tuple[Any, ...]:
    """The cells of a row from those in a file, the inverse of `stored_cells`.

    Raises InputError for a cell that `stored_cells` would not write.
    """
    return tuple(map(_loaded, cells))


def _loaded(cell: Any) -> Any:
    if _is_plain(cell):
        return cell
    if type(cell) is not TimeCell or cell.kind not in _TIMES:
        raise InputError("a cell of its typical row is neither number, text, truth value nor time")
    try:
        return _TIMES[cell.kind][1](cell.text)
    except (ValueError, OverflowError) as error:
        raise InputError(f"a cell of its typical row is no {cell.kind}") from error


def _is_plain(cell: Any) -> bool:
    return type(cell) in _PLAIN or isinstance(cell, _GENERIC)


ROW_CELL_CODECS = [value(TimeCell)]
