"""Features, probabilities and penalty of the last step of a scikit-learn classifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.compose import TransformedTargetRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection._search import BaseSearchCV  # all searches are one
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_array

from pnml.core import softmax
from pnml.core.arrays import FloatArray
from pnml.errors import InputError
from pnml.learners.finite import refuse_extreme, refuse_nonfinite
from pnml.learners.protocol import Inputs

# Where fitted classifiers keep one number for each class and feature, (C, d).
_PER_FEATURE = ("coef_", "theta_", "feature_log_prob_")


@dataclass(frozen=True)
class LastStep:
    """The last step of a fitted classifier, and the rows that reach it."""

    classifier: Any
    given: Any  # the rows in the kind that the step was fitted to
    values: FloatArray  # (n, d)  the same as numbers

    @classmethod
    def of(cls, estimator: Any, given: Any, values: FloatArray | None = None) -> LastStep:
        """Transform rows by all steps but the last; without such steps, `values` are the rows."""
        step = unfrozen(estimator)
        steps = isinstance(step, Pipeline)
        while isinstance(step, Pipeline):
            if len(step.steps) > 1:
                given = step[:-1].transform(given)
            step = unfrozen(step.steps[-1][1])
        if values is None and not steps and isinstance(given, np.ndarray):
            values = given  # rows that the estimator has checked
        elif values is None:
            values = _numbers(given)
            if steps:
                refuse_nonfinite(step, values, name="X after the first steps")
                refuse_extreme("X after the first steps", values)
        return cls(step, given, values)

    @staticmethod
    def inputs(estimator: Any) -> Inputs:
        """Rows that a classifier takes: of a Pipeline, a table of anything."""
        return Inputs(table=isinstance(unfrozen(estimator), Pipeline), names=True)

    def log_probabilities(self) -> FloatArray:
        """Log-probabilities (n, C) of the classes, from logits if the model has them."""
        logits = self._logits()
        if logits is not None:
            log_prob: FloatArray = softmax.log_softmax(logits)
            return log_prob
        with np.errstate(divide="ignore"):  # a class may have probability 0
            if hasattr(self.classifier, "predict_log_proba"):
                return np.asarray(self.classifier.predict_log_proba(self.given), dtype=float)
            p: FloatArray = np.asarray(self.classifier.predict_proba(self.given), dtype=float)
            return np.log(p)

    def _logits(self) -> FloatArray | None:
        """Logits of a logistic regression, which keep the digits that probabilities near 1 lose."""
        model = self.classifier
        if type(model) is not LogisticRegression:
            return None
        if getattr(model, "multi_class", "auto") not in ("auto", "deprecated"):
            return None  # older releases of scikit-learn can fit one class against the rest
        if len(model.classes_) > 2 and model.solver == "liblinear":
            return None
        z = np.asarray(model.decision_function(self.given), dtype=float)
        return np.column_stack([np.zeros(len(z)), z]) if z.ndim == 1 else z

    def ridge(self) -> float | None:
        """The ℓ2 penalty of a logistic regression, in the units of ridge regression's."""
        return ridge_of(self.classifier)

    @property
    def is_rigid(self) -> bool:
        """Whether the step has one number per class and feature, too few to recall single rows.

        So have linear models (``coef_``) and naive Bayes (``theta_``, ``feature_log_prob_``), also
        as the best of a search: their probabilities of training rows are like those of new rows.
        Any other model may recall the rows that it was trained on.
        """
        model = self.classifier
        while hasattr(model, "best_estimator_"):
            model = last_of(model.best_estimator_)
        shapes = [getattr(getattr(model, name, None), "shape", ()) for name in _PER_FEATURE]
        return any(len(shape) == 2 for shape in shapes)


def ridge_of(model: Any) -> float | None:
    """The ℓ2 penalty 1/C of a last step that is a logistic regression; None for others."""
    if type(model) is not LogisticRegression or model.penalty not in ("deprecated", "l2", None):
        return None
    if model.penalty is None:
        return 0.0
    return 1 / float(model.C) if not model.l1_ratio else None


def last_of(estimator: Any) -> Any:
    """The last step of a Pipeline, fitted or not; another estimator is its own last step."""
    step = unfrozen(estimator)
    while isinstance(step, Pipeline):
        step = unfrozen(step.steps[-1][1])
    return step


def last_inside(model: Any) -> Any:
    """The last step of a fitted model, where searches and transformed targets are looked into."""
    step = inside(model)
    while isinstance(step, Pipeline):
        step = inside(step.steps[-1][1])
    return step


def is_frozen(estimator: Any) -> bool:
    """Whether an estimator, or the last step of a Pipeline, is never fitted again."""
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    return isinstance(estimator, FrozenEstimator)


def at_last_step(model: Any, X: Any) -> tuple[Any, Any]:
    """Rows transformed for the last step of a fitted model, and that step."""
    step = inside(model)
    while isinstance(step, Pipeline):
        if len(step.steps) > 1:
            X = step[:-1].transform(X)
        step = inside(step.steps[-1][1])
    return X, step


def log_probabilities(model: Any, X: Any) -> FloatArray:
    """Log-probabilities (n, C) of rows by a fitted classifier or Pipeline, normalised.

    −inf for a class of probability 0.
    """
    rows, step = at_last_step(model, X)
    log_p = LastStep(step, rows, np.empty((0, 0))).log_probabilities()
    normalised: FloatArray = log_p - logsumexp(log_p, axis=1, keepdims=True)  # float32 models
    return normalised


def _numbers(rows: Any) -> FloatArray:
    """Features as a dense array, float64 or float32."""
    dense = rows.toarray() if hasattr(rows, "toarray") else rows
    values: FloatArray = check_array(dense, dtype=[np.float64, np.float32], ensure_all_finite=False)
    return values


def unfrozen(estimator: Any) -> Any:
    """The estimator inside a FrozenEstimator, or the estimator itself."""
    while isinstance(estimator, FrozenEstimator):
        estimator = estimator.estimator
    return estimator


def inside(model: Any) -> Any:
    """The model that a fitted search or TransformedTargetRegressor ends in, or a frozen one.

    A CalibratedClassifierCV has several models inside, and is taken for a model of its own.

    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.model_selection import GridSearchCV
    >>> search = GridSearchCV(Ridge(), {"alpha": [1.0, 2.0]}, cv=2)
    >>> inside(search.fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.0]))
    Ridge()
    """
    while True:
        if isinstance(model, FrozenEstimator):
            model = model.estimator
        elif hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif isinstance(model, TransformedTargetRegressor) and hasattr(model, "regressor_"):
            model = model.regressor_
        else:
            return model


def searched(model: Any) -> Any:
    """The model that a search or TransformedTargetRegressor would fit, or the model itself."""
    while True:
        if isinstance(model, BaseSearchCV):
            model = model.estimator
        elif isinstance(model, TransformedTargetRegressor) and model.regressor is not None:
            model = model.regressor
        else:
            return model


def targets_inside(model: Any, Y: FloatArray) -> FloatArray:
    """Targets (n, k) as the last step of a fitted model sees them: transformed, if they are."""
    while True:
        if isinstance(model, TransformedTargetRegressor):
            Y = np.asarray(model.transformer_.transform(Y), dtype=float).reshape(len(Y), -1)
            model = model.regressor_
        elif isinstance(model, Pipeline):
            model = model.steps[-1][1]
        elif isinstance(model, FrozenEstimator):
            model = model.estimator
        elif hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        else:
            return Y


def refuse_without_probabilities(estimator: Any) -> None:
    """Raise if the last step of an estimator has no class probabilities."""
    if not hasattr(estimator, "predict_proba"):
        raise InputError(
            f"estimator is a {type(unfrozen(estimator)).__name__} without predict_proba, but pNML "
            "starts from class probabilities; wrap it in "
            "sklearn.calibration.CalibratedClassifierCV, or pass a classifier that has them."
        )
