"""Numbers of columns that Pipeline steps take and return, so that stored steps fit together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures

from pnml.errors import InputError
from pnml.models.schema import looks_fitted

SKIPPED = ("passthrough", "drop")  # words in the place of a step


def is_fitted_step(step: Any) -> bool:
    """Whether a step is fitted; False for the words "passthrough" and "drop"."""
    return not isinstance(step, str) and looks_fitted(step)


def width_in(step: Any) -> int | None:
    """Number of columns that a fitted step or estimator takes, or None if it does not say."""
    if isinstance(step, Pipeline):
        for _, first in step.steps:
            if first is not None and not isinstance(first, str):
                return width_in(first)
        return None
    width: int | None = getattr(step, "n_features_in_", None)
    return width


def width_out(step: Any) -> int:
    """Number of columns that a fitted transformer returns."""
    if isinstance(step, Pipeline):
        for _, last in reversed(step.steps):
            if last is not None and not isinstance(last, str):
                return width_out(last)
        raise InputError("a Pipeline in a file has no step that says how many columns it gives")
    count = _OUT.get(type(step))
    return int(step.n_features_in_ if count is None else count(step))


def check_chain(steps: list[Any]) -> None:
    """Raise InputError where a step was fitted to other columns than the step before it returns."""
    width = None
    real = [step for step in steps if step is not None and not isinstance(step, str)]
    for i, step in enumerate(real):
        if not is_fitted_step(step):
            raise InputError("a step of a fitted Pipeline is not fitted")
        taken = width_in(step)
        if width is not None and taken is not None and taken != width:
            raise InputError("a step of a Pipeline was not fitted to what the one before gives")
        if i + 1 < len(real):
            width = width_out(step)


def resolved(columns: Any, width: int, names: Any) -> list[int] | None:
    """Positions of the columns that a part of a ColumnTransformer takes, or None if one is unknown.

    `columns` is what the user gave: names, positions, truth values or a slice. `width` is the
    number of columns in all and `names` are their names, or None.

    >>> resolved(["b", "a"], 3, np.array(["a", "b", "c"], dtype=object))
    [1, 0]
    >>> resolved(slice(1, None), 3, None)
    [1, 2]
    """
    known = [] if names is None else list(names)
    if isinstance(columns, slice):
        return _sliced(columns, width, known)
    items = columns.tolist() if isinstance(columns, np.ndarray) else columns
    if not isinstance(items, list):
        return None  # one column alone would not be a table
    if items and all(isinstance(item, bool | np.bool_) for item in items):
        return [j for j, item in enumerate(items) if item] if len(items) == width else None
    if all(isinstance(item, str) and item in known for item in items):
        return [known.index(item) for item in items]
    if all(isinstance(item, int | np.integer) and -width <= item < width for item in items):
        return [int(item) % width for item in items]
    return None


def _sliced(columns: slice, width: int, known: list[str]) -> list[int] | None:
    start, stop, step = columns.start, columns.stop, columns.step
    if isinstance(start, str):
        start = known.index(start)
    if isinstance(stop, str):
        stop = known.index(stop) + 1  # both ends of names belong to it
    places = range(width)[slice(start, stop, step)]
    return list(places) if len(places) <= _MOST_COLUMNS else None


_MOST_COLUMNS = 10**7  # no file makes a longer list of places

_OUT: dict[type, Callable[[Any], Any]] = {
    ColumnTransformer: lambda step: max(at.stop for at in step.output_indices_.values()),
    OneHotEncoder: lambda step: sum(step._n_features_outs),
    PCA: lambda step: len(step.components_),
    PolynomialFeatures: lambda step: step.n_output_features_,
    SimpleImputer: lambda step: len(step.get_feature_names_out()),
    VarianceThreshold: lambda step: np.sum(step.variances_ > step.threshold),
}
