"""Copies of rows with some columns overwritten: arrays, and data frames of pandas and polars."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def cells_of(X: Any, row: int) -> tuple[Any, ...]:
    """The cells of row number `row` of X, one per column, as Python objects.

    >>> cells_of(np.array([[1.0, 2.0]]), 0)
    (1.0, 2.0)
    """
    if hasattr(X, "iloc"):
        return tuple(X.iloc[row].tolist())
    if hasattr(X, "get_columns"):
        return tuple(X.row(row))
    return tuple(np.asarray(X, dtype=None if hasattr(X, "dtype") else object)[row].tolist())


def replace_cells(X: Any, cells: Mapping[int, Any]) -> Any:
    """A copy of rows X with some columns overwritten: `cells` maps column positions to one value.

    A column whose dtype cannot hold the value, such as whole numbers and 1.5, gets another dtype.

    >>> replace_cells(np.array([[1, 2], [3, 4]]), {1: 9.5})
    array([[1. , 9.5],
           [3. , 9.5]])
    """
    if hasattr(X, "iloc"):
        out = X.copy()
        for place, cell in cells.items():
            out.isetitem(place, _pandas_column(X.iloc[:, place], cell))
        return out
    if hasattr(X, "get_columns"):
        columns = X.get_columns()
        return X.with_columns(_polars_column(columns[place], cell) for place, cell in cells.items())
    out = np.array(X, dtype=None if hasattr(X, "dtype") else object)
    if out.dtype.kind in "biu" and any(isinstance(cell, float) for cell in cells.values()):
        out = out.astype(np.float64)
    for place, cell in cells.items():
        out[:, place] = cell
    return out


def _pandas_column(column: Any, cell: Any) -> Any:
    """A column filled with `cell`, of the same dtype if that dtype can hold the cell."""
    values = [cell] * len(column)
    try:
        made = type(column)(values, index=column.index, dtype=column.dtype)
    except (TypeError, ValueError):  # a time zone, or a gap or fraction among whole numbers
        return type(column)(values, index=column.index)
    lost = hasattr(made, "cat") and cell == cell and bool(made.isna().any())  # no such category
    return type(column)(values, index=column.index) if lost and cell is not None else made


def _polars_column(column: Any, cell: Any) -> Any:
    """A column filled with `cell`, of the same dtype if that dtype can hold the cell."""
    values = [cell] * len(column)
    try:
        return type(column)(column.name, values, dtype=column.dtype)
    except Exception:  # its classes of errors are those of polars alone
        return type(column)(column.name, values)
