"""Input validation: scikit-learn's checks, and errors that say what to do."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import _check_sample_weight, check_array, validate_data

from pnml.columns.names import refuse_mixed_names
from pnml.columns.table import refuse_ragged
from pnml.core.arrays import FloatArray
from pnml.core.user_types import ArrayOrFrame
from pnml.errors import InputError
from pnml.learners.finite import refuse_extreme as refuse_extreme
from pnml.learners.finite import refuse_nonfinite as refuse_nonfinite
from pnml.learners.protocol import Inputs
from pnml.runtime.caller import stacklevel_of_caller
from pnml.runtime.checks import check_flag as check_flag
from pnml.runtime.checks import check_number_or_loo as check_number_or_loo
from pnml.runtime.checks import is_number as is_number

_DTYPES = (np.float64, np.float32)
_LARGEST_FLOAT32 = float(np.finfo(np.float32).max)


def check_training_rows(
    estimator: BaseEstimator,
    X: ArrayOrFrame,
    y: ArrayOrFrame,
    *,
    reset: bool = True,
    several: bool = False,
) -> tuple[FloatArray, FloatArray]:
    """Validated training rows (n, d), float64 or float32, and targets (n,); all finite.

    With `several` the targets may be (n, k). With `reset` the estimator remembers the columns of X,
    otherwise they must be those that it remembers. Squares must be finite too, or every sum of
    squares would overflow.
    """
    rows = as_rows(estimator, X, reset=reset)
    target = as_targets(estimator, y, several=several)
    if len(rows) != len(target):
        raise InputError(
            f"X has {len(rows)} rows but y has {len(target)} values; "
            "pass exactly one target per row."
        )
    refuse_nonfinite(estimator, rows)
    refuse_extreme("X", rows)
    refuse_extreme("y", target)
    return rows, target


def check_rows(estimator: BaseEstimator, X: ArrayOrFrame) -> FloatArray:
    """Validated rows (n, d) to score, float64 or float32.

    Finiteness is left to `refuse_nonfinite` on the result, which a NaN or inf in a row always
    reaches: looking at n results is cheaper than looking at n·d inputs.
    """
    return as_rows(estimator, X, reset=False)


def check_values(estimator: BaseEstimator, X: FloatArray, inputs: Inputs) -> None:
    """Raise InputError for values in rows that the learner cannot use, as its `inputs` say.

    Nothing is checked for learners whose results always show a NaN or an infinity in a row.
    """
    if inputs.shows_nonfinite:
        return
    filled = np.where(np.isnan(X), 0.0, X) if inputs.gaps else X
    refuse_nonfinite(estimator, filled)
    if not inputs.compares:
        refuse_extreme("X", X)
        return
    largest = float(np.abs(filled).max())
    if largest > _LARGEST_FLOAT32:
        raise InputError(
            f"X has values up to {largest:.0e}, but trees compare float32 numbers, which end at "
            f"{_LARGEST_FLOAT32:.0e}; rescale it, for instance with "
            "sklearn.preprocessing.StandardScaler."
        )


def check_weights(sample_weight: ArrayOrFrame | None, X: FloatArray) -> FloatArray | None:
    """Weights (n,) of the n rows of X, ≥ 0 and some above 0, or None if none are given."""
    if sample_weight is None:
        return None
    nothing = "sample_weight is zero for every row; give some row a positive weight."
    try:
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
    except ValueError as error:
        text = f"sample_weight cannot be used ({error}); pass one number of 0 or more per row."
        raise InputError(nothing if "non-zero" in str(error) else text) from error
    if not np.any(weights):
        raise InputError(nothing)  # older releases of scikit-learn let this pass
    if np.any(weights < 0):
        raise InputError(
            f"sample_weight has a negative value ({weights.min():g}), but weights count copies of "
            "a row; pass weights of 0 or more."
        )
    checked: FloatArray = weights
    return checked


def refuse_too_little(
    y: FloatArray, wanted: dict[str, float | None], weights: FloatArray | None = None
) -> None:
    """Raise InputError if a setting must be estimated from a single row or from constant targets.

    `wanted` has the settings by name; those that are None must be estimated. Rows of weight 0 do
    not count.
    """
    used = y if weights is None else y[weights > 0]
    refuse_unspread(len(used), bool(np.all(used == used[0])), float(used[0]), wanted)


def refuse_unspread(
    rows: int, constant: bool, value: float, wanted: dict[str, float | None]
) -> None:
    """Raise InputError if a setting must be estimated from a single row or from constant targets.

    `wanted` has the settings by name; those that are None must be estimated. `rows` is the number
    of rows; `constant` says whether all their targets are `value`.
    """
    for name in (name for name, given in wanted.items() if given is None):
        if rows == 1:
            raise InputError(
                f"There is only one sample (n_samples=1), from which {name} cannot be estimated; "
                f"add rows or pass {name} as a number."
            )
        if constant:
            raise InputError(
                f"y is constant ({value:g} in all {rows} rows), so {name} cannot be estimated "
                f"from it; check the target column or pass {name} as a number."
            )


def as_rows(estimator: BaseEstimator, X: ArrayOrFrame, *, reset: bool) -> FloatArray:
    """Validated rows (n, d), float64 or float32; NaN and infinity are allowed.

    With `reset` the estimator remembers the columns of X, otherwise they must be those.
    """
    refuse_dask("X", X)
    refuse_no_rows(X)
    try:
        rows: FloatArray = validate_data(
            estimator, X, reset=reset, dtype=list(_DTYPES), ensure_all_finite=False
        )
    except (ValueError, TypeError) as error:
        raise _advised(error, "X", X, type(estimator).__name__) from error
    return rows


def refuse_no_rows(X: object) -> None:
    """Raise InputError if X is no table: a dict, ragged lists, a query, mixed column names."""
    refuse_query(X)
    if isinstance(X, dict | set) and not hasattr(X, "tocsr"):  # some sparse matrices are dicts
        raise InputError(
            f"Expected 2D array, but X is a {type(X).__name__}; pass an array, a data frame, such "
            "as pandas.DataFrame(X), or a list of rows."
        )
    if isinstance(X, list | tuple):
        refuse_ragged(X)
    elif hasattr(X, "columns"):
        refuse_mixed_names(list(X.columns))


def refuse_query(X: object) -> None:
    """Raise InputError for a query that was not run yet: a polars LazyFrame, a DuckDB relation."""
    package = type(X).__module__.partition(".")[0].lstrip("_")
    if package == "polars" and type(X).__name__ == "LazyFrame":
        raise InputError("X is a LazyFrame of polars, which has no rows yet; pass X.collect().")
    if package == "duckdb":
        raise InputError(
            f"X is a {type(X).__name__} of DuckDB, which has no rows yet; pass X.df(), or give the "
            "relation to pnml.fit_table."
        )


def refuse_dask(name: str, values: object) -> None:
    """Raise InputError for a Dask collection, since all of its rows would be fetched.

    `name` is what the message calls the values, "X" or "y".
    """
    if hasattr(values, "__dask_graph__"):
        raise InputError(
            f"{name} is a Dask {type(values).__name__}, whose rows may not fit in memory; use "
            "pnml.scale.fit_dask(estimator, X, y) to learn from it, pnml.scale.lazily(estimator) "
            f"to score it, or {name}.compute() where it is small."
        )


def as_targets(estimator: BaseEstimator, y: ArrayOrFrame, *, several: bool = False) -> FloatArray:
    """Validated targets (n,), or (n, k) if `several` is True and y has k columns; all finite."""
    refuse_dask("y", y)
    if y is None:
        raise InputError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None; "
            "pass one number per row."
        )
    try:
        target = check_array(y, ensure_2d=False, dtype=np.float64, ensure_all_finite=False)
    except ValueError as error:
        raise _advised(error, "y", y, type(estimator).__name__) from error
    if target.ndim == 2 and target.shape[1] == 1:
        _warn_column()
        target = target[:, 0]
    if target.ndim != 1 and not (several and target.ndim == 2):
        raise InputError(
            f"y should be a 1d array, got an array of shape {target.shape} instead: "
            f"{type(estimator).__name__} learns one target here; for several fit PNMLRegressor or "
            "LpNMLRegressor to all rows at once, or use sklearn.multioutput.MultiOutputRegressor."
        )
    refuse_nonfinite(estimator, target, name="y")
    checked: FloatArray = target
    return checked


def _warn_column() -> None:
    warnings.warn(
        "A column-vector y was passed when a 1d array was expected; it was read as 1d, "
        "pass y.ravel() to say so.",
        DataConversionWarning,
        stacklevel=stacklevel_of_caller(),
    )


def _advised(
    error: ValueError | TypeError, name: str, X: ArrayOrFrame, estimator: str
) -> InputError:
    """The error in one sentence that also says what to do."""
    text = str(error)
    if "could not convert string" in text:
        value = text.split(":", 1)[-1].strip()
        return InputError(
            f"{name} holds text ({value}), but {estimator} needs numbers; encode such columns "
            "first, for instance with sklearn.preprocessing.OneHotEncoder."
        )
    if "Expected 2D array" in text:
        shape = np.shape(X)
        return InputError(
            f"Expected 2D array, but {name} has shape {shape}: {estimator} wants a row per sample "
            "and a column per feature. Reshape your data with .reshape(-1, 1) if it is one feature "
            "or .reshape(1, -1) if it is one row."
        )
    for sign, advice in _ADVICE.items():
        if sign in text:
            return InputError(f"{text.rstrip().rstrip('.')}{advice}")
    if "Complex data" in text:
        return InputError(f"{name} holds Complex data not supported here; pass real numbers.")
    if isinstance(error, TypeError):
        if "DType" not in text and "datetime" not in text.lower():
            raise error  # sparse matrices and other objects: the message of scikit-learn is clear
        return InputError(
            f"{name} mixes numbers with dates or other objects, which {estimator} cannot add up; "
            "turn dates and other objects into numbers first."
        )
    return InputError(text)


_ADVICE = {
    "0 sample(s)": "; pass at least one row.",
    "0 feature(s)": ". Pass at least one column.",
    "is expecting": "; pass the same columns as in fit.",
    "feature names should match": ".\nPass the same columns, in the same order, as in fit.",
}
