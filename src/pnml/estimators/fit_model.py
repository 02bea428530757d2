"""Fitting the model inside a trusted estimator, whatever the table holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.validation import check_is_fitted

from pnml.columns.encoder import ColumnEncoder
from pnml.core.user_types import ArrayOrFrame, RandomSeed
from pnml.errors import InputError, shorten
from pnml.estimators.word_codes import WordCodes, categories, has_words
from pnml.learners.last_step import last_of, searched, unfrozen
from pnml.learners.leaf_maps import is_tree_ensemble


def default_model(kind: type, encoder: ColumnEncoder, random_state: RandomSeed) -> Any:
    """The unfitted default model of the class `kind`, which is scikit-learn's histogram boosting.

    If columns hold more than numbers and truth values, as `encoder` knows, the model comes in a
    Pipeline after a `WordCodes` step that turns words and dates into numbers.
    """
    if not has_words(encoder):
        return kind(random_state=random_state)
    model = kind(random_state=random_state, categorical_features=categories(encoder))
    return make_pipeline(WordCodes(), model)


def fit_model(
    model: BaseEstimator, encoder: ColumnEncoder, X: ArrayOrFrame, fit: Callable[[Any], Any]
) -> tuple[Any, Any]:
    """A pair: the model in a form that can read the table X, unfitted, and a fitted clone of it.

    `fit` is a function that fits a clone and returns it. If a model of trees cannot read words or
    dates, it comes in a Pipeline after a `WordCodes` step; for any other model InputError says
    what to do.
    """
    refuse_gaps(model, encoder)
    _check_clones(model)
    inner = searched(unfrozen(model))
    words = has_words(encoder) and not isinstance(inner, Pipeline)
    coded = make_pipeline(WordCodes(), model) if words and is_tree_ensemble(inner) else None
    # a data frame of polars with words ends the process in some releases of LightGBM
    if coded is not None and hasattr(X, "get_columns"):
        return coded, fit(clone(coded))
    try:
        return model, fit(clone(model))
    except Exception as error:
        if not words:
            raise
        if coded is None:
            raise _refused_words(model, encoder) from error
        return coded, fit(clone(coded))


@dataclass(frozen=True)
class PredictFunction:
    """A prediction function in the form of a fitted model: it has ``predict`` and no ``fit``."""

    function: Callable[[Any], Any]

    def predict(self, X: ArrayOrFrame) -> Any:
        """The predictions of the function for rows X, as it returns them."""
        return self.function(X)


def as_model(model: BaseEstimator, *, prefit: bool) -> Any:
    """The user's model, or a PredictFunction if `model` is a function and `prefit` is True.

    None stays None unless `prefit`. Raises InputError if the model cannot predict, or is neither
    prefit nor has a ``fit``.
    """
    name = type(model).__name__
    if prefit and model is None:
        raise InputError("prefit=True was passed without an estimator; pass the fitted model.")
    if model is None:
        return None
    if isinstance(model, type):
        raise InputError(
            f"estimator is the class {model.__name__} itself, which lacks fit or predict of a "
            f"model; pass an instance, {model.__name__}()."
        )
    # a stack has its predict only once it is fitted, but its class has it
    if not (hasattr(model, "predict") or hasattr(type(model), "predict")):
        if callable(model) and prefit:
            return PredictFunction(model)
        advice = "pass prefit=True to use a function" if callable(model) else "pass a model"
        raise InputError(
            f"estimator is a {name}, which lacks fit or predict; {advice} of scikit-learn's kind."
        )
    if not prefit and not hasattr(model, "fit"):
        raise InputError(
            f"estimator is a {name}, which lacks fit or predict; pass prefit=True if it is fitted, "
            "or a model of scikit-learn's kind."
        )
    return model


def is_kind(kind: str, model: BaseEstimator) -> bool:
    """Whether a model declares that it is of this kind, "classifier" or "regressor".

    False for a model that declares nothing.
    """
    try:
        return bool(get_tags(unfrozen(model)).estimator_type == kind)
    except (AttributeError, TypeError, ValueError):
        return bool(getattr(model, "_estimator_type", None) == kind)


def check_prefit(model: BaseEstimator, columns: int, X: ArrayOrFrame) -> None:
    """Raise InputError if a prefit model is not fitted, or cannot predict rows X.

    `columns` is the number of columns of X.
    """
    inner = unfrozen(model)
    try:
        if hasattr(inner, "fit"):  # else it cannot be unfitted
            check_is_fitted(inner)
    except NotFittedError as error:
        raise InputError(
            f"prefit=True was passed, but the {type(inner).__name__} is not fitted; fit it first, "
            "or leave prefit out."
        ) from error
    known = getattr(inner, "n_features_in_", None)
    if known is not None and known != columns:
        raise InputError(
            f"The {type(inner).__name__} was fitted to {known} columns, but X has {columns}; pass "
            "the rows that it was trained on."
        )
    try:
        model.predict(_safe_indexing(X, slice(0, 2)))
    except Exception as error:
        text = str(error).partition("\n")[0].rstrip(".")
        raise InputError(
            f"The fitted {type(inner).__name__} cannot predict these rows ({shorten(text, 200)}); "
            "pass rows as its predict takes them, or an estimator of scikit-learn's kind."
        ) from error


def _check_clones(model: BaseEstimator) -> None:
    try:
        clone(model)
    except (RuntimeError, TypeError) as error:  # its constructor changes a parameter, or has none
        text = str(error).partition(",")[0].partition("\n")[0].rstrip(".")
        raise InputError(
            f"The {type(model).__name__} cannot be cloned ({shorten(text, 200)}); pass parameters "
            "that its constructor keeps as they are (a tuple instead of a list), or the fitted "
            "model with prefit=True."
        ) from error


def refuse_gaps(model: BaseEstimator, encoder: ColumnEncoder) -> None:
    """Raise InputError if training rows have missing values and the model declares to take none."""
    places = [int(encoder.places[slot]) for slot in np.flatnonzero(encoder.numbers.gaps)]
    if isinstance(model, Pipeline) or not places:
        return
    try:
        takes_gaps = bool(get_tags(model).input_tags.allow_nan)
    except (AttributeError, TypeError, ValueError):  # no estimator of scikit-learn's kind
        return
    if not takes_gaps:
        raise InputError(
            f"Column {shorten(encoder.names[places[0]])!r} has missing values (NaN), which "
            f"{type(model).__name__} refuses; fill them in, for instance with "
            "sklearn.impute.SimpleImputer in a Pipeline, or pass a model that takes them."
        )


def _refused_words(model: BaseEstimator, encoder: ColumnEncoder) -> InputError:
    place = next(
        j for j, kind in enumerate(encoder.kinds) if kind not in ("number", "truth", "gap")
    )
    return InputError(
        f"Column {shorten(encoder.names[place])!r} does not hold numbers, which "
        f"{type(last_of(model)).__name__} cannot read; put an encoder before it, such as "
        "sklearn.preprocessing.OneHotEncoder in a Pipeline."
    )
