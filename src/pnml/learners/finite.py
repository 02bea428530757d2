"""Checks that raise for NaN, infinity, and numbers whose squares overflow."""

from __future__ import annotations

from typing import Any

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.errors import InputError

_LARGEST = 1e100


def refuse_extreme(name: str, values: Any) -> None:
    """Raise InputError if the largest absolute value is above 1e100 or, not 0, below 1e-100.

    `name` is what the message calls the values, such as "X".
    """
    largest = max(float(values.max()), -float(values.min()))
    if largest > _LARGEST or 0 < largest < 1 / _LARGEST:
        raise InputError(
            f"{name} has values up to {largest:.0e}, whose squares leave the range of floats; "
            "rescale it, for instance with sklearn.preprocessing.StandardScaler."
        )


def refuse_nonfinite(estimator: Any, X: Any, result: Any = None, name: str = "X") -> None:
    """Raise InputError if X holds NaN or infinity; the message names the first cell.

    If a `result` computed from X is passed and finite, X is not searched. `estimator` and `name`
    are used in the message alone.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        if np.all(np.isfinite(X.sum() if result is None else result)):
            return
    bad = ~np.isfinite(X)
    if not bad.any():
        return
    row, *column = (int(i) for i in np.argwhere(bad)[0])
    where = f"row {row}" + (f", column {_column_name(estimator, column[0])}" if column else "")
    problem, cure = (
        ("NaN", "fill it in, for instance with sklearn.impute.SimpleImputer, or drop such rows")
        if np.isnan(X[(row, *column)])
        else ("infinity or a value too large for dtype('float64')", "replace it or drop such rows")
    )
    raise InputError(
        f"Input {name} contains {problem} ({where}), which {type(estimator).__name__} cannot "
        f"weigh; {cure} first."
    )


def like_input(result: FloatArray, X: Any) -> FloatArray:
    """The result in the dtype of rows X: float32 rows get float32 results."""
    with np.errstate(over="ignore"):
        return result.astype(X.dtype, copy=False)


def _column_name(estimator: Any, index: int) -> str:
    names = getattr(estimator, "feature_names_in_", None)
    return str(index) if names is None else repr(str(names[index]))
