"""Fitted linear and constant models of scikit-learn, to and from a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import dummy, linear_model, svm
from sklearn.base import is_classifier
from sklearn.preprocessing import LabelBinarizer

from pnml.errors import InputError
from pnml.models.wrapped.plain import attributes_of, set_attributes, unfitted_copy
from pnml.models.wrapped.stored import Attributes, stored

CONSTANT = (dummy.DummyClassifier, dummy.DummyRegressor)
# Classifiers that keep their classes inside a LabelBinarizer.
_BINARIZED = (linear_model.RidgeClassifier, linear_model.RidgeClassifierCV)
# Regressors that pass the linear sum through the inverse of a link.
_LINKED = (
    linear_model.GammaRegressor,
    linear_model.PoissonRegressor,
    linear_model.TweedieRegressor,
)
LINEAR = (
    *_BINARIZED,
    *_LINKED,
    linear_model.ARDRegression,
    linear_model.BayesianRidge,
    linear_model.ElasticNet,
    linear_model.ElasticNetCV,
    linear_model.HuberRegressor,
    linear_model.Lars,
    linear_model.LarsCV,
    linear_model.Lasso,
    linear_model.LassoCV,
    linear_model.LassoLars,
    linear_model.LassoLarsCV,
    linear_model.LassoLarsIC,
    linear_model.LinearRegression,
    linear_model.LogisticRegressionCV,
    linear_model.OrthogonalMatchingPursuit,
    linear_model.OrthogonalMatchingPursuitCV,
    linear_model.Perceptron,
    linear_model.QuantileRegressor,
    linear_model.Ridge,
    linear_model.RidgeCV,
    linear_model.SGDClassifier,
    linear_model.SGDRegressor,
    linear_model.TheilSenRegressor,
    svm.LinearSVC,
    svm.LinearSVR,
)


@dataclass(frozen=True)
class StoredAttributes:
    """Stored form of a fitted linear or constant model: its parameters and fitted attributes."""

    estimator: Any  # not fitted
    attributes: Attributes
    classes: Any  # of a classifier that keeps them inside another object, else None


def store_attributes(model: Any) -> StoredAttributes:
    """The stored form of a fitted linear or constant model of scikit-learn."""
    classes = None
    if type(model) in _BINARIZED:
        classes = model.classes_
        if model._label_binarizer.y_type_.startswith("multilabel"):
            raise InputError(f"a model file holds no {type(model).__name__} of several labels")
    estimator = unfitted_copy(model, (*LINEAR, *CONSTANT))
    return StoredAttributes(estimator, attributes_of(model), classes)


def _model(held: StoredAttributes) -> Any:
    made = unfitted_copy(held.estimator, (*LINEAR, *CONSTANT))
    if (held.classes is not None) != (type(made) in _BINARIZED):
        raise InputError(f"a {type(made).__name__} keeps its classes in another place")
    set_attributes(made, held.attributes)
    if type(made) in _BINARIZED:
        made._label_binarizer = _binarizer(held.classes)
    if type(made) in _LINKED:
        made._base_loss = made._get_loss()
    if type(made) in CONSTANT:
        _check_constant(made)
    else:
        _check_slopes(made)
    return made


def _binarizer(classes: Any) -> Any:
    if not _is_vector(classes) or len(np.unique(classes)) != len(classes) or len(classes) < 2:
        raise InputError("the classes of a model are not two or more")
    return LabelBinarizer(pos_label=1, neg_label=-1).fit(classes)


def _check_slopes(model: Any) -> None:
    """Raise where coefficients and intercepts do not match the features and classes."""
    name, held = type(model).__name__, vars(model)
    coef, intercept = held.get("coef_"), held.get("intercept_")
    slopes = type(coef) is np.ndarray and coef.dtype.kind == "f" and coef.ndim in (1, 2)
    if not slopes or coef.shape[-1] != model.n_features_in_:
        raise InputError(f"the slopes of a {name} are not those of its features")
    outputs = coef.shape[0] if coef.ndim == 2 else 1
    flat = np.ravel(intercept) if intercept is not None else np.zeros(0)
    if flat.dtype.kind not in "fi" or np.ndim(intercept) > 1 or len(flat) not in (1, outputs):
        raise InputError(f"the intercepts of a {name} are not those of its slopes")
    if is_classifier(model):
        labels = held.get("classes_") if type(model) not in _BINARIZED else model.classes_
        if not _is_vector(labels) or outputs != (1 if len(labels) == 2 else len(labels)):
            raise InputError(f"the slopes of a {name} are not those of its classes")


def _check_constant(model: Any) -> None:
    name, held = type(model).__name__, vars(model)
    if is_classifier(model):
        right = held.get("n_outputs_") == 1 and _is_vector(held.get("classes_"))
        right = right and held.get("n_classes_") == len(model.classes_)
        prior = held.get("class_prior_")
        right = right and _is_vector(prior) and len(prior) == len(model.classes_)
        vars(model).setdefault("_strategy", model.strategy)
    else:
        constant, outputs = held.get("constant_"), held.get("n_outputs_")
        right = type(outputs) is int and type(constant) is np.ndarray
        right = right and constant.shape == (1, outputs)
    if not right:
        raise InputError(f"a {name} predicts nothing of its outputs")


def _is_vector(value: Any) -> bool:
    return type(value) is np.ndarray and value.ndim == 1 and len(value) > 0


LINEAR_CODECS = [stored(StoredAttributes, "FittedAttributes", _model)]
