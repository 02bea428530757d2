"""Columns of a table that a fitted model provably does not read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from pnml.core.leaves.cells import IntArray
from pnml.learners.last_step import inside

# Steps that make one column of each column, and of that column alone.
_COLUMN_BY_COLUMN = (
    MaxAbsScaler,
    MinMaxScaler,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)


def unread_columns(model: Any, columns: int) -> tuple[int, ...]:
    """Positions of the columns that a fitted model drops before it reads them; () if none.

    `columns` is the number of columns of the table. Steps that drop columns are a ColumnTransformer
    and scikit-learn's feature selection, also after scalers, inside one another and in a
    FeatureUnion. All other steps may read every column.

    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> steps = ColumnTransformer([("some", StandardScaler(), [0, 2])])
    >>> unread_columns(make_pipeline(steps, Ridge()).fit(np.eye(4), [0.0, 1.0, 2.0, 3.0]), 4)
    (1, 3)
    """
    read = set(_read(inside(model), np.arange(columns)).tolist())
    return tuple(place for place in range(columns) if place not in read)


def _read(step: Any, columns: IntArray) -> IntArray:
    """Those of the columns reaching a fitted step that the step reads."""
    step = inside(step)
    if isinstance(step, str):
        return columns[:0] if step == "drop" else columns
    if isinstance(step, Pipeline):
        return _through(step, columns)
    if isinstance(step, ColumnTransformer):
        return _of_column_transformer(step, columns)
    if isinstance(step, FeatureUnion):
        return _union((_read(part, columns) for _, part in step.transformer_list), columns)
    if isinstance(step, SelectorMixin):
        chosen: IntArray = columns[step.get_support()]
        return chosen
    return columns


def _through(pipeline: Any, columns: IntArray) -> IntArray:
    """Columns that a Pipeline reads: those its first step reads that is no scaler or selector."""
    for _, step in pipeline.steps:
        given = inside(step)
        if isinstance(given, str) or given is None:  # passed through
            continue
        if isinstance(given, SelectorMixin):
            columns = _read(given, columns)
        elif type(given) not in _COLUMN_BY_COLUMN:
            return _read(given, columns)
    return columns


def _of_column_transformer(step: Any, columns: IntArray) -> IntArray:
    places = getattr(step, "_transformer_to_input_indices", None)
    if places is None or step.n_features_in_ != len(columns):
        return columns
    return _union(
        (
            _read(part, columns[np.asarray(places[name], dtype=int)])
            for name, part, _ in _fitted(step)
        ),
        columns,
    )


def _fitted(step: Any) -> Iterable[tuple[str, Any, Any]]:
    parts: list[tuple[str, Any, Any]] = step.transformers_
    return parts


def _union(parts: Iterable[IntArray], columns: IntArray) -> IntArray:
    return np.unique(np.concatenate([columns[:0], *parts]))
