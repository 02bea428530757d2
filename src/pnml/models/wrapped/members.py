"""Fitted bagging and AdaBoost models of scikit-learn, to and from a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
)

from pnml.errors import InputError
from pnml.models.wrapped.classes import name_of
from pnml.models.wrapped.plain import attributes_of, set_attributes, unfitted_copy
from pnml.models.wrapped.stored import Attributes, stored

_BAGGING = (BaggingClassifier, BaggingRegressor)
MEMBERS = (*_BAGGING, AdaBoostClassifier, AdaBoostRegressor)


@dataclass(frozen=True)
class StoredMembers:
    """Stored form of a fitted bagging or AdaBoost model with members of any known class."""

    estimator: Any  # not fitted
    attributes: Attributes
    members: Any  # list of fitted models
    features: Any  # list of the features (f,) that each member sees; None where all see all


def store_members(model: Any) -> StoredMembers:
    """The stored form of a fitted bagging or AdaBoost model."""
    features = None
    if type(model) in _BAGGING:
        features = [np.asarray(seen, dtype=np.int64) for seen in model.estimators_features_]
    return StoredMembers(
        unfitted_copy(model, MEMBERS),
        attributes_of(model, "estimators_", "estimators_features_"),
        list(model.estimators_),
        features,
    )


def _ensemble(held: StoredMembers) -> Any:
    made = unfitted_copy(held.estimator, MEMBERS)
    set_attributes(made, held.attributes)
    members, width = held.members, made.n_features_in_
    if type(members) is not list or not members:
        raise InputError(f"a {type(made).__name__} has no members")
    widths = [width] * len(members)
    if type(made) in _BAGGING:
        widths = _widths(held.features, len(members), width)
        made.estimators_features_ = held.features
    elif held.features is not None:
        raise InputError(f"a {type(made).__name__} picks no features")
    for member, wanted in zip(members, widths, strict=True):
        known = name_of(type(member)) is not None
        if not known or vars(member).get("n_features_in_") != wanted:
            raise InputError("a member of a model was not fitted to its features")
        if is_classifier(member) and not is_classifier(made):
            raise InputError("a member of a regressor is a classifier")
    if is_classifier(made):
        labels = vars(made).get("classes_")
        vector = type(labels) is np.ndarray and labels.ndim == 1 and len(labels) > 0
        if not vector or vars(made).get("n_classes_") != len(labels):
            raise InputError(f"a {type(made).__name__} counts other classes than it has")
    made.estimators_ = members
    return made


def _widths(features: Any, members: int, width: int) -> list[int]:
    """Number of features that each member of a bagging sees."""
    right = type(features) is list and len(features) == members
    for seen in features if right else ():
        array = type(seen) is np.ndarray and seen.dtype == np.int64 and seen.ndim == 1
        right = right and array and bool(np.all((seen >= 0) & (seen < width)))
    if not right:
        raise InputError("the features of a model's members are not among its own")
    return [len(seen) for seen in features]


MEMBER_CODECS = [stored(StoredMembers, "FittedMembers", _ensemble)]
