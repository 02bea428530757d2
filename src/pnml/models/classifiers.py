"""Codecs of classifiers and of the values they are made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from pnml.core.arrays import FloatArray
from pnml.core.geometry.spectrum import Spectrum
from pnml.core.logistic.model import LogisticModel
from pnml.core.logistic.training import Objective, TrainingRows
from pnml.core.softmax_leave_one_out import LabelsLeftOut
from pnml.errors import InputError
from pnml.estimators.classifier import PNMLClassifier
from pnml.estimators.genies import OneStep, sampled_rows
from pnml.estimators.refitted import LogisticPNML, Refitted
from pnml.estimators.universal_classifier import UniversalClassifier
from pnml.models.codec import LABELS, array, estimator, numbers, value
from pnml.models.schema import Either, ManyOf, OneOf, Spec


def _objective(training: TrainingRows, weight: Annotated[FloatArray, "c q"]) -> Objective:
    """The objective of a logistic regression, with its probabilities computed again."""
    return training.at(weight)


def _refitted(
    model: LogisticModel,
    leverages: Annotated[FloatArray, "s"],
    tol: float,
    loo: LogisticPNML,
) -> Refitted:
    """A genie whose leave-one-out results are known already."""
    genie = Refitted(model, leverages, tol)
    vars(genie)["loo"] = loo
    return genie


def _check_training(values: Mapping[str, Any]) -> None:
    classes, labels = values["n_classes"], values["labels"]
    if classes < 2 or not len(labels) or not np.all((labels >= 0) & (labels < classes)):
        raise InputError(f"the training rows of a model are not of its {classes} classes")
    penalty, weights, columns = values["penalty"], values["weights"], len(values["center"])
    if len(penalty) not in (columns, columns + 1) or not np.all(penalty >= 0):
        raise InputError("the penalties of a model are not those of its columns")
    if not np.all(weights >= 0) or not np.any(weights > 0):
        raise InputError("the training rows of a model have no weights")
    if not np.all(np.isfinite(values["values"])):
        raise InputError("the training rows of a model hold NaN or infinite values")


def _check_objective(values: Mapping[str, Any]) -> None:
    if values["weight"].shape != values["training"].shape:
        raise InputError("the slopes of a model are not those of its training rows")


def _check_refitted(values: Mapping[str, Any]) -> None:
    training, loo = values["model"].objective.training, values["loo"]
    right = (len(sampled_rows(training.weights)), training.n_classes)
    if loo.log_prob.shape != right or len(values["leverages"]) != right[0]:
        raise InputError("the rows that were left out of a model are not its training rows")
    if not values["tol"] > 0:
        raise InputError("the tolerance of a model is not above 0")


def _check_one_step(values: Mapping[str, Any]) -> None:
    if len(values["log_prob"]) != len(sampled_rows(values["loo"].weights)):
        raise InputError("the rows that were left out of a model are not its training rows")


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
    genie, classes = values["_genie"], len(inside["classes_"])
    if values.get("method", "analytic") != ("refit" if type(genie) is Refitted else "analytic"):
        raise InputError("the genie in a PNMLClassifier is not that of its method")
    if type(genie) is Refitted:
        training = genie.model.objective.training
        told = training.n_classes, len(training.center)
    else:
        told = genie.log_prob.shape[1], values["n_features_in_"]
    if told != (classes, values["n_features_in_"]):
        raise InputError("the genie in a PNMLClassifier was not fitted to its features")


def _check_universal(values: Mapping[str, Any]) -> None:
    if "estimators_" not in values:
        return  # not fitted
    members = values["estimators_"]
    if not members or list(values["named_estimators_"].values()) != members:
        raise InputError("a UniversalClassifier does not name its classifiers")
    if not all("n_features_in_" in vars(member) for member in members):
        raise InputError("a classifier of a UniversalClassifier is not fitted")
    classes = members[0].classes_
    for member in members:
        if member.n_features_in_ != values["n_features_in_"]:
            raise InputError("the classifiers of a UniversalClassifier have other features")
        if not np.array_equal(member.classes_, classes):
            raise InputError("the classifiers of a UniversalClassifier have other classes")
        if len(member._left_out_sample().log_prob) != len(values["_labels"]):
            raise InputError("the classifiers of a UniversalClassifier have left out other rows")
    if not np.all((values["_labels"] >= 0) & (values["_labels"] < len(classes))):
        raise InputError("the labels in a UniversalClassifier are not those of its classes")


_CLASSIFIER: dict[str, Spec] = {
    "estimator_": OneOf((LogisticRegression,)),
    "spectrum_": OneOf((Spectrum,)),
    "alpha_": OneOf((float,)),
    "_genie": OneOf((OneStep, Refitted)),
}
_LOGISTIC: dict[str, Spec] = {
    "classes_": LABELS,
    "coef_": Either(numbers("m", "d")),
    "intercept_": Either(numbers("m")),
    "n_iter_": Either(numbers("i")),
}
_UNIVERSAL: dict[str, Spec] = {
    "estimators_": ManyOf(list, OneOf((PNMLClassifier,))),
    "named_estimators_": ManyOf(dict, OneOf((PNMLClassifier,))),
    "_labels": array("s", dtype=np.int64),
    "_weights": array("s"),
}

CLASSIFIER_PARTS = [
    value(LabelsLeftOut),
    value(LogisticPNML),
    value(TrainingRows, check=_check_training),
    value(Objective, build=_objective, check=_check_objective),
    value(LogisticModel),
    value(OneStep, check=_check_one_step),
    value(Refitted, build=_refitted, check=_check_refitted),
    estimator(LogisticRegression, _LOGISTIC, _check_logistic),
]
CLASSIFIERS = [
    estimator(PNMLClassifier, _CLASSIFIER, _check_classifier),
    estimator(UniversalClassifier, _UNIVERSAL, _check_universal),
]
