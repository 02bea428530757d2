"""Statistic of a batch, sum of statistics, estimator from the sum: what all of scale shares."""

from __future__ import annotations

from typing import Any

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.core.statistic.exact_sum import GramSum
from pnml.core.statistic.gram import Gram
from pnml.errors import InputError
from pnml.estimators.classifier import PNMLClassifier
from pnml.estimators.gram_classifier import fitted_inside
from pnml.estimators.regressor import StreamingRegressor


def check_adds(estimator: Any) -> None:
    """Raise where an estimator cannot be made of a statistic that adds up over rows.

    >>> from pnml import PNMLRegressor
    >>> check_adds(PNMLRegressor())
    """
    if isinstance(estimator, PNMLClassifier):
        fitted_inside(estimator)
        return
    name = type(estimator).__name__
    if isinstance(estimator, StreamingRegressor):
        if hasattr(estimator, "fit_gram"):
            estimator._settings()  # refuses here what would be refused after the pass
            return
        name = f"{name}(penalty={getattr(estimator, 'penalty', None)!r})"
    raise InputError(
        f"{name} needs all its rows at once and not a statistic of them; use PNMLRegressor, "
        'LpNMLRegressor with penalty="l2", or a PNMLClassifier around a FrozenEstimator, or fit '
        "a sample of the rows in memory."
    )


def statistic(
    X: FloatArray,
    y: FloatArray,
    weights: FloatArray | None = None,
    *,
    place: int,
    below: float = 1.0,
    rounding: float | None = None,
) -> Gram:
    """What is remembered of a batch; `place` is a whole number that no other batch has.

    `below` is the threshold of the sample so far, `rounding` the relative round-off of rows that
    were copied to float64 from something shorter. Put batches together with
    `pnml.core.statistic.exact_sum.merged`, or with the + of `GramSum`.

    >>> statistic(np.array([[0.0], [2.0]]), np.array([1.0, 2.0]), place=0).xx
    array([[2.]])
    """
    gram = Gram.of(X, y, weights, below=below, seen=place)
    if rounding is None or rounding <= gram.rounding:
        return gram
    return Gram(**(vars(gram) | {"rounding": rounding}))


def fitted(estimator: Any, total: GramSum, names: list[str] | None = None) -> Any:
    """The estimator, learnt from all rows that were counted; `names` are those of its columns.

    >>> from pnml import PNMLRegressor
    >>> part = statistic(np.array([[0.0], [1.0], [3.0]]), np.array([0.0, 2.0, 6.5]), place=0)
    >>> fitted(PNMLRegressor(), GramSum.of(part), ["size"]).coef_.round(2)
    array([2.18])
    """
    estimator.fit_gram(total.gram())
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
    return estimator
