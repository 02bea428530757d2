"""Errors of a model on rows that it was not trained on."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold, check_cv
from sklearn.utils import _safe_indexing

from pnml.core.arrays import FloatArray
from pnml.errors import InputError
from pnml.estimators.wrapped import fit_wrapped
from pnml.runtime.checks import is_whole


def out_of_fold_errors(
    model: Any,
    X: Any,
    y: FloatArray,
    weights: FloatArray | None,
    cv: Any,
    groups: Any,
    random_state: Any,
) -> FloatArray:
    """Absolute errors (n,), each of a clone of the model fitted without the row's fold."""
    predictions = np.full(len(y), np.nan)
    for train, test in _splitter(cv, len(y), random_state).split(X, y, groups):
        train_weights = None if weights is None else weights[train]
        part = fit_wrapped(clone(model), _safe_indexing(X, train), y[train], train_weights)
        predicted = part.predict(_safe_indexing(X, test))
        predictions[test] = np.asarray(predicted, dtype=float).ravel()
    if np.isnan(predictions).any():
        raise InputError(
            "The splitter cv leaves some rows out of every test fold, so their errors are not "
            "known; pass one that tests every row, such as KFold."
        )
    errors: FloatArray = np.abs(y - predictions)
    return errors


def _splitter(cv: Any, rows: int, random_state: Any) -> Any:
    if not is_whole(cv, least=-(10**9)):
        return check_cv(cv)
    if not 2 <= cv <= rows:
        raise InputError(
            f"cv is {cv}, but X has {rows} rows (n_samples={rows}); pass a number of folds from 2 "
            "to the number of rows."
        )
    return KFold(int(cv), shuffle=True, random_state=random_state)
