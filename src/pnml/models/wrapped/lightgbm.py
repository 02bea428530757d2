"""Fitted models of LightGBM, to and from a file, by the text that LightGBM itself writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from sklearn.preprocessing import LabelEncoder

from pnml.errors import InputError
from pnml.models.wrapped.classes import library, version_of
from pnml.models.wrapped.lightgbm_text import check_text
from pnml.models.wrapped.plain import said, unfitted_copy
from pnml.models.wrapped.stored import Bytes, as_bytes, as_text, stored


@dataclass(frozen=True)
class StoredLightGBM:
    """Stored form of a fitted LightGBM model with all its rounds, also those after the best one."""

    estimator: Any  # not fitted; None where the model is a Booster
    version: str  # of LightGBM
    text: Annotated[Bytes, "b"]
    best_iteration: int  # 0 where it was not stopped early
    objective: str | None
    classes: Any
    named: bool  # whether it was fitted to columns with names


def store_lightgbm(model: Any) -> StoredLightGBM:
    """The stored form of a fitted LGBMRegressor, LGBMClassifier or Booster."""
    version = version_of("lightgbm")
    if type(model) is library("lightgbm").Booster:
        return StoredLightGBM(None, version, _text(model), _best(model), None, None, True)
    objective = model.objective_
    if type(objective) is not str:
        raise InputError(
            f"objective of this {type(model).__name__} is a function, which a model file cannot "
            "hold"
        )
    return StoredLightGBM(
        unfitted_copy(model, (type(model),)),
        version,
        _text(model.booster_),
        _best(model.booster_),
        objective,
        getattr(model, "_classes", None),
        bool(getattr(model, "_fitted_with_feature_names", True)),
    )


def _text(booster: Any) -> Bytes:
    text = booster.model_to_string(num_iteration=-1)
    check_text(text)
    return as_bytes(text.encode())


def _best(booster: Any) -> int:
    return max(int(booster.best_iteration), 0)


def _model(held: StoredLightGBM) -> Any:
    lightgbm = library("lightgbm")
    text = as_text(held.text, "the text of its LightGBM model")
    features, outputs = check_text(text)
    try:
        booster = lightgbm.Booster(model_str=text)
    except Exception as error:
        raise InputError(
            f"LightGBM {version_of('lightgbm')} cannot read its model, written by LightGBM "
            f"{held.version}: {said(error)}"
        ) from error
    rounds = booster.current_iteration()
    if not 0 <= held.best_iteration <= rounds:
        raise InputError("the best round of a model is not one of its rounds")
    booster.best_iteration = held.best_iteration
    if held.estimator is None:
        return booster
    made = unfitted_copy(held.estimator, (lightgbm.LGBMRegressor, lightgbm.LGBMClassifier))
    state: dict[str, Any] = {
        "_Booster": booster,
        "_best_iteration": held.best_iteration,
        "_objective": _objective(held.objective),
        "_n_features": features,
        "_n_features_in": features,
        "_fitted_with_feature_names": held.named,
        "fitted_": True,
    }
    vars(made).update(state)
    if type(made) is lightgbm.LGBMClassifier:
        _set_classes(made, held.classes, outputs)
    elif held.classes is not None or outputs != 1:
        raise InputError("a regressor of LightGBM has classes")
    return made


def _objective(name: str | None) -> str:
    if type(name) is not str or not name.replace("_", "").isalnum():
        raise InputError("a model of LightGBM does not say what it minimises")
    return name


def _set_classes(made: Any, classes: Any, outputs: int) -> None:
    right = type(classes) is np.ndarray and classes.ndim == 1 and len(classes) > 1
    right = right and len(np.unique(classes)) == len(classes)
    if not right or outputs not in ((1, 2) if len(classes) == 2 else (len(classes),)):
        raise InputError("the classes of a model are not those of its trees")
    encoder = LabelEncoder()
    encoder.classes_ = classes
    vars(made).update(
        _classes=classes,
        _n_classes=len(classes),
        _le=encoder,
        _class_map=dict(zip(classes, range(len(classes)), strict=True)),
    )


LIGHTGBM_CODECS = [stored(StoredLightGBM, "LightGBMModel", _model)]
