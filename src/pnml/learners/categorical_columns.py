"""Columns that a fitted model splits by category, though they may hold numbers."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from pnml.learners.last_step import inside


def categorical_columns(model: Any) -> tuple[int, ...]:
    """Positions of the columns that a fitted model treats as categories; () if there are none.

    A Pipeline gives (). LightGBM and CatBoost models are read without importing these packages.

    >>> model = HistGradientBoostingRegressor(categorical_features=[0], max_iter=1)
    >>> categorical_columns(model.fit(np.tile([[0.0], [1.0]], (30, 1)), [0.0, 1.0] * 30))
    (0,)
    """
    model = inside(model)
    library = type(model).__module__.partition(".")[0]
    if library == "lightgbm":
        return _of_lightgbm(getattr(model, "booster_", model))
    if library == "catboost":
        return tuple(int(place) for place in model.get_cat_feature_indices())
    return _categorical(model)


@singledispatch
def _categorical(model: Any) -> tuple[int, ...]:
    return ()


@_categorical.register(HistGradientBoostingClassifier)
@_categorical.register(HistGradientBoostingRegressor)
def _of_hist_gradient_boosting(model: Any) -> tuple[int, ...]:
    marked = model.is_categorical_
    return () if marked is None else tuple(map(int, np.flatnonzero(marked)))


def _of_lightgbm(booster: Any) -> tuple[int, ...]:
    """LightGBM lists the values of a category as 1:2:3 and the range of numbers as [0:1]."""
    text = booster.model_to_string(num_iteration=1)
    line = next((row for row in text.splitlines() if row.startswith("feature_infos=")), "")
    infos = line.partition("=")[2].split(" ") if line else []
    return tuple(j for j, info in enumerate(infos) if info[:1] not in ("[", "n", ""))
