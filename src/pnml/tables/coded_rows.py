"""Rows of a table for models of trees: a number or the code of a word in each column."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.tables.encoder import CategoryColumn, Encoded, Encoder, HashedColumn, NumberColumn


def coded_rows(encoder: Encoder, encoded: Encoded) -> FloatArray:
    """Rows (n, columns) for models of trees: one number for each table column, NaN for gaps.

    A word becomes its index among the training words, a word never seen the index after them; in a
    column of many words, the code of its hash. Numbers are in units of their spread, which trees do
    not mind, and a column that never changed is 0.
    """
    out = np.zeros((len(encoded.X), len(encoder.columns)), order="F")
    for j, column in enumerate(encoder.columns):
        out[:, j] = _codes(column, encoded.X)
        if column.places:
            out[encoded.missing[:, j], j] = np.nan
        if isinstance(column, NumberColumn):
            out[encoded.strange_cells[:, j], j] = np.nan
    return out


def word_columns(encoder: Encoder) -> list[tuple[int, int]]:
    """Index of each column of words in coded rows, and the number of its codes."""
    counts = ((j, _count(column)) for j, column in enumerate(encoder.columns))
    return [(j, count) for j, count in counts if count]


@singledispatch
def _codes(column: Any, X: FloatArray) -> FloatArray:
    return np.zeros(len(X))


@_codes.register
def _(column: NumberColumn, X: FloatArray) -> FloatArray:
    return X[:, column.value]


@_codes.register
def _(column: CategoryColumn, X: FloatArray) -> FloatArray:
    here = X[:, list(column.level_places)]
    count = len(column.levels)
    return np.where(here.any(axis=1), here @ np.arange(count), count)


@_codes.register
def _(column: HashedColumn, X: FloatArray) -> FloatArray:
    here = X[:, list(column.hash_places)]
    slots = np.arange(len(column.hash_places))
    sign = here.sum(axis=1)
    return np.where(sign == 0, 2 * len(slots), 2 * (np.abs(here) @ slots) + (sign < 0))


@singledispatch
def _count(column: Any) -> int:
    return 0


@_count.register
def _(column: CategoryColumn) -> int:
    return len(column.levels)


@_count.register
def _(column: HashedColumn) -> int:
    return 2 * len(column.hash_places)
