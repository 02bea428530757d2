"""Codecs of table models: columns, categories, and the learner behind them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pnml.errors import InputError, shorten
from pnml.models.codec import value
from pnml.models.schema import Fitted
from pnml.tables.comparison import LearnerScore
from pnml.tables.encoder import (
    CategoryColumn,
    ConstantColumn,
    Encoder,
    HashedColumn,
    NumberColumn,
    Patterns,
)
from pnml.tables.fitted_table import FittedTable
from pnml.tables.learners import LEARNERS
from pnml.tables.profile import ColumnProfile
from pnml.tables.roles import Role
from pnml.tables.targets import Target
from pnml.tables.word_hashes import PLACES
from pnml.tables.word_times import MOST


def _check_range(values: Mapping[str, Any]) -> None:
    """Raise unless both ends of a range are given, in order, or neither."""
    low, high = values.get("low"), values.get("high")
    if low is None and high is None:
        return
    if low is None or high is None or not low <= high:
        raise InputError(f"its column {shorten(values['name'])!r} has no range from low to high")


def _check_hashed(values: Mapping[str, Any]) -> None:
    if len(values["hash_places"]) != PLACES or np.any(np.diff(values["known"]) <= 0):
        raise InputError(
            f"the hashes of its column {shorten(values['name'])!r} are not in order, or do not "
            f"share {PLACES} places"
        )
    _check_times(values, values.get("times"))


def _check_times(values: Mapping[str, Any], times: Any) -> None:
    """Raise unless each word has a number from 1 to 3 that says how often it was seen."""
    count = len(values["levels"] if "levels" in values else values["known"])
    if times is not None and (len(times) != count or not np.all(np.isin(times, (1, 2, MOST)))):
        raise InputError(
            f"how often the words of its column {shorten(values['name'])!r} were seen is not told "
            "of each of them"
        )


def _check_constant(values: Mapping[str, Any]) -> None:
    kind, low, word = values["kind"], values.get("low"), values.get("word")
    if kind not in ("number", "date", "time", "word", "gap"):
        raise InputError(f"its column {shorten(values['name'])!r} is of no known kind")
    _check_range(values)
    if (kind in ("number", "date", "time")) != (low is not None) or (kind == "word") != (
        word is not None
    ):
        raise InputError(f"its constant column {shorten(values['name'])!r} lacks its value")


def _check_category(values: Mapping[str, Any]) -> None:
    levels, places = values["levels"], values["level_places"]
    if len(levels) != len(places) or len(set(levels)) != len(levels):
        raise InputError("the words of a column do not have one place each")
    _check_times(values, values.get("times") or None)


def _check_encoder(values: Mapping[str, Any]) -> None:
    places = [place for column in values["columns"] for place in column.places]
    right = values["width"] == len(places) + 1 and sorted(places) == [*range(1, values["width"])]
    if not right:
        raise InputError(f"its columns do not fill the {values['width']} places of a row")
    names = [column.name for column in values["columns"]]
    if len(set(names)) != len(names):
        raise InputError("two of its columns have one name")
    seen = values["patterns"].seen
    if seen is not None and seen.shape[1] != len(values["columns"]):
        raise InputError("its patterns of missing cells are not of its columns")


def _check_profile(values: Mapping[str, Any]) -> None:
    counts, edges, words = values["counts"], values["edges"], values["words"]
    right = len(counts) == len(edges) + 1 if edges else len(counts) == len(words) or len(counts) < 2
    if not right or any(count < 0 for count in (*counts, values["missing"])):
        raise InputError("the counts of a column do not belong to its bins or words")
    if any(np.diff(edges) <= 0) or any(w < -1 for w in words):
        raise InputError("the bins of a column are not in order")


def _check_model(values: Mapping[str, Any]) -> None:
    learner, task = values["learner"], values["target"].task
    if learner not in LEARNERS or task != LEARNERS[learner].task:
        raise InputError(
            f"it names the learner {shorten(learner)!r}, which is not known here for "
            f"{shorten(task)}"
        )
    if type(values["estimator"]) is not LEARNERS[learner].estimator_class:
        raise InputError(f"what it holds is not the learner {learner!r}")
    if learner not in dict(values["losses"]):
        raise InputError(f"it has no log-loss of its learner {learner!r}")
    mean = values.get("mean_weight")
    if mean is not None and not 0 < mean < np.inf:
        raise InputError("the mean of its weights is no positive number")
    compared = [score.name for score in values.get("comparison", ())]
    if compared and learner not in compared:
        raise InputError(f"its comparison is without its learner {learner!r}")
    encoder = values["encoder"]
    if not set(encoder.numbers()) <= set(dict(values["types"])):
        raise InputError("it lacks the types of its columns of numbers")
    known = values.get("profiles", ())
    if known and len(known) != len(encoder.columns):
        raise InputError("its profiles are not those of its columns")
    for column, profile in zip(encoder.columns, known, strict=False):
        levels = len(getattr(column, "levels", ()))
        if any(word >= levels for word in profile.words):
            raise InputError("the profile of a column has words that it lacks")
    coded = LEARNERS[learner].make_coded is not None
    estimator: Any = values["estimator"]
    if estimator.n_features_in_ != (len(encoder.columns) if coded else encoder.width):
        raise InputError("its learner was not fitted to rows as its columns make them")


TABLE_PARTS = [
    value(NumberColumn, check=_check_range),
    value(CategoryColumn, check=_check_category),
    value(HashedColumn, check=_check_hashed),
    value(ConstantColumn, check=_check_constant),
    value(Patterns),
    value(Encoder, check=_check_encoder),
    value(Target),
    value(Role),
    value(LearnerScore),
    value(ColumnProfile, check=_check_profile),
]
TABLE_MODELS = [value(FittedTable, check=_check_model, stored_as="TableModel", estimator=Fitted())]
