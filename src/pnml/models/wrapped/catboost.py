"""Fitted models of CatBoost, to and from a file, by the bytes that CatBoost itself writes."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pnml.errors import InputError
from pnml.models.wrapped.catboost_bytes import check_bytes
from pnml.models.wrapped.classes import library, version_of
from pnml.models.wrapped.plain import said, unfitted_copy
from pnml.models.wrapped.stored import Bytes, as_bytes, stored


@dataclass(frozen=True)
class StoredCatBoost:
    """Stored form of a fitted CatBoost model."""

    estimator: Any  # not fitted
    version: str  # of CatBoost
    cbm: Annotated[Bytes, "b"]


def store_catboost(model: Any) -> StoredCatBoost:
    """The stored form of a fitted CatBoostRegressor or CatBoostClassifier."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.cbm"
        model.save_model(str(path), format="cbm")
        data = path.read_bytes()
    check_bytes(data)
    estimator = unfitted_copy(model, (type(model),))
    return StoredCatBoost(estimator, version_of("catboost"), as_bytes(data))


def _model(held: StoredCatBoost) -> Any:
    catboost = library("catboost")
    classes = (catboost.CatBoostRegressor, catboost.CatBoostClassifier)
    made = unfitted_copy(held.estimator, classes)
    data = held.cbm.tobytes()
    checked = check_bytes(data)
    if (checked.classes > 0) != (type(made) is catboost.CatBoostClassifier):
        raise InputError("a regressor of CatBoost has classes, or a classifier has none")
    params = dict(made._init_params)
    try:
        made.load_model(blob=data)
    except Exception as error:
        raise InputError(
            f"CatBoost {version_of('catboost')} cannot read its model, written by CatBoost "
            f"{held.version}: {said(error)}"
        ) from error
    made._init_params = params
    made._n_features_in = checked.features  # CatBoost forgets it
    return made


CATBOOST_CODECS = [stored(StoredCatBoost, "CatBoostModel", _model)]
