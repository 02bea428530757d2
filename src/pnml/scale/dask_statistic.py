"""The statistic (Gram) of one Dask partition, computed on its worker in memory that is reused.

Dask workers return freed memory to the system at once. Allocating memory for every copy of the rows
would therefore take longer than the work on them.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, is_classifier

from pnml.core.arrays import EPS, FloatArray
from pnml.core.statistic.exact_sum import GramSum, added
from pnml.core.statistic.gram import Gram
from pnml.errors import InputError
from pnml.estimators.gram_classifier import rows_to_count
from pnml.estimators.validation import (
    as_targets,
    check_training_rows,
    check_weights,
    refuse_extreme,
    refuse_nonfinite,
)
from pnml.scale.dask_types import Block

_PIECE_ROWS = 2**15
_PIECE_BITS = 32  # of a piece's number: its place within the partition; above them, the partition
# Columns whose root mean square lies within this factor of 1 are finite, and so are their squares.
_USUAL = 1e90
_memory = threading.local()


def partition_statistic(
    estimator: BaseEstimator,
    number: int,
    X: Block,
    y: Block,
    weights: Block | None = None,
    columns: list[int] | None = None,
) -> GramSum | None:
    """The sum of Grams of a Dask partition's rows, or None if no row has a positive weight.

    `number` is the number of the partition, from 0. X (n, d), y (n,) and weights (n,) are in
    memory. `columns` are the positions of the features where X is a dataframe, else None.
    """
    counts = None if weights is None else np.asarray(weights)
    if len(X) == len(y) == 0 or (counts is not None and not np.any(counts)):
        return None
    try:
        if is_classifier(estimator):
            return _of_labels(estimator, number, _features(X, columns), np.asarray(y), counts)
        return _of_targets(estimator, number, X, y, counts, columns)
    except InputError as error:
        raise InputError(f"Partition {number} cannot be counted: {error}") from error


def _of_labels(
    estimator: BaseEstimator, number: int, X: Block, y: npt.NDArray[Any], weights: FloatArray | None
) -> GramSum:
    if len(X) != len(y):
        raise InputError(
            f"X has {len(X)} rows but y has {len(y)} values; pass exactly one label per row."
        )
    rows, places = rows_to_count(estimator, X, y)
    refuse_nonfinite(estimator, rows)
    refuse_extreme("X", rows)
    weights = check_weights(weights, rows)
    return GramSum.of(Gram.of(rows, places, weights, block=number << _PIECE_BITS))


def _of_targets(
    estimator: BaseEstimator,
    number: int,
    X: Block,
    y: Block,
    weights: Block | None,
    columns: list[int] | None,
) -> GramSum:
    target = as_targets(estimator, y)
    refuse_extreme("y", target)
    if len(target) != len(X):
        check_training_rows(estimator, _features(X, columns), y)  # raises the error
    counts = check_weights(weights, target)
    frame: Any = X  # where columns are given
    values = [_values(frame.iloc[:, j]) for j in columns] if columns is not None else X
    rounding = _rounding(values)
    total: GramSum | None = None
    for piece, start in enumerate(range(0, len(target), _PIECE_ROWS)):
        part = slice(start, start + _PIECE_ROWS)
        with np.errstate(invalid="ignore", over="ignore"):  # unusual values are checked below
            gram = Gram.of(
                _rows(values, part),
                target[part],
                None if counts is None else counts[part],
                block=number << _PIECE_BITS | piece,
                below=1.0 if total is None else total.high.sample.threshold,
                rounding=rounding,
            )
            size = np.sqrt(np.diagonal(gram.xx) / max(gram.weight, 1.0) + gram.x_mean**2)
        usual = np.all(size < _USUAL) and (not np.any(size) or np.max(size) > 1 / _USUAL)
        if not usual:
            check_training_rows(estimator, _features(X, columns), target)
        total = added(total, gram)
    return total if total is not None else GramSum.empty(len(values), 1)


def _features(X: Any, columns: list[int] | None) -> Block:
    part: Block = X if columns is None else X.iloc[:, columns]
    return part


def _values(column: Any) -> npt.NDArray[Any]:
    """The cells (n,) of a column; NaN where one is missing. Copies only where it must."""
    if isinstance(column.dtype, np.dtype):
        values: npt.NDArray[Any] = column.to_numpy()
    else:
        values = column.to_numpy(dtype=float, na_value=np.nan)
    return values


def _rounding(values: Any) -> float:
    """Relative round-off of the rows: that of float32 where all columns are float32."""
    kinds = [values.dtype] if isinstance(values, np.ndarray) else [v.dtype for v in values]
    return float(np.finfo(np.float32).eps) if np.result_type(*kinds) == np.float32 else EPS


def _rows(values: Any, part: slice) -> FloatArray:
    """Some rows (n, d) in float64; they overwrite the rows of the previous call."""
    if isinstance(values, np.ndarray) and values.dtype == np.float64:
        return values[part]
    whole = isinstance(values, np.ndarray)
    n = len(values[part]) if whole else len(values[0][part])
    d = values.shape[1] if whole else len(values)
    held: FloatArray = getattr(_memory, "room", np.empty(0))
    if held.size < n * d:
        held = _memory.room = np.empty(_PIECE_ROWS * d)
    if whole:
        rows = held[: n * d].reshape(n, d)
        rows[...] = values[part]
        return rows
    rows = held[: n * d].reshape((n, d), order="F")
    for j, column in enumerate(values):
        rows[:, j] = column[part]
    return rows
