"""Numbers of columns that steps take and give, so that a file's steps fit together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures

from pnml.errors import InputError
from pnml.models.schema import looks_fitted

SKIPPED = ("passthrough", "drop")  # words in the place of a step


def is_fitted_step(step: Any) -> bool:
    """Whether a step or an estimator has been fitted; words never are."""
    return not isinstance(step, str) and looks_fitted(step)


def width_in(step: Any) -> int | None:
    """Number of columns that a fitted step or estimator takes; None where it does not say."""
    if isinstance(step, Pipeline):
        for _, first in step.steps:
            if first is not None and not isinstance(first, str):
                return width_in(first)
        return None
    width: int | None = getattr(step, "n_features_in_", None)
    return width


def width_out(step: Any) -> int:
    """Number of columns that a fitted transformer gives."""
    if isinstance(step, Pipeline):
        for _, last in reversed(step.steps):
            if last is not None and not isinstance(last, str):
                return width_out(last)
        raise InputError("a Pipeline in a file has no step that says how many columns it gives")
    count = _OUT.get(type(step))
    return int(step.n_features_in_ if count is None else count(step))


def check_chain(steps: list[Any]) -> None:
    """Raise where a step was not fitted to the columns that the one before it gives."""
    width = None
    real = [step for step in steps if step is not None and not isinstance(step, str)]
    for i, step in enumerate(real):
        if not is_fitted_step(step):
            raise InputError("a step of a fitted Pipeline is not fitted")
        taken = width_in(step)
        if width is not None and taken is not None and taken != width:
            raise InputError("a step of a Pipeline was not fitted to what the one before gives")
        if i + 1 < len(real):
            width = width_out(step)


_OUT: dict[type, Callable[[Any], Any]] = {
    ColumnTransformer: lambda step: max(at.stop for at in step.output_indices_.values()),
    OneHotEncoder: lambda step: sum(step._n_features_outs),
    PCA: lambda step: len(step.components_),
    PolynomialFeatures: lambda step: step.n_output_features_,
    SimpleImputer: lambda step: len(step.get_feature_names_out()),
    VarianceThreshold: lambda step: np.sum(step.variances_ > step.threshold),
}
