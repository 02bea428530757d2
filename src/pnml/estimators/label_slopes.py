"""Slopes of transforms of the label: closed forms of common ones, else differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from pnml.core.arrays import FloatArray
from pnml.core.elementwise import log_slope_of

_LOG_SQRT_2PI = 0.5 * np.log(2 * np.pi)
_CUBE_ROOT = float(np.cbrt(np.finfo(float).eps))  # balances truncation and round-off


def one_column(method: Callable[[Any], Any], values: FloatArray) -> FloatArray:
    """Results, in the shape of `values`, of a transformer's method that takes a single column."""
    flat = np.asarray(values, dtype=float).reshape(-1, 1)
    if not len(flat):
        return np.zeros(np.shape(values))
    return np.asarray(method(flat), dtype=float).reshape(np.shape(values))


def log_slope(transformer: BaseEstimator, y: FloatArray, ends: tuple[float, float]) -> FloatArray:
    """Log of the absolute slope of a fitted transformer at labels y, in the shape of y.

    `ends` are the smallest and the largest label that it takes. Scalers, power and quantile
    transforms, functions of numpy and Pipelines of these have closed forms; all others are by
    central differences, with some ten digits where the transform is smooth.
    """
    known = _CLOSED.get(type(transformer))
    slope = None if known is None else known(transformer, y)
    return _differences(transformer, y, ends) if slope is None else slope


def _differences(
    transformer: BaseEstimator, y: FloatArray, ends: tuple[float, float]
) -> FloatArray:
    """Central differences; the step follows the distance from a finite end of the labels."""
    with np.errstate(invalid="ignore"):
        room = np.minimum(y - ends[0], ends[1] - y)
    size = np.where(np.isfinite(room), room, np.maximum(np.abs(y), 1.0))
    step = _CUBE_ROOT * np.minimum(size, np.maximum(np.abs(y), 1.0))
    left, right = y - step, y + step
    rise = one_column(transformer.transform, right) - one_column(transformer.transform, left)
    out: FloatArray = np.log(np.abs(rise)) - np.log(right - left)
    return out


def _function(transformer: BaseEstimator, y: FloatArray) -> FloatArray | None:
    if transformer.func is None:
        return np.zeros_like(y)
    closed = None if transformer.kw_args else log_slope_of(transformer.func)
    return None if closed is None else closed(y)


def _divided(transformer: BaseEstimator, y: FloatArray) -> FloatArray:
    scale = 1.0 if transformer.scale_ is None else float(transformer.scale_[0])
    return np.full_like(y, -np.log(scale))


def _multiplied(transformer: BaseEstimator, y: FloatArray) -> FloatArray:
    return np.full_like(y, np.log(float(transformer.scale_[0])))


def _power(transformer: BaseEstimator, y: FloatArray) -> FloatArray:
    exponent = float(transformer.lambdas_[0])
    if transformer.method == "box-cox":
        slope = (exponent - 1) * np.log(y)
    else:  # Yeo and Johnson, mirrored below 0
        slope = np.where(y < 0, 1 - exponent, exponent - 1) * np.log1p(np.abs(y))
    if transformer.standardize:
        slope = slope + _divided(transformer._scaler, y)
    return np.asarray(slope, dtype=float)


def _quantile(transformer: BaseEstimator, y: FloatArray) -> FloatArray:
    knots, levels = transformer.quantiles_[:, 0], transformer.references_
    piece = np.clip(np.searchsorted(knots, y, side="right") - 1, 0, len(knots) - 2)
    slope = np.log(np.diff(levels)[piece]) - np.log(np.diff(knots)[piece])
    if transformer.output_distribution == "normal":
        z = one_column(transformer.transform, y)
        slope = slope + 0.5 * z**2 + _LOG_SQRT_2PI
    return np.asarray(slope, dtype=float)


def _chain(transformer: BaseEstimator, y: FloatArray) -> FloatArray | None:
    """Slopes of a Pipeline add up in logarithms; None where a step has no closed form."""
    total = np.zeros_like(y)
    for _, step in transformer.steps:
        if step is None or step == "passthrough":
            continue
        known = _CLOSED.get(type(step))
        slope = None if known is None else known(step, y)
        if slope is None:
            return None
        total, y = total + slope, one_column(step.transform, y)
    return total


_CLOSED: dict[type, Callable[[Any, FloatArray], FloatArray | None]] = {
    FunctionTransformer: _function,
    StandardScaler: _divided,
    RobustScaler: _divided,
    MaxAbsScaler: _divided,
    MinMaxScaler: _multiplied,
    PowerTransformer: _power,
    QuantileTransformer: _quantile,
    Pipeline: _chain,
}
