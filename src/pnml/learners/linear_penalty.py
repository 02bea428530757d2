"""Ridge penalties of scikit-learn's linear models."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from sklearn.linear_model import (
    BayesianRidge,
    LinearRegression,
    LogisticRegression,
    Ridge,
    RidgeClassifier,
    RidgeClassifierCV,
    RidgeCV,
)

from pnml.learners.last_step import ridge_of


def is_linear(model: Any, features: int) -> bool:
    """Whether a fitted model has ``coef_`` with one slope for each of `features` features."""
    slopes = getattr(model, "coef_", None)
    if slopes is None or hasattr(slopes, "tocsr"):
        return False
    return bool(np.ndim(slopes) in (1, 2) and np.shape(slopes)[-1] == features)


@singledispatch
def penalty_of(model: Any) -> float | None:
    """Ridge penalty of a fitted linear model, on its squared slopes; 0 if it has no penalty.

    None if its penalty is of another kind, or the model is not known here.
    """
    return None


@penalty_of.register
def _(model: LinearRegression) -> float | None:
    return 0.0 if not model.positive else None


@penalty_of.register(Ridge)
@penalty_of.register(RidgeClassifier)
def _ridge(model: Any) -> float | None:
    plain = np.ndim(model.alpha) == 0 and not model.positive
    return float(model.alpha) if plain else None


@penalty_of.register(RidgeCV)
@penalty_of.register(RidgeClassifierCV)
def _ridge_cv(model: Any) -> float | None:
    return float(model.alpha_) if np.ndim(model.alpha_) == 0 else None


@penalty_of.register
def _(model: BayesianRidge) -> float | None:
    return float(model.lambda_ / model.alpha_)


@penalty_of.register
def _(model: LogisticRegression) -> float | None:
    return ridge_of(model)
