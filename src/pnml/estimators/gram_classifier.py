"""Fitting a PNMLClassifier from a Gram."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import NotFittedError, check_is_fitted

from pnml.core.arrays import FloatArray
from pnml.core.statistic.gram import Gram
from pnml.core.user_types import ArrayOrFrame
from pnml.errors import InputError
from pnml.estimators.labels import check_labels, positions
from pnml.learners.last_step import LastStep, last_of, unfrozen


def fitted_inside(model: BaseEstimator) -> Any:
    """The frozen, fitted classifier inside a PNMLClassifier; raises if a Gram is not enough.

    A Gram holds sums over rows. Training a classifier and ``method="refit"`` need the rows
    themselves, and from rows scaled to unit norm the probabilities cannot be computed.
    """
    name = type(model).__name__
    if model.method != "analytic":
        raise InputError(
            f'{name}(method="refit") trains again on all rows, which a statistic does not hold; '
            'use method="analytic", or fit a sample of the rows in memory.'
        )
    if model.normalize:
        raise InputError(
            f"{name}(normalize=True) needs rows both as they are and scaled, of which a statistic "
            "holds one; leave normalize out, or fit a sample of the rows in memory."
        )
    inside = model.estimator
    if not isinstance(inside, FrozenEstimator):
        kind = "LogisticRegression" if inside is None else type(last_of(inside)).__name__
        raise InputError(
            f"{name} would train {kind}, which takes all rows at once and not a statistic of "
            "them; train it on a sample and pass sklearn.frozen.FrozenEstimator(trained)."
        )
    try:
        check_is_fitted(unfrozen(inside))
    except NotFittedError as error:
        raise InputError(
            f"The frozen {type(unfrozen(inside)).__name__} is not fitted; fit it before it is "
            "frozen."
        ) from error
    return inside


def rows_to_count(
    model: BaseEstimator, X: ArrayOrFrame, y: npt.NDArray[Any]
) -> tuple[FloatArray, npt.NDArray[np.float64]]:
    """Rows (n, d) as the classifier's last step sees them, and label indices (n,), for a Gram.

    `model` is a PNMLClassifier around a frozen classifier; an index is the position of a label
    among its classes.
    """
    inside = fitted_inside(model)
    step = LastStep.of(inside, _named(inside, X))
    at = positions(check_labels(model, y), inside.classes_)
    return step.values, at.astype(float)


def sampled_step(inside: Any, gram: Gram) -> LastStep:
    """The last step of the fitted classifier, with the sample of training rows in its Gram."""
    classifier, values = last_of(inside), gram.sample.rows[:, :-2]
    return LastStep(classifier, _named(classifier, values), values)


def without_targets(gram: Gram) -> Gram:
    """A copy of a classifier's Gram without its target: sums of label indices mean nothing."""
    d = len(gram.x_mean)
    rows = np.delete(gram.sample.rows, np.arange(d, d + len(gram.y_mean)), axis=1)
    return replace(
        gram,
        y_mean=np.zeros(0),
        xy=np.zeros((d, 0)),
        yy=np.zeros((0, 0)),
        sample=replace(gram.sample, rows=rows),
    )


def _named(estimator: BaseEstimator, X: ArrayOrFrame) -> Any:
    """Rows with the column names of the fit, if there were any."""
    names = getattr(unfrozen(estimator), "feature_names_in_", None)
    if names is None or hasattr(X, "columns"):
        return X
    return import_module("pandas").DataFrame(X, columns=names)  # which provides the names
