"""Rows of a table for models of trees: a number or the code of a word in each column."""

from __future__ import annotations

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.tables.encoder import CategoryColumn, Encoded, Encoder


def coded_rows(encoder: Encoder, encoded: Encoded) -> FloatArray:
    """Encoded rows with one number for each column (n, columns), NaN for gaps.

    Words become their places among those of training, a word never seen the place after them.
    Numbers are in units of their spread, which trees do not mind.
    """
    out = np.empty((len(encoded.X), len(encoder.columns)), order="F")
    for j, column in enumerate(encoder.columns):
        if isinstance(column, CategoryColumn):
            here = encoded.X[:, list(column.level_places)]
            known = here.any(axis=1)
            out[:, j] = np.where(known, here @ np.arange(len(column.levels)), len(column.levels))
            out[encoded.missing[:, j], j] = np.nan
        else:
            out[:, j] = encoded.X[:, column.value]
            out[encoded.missing[:, j] | encoded.strange_cells[:, j], j] = np.nan
    return out


def word_columns(encoder: Encoder) -> list[tuple[int, int]]:
    """Places of the columns of words among coded rows, and how many words each has."""
    return [
        (j, len(column.levels))
        for j, column in enumerate(encoder.columns)
        if isinstance(column, CategoryColumn)
    ]
