"""Fitting estimators from a sum of Grams (moments of rows), and which estimators allow that."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, is_classifier

from pnml.core.statistic.exact_sum import GramSum
from pnml.errors import InputError
from pnml.estimators.gram_classifier import fitted_inside
from pnml.estimators.regressor import StreamingRegressor


def counts_targets(estimator: BaseEstimator) -> bool:
    """Whether an estimator is a regressor that can be fitted from the Gram of rows and targets.

    >>> from pnml import LpNMLRegressor
    >>> counts_targets(LpNMLRegressor()), counts_targets(LpNMLRegressor(penalty="l1"))
    (True, False)
    """
    return isinstance(estimator, StreamingRegressor) and hasattr(estimator, "fit_gram")


def check_additive(estimator: BaseEstimator) -> None:
    """Raise InputError if an estimator cannot be fitted from a Gram, the moments of its rows.

    >>> from pnml import PNMLRegressor
    >>> check_additive(PNMLRegressor())
    """
    if hasattr(estimator, "fit_gram") and is_classifier(estimator):
        fitted_inside(estimator)
        return
    if counts_targets(estimator):
        estimator._settings()  # refuses bad settings before the pass, not after it
        return
    name = type(estimator).__name__
    if isinstance(estimator, StreamingRegressor):
        name = f"{name}(penalty={getattr(estimator, 'penalty', None)!r})"
    raise InputError(
        f"{name} needs all its rows at once and not a statistic of them; use PNMLRegressor, "
        'LpNMLRegressor with penalty="l2", or a PNMLClassifier around a FrozenEstimator, or fit '
        "a sample of the rows in memory."
    )


def fitted(
    estimator: BaseEstimator, total: GramSum, names: list[str] | None = None
) -> BaseEstimator:
    """The estimator itself, fitted in place from a sum of Grams; `names` are its columns, or None.

    >>> from pnml import PNMLRegressor
    >>> from pnml.core.statistic.gram import Gram
    >>> part = Gram.of(np.array([[0.0], [1.0], [3.0]]), np.array([0.0, 2.0, 6.5]))
    >>> fitted(PNMLRegressor(), GramSum.of(part), ["size"]).coef_.round(2)
    array([2.18])
    """
    estimator.fit_gram(total.gram())
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
    return estimator
