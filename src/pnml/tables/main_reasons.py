"""The main reason why a row of a table is not trusted, in words that many rows can share."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pnml.columns.phrases import known_text
from pnml.core.trust import Evidence, Thresholds
from pnml.tables.column_roles import constant_text
from pnml.tables.encoder import (
    BoolArray,
    CategoryColumn,
    ConstantColumn,
    Encoded,
    Encoder,
    NumberColumn,
)
from pnml.tables.encoder_columns import AnyColumn
from pnml.tables.explanation import Drivers
from pnml.tables.reasons import phrase_kind, shortened

# What is wrong with a row, the worst first.
_BAD, _GAP, _NEW, _TOGETHER, _ABOVE, _BELOW, _UNLIKE, _UNSURE = range(8)
_FEW_WORDS = 4  # words of a category that are listed; more are counted
_LONGEST_LIST = 40  # characters


def main_reasons(
    encoder: Encoder,
    encoded: Encoded,
    drivers: Drivers,
    evidence: Evidence,
    limits: Thresholds,
    trusted: BoolArray,
) -> pa.Array:
    """Main reason (n,), as text, of each row that is not trusted; null for the others.

    Such as ``carat above the 0.2–1 of training``. The texts name no value, so that rows of one
    reason have one text. `drivers` are the columns with the largest shares of the leverage;
    `evidence` is what trust was judged by, and `limits` are the thresholds.
    """
    rows = np.flatnonzero(~trusted)
    kinds, columns = _found(encoder, encoded, drivers, evidence, limits, rows)
    texts = np.full(len(trusted), None, dtype=object)
    pairs, which = np.unique(np.column_stack([kinds, columns]), axis=0, return_inverse=True)
    words = [_text(encoder.columns[j], kind) for kind, j in pairs.tolist()]
    texts[rows] = np.array(words, dtype=object)[which.ravel()]
    return pa.array(texts, pa.string())


def _found(
    encoder: Encoder,
    encoded: Encoded,
    drivers: Drivers,
    evidence: Evidence,
    limits: Thresholds,
    rows: npt.NDArray[np.intp],
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """What is wrong with each of these rows, and in which column."""
    kinds = np.full(len(rows), _UNLIKE, dtype=np.intp)
    columns = drivers.columns[rows, 0].copy()
    if evidence.leverage is not None:
        sure = np.isfinite(evidence.leverage[rows]) & (evidence.leverage[rows] <= limits.leverage)
        kinds[sure] = _UNSURE
    # beyond a range, where that test failed or where the column drives the leverage
    excess = encoded.excess[rows]
    furthest = excess.argmax(axis=1)
    driving = excess[np.arange(len(rows)), columns] > 0
    failed = np.zeros(len(rows), dtype=bool)
    if evidence.excess is not None:
        failed = ~(evidence.excess[rows] <= limits.excess) & (excess.max(axis=1, initial=0) > 0)
    columns = np.where(failed & ~driving, furthest, columns)
    out = failed | driving
    values = encoded.values[rows, columns]
    high = np.asarray(encoded.ranges.highest)[0][columns]
    kinds[out] = np.where(values > high, _ABOVE, _BELOW)[out]
    for kind, cells in _odd_cells(encoder, encoded, rows):
        some = cells.any(axis=1)
        kinds[some] = kind
        columns[some] = cells.argmax(axis=1)[some]
    return kinds, columns


def _odd_cells(
    encoder: Encoder, encoded: Encoded, rows: npt.NDArray[np.intp]
) -> Iterator[tuple[int, BoolArray]]:
    """What no training row had, the worst last, and in which cells (rows, columns)."""
    strange, missing = encoded.strange_cells[rows], gaps(encoder, encoded)[rows]
    # a gap counts where these were never missing together, but not one that was always there
    usual = np.array([getattr(column, "kind", "") == "gap" for column in encoder.columns])
    never = np.array([column.missing is None for column in encoder.columns])
    alone = missing & encoded.strange_pattern[rows][:, None] & ~usual
    yield _TOGETHER, alone
    yield _GAP, alone & (never | (alone.sum(axis=1) == 1)[:, None])
    yield _NEW, strange & ~missing
    yield _GAP, strange & missing
    yield _BAD, encoded.bad_cells[rows]


def gaps(encoder: Encoder, encoded: Encoded) -> BoolArray:
    """Booleans (n, columns): cells that are really missing.

    `Encoded.missing` says so of every cell of a column that was empty in training, even a filled
    one.
    """
    usual = np.array([getattr(column, "kind", "") == "gap" for column in encoder.columns])
    found: BoolArray = encoded.missing & ~(encoded.strange_cells & usual)
    return found


def _text(column: AnyColumn, kind: int) -> str:
    name, what = shortened(column.name), getattr(column, "wanted", column.kind)
    if kind == _NEW and isinstance(column, ConstantColumn):
        was = "never filled in training" if column.kind == "gap" else constant_text(column)
        return f"{name} is new: {was}"
    return {
        _BAD: f"{name} is not a {what}",
        _GAP: f"{name} missing, never so in training",
        _NEW: f"{name} never seen in training"
        if not isinstance(column, NumberColumn)
        else f"{name} infinite",
        _TOGETHER: f"{name} missing together with other columns, never so in training",
        _ABOVE: f"{name} above the {training_text(column)} of training",
        _BELOW: f"{name} below the {training_text(column)} of training",
        _UNLIKE: f"{name} unusual beside the other columns",
        _UNSURE: f"classes not clear among few such rows, {name} most of all",
    }[kind]


def training_text(column: AnyColumn) -> str:
    """What training had in a column, as text: a range of numbers or dates, or words."""
    if isinstance(column, ConstantColumn):
        return constant_text(column)
    if isinstance(column, NumberColumn):
        if column.low is None or column.high is None:  # a file of an older version
            return f"{column.fill:.4g} ± {column.scale:.4g}"
        return known_text(phrase_kind(column), column.low, column.low, column.high, gaps=False)
    if isinstance(column, CategoryColumn):
        words = ", ".join(column.levels)
        if len(column.levels) <= _FEW_WORDS and len(words) <= _LONGEST_LIST:
            return words
        return f"one of {len(column.levels):,} words"
    return f"one of {len(column.known):,} words"
