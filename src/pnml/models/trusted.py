"""Codecs of TrustedRegressor and TrustedClassifier, around models of any library."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import NoneType
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold
from sklearn.utils.validation import check_is_fitted

from pnml.columns.encoder import ColumnEncoder
from pnml.core.conditions import MAY_BE_INFINITE, NOT_NAN, POSITIVE
from pnml.core.leaves.local_noise import LocalNoise
from pnml.core.ranges import Ranges
from pnml.errors import InputError
from pnml.estimators.fit_model import PredictFunction, is_kind
from pnml.estimators.trusted_classifier import TrustedClassifier
from pnml.estimators.trusted_regressor import TrustedRegressor
from pnml.learners.cross_fitted import CrossFitted
from pnml.learners.expected_error import ExpectedError
from pnml.learners.last_step import last_inside
from pnml.learners.trusted_classes import TrustedClasses
from pnml.learners.trusted_model import TrustedModel
from pnml.learners.trusted_values import TrustedValues
from pnml.learners.wrong_probability import WrongProbability
from pnml.models.codec import LABELS, Codec, Conversion, array, estimator, unfitted, value
from pnml.models.pipelines import STEPS
from pnml.models.relations import RELATIONS, relations_in
from pnml.models.schema import OneOf, Sizeless, Spec
from pnml.models.step_widths import width_in, width_out
from pnml.models.trust_maps import (
    TRUST_MAP_PARTS,
    StoredFeatures,
    StoredLeaves,
    loaded_map,
    stored_map,
)
from pnml.models.wrapped import CloneOf, RowsOf, UnfittedModel, WrappedModel
from pnml.models.wrapped.plain import said
from pnml.models.wrapped.probe_rows import ProbeRows, rows_again


class Model(Sizeless):
    """Spec: a fitted model of any library, which has a ``predict``."""

    @property
    def text(self) -> str:
        """The word "model", which describes the field in ``docs/model-file.md``."""
        return "model"

    def accepts(self, value: Any) -> bool:
        """Whether a value has a method ``predict`` and is no class."""
        return hasattr(value, "predict") and not isinstance(value, type)


def _params(model: Any) -> dict[str, Any]:
    """The constructor argument ``estimator`` for the file: the fitted or the unfitted model."""
    given, fitted = model.estimator, vars(model).get("estimator_")
    if given is None or fitted is None:
        return {}
    wrapped = WrappedModel(fitted, vars(model).get("_probe"))
    function = fitted.function if isinstance(fitted, PredictFunction) else None
    if given is fitted or given is function:
        return {"estimator": wrapped}
    return {"estimator": UnfittedModel(given, CloneOf(wrapped, type(given).__qualname__))}


def _state(model: Any) -> dict[str, Any]:
    base: TrustedModel = model.learner_.base
    trust_map: Any = base.trust_map
    return {
        "estimator_": WrappedModel(model.estimator_, vars(model).get("_probe")),
        "_probe": RowsOf(model.estimator_),
        "_encoder": base.encoder,
        "_trust_map": stored_map(trust_map),
        "_ranges": base.ranges,
        "_leverages": base.leverages,
        "_excesses": base.excesses,
        "_weights": base.weights,
        "_relations": base.relations,
        "_cross_fitted": model.learner_.cross_fitted,
    }


def _values_state(model: TrustedRegressor) -> dict[str, Any]:
    return _state(model) | {"_errors": model.learner_.errors}


def _classes_state(model: TrustedClassifier) -> dict[str, Any]:
    learner = model.learner_
    own = {"classes_": model.classes_, "_regrets": learner.regrets, "_wrong": learner.wrong}
    return _state(model) | own


def _base(state: Mapping[str, Any]) -> tuple[dict[str, Any], TrustedModel]:
    """Fitted attributes of a trusted estimator and its TrustedModel; raises if parts clash."""
    model, encoder, rows = state["estimator_"], state["_encoder"], state["_probe"]
    _check_columns(state)
    try:
        _check_model(model, len(encoder.kinds))
        trust_map = loaded_map(state["_trust_map"], model, encoder)
    except InputError:
        raise
    except Exception as error:  # of another library
        raise InputError(f"its model cannot be read: {said(error)}") from error
    left_out = state["_leverages"], state["_excesses"], state["_weights"]
    relations = relations_in(state, encoder.width)
    base = TrustedModel(model, encoder, trust_map, state["_ranges"], *left_out, relations)
    probe = None if rows is None else rows_again(rows)
    return {"estimator_": model, "_probe": probe}, base


def _check_columns(state: Mapping[str, Any]) -> None:
    encoder, names = state["_encoder"], state.get("feature_names_in_")
    if len(encoder.kinds) != state["n_features_in_"]:
        raise InputError("the columns of a model are not as many as its features")
    if names is not None and encoder.named and tuple(names) != encoder.names:
        raise InputError("the columns of a model have other names than its features")
    if state["_ranges"].lowest.shape[1] != len(encoder.numbers):
        raise InputError("the ranges of a model are not those of its columns")
    if not len(state["_weights"]):
        raise InputError("the training rows of a model have no weights")


def _check_model(model: Any, columns: int) -> None:
    """Raise where a model is not fitted, or was fitted to another number of columns."""
    last = last_inside(model)
    try:
        if hasattr(last, "fit"):
            check_is_fitted(last)
    except NotFittedError as error:
        raise InputError("the model inside is not fitted") from error
    if width_in(model) not in (None, columns):
        raise InputError("the model inside was fitted to other columns")
    steps = [step for _, step in getattr(model, "steps", [])]
    before = steps[-2] if len(steps) > 1 and type(steps[-2]) in STEPS else None
    if before is not None and width_in(last) not in (None, width_out(before)):
        raise InputError("the last step of the model inside was fitted to other columns")


def _values(made: Any, state: Mapping[str, Any]) -> dict[str, Any]:
    attributes, base = _base(state)
    errors: ExpectedError | None = state["_errors"]
    if is_kind("classifier", base.model):
        raise InputError("the model in a TrustedRegressor is a classifier")
    if errors is not None and len(errors.noise.weight) != base.trust_map.region_count:
        raise InputError("its errors are not those of its leaves")
    return attributes | {"learner_": TrustedValues(base, errors, state["_cross_fitted"])}


def _classes(made: Any, state: Mapping[str, Any]) -> dict[str, Any]:
    attributes, base = _base(state)
    classes = state["classes_"]
    known = getattr(base.model, "classes_", None)
    if known is None or not np.array_equal(np.asarray(known), classes):
        raise InputError("the classes of a TrustedClassifier are not those of its model")
    learner = TrustedClasses(base, state["_regrets"], state["_wrong"], state["_cross_fitted"])
    return attributes | {"classes_": classes, "learner_": learner}


def _check_errors(values: Mapping[str, Any]) -> None:
    if not len(values["scores"]):
        raise InputError("its errors have no scores")


_BASE: dict[str, Spec] = {
    "estimator_": Model(),
    "_probe": OneOf((ProbeRows, NoneType)),
    "_encoder": OneOf((ColumnEncoder,)),
    "_trust_map": OneOf((StoredLeaves, StoredFeatures)),
    "_ranges": OneOf((Ranges,)),
    "_leverages": array("n", holds=MAY_BE_INFINITE),
    "_excesses": array("n", holds=NOT_NAN),
    "_weights": array("n", holds=POSITIVE),
    "_relations": RELATIONS,
    "_cross_fitted": OneOf((CrossFitted, NoneType)),
}
_VALUES: dict[str, Spec] = _BASE | {"_errors": OneOf((ExpectedError, NoneType))}
_CLASSES: dict[str, Spec] = _BASE | {
    "classes_": LABELS,
    "_regrets": array("n", holds=NOT_NAN),
    "_wrong": OneOf((WrongProbability, NoneType)),
}
_KEPT = frozenset({"estimator_", "learner_", "_probe"})


def _trusted(
    cls: type,
    state: dict[str, Spec],
    attributes: frozenset[str],
    store: Callable[[Any], dict[str, Any]],
    restore: Callable[[Any, Mapping[str, Any]], dict[str, Any]],
) -> Codec:
    codec = estimator(cls, state, convert=Conversion(attributes, store, restore))
    return replace(codec, params_of=_params, fitted=lambda model: "learner_" in vars(model))


TRUSTED_PARTS = [
    *TRUST_MAP_PARTS,
    value(LocalNoise),
    value(ExpectedError, check=_check_errors),
    value(CrossFitted),
    value(WrongProbability),
    *map(unfitted, (KFold, StratifiedKFold, GroupKFold)),
]
TRUSTED = [
    _trusted(TrustedRegressor, _VALUES, _KEPT, _values_state, _values),
    _trusted(TrustedClassifier, _CLASSES, _KEPT | {"classes_"}, _classes_state, _classes),
]
