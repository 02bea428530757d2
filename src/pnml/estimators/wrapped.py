"""Wrapped estimators of scikit-learn: column checks, fitting and feature names."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter, validate_data

from pnml.core.arrays import FloatArray
from pnml.core.user_types import ArrayOrFrame
from pnml.errors import InputError
from pnml.estimators.validation import refuse_no_rows
from pnml.learners.last_step import searched, unfrozen


def check_table(estimator: BaseEstimator, X: ArrayOrFrame, *, reset: bool) -> None:
    """Raise InputError if X is no table of rows and columns, or has other columns than in fit.

    With `reset` the estimator remembers the columns of X instead of comparing them.
    """
    refuse_no_rows(X)
    flat = getattr(X, "ndim", 2) == 1
    if isinstance(X, list | tuple):
        flat = not any(isinstance(row, Sized) and not isinstance(row, str | dict) for row in X)
    if flat:
        raise InputError(
            f"Expected 2D array, but X has shape {np.shape(X)}: {type(estimator).__name__} wants a "
            "row per sample and a column per feature. Reshape your data with .reshape(-1, 1) if it "
            "is one feature or .reshape(1, -1) if it is one row."
        )
    try:
        validate_data(estimator, X, reset=reset, skip_check_array=True)
    except ValueError as error:
        text = str(error).rstrip().rstrip(".")
        raise InputError(f"{text}; pass the same columns as in fit.") from error


def fit_wrapped(
    estimator: BaseEstimator, X: ArrayOrFrame, y: npt.NDArray[Any], weights: FloatArray | None
) -> Any:
    """The estimator, fitted to X and y; `weights` (n,) go to the last step of a Pipeline."""
    if weights is None:
        return estimator.fit(X, y)
    step, name = searched(estimator), "sample_weight"
    while isinstance(step, Pipeline):
        last, step = step.steps[-1]
        step = searched(step)
        name = name.replace("sample_weight", f"{last}__sample_weight")
    if not has_fit_parameter(step, "sample_weight"):
        raise InputError(
            f"sample_weight was passed, but {type(step).__name__} counts every row once; leave it "
            "out, or pass an estimator whose fit takes sample_weight."
        )
    return estimator.fit(X, y, **{name: weights})


def feature_names(estimator: BaseEstimator, features: int, names_in: Any) -> npt.NDArray[Any]:
    """Names (features,) of the columns that the last step of a fitted estimator sees.

    `names_in` are the names of the columns of X, or None; x0, x1 … stand for unknown names.
    """
    steps, names = unfrozen(estimator), names_in
    while isinstance(steps, Pipeline):
        if len(steps.steps) > 1:
            try:
                names = steps[:-1].get_feature_names_out(names)
            except (AttributeError, ValueError):  # a step without feature names
                names = None
        steps = unfrozen(steps.steps[-1][1])
    if names is None or len(names) != features:
        names = [f"x{j}" for j in range(features)]
    return np.asarray(names, dtype=object)
