"""The last step of a scikit-learn model: the rows that reach it, its probabilities, its penalty."""

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
    """The last step of a fitted classifier or Pipeline, and n rows as they reach it."""

    classifier: Any
    given: Any  # the rows in the kind that the step was fitted to
    values: FloatArray  # (n, d)  the same as numbers

    @classmethod
    def of(cls, estimator: Any, given: Any, values: FloatArray | None = None) -> LastStep:
        """The last step of `estimator`, with rows `given` transformed by the steps before it.

        `values` (n, d) are the transformed rows as numbers, if they are already known.
        """
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
        """What rows a classifier takes, as flags for the checks of the estimator around it.

        A Pipeline takes any table; another classifier takes numbers, with or without column names.
        """
        return Inputs(table=isinstance(unfrozen(estimator), Pipeline), names=True)

    def log_probabilities(self) -> FloatArray:
        """Log-probabilities (n, classes); from logits, with more digits, in logistic regression."""
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
        """ℓ2 penalty 1/C of a logistic regression, in ridge units; None for other classifiers."""
        return ridge_of(self.classifier)

    @property
    def is_rigid(self) -> bool:
        """Whether the step has so few parameters that it cannot memorise single training rows.

        True of models with one number per class and feature: linear models (``coef_``) and naive
        Bayes (``theta_``, ``feature_log_prob_``), also as the best of a search. Their probabilities
        of training rows are like those of new rows. Any other model may have memorised its training
        rows.
        """
        model = self.classifier
        while hasattr(model, "best_estimator_"):
            model = last_of(model.best_estimator_)
        shapes = [getattr(getattr(model, name, None), "shape", ()) for name in _PER_FEATURE]
        return any(len(shape) == 2 for shape in shapes)


def ridge_of(model: Any) -> float | None:
    """ℓ2 penalty 1/C of a logistic regression, 0 if it has no penalty.

    None for other models and for an ℓ1 or elastic-net penalty.
    """
    if type(model) is not LogisticRegression or model.penalty not in ("deprecated", "l2", None):
        return None
    if model.penalty is None:
        return 0.0
    return 1 / float(model.C) if not model.l1_ratio else None


def last_of(estimator: Any) -> Any:
    """The last step of a Pipeline, fitted or not; any other estimator is returned itself."""
    step = unfrozen(estimator)
    while isinstance(step, Pipeline):
        step = unfrozen(step.steps[-1][1])
    return step


def last_inside(model: Any) -> Any:
    """The last step of a fitted model, also inside a search or a TransformedTargetRegressor."""
    step = inside(model)
    while isinstance(step, Pipeline):
        step = inside(step.steps[-1][1])
    return step


def is_frozen(estimator: Any) -> bool:
    """Whether an estimator, or the last step of a Pipeline, is frozen: never fitted again."""
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    return isinstance(estimator, FrozenEstimator)


def at_last_step(model: Any, X: Any) -> tuple[Any, Any]:
    """Two results: rows X after all steps but the last of a fitted model, and the last step."""
    step = inside(model)
    while isinstance(step, Pipeline):
        if len(step.steps) > 1:
            X = step[:-1].transform(X)
        step = inside(step.steps[-1][1])
    return X, step


def log_probabilities(model: Any, X: Any) -> FloatArray:
    """Log-probabilities (n, classes) of rows X by a fitted classifier or Pipeline, normalised.

    A class of probability 0 has −inf.
    """
    rows, step = at_last_step(model, X)
    log_p = LastStep(step, rows, np.empty((0, 0))).log_probabilities()
    normalised: FloatArray = log_p - logsumexp(log_p, axis=1, keepdims=True)  # float32 models
    return normalised


def _numbers(rows: Any) -> FloatArray:
    """Rows as a dense array, float64 or float32."""
    dense = rows.toarray() if hasattr(rows, "toarray") else rows
    values: FloatArray = check_array(dense, dtype=[np.float64, np.float32], ensure_all_finite=False)
    return values


def unfrozen(estimator: Any) -> Any:
    """The estimator inside a FrozenEstimator, or the estimator itself."""
    while isinstance(estimator, FrozenEstimator):
        estimator = estimator.estimator
    return estimator


def inside(model: Any) -> Any:
    """The fitted model inside a search, a TransformedTargetRegressor or a FrozenEstimator.

    Any other model is returned itself, also a CalibratedClassifierCV, which has several models
    inside.

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
    """The unfitted model inside a search or a TransformedTargetRegressor, else the model itself."""
    while True:
        if isinstance(model, BaseSearchCV):
            model = model.estimator
        elif isinstance(model, TransformedTargetRegressor) and model.regressor is not None:
            model = model.regressor
        else:
            return model


def targets_inside(model: Any, Y: FloatArray) -> FloatArray:
    """Targets Y (n, k) after the transformations of any TransformedTargetRegressor in the model."""
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
    """Raise InputError if an estimator has no ``predict_proba``."""
    if not hasattr(estimator, "predict_proba"):
        raise InputError(
            f"estimator is a {type(unfrozen(estimator)).__name__} without predict_proba, but pNML "
            "starts from class probabilities; wrap it in "
            "sklearn.calibration.CalibratedClassifierCV, or pass a classifier that has them."
        )
