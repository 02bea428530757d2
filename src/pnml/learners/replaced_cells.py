"""Rows whose cells in some columns are replaced: arrays, and data frames of pandas and polars."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def cells_of(X: Any, row: int) -> tuple[Any, ...]:
    """The cells of one row, as Python objects.

    >>> cells_of(np.array([[1.0, 2.0]]), 0)
    (1.0, 2.0)
    """
    if hasattr(X, "iloc"):
        return tuple(X.iloc[row].tolist())
    if hasattr(X, "get_columns"):
        return tuple(X.row(row))
    return tuple(np.asarray(X, dtype=None if hasattr(X, "dtype") else object)[row].tolist())


def replace_cells(X: Any, cells: Mapping[int, Any]) -> Any:
    """The rows with these cells in the columns at these places.

    >>> replace_cells(np.array([[1.0, 2.0], [3.0, 4.0]]), {1: 9.0})
    array([[1., 9.],
           [3., 9.]])
    """
    if hasattr(X, "iloc"):
        out = X.copy()
        for place, cell in cells.items():
            column = X.iloc[:, place]
            out.isetitem(place, type(column)([cell] * len(X), index=X.index, dtype=column.dtype))
        return out
    if hasattr(X, "get_columns"):
        columns = X.get_columns()
        return X.with_columns(
            type(columns[place])(columns[place].name, [cell] * len(X), dtype=columns[place].dtype)
            for place, cell in cells.items()
        )
    out = np.array(X, dtype=None if hasattr(X, "dtype") else object)
    for place, cell in cells.items():
        out[:, place] = cell
    return out
