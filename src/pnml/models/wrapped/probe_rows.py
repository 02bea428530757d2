"""Probe rows: a few training rows in a file, by whose predictions a model is recognised."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from pnml.errors import InputError
from pnml.models.refusals import UnmetNeedError
from pnml.models.wrapped.plain import is_plain

PROBE_ROWS = 8
_PANDAS = re.compile(
    r"u?int(8|16|32|64)|U?Int(8|16|32|64)|[fF]loat(32|64)|bool|boolean|str|string|object|category"
    r"|datetime64\[(s|ms|us|ns)\]"
)
_POLARS = re.compile(r"U?Int(8|16|32|64)|Float(32|64)|Boolean|String|Categorical")


@dataclass(frozen=True)
class ProbeRows:
    """Up to 8 training rows, stored column by column in a file that cannot hold the model itself.

    `Fingerprint` compares predictions for them, to recognise the model that a user passes to
    `load`. `probe_of` makes them from an array or a data frame, `rows_again` turns them back.
    """

    kind: str  # "numpy", "pandas" or "polars"
    names: tuple[str, ...]  # of the columns; none in an array
    dtypes: tuple[str, ...]  # of the columns; of an array the one of all
    columns: Any  # list of the values of each column: an array, a list, or a pair with categories


def probe_of(rows: Any) -> ProbeRows | None:
    """The first 8 rows of a table as a file holds them, or None if a file cannot hold them."""
    kind = type(rows).__module__.partition(".")[0]
    try:
        if kind == "pandas":
            held = _of_pandas(rows.iloc[:PROBE_ROWS])
        elif kind == "polars":
            held = _of_polars(rows[:PROBE_ROWS])
        else:
            array = np.asarray(rows)[:PROBE_ROWS]
            columns = [array] if is_plain(array) else [array.tolist()]
            held = ProbeRows("numpy", (), (array.dtype.name,), columns)
        rows_again(held)
    except (InputError, AttributeError, TypeError, ValueError, IndexError):
        return None
    return held if is_plain(held.columns) else None


def rows_again(held: ProbeRows) -> Any:
    """The rows as an array or data frame again; raises InputError where the file describes none."""
    try:
        if held.kind == "numpy":
            return _numpy_rows(held)
        if held.kind in ("pandas", "polars") and len(held.names) == len(held.columns):
            library, pattern = _library(held.kind), _PANDAS if held.kind == "pandas" else _POLARS
            if all(pattern.fullmatch(dtype) for dtype in held.dtypes):
                make = _pandas_column if held.kind == "pandas" else _polars_column
                parts = zip(held.names, held.columns, held.dtypes, strict=True)
                return library.DataFrame(
                    {name: make(library, values, dtype) for name, values, dtype in parts}
                )
    except UnmetNeedError:
        raise
    except Exception as error:
        raise InputError("the rows that tell its model apart cannot be made again") from error
    raise InputError("the rows that tell its model apart are of no known kind")


def _numpy_rows(held: ProbeRows) -> Any:
    (values,), (dtype,) = held.columns, held.dtypes
    if type(values) is np.ndarray:
        return values
    if dtype != "object":
        raise ValueError("an array of numbers is not a list")
    return np.array(values, dtype=object)


def _of_pandas(rows: Any) -> ProbeRows:
    columns = []
    for position in range(rows.shape[1]):
        column = rows.iloc[:, position]
        if str(column.dtype) == "category":
            known = column.cat
            columns.append([known.categories.tolist(), known.codes.tolist(), bool(known.ordered)])
        elif str(column.dtype).startswith("datetime64"):
            columns.append(column.to_numpy().astype(np.int64))
        else:
            columns.append([_plain(value) for value in column.tolist()])
    return ProbeRows("pandas", tuple(rows.columns), tuple(map(str, rows.dtypes)), columns)


def _pandas_column(pandas: Any, values: Any, dtype: str) -> Any:
    if dtype == "category":
        categories, codes, ordered = values
        return pandas.Categorical.from_codes(codes, categories, ordered=ordered)
    if dtype.startswith("datetime64"):
        return pandas.Series(values.astype(dtype))
    return pandas.Series(values, dtype=dtype)


def _of_polars(rows: Any) -> ProbeRows:
    columns = [rows[name].to_list() for name in rows.columns]
    return ProbeRows("polars", tuple(rows.columns), tuple(map(str, rows.dtypes)), columns)


def _polars_column(polars: Any, values: Any, dtype: str) -> Any:
    return polars.Series(values, dtype=getattr(polars, dtype), strict=False)


def _plain(value: Any) -> Any:
    """A cell of pandas, with None for pandas' own missing values."""
    return None if type(value).__name__ in ("NAType", "NaTType") else value


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise UnmetNeedError(
            f"its model is told apart by rows of {name}, which is not installed; run "
            f"pip install {name} and load it again."
        ) from error
