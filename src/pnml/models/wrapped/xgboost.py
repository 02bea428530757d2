"""Fitted models of XGBoost, to and from a file, by the JSON that XGBoost itself writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pnml.errors import InputError
from pnml.models.wrapped.classes import library, version_of
from pnml.models.wrapped.plain import said, unfitted_copy
from pnml.models.wrapped.stored import Bytes, as_bytes, as_text, stored
from pnml.models.wrapped.xgboost_json import check_json


@dataclass(frozen=True)
class StoredXGBoost:
    """Stored form of a fitted XGBoost model; the best round, if there is one, is in the JSON."""

    estimator: Any  # not fitted; None where the model is a Booster
    version: str  # of XGBoost
    json: Annotated[Bytes, "b"]
    classes: int | None


def store_xgboost(model: Any) -> StoredXGBoost:
    """The stored form of a fitted estimator or Booster of XGBoost."""
    version = version_of("xgboost")
    if type(model) is library("xgboost").Booster:
        return StoredXGBoost(None, version, _json(model), None)
    return StoredXGBoost(
        unfitted_copy(model, (type(model),)),
        version,
        _json(model.get_booster()),
        int(model.n_classes_) if hasattr(model, "n_classes_") else None,
    )


def _json(booster: Any) -> Bytes:
    raw = bytes(booster.save_raw("json"))
    check_json(raw.decode())
    return as_bytes(raw)


def _model(held: StoredXGBoost) -> Any:
    xgboost = library("xgboost")
    _, classes = check_json(as_text(held.json, "the JSON of its XGBoost model"))
    made = None
    if held.estimator is not None:
        made = unfitted_copy(held.estimator, _estimators(xgboost))
    try:
        booster = xgboost.Booster({"n_jobs": made.n_jobs} if made is not None else None)
        booster.load_model(bytearray(held.json.tobytes()))
    except Exception as error:
        raise InputError(
            f"XGBoost {version_of('xgboost')} cannot read its model, written by XGBoost "
            f"{held.version}: {said(error)}"
        ) from error
    if made is None:
        return booster
    made._Booster = booster
    if (held.classes is not None) != isinstance(made, xgboost.XGBClassifier):
        raise InputError("a regressor of XGBoost has classes, or a classifier has none")
    if held.classes is not None:
        if held.classes < 1 or classes != (held.classes if held.classes > 2 else 0):
            raise InputError("the classes of a model are not those of its trees")
        made.n_classes_ = held.classes
    return made


def _estimators(xgboost: Any) -> tuple[type, ...]:
    return (
        xgboost.XGBRegressor,
        xgboost.XGBClassifier,
        xgboost.XGBRFRegressor,
        xgboost.XGBRFClassifier,
    )


XGBOOST_CODECS = [stored(StoredXGBoost, "XGBoostModel", _model)]
