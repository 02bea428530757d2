"""The category columns of HistGradientBoosting: from data frames to numbers."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder
from sklearn.utils import check_array

from pnml.errors import InputError

BoolArray = npt.NDArray[np.bool_]

_PLAIN = (str, int, float, bool, type(None))
_DTYPES = tuple(map(np.dtype, (np.float64, np.float32, np.int64, np.int32, np.bool_)))


def stored_categories(transformer: Any) -> list[Any] | None:
    """Categories of each category column, each an array of numbers or a tuple of plain values.

    `transformer` is the fitted preprocessor of HistGradientBoosting; without one, None is returned.
    """
    if transformer is None:
        return None
    return [_stored(found) for found in transformer.named_transformers_["encoder"].categories_]


def _stored(categories: npt.NDArray[Any]) -> Any:
    if categories.dtype in _DTYPES:
        return categories
    values = tuple(categories.tolist())
    if not all(type(item) in _PLAIN for item in values):
        raise InputError("a column has categories that are neither numbers nor text")
    return values


def check_categories(categories: Any, columns: BoolArray | None, transformed: BoolArray) -> None:
    """Raise InputError where stored categories do not belong to the category columns.

    `columns` marks the category columns in the order of the input, or is None without any;
    `transformed` marks them in the order after encoding, where they come first.
    """
    if columns is None:
        if categories is not None or np.any(transformed):
            raise InputError("a model has categories but no columns of them")
        return
    counted = type(categories) is list and len(categories) == np.count_nonzero(columns)
    if not counted or not np.array_equal(transformed, np.sort(columns)[::-1]):
        raise InputError("the categories of a model are not those of its columns")
    for values in categories:
        numbers = type(values) is np.ndarray and values.dtype in _DTYPES and values.ndim == 1
        if not numbers and not (
            type(values) is tuple and all(type(item) in _PLAIN for item in values)
        ):
            raise InputError("a column has categories that are neither numbers nor text")


def category_transformer(categories: Any, columns: BoolArray | None, names: Any) -> Any:
    """The fitted ColumnTransformer that replaces categories by numbers, or None without categories.

    `columns` marks the category columns, and `names` are the names of all columns, or None. The
    transformer is fitted to a row of zeros, which sets all that depends on the number of columns,
    and then given the categories.
    """
    if columns is None:
        return None
    encoder = OrdinalEncoder(
        handle_unknown="use_encoded_value",
        unknown_value=np.nan,
        encoded_missing_value=np.nan,
        dtype=np.float64,
    )
    numbers = FunctionTransformer(partial(check_array, dtype=[np.float64], ensure_all_finite=False))
    made = ColumnTransformer([("encoder", encoder, columns), ("numerical", numbers, ~columns)])
    made.set_output(transform="default")
    made.fit(np.zeros((1, len(columns))))
    fitted = made.named_transformers_["encoder"]
    fitted.categories_ = [_loaded(values) for values in categories]
    fitted._missing_indices = _missing(fitted.categories_)
    if names is not None:
        made.feature_names_in_ = names
        fitted.feature_names_in_ = names[columns]
    return made


def _loaded(values: Any) -> npt.NDArray[Any]:
    if type(values) is np.ndarray:
        return values
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _missing(categories: list[npt.NDArray[Any]]) -> dict[int, int]:
    """Column → place of the category that stands for a missing value."""
    return {
        column: place
        for column, values in enumerate(categories)
        for place, item in enumerate(values)
        if isinstance(item, float | np.floating) and np.isnan(item)
    }
