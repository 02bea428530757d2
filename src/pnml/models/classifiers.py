"""Codecs of classifiers and of the values they are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import singledispatch
from typing import Annotated, Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from pnml.core.arrays import FloatArray
from pnml.core.conditions import FINITE, MAY_BE_INFINITE, NOT_NAN, NOT_NEGATIVE, POSITIVE
from pnml.core.conformal import GroupedScores
from pnml.core.geometry.spectrum import Spectrum
from pnml.core.logistic.model import LogisticModel
from pnml.core.logistic.training import Objective, TrainingRows
from pnml.core.softmax_leave_one_out import LabelsLeftOut
from pnml.errors import InputError
from pnml.estimators.calibration_rows import RowGroups
from pnml.estimators.classifier import PNMLClassifier
from pnml.estimators.conformal_classifier import ConformalClassifier
from pnml.estimators.tree_classifier import PNMLTreeClassifier
from pnml.estimators.universal_classifier import UniversalClassifier, feature_names
from pnml.learners.feature_geometry import FeatureGeometry
from pnml.learners.label_union import LabelUnion
from pnml.learners.logistic_refit import LogisticPNML, LogisticRefit
from pnml.learners.one_step import OneStep, sampled_rows
from pnml.learners.tree_member import TreeMember
from pnml.models.codec import LABELS, Conversion, array, estimator, numbers, value
from pnml.models.relations import RELATIONS, relations_in
from pnml.models.schema import Either, Fitted, ManyOf, Number, OneOf, Spec


def _objective(training: TrainingRows, weight: Annotated[FloatArray, "c q"]) -> Objective:
    """The objective of a logistic regression, with its probabilities computed again."""
    return training.at(weight)


@dataclass(frozen=True)
class StoredOneStep:
    """Fields of a OneStep learner in a file; its geometry and classifier are stored apart."""

    loo: LabelsLeftOut
    log_prob: Annotated[FloatArray, "s c", NOT_NAN]


@dataclass(frozen=True)
class StoredRefit:
    """Fields of a LogisticRefit learner in a file; its geometry and classifier are stored apart."""

    model: LogisticModel
    leverages: Annotated[FloatArray, "s", MAY_BE_INFINITE]
    tol: Annotated[float, POSITIVE]
    loo: LogisticPNML


@singledispatch
def _genie(learner: Any) -> StoredOneStep | StoredRefit:
    """The fields of a classifier's learner that a file stores under the name ``_genie``."""
    raise TypeError(f"no file holds a {type(learner).__name__}")


@_genie.register
def _(learner: OneStep) -> StoredOneStep:
    return StoredOneStep(learner.loo, learner.log_prob)


@_genie.register
def _(learner: LogisticRefit) -> StoredRefit:
    return StoredRefit(learner.model, learner.leverages, learner.tol, learner.loo)


@singledispatch
def _learner(genie: Any, classifier: Any, geometry: FeatureGeometry) -> OneStep | LogisticRefit:
    """The learner of a PNMLClassifier, made from its stored genie, classifier and geometry."""
    raise TypeError(f"no classifier holds a {type(genie).__name__}")


@_learner.register
def _(genie: StoredOneStep, classifier: Any, geometry: FeatureGeometry) -> OneStep:
    return OneStep(classifier, geometry, genie.loo, genie.log_prob)


@_learner.register
def _(genie: StoredRefit, classifier: Any, geometry: FeatureGeometry) -> LogisticRefit:
    learner = LogisticRefit(classifier, geometry, genie.model, genie.leverages, genie.tol)
    vars(learner)["loo"] = genie.loo  # known already
    return learner


def _classifier_state(model: PNMLClassifier) -> dict[str, Any]:
    return {
        "estimator_": model.estimator_,
        "spectrum_": model.spectrum_,
        "alpha_": model.alpha_,
        "_genie": _genie(model.learner_),
        "_relations": model.learner_.geometry.relations,
    }


def _classifier(made: PNMLClassifier, state: Mapping[str, Any]) -> dict[str, Any]:
    if type(made.normalize) not in (bool, np.bool_):
        raise InputError("normalize of a PNMLClassifier is neither true nor false")
    spectrum, relations = state["spectrum_"], relations_in(state)
    geometry = FeatureGeometry(spectrum, state["alpha_"], bool(made.normalize), relations)
    learner = _learner(state["_genie"], state["estimator_"], geometry)
    return {"estimator_": state["estimator_"], "learner_": learner}


def _union_state(model: UniversalClassifier) -> dict[str, Any]:
    return {
        "estimators_": model.estimators_,
        "named_estimators_": model.named_estimators_,
        "_labels": model.learner_.labels,
        "_weights": model.learner_.weights,
        "_tree_log_prob": {
            name: part.log_prob
            for name, part in zip(model.named_estimators_, model.learner_.members, strict=True)
            if isinstance(part, TreeMember)
        },
    }


def _union(made: Any, state: Mapping[str, Any]) -> dict[str, Any]:
    left_out = state.get("_tree_log_prob", {})
    members = state["named_estimators_"]
    learner = LabelUnion(
        tuple(
            TreeMember(member.learner_, left_out[name]) if _is_tree(member) else member.learner_
            for name, member in members.items()
        ),
        state["_labels"],
        state["_weights"],
        tuple(feature_names(member) for member in members.values()),
    )
    names = ("estimators_", "named_estimators_")
    return {"learner_": learner} | {name: state[name] for name in names}


def _check_training(values: Mapping[str, Any]) -> None:
    classes, labels = values["n_classes"], values["labels"]
    if classes < 2 or not len(labels) or not np.all((labels >= 0) & (labels < classes)):
        raise InputError(f"the training rows of a model are not of its {classes} classes")
    columns = len(values["center"])
    if len(values["penalty"]) not in (columns, columns + 1):
        raise InputError("the penalties of a model are not those of its columns")
    if not np.any(values["weights"] > 0):
        raise InputError("the training rows of a model have no weights")


def _check_objective(values: Mapping[str, Any]) -> None:
    if values["weight"].shape != values["training"].shape:
        raise InputError("the slopes of a model are not those of its training rows")


def _check_refitted(values: Mapping[str, Any]) -> None:
    training, loo = values["model"].objective.training, values["loo"]
    right = (len(sampled_rows(training.weights)), training.n_classes)
    if loo.log_prob.shape != right or len(values["leverages"]) != right[0]:
        raise InputError("the rows that were left out of a model are not its training rows")


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
    if values.get("method", "analytic") != ("refit" if type(genie) is StoredRefit else "analytic"):
        raise InputError("the genie in a PNMLClassifier is not that of its method")
    if type(genie) is StoredRefit:
        training = genie.model.objective.training
        told = training.n_classes, len(training.center)
    else:
        told = genie.log_prob.shape[1], values["n_features_in_"]
    if told != (classes, values["n_features_in_"]):
        raise InputError("the genie in a PNMLClassifier was not fitted to its features")


def _is_tree(member: Any) -> bool:
    return isinstance(member, PNMLTreeClassifier)


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
    left_out, right = values.get("_tree_log_prob", {}), (len(values["_labels"]), len(classes))
    trees = [name for name, member in values["named_estimators_"].items() if _is_tree(member)]
    if sorted(trees) != sorted(left_out):
        raise InputError("a UniversalClassifier lacks the rows that were left out of its trees")
    for name, member in values["named_estimators_"].items():
        if _is_tree(member):
            rows = sampled_rows(member.learner_.loo.weights)
            shape = left_out[name].shape if len(rows) == right[0] else ()
        else:
            shape = member.learner_.sample.log_prob.shape
        if shape != right:
            raise InputError("the classifiers of a UniversalClassifier have left out other rows")
    if not np.all((values["_labels"] >= 0) & (values["_labels"] < len(classes))):
        raise InputError("the labels in a UniversalClassifier are not those of its classes")


def _check_conformal(values: Mapping[str, Any]) -> None:
    if "estimator_" not in values:
        return  # not fitted
    inside, classes = values["estimator_"], values["classes_"]
    if not np.array_equal(getattr(inside, "classes_", ()), classes):
        raise InputError("the classes of a ConformalClassifier are not those of its classifier")
    groups = values.get("_groups")
    cells = 1 if groups is None else len(groups.names)
    cells *= len(classes) if values.get("class_conditional", False) else 1
    if len(values["_calibration"].sizes) != cells:
        raise InputError("the scores of a ConformalClassifier are not those of its groups")


_CLASSIFIER: dict[str, Spec] = {
    "estimator_": OneOf((LogisticRegression,)),
    "spectrum_": OneOf((Spectrum,)),
    "alpha_": Number((float,), NOT_NEGATIVE),
    "_genie": OneOf((StoredOneStep, StoredRefit)),
    "_relations": RELATIONS,
}
_CONFORMAL: dict[str, Spec] = {
    "estimator_": Fitted(),
    "classes_": LABELS,
    "_calibration": OneOf((GroupedScores,)),
    "_groups": OneOf((RowGroups,)),
}
_LOGISTIC: dict[str, Spec] = {
    "classes_": LABELS,
    "coef_": Either(numbers("m", "d", holds=FINITE)),
    "intercept_": Either(numbers("m", holds=FINITE)),
    "n_iter_": Either(numbers("i")),
}
_UNIVERSAL: dict[str, Spec] = {
    "estimators_": ManyOf(list, OneOf((PNMLClassifier, PNMLTreeClassifier))),
    "named_estimators_": ManyOf(dict, OneOf((PNMLClassifier, PNMLTreeClassifier))),
    "_tree_log_prob": ManyOf(dict, array("s", "c", holds=NOT_NAN)),
    "_labels": array("s", dtype=np.int64),
    "_weights": array("s", holds=NOT_NEGATIVE),
}

CLASSIFIER_PARTS = [
    value(LabelsLeftOut),
    value(LogisticPNML),
    value(TrainingRows, check=_check_training),
    value(Objective, build=_objective, check=_check_objective),
    value(LogisticModel),
    value(StoredOneStep, check=_check_one_step, stored_as="OneStep"),
    value(StoredRefit, check=_check_refitted, stored_as="Refitted"),
    estimator(LogisticRegression, _LOGISTIC, _check_logistic),
]
CLASSIFIERS = [
    estimator(
        PNMLClassifier,
        _CLASSIFIER,
        _check_classifier,
        Conversion(frozenset({"estimator_", "learner_"}), _classifier_state, _classifier),
    ),
    estimator(
        UniversalClassifier,
        _UNIVERSAL,
        _check_universal,
        Conversion(
            frozenset({"estimators_", "named_estimators_", "learner_"}), _union_state, _union
        ),
    ),
    estimator(ConformalClassifier, _CONFORMAL, _check_conformal),
]
