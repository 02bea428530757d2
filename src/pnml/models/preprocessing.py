"""Codecs of the usual preprocessing: scalers, encoders, imputers, components, functions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import NoneType
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from pnml.errors import InputError, shorten
from pnml.models.codec import array, numbers
from pnml.models.encoders import ENCODERS
from pnml.models.schema import Cells, Either, Names, OneOf, Same, Spec
from pnml.models.steps import refuse_infinite, refuse_zero, transformer
from pnml.models.values import FUNCTIONS_BY_NAME

_NONE = OneOf((NoneType,))
_WHOLE = OneOf((int, np.int64, np.int32))
_PER_COLUMN = Either(numbers("d"))
_OR_NONE = Either((*numbers("d"), _NONE))
_NUMBER = OneOf((float, np.float64, np.float32, int))
_CELL_DTYPES = ("float64", "float32", "int64", "int32", "bool", "object")
_MOST_DEGREE = 100


def _check_scaler(values: Mapping[str, Any]) -> None:
    refuse_infinite(values, "mean_", "var_", "center_", "min_", "scale_", gaps=True)
    refuse_zero(values, "scale_")


def _check_standard(values: Mapping[str, Any]) -> None:
    _check_scaler(values)
    _refuse_lacking(values, {"with_mean": "mean_", "with_std": "scale_"})


def _check_robust(values: Mapping[str, Any]) -> None:
    _check_scaler(values)
    _refuse_lacking(values, {"with_centering": "center_", "with_scaling": "scale_"})


def _refuse_lacking(values: Mapping[str, Any], kept: Mapping[str, str]) -> None:
    """Raise where a fitted scaler lacks an attribute that one of its parameters requires."""
    for asked, name in kept.items():
        if name in values and values.get(asked, True) and values[name] is None:
            raise InputError(f"a step lacks the {name} that {asked} asks for")


def _check_power(values: Mapping[str, Any]) -> None:
    refuse_infinite(values, "lambdas_", gaps=True)
    scaler = values.get("_scaler")
    if "lambdas_" in values and (scaler is None) == bool(values.get("standardize", True)):
        raise InputError("a PowerTransformer lacks the scaler that standardize asks for")
    if scaler is not None and scaler.n_features_in_ != values["n_features_in_"]:
        raise InputError("the scaler in a PowerTransformer is not one of its columns")


def _check_quantiles(values: Mapping[str, Any]) -> None:
    if "quantiles_" not in values:
        return  # not fitted
    refuse_infinite(values, "references_")
    refuse_infinite(values, "quantiles_", gaps=True)
    if np.any(np.diff(values["references_"]) < 0) or np.any(
        np.diff(values["quantiles_"], axis=0) < 0
    ):
        raise InputError("the quantiles of a QuantileTransformer are not in order")


def _check_components(values: Mapping[str, Any]) -> None:
    if "components_" not in values:
        return  # not fitted
    refuse_infinite(values, "components_", "mean_", "explained_variance_")
    if values["n_components_"] != len(values["components_"]):
        raise InputError("the components of a PCA are not as many as it says")


def _check_indicator(values: Mapping[str, Any]) -> None:
    columns = values.get("features_", np.zeros(0, dtype=np.int64))
    if not np.all((columns >= 0) & (columns < values.get("n_features_in_", 0))):
        raise InputError("the columns with gaps of an imputer are not among its columns")


def _imputer_state(model: SimpleImputer) -> dict[str, Any]:
    fitted = np.dtype(model._fit_dtype)
    filled = np.dtype(getattr(model, "_fill_dtype", fitted))
    for dtype in (fitted, filled):
        if dtype.name not in _CELL_DTYPES:
            raise InputError(
                f"This SimpleImputer was fitted to cells of {shorten(dtype.name)}, which a model "
                "file cannot hold; fit it to numbers or to a data frame."
            )
    held = {"statistics_": model.statistics_, "indicator_": model.indicator_}
    return held | {"_fit_dtype": fitted.name, "_fill_dtype": filled.name}


def _imputer(made: Any, state: Mapping[str, Any]) -> dict[str, Any]:
    if not {state["_fit_dtype"], state["_fill_dtype"]} <= set(_CELL_DTYPES):
        raise InputError("a SimpleImputer was fitted to cells of no known type")
    indicator = state["indicator_"]
    if (indicator is None) == bool(made.add_indicator):
        raise InputError("a SimpleImputer does not say which columns had gaps")
    if indicator is not None and indicator.n_features_in_ != state["n_features_in_"]:
        raise InputError("the columns with gaps of an imputer are not among its columns")
    dtypes = {name: np.dtype(state[name]) for name in ("_fit_dtype", "_fill_dtype")}
    return dict(state) | dtypes


def _combinations(width: int, least: int, most: int, made: Any) -> int:
    """Number of products of columns with degrees from `least` to `most`."""
    if made.interaction_only:
        degrees = range(max(1, least), min(most, width) + 1)
        count = sum(math.comb(width, degree) for degree in degrees)
    else:
        count = math.comb(width + most, most) - 1
        count -= math.comb(width + least - 1, least - 1) - 1 if least > 0 else 0
    return count + bool(made.include_bias)


def _polynomial(made: PolynomialFeatures, state: Mapping[str, Any]) -> dict[str, Any]:
    least, most = (0, made.degree) if np.ndim(made.degree) == 0 else made.degree
    if not 0 <= least <= most <= _MOST_DEGREE:
        raise InputError(f"the degrees of a PolynomialFeatures are not from 0 to {_MOST_DEGREE}")
    width = state["n_features_in_"]
    counts = {
        "n_output_features_": _combinations(width, least, most, made),
        "_n_out_full": _combinations(width, 0, most, made),
    }
    return counts | {"_min_degree": least, "_max_degree": most}


def _nothing(model: Any) -> dict[str, Any]:
    return {}


def _power_state(model: PowerTransformer) -> dict[str, Any]:
    return {"lambdas_": model.lambdas_, "_scaler": getattr(model, "_scaler", None)}


def _power(made: Any, state: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in state.items() if value is not None}


_FUNCTION = Same((*FUNCTIONS_BY_NAME.values(), None))
_SCALED: dict[str, Spec] = {"scale_": _OR_NONE, "mean_": _OR_NONE, "var_": _OR_NONE}
_RANGE: dict[str, Spec] = dict.fromkeys(
    ("scale_", "min_", "data_min_", "data_max_", "data_range_"), _PER_COLUMN
)
_COMPONENTS: dict[str, Spec] = {
    "components_": Either(numbers("m", "d")),
    "mean_": _PER_COLUMN,
    "explained_variance_": Either(numbers("m")),
    "explained_variance_ratio_": Either(numbers("m")),
    "singular_values_": Either(numbers("m")),
    "noise_variance_": _NUMBER,
    "n_components_": _WHOLE,
    "n_samples_": _WHOLE,
    "_fit_svd_solver": OneOf((str,)),
}
_QUANTILES: dict[str, Spec] = {
    "quantiles_": array("q", "d"),
    "references_": array("q"),
    "n_quantiles_": _WHOLE,
}
_SEEN: dict[str, Spec] = {"n_samples_seen_": Either((*numbers("d"), _NUMBER, _WHOLE))}
_COUNTS = frozenset({"n_output_features_", "_n_out_full", "_min_degree", "_max_degree"})
_TEXT = OneOf((str,))
_IMPUTED: dict[str, Spec] = {
    "statistics_": Either((*numbers("d"), Names("d"), Cells("d"))),
    "indicator_": OneOf((NoneType, MissingIndicator)),
    "_fit_dtype": _TEXT,
    "_fill_dtype": _TEXT,
}
_GAPS: dict[str, Spec] = {
    "features_": Either((array("f", dtype=np.int64), array("f", dtype=np.int32))),
    "_n_features": _WHOLE,
    "_precomputed": OneOf((bool,)),
}

PREPROCESSING = [
    transformer(StandardScaler, _SCALED | _SEEN, _check_standard),
    transformer(MinMaxScaler, _RANGE | _SEEN, _check_scaler),
    transformer(
        MaxAbsScaler, {"scale_": _PER_COLUMN, "max_abs_": _PER_COLUMN} | _SEEN, _check_scaler
    ),
    transformer(RobustScaler, {"center_": _OR_NONE, "scale_": _OR_NONE}, _check_robust),
    transformer(
        PowerTransformer,
        {"lambdas_": array("d"), "_scaler": OneOf((StandardScaler, NoneType))},
        _check_power,
        store=_power_state,
        restore=_power,
    ),
    transformer(QuantileTransformer, _QUANTILES, _check_quantiles),
    transformer(PolynomialFeatures, {}, attributes=_COUNTS, store=_nothing, restore=_polynomial),
    transformer(VarianceThreshold, {"variances_": _PER_COLUMN}),
    transformer(PCA, _COMPONENTS, _check_components),
    transformer(MissingIndicator, _GAPS, _check_indicator),
    transformer(SimpleImputer, _IMPUTED, store=_imputer_state, restore=_imputer),
    transformer(
        FunctionTransformer,
        {},
        func=_FUNCTION,
        inverse_func=_FUNCTION,
        kw_args=_NONE,
        inv_kw_args=_NONE,
    ),
    *ENCODERS,
]
