"""Answers of a trusted model as one data frame, with reasons in words."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from pnml.columns.encoder import Encoded
from pnml.columns.phrases import name_text
from pnml.columns.words import IntArray
from pnml.core.arrays import FloatArray
from pnml.core.geometry.attribution import fractions
from pnml.core.leaves.cells import BoolArray
from pnml.core.user_types import ArrayOrFrame
from pnml.errors import InputError

_REASONS = 3  # columns named for each row
_LEAST_SHARE = 0.05
_NAMED = 4  # columns of a broken relation that are named


def reasons(
    shares: FloatArray,
    encoded: Encoded,
    outside: BoolArray,
    unrelated: BoolArray,
    left_out: FloatArray,
) -> list[str]:
    """One text per row for the column ``because``: columns that make it unlike training.

    Each is named with its value and what training had. `shares` (rows, columns) are the columns'
    shares in the leverage, `outside` (rows, columns) says which values are outside the training
    range, and `unrelated` (rows, columns) which columns break a linear relation of the training
    rows. A row of infinite leverage leaves the span of the training rows; if all leverages of
    training rows, each left out, are infinite (`left_out`), there are too few of them.
    """
    parts = fractions(shares)
    beyond: BoolArray = np.any(np.isinf(shares), axis=1)
    alone = bool(np.isinf(left_out).all())
    texts = []
    for i, row in enumerate(parts):
        strange = encoded.never_seen[i]
        order = np.lexsort((-row, ~strange))  # what training never had comes first
        named = [int(j) for j in order[:_REASONS] if strange[j] or row[j] > _LEAST_SHARE]
        told = [_reason(encoded, i, j, row[j], outside[i, j]) for j in named]
        if unrelated[i].sum() > 1 and not strange.any():
            told.insert(0, _unrelated(encoded, np.flatnonzero(unrelated[i])))
        if beyond[i]:
            told.append("the row leaves the span of the training rows")
        elif alone:
            told.append("each training row leaves the span of the others")
        texts.append("; ".join(told))
    return texts


def _unrelated(encoded: Encoded, columns: IntArray) -> str:
    names = [name_text(encoded.encoder.names[j]) for j in columns[:_NAMED]]
    rest = f" and {len(columns) - len(names)} others" if len(columns) > len(names) else ""
    listed = ", ".join(names) if rest else f"{', '.join(names[:-1])} and {names[-1]}"
    return f"{listed}{rest} are not related as in the training rows"


def _reason(encoded: Encoded, i: int, j: int, share: float, outside: bool) -> str:
    cell, known = encoded.describe(i, j)
    relation = f"is outside {known} of the training rows" if outside else f"training {known}"
    joined = f"{cell} {relation}" if outside else f"{cell} ({relation})"
    return f"{joined} ({share:.0%})".replace("%", " %") if share > 0 else joined


def score_frame(X: ArrayOrFrame, columns: dict[str, Any]) -> Any:
    """A data frame of these columns: of polars if X is, else of pandas, with the index of X."""
    if type(X).__module__.startswith("polars"):
        frame: Any = type(X)
        return frame({name: np.asarray(values) for name, values in columns.items()})
    if find_spec("pandas") is None:
        raise InputError(
            "score_frame makes a pandas data frame, but pandas is not installed; run pip install "
            "pandas, or ask predict, regret, trusted and explain one by one."
        )
    pandas = import_module("pandas")
    index = getattr(X, "index", None) if hasattr(X, "iloc") else None
    return pandas.DataFrame(columns, index=index)


def with_names(model: BaseEstimator, names: npt.NDArray[Any]) -> BaseEstimator:
    """A copy of a fitted model whose reasons call its columns by `names`.

    The model itself if it names no columns, or another number of them. Nothing else changes: new
    rows need not have the names.
    """
    if hasattr(model, "regressor_"):
        return _changed(model, regressor_=with_names(model.regressor_, names))
    learner: Any = getattr(model, "learner_", None)
    base = getattr(learner, "base", None)
    if base is None or len(names) != len(base.encoder.names):
        return model
    encoder = replace(base.encoder, names=tuple(map(str, names)))
    return _changed(model, learner_=replace(learner, base=replace(base, encoder=encoder)))


def _changed(model: BaseEstimator, **attributes: Any) -> BaseEstimator:
    changed = copy(model)
    vars(changed).update(attributes)
    return changed


def with_rows_of(X: ArrayOrFrame, frame: Any) -> Any:
    """The data frame of scores `frame` as pandas or polars, as X is, with the index of X.

    If X is no data frame, `frame` itself.
    """
    same_kind = type(frame) is type(X)
    if same_kind and (not hasattr(X, "iloc") or frame.index.equals(getattr(X, "index", None))):
        return frame
    if not same_kind and not hasattr(X, "columns"):
        return frame
    return score_frame(X, {name: frame[name].to_list() for name in frame.columns})
