"""Columns of a pandas frame as arrow arrays, whatever Python objects they hold."""

from __future__ import annotations

import datetime as dt
import uuid
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import pyarrow as pa

from pnml.errors import InputError, shorten
from pnml.readers.file_errors import brief_reason, listed

_NAME = "DataFrame"
Spare = Callable[[str], bool]  # whether nobody asks for the cells of a column of this name

_NO_VALUES = (list, tuple, dict, set, frozenset, bytes, bytearray)


def none_spare(name: str) -> bool:
    """False for every column: the default of `spare`, which tells the columns not needed."""
    return False


def pandas_table(frame: Any, spare: Spare = none_spare) -> pa.Table:
    """A pandas frame as an arrow table; its index is no column, and it is not changed.

    `spare` tells by name whether the cells of a column are not needed; such a column has nulls if
    it cannot be read, for instance if it holds lists.
    """
    names = pandas_names(frame)
    if not names:
        raise InputError(f"{_NAME} has no columns; give a table with columns and rows.")
    columns = []
    for place, name in enumerate(names):
        try:
            columns.append(_column(frame.iloc[:, place], name))
        except InputError:
            if not spare(name):
                raise
            columns.append(pa.nulls(len(frame)))
    return pa.table(columns, names=names)


def pandas_names(frame: Any) -> list[str]:
    """Names of the columns of a pandas frame as text; raises InputError if two would be the same.

    Also for names that are neither text nor whole numbers, and for several levels of names.
    """
    labels = frame.columns
    if labels.nlevels > 1:
        raise InputError(
            f"{_NAME} has {labels.nlevels} levels of column names; join them to one, such as "
            "frame.columns = ['_'.join(map(str, c)) for c in frame.columns]."
        )
    odd = [x for x in labels if isinstance(x, bool) or not isinstance(x, str | Integral)]
    if odd:
        raise InputError(
            f"{_NAME} has a column named {shorten(repr(odd[0]))}, which is neither text nor a "
            "whole number; rename it."
        )
    names = [str(label) for label in labels]
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    if twice:
        raise InputError(
            f"{_NAME} has more than one column named {listed(twice)}; rename all but one."
        )
    return names


def _column(series: Any, name: str) -> pa.Array | pa.ChunkedArray:
    kind = series.dtype
    family = type(kind).__name__
    try:
        if family == "CategoricalDtype":
            return _category(series, name)
        if family == "SparseDtype":
            return _column(series.sparse.to_dense(), name)
        if family == "PeriodDtype":
            series = series.dt.to_timestamp()
        if family == "IntervalDtype":
            return pa.array([None if x is None else str(x) for x in _cells(series)], pa.string())
        if str(kind) == "object":
            return _objects(_cells(series), name)
        if getattr(kind, "kind", "") == "c":
            raise pa.ArrowInvalid("complex numbers")
        return pa.array(series, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"Column {shorten(name)!r} of {_NAME} has the type {shorten(kind)}, which cannot be "
            f"read ({brief_reason(error)}); turn it into numbers, words or dates."
        ) from error


def _category(series: Any, name: str) -> pa.DictionaryArray:
    values = _column(series.cat.categories.to_series(), name)
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    codes = series.cat.codes.to_numpy()
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), values)


def _cells(series: Any) -> list[Any]:
    """The objects of a column, None where they are missing."""
    return [None if gone else cell for cell, gone in zip(series.array, series.isna(), strict=True)]


def _objects(cells: list[Any], name: str) -> pa.Array:
    there = [cell for cell in cells if cell is not None]
    _refuse_no_values(there, name)
    if not there:
        return pa.nulls(len(cells))
    for fits, convert in _RULES:
        if all(map(fits, there)):
            return convert(cells, name)
    for cell in there:
        if not isinstance(cell, str | Real | Decimal | dt.date | dt.time | uuid.UUID):
            raise InputError(
                f"Column {shorten(name)!r} of {_NAME} holds a {type(cell).__name__}, "
                f"{shorten(repr(cell))}; turn it into numbers, words or dates."
            )
    return pa.array([None if cell is None else str(cell) for cell in cells], pa.string())


def _refuse_no_values(there: list[Any], name: str) -> None:
    for cell in there:
        if isinstance(cell, _NO_VALUES) or getattr(cell, "ndim", None):
            raise InputError(
                f"Column {shorten(name)!r} of {_NAME} holds a {type(cell).__name__}, "
                f"{shorten(repr(cell))}, which is no single value; turn it into numbers or words, "
                "or leave the column out."
            )


def _is_truth(cell: Any) -> bool:
    return type(cell).__name__ in ("bool", "bool_")


def _is_whole(cell: Any) -> bool:
    return isinstance(cell, Integral) and not _is_truth(cell)


def _is_amount(cell: Any) -> bool:
    return isinstance(cell, Real | Decimal) and not _is_truth(cell)


def _numbers(cells: list[Any], name: str) -> pa.Array:
    return pa.array([None if cell is None else float(cell) for cell in cells], pa.float64())


def _whole_numbers(cells: list[Any], name: str) -> pa.Array:
    if all(cell is None or -(2**63) <= cell < 2**63 for cell in cells):
        return pa.array([None if cell is None else int(cell) for cell in cells], pa.int64())
    return _numbers(cells, name)


def _times(cells: list[Any], name: str) -> pa.Array:
    """Points in time, of one time zone; dates among them are midnights."""
    zones = {
        None if (zone := getattr(cell, "tzinfo", None)) is None else str(zone)
        for cell in cells
        if cell is not None
    }
    if len(zones) > 1:
        shown = " and ".join(sorted("none" if zone is None else zone for zone in zones)[:2])
        raise InputError(
            f"Column {shorten(name)!r} of {_NAME} mixes time zones ({shown}); turn all into one, "
            "such as by pandas.to_datetime(column, utc=True)."
        )
    zone = next(iter(zones), None)
    moments = [_midnight(cell) for cell in cells]
    if zone is None:
        return pa.array(moments, pa.timestamp("us"))
    moments = [None if cell is None else cell.astimezone(dt.UTC) for cell in moments]
    return pa.array(moments, pa.timestamp("us", tz="UTC"))


def _midnight(cell: Any) -> Any:
    if isinstance(cell, dt.date) and not isinstance(cell, dt.datetime):
        return dt.datetime(cell.year, cell.month, cell.day)
    return cell.to_pydatetime(warn=False) if hasattr(cell, "to_pydatetime") else cell


def _of_type(kind: Any, arrow: pa.DataType | None) -> tuple[Callable[[Any], bool], Any]:
    def convert(cells: list[Any], name: str) -> pa.Array:
        return pa.array(cells, arrow)

    return (lambda cell: isinstance(cell, kind)), convert


def _is_day(cell: Any) -> bool:
    return isinstance(cell, dt.date) and not isinstance(cell, dt.datetime)


# What all cells are, and how they become an array; the first that fits is taken.
_RULES: tuple[tuple[Callable[[Any], bool], Callable[[list[Any], str], pa.Array]], ...] = (
    (_is_truth, lambda cells, name: pa.array([c if c is None else bool(c) for c in cells])),
    (_is_whole, _whole_numbers),
    (_is_amount, _numbers),
    _of_type(str, pa.string()),
    (_is_day, lambda cells, name: pa.array(cells, pa.date32())),
    (lambda cell: isinstance(cell, dt.date), _times),
    _of_type(dt.time, pa.time64("us")),
    _of_type(dt.timedelta, pa.duration("us")),
)
