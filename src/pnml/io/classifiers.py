"""Classifiers in model files, and what they are made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from pnml.core.errors import InputError
from pnml.core.softmax_loo import LabelsLeftOut
from pnml.core.spectrum import Spectrum
from pnml.estimators.classifier import PNMLClassifier
from pnml.io.entry import Entry, array, estimator, numbers
from pnml.io.schema import Either, Names, OneOf, Spec, Texts


def _check_logistic(values: Mapping[str, Any]) -> None:
    if "classes_" not in values:
        return  # not fitted
    classes = len(values["classes_"])
    if classes < 2 or len(values["coef_"]) != (1 if classes == 2 else classes):
        raise InputError(f"the slopes of a LogisticRegression are not for {classes} classes")


def _check_classifier(values: Mapping[str, Any]) -> None:
    if "estimator_" not in values:
        return  # not fitted
    inside = vars(values["estimator_"])
    if "classes_" not in inside or inside["n_features_in_"] != values["n_features_in_"]:
        raise InputError("the estimator in a PNMLClassifier was not fitted to its features")


_CLASSIFIER: dict[str, Spec] = {
    "estimator_": OneOf((LogisticRegression,)),
    "spectrum_": OneOf((Spectrum,)),
    "alpha_": OneOf((float,)),
    "_loo": OneOf((LabelsLeftOut,)),
}
_LOGISTIC: dict[str, Spec] = {
    "classes_": Either((*numbers("c"), array("c", dtype=np.bool_), Names("c"), Texts("c"))),
    "coef_": Either(numbers("m", "d")),
    "intercept_": Either(numbers("m")),
    "n_iter_": Either(numbers("i")),
}

CLASSIFIER_PARTS = [
    Entry(
        LabelsLeftOut,
        {
            "leverages": array("n"),
            "regrets": array("n"),
            "log_losses": array("n"),
            "weights": array("n"),
        },
    ),
    estimator(LogisticRegression, _LOGISTIC, _check_logistic),
]
CLASSIFIERS = [estimator(PNMLClassifier, _CLASSIFIER, _check_classifier)]
