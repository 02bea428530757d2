"""Codecs of ColumnEncoder, which knows the training columns, and of the transformer WordCodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from pnml.columns.column import KINDS
from pnml.columns.encoder import ColumnEncoder
from pnml.columns.levels import Levels
from pnml.columns.number_scales import LARGEST, NumberScales
from pnml.errors import InputError
from pnml.estimators.word_codes import WordCodes
from pnml.models.codec import no_objection, value
from pnml.models.schema import OneOf
from pnml.models.steps import transformer


def _check_scales(values: Mapping[str, Any]) -> None:
    mean, spread = values["mean"], values["spread"]
    low, high = values["low"], values["high"]
    if not np.all(np.abs(mean) < LARGEST) or not np.all((spread >= 0) & (spread < LARGEST)):
        raise InputError("the means and spreads of columns are not finite")
    none = np.isnan(low) & np.isnan(high)
    if not np.all(none | (low <= high)) or not np.all((spread == 0) | (low < high)):
        raise InputError("the ranges of columns are not ranges")
    if np.any(np.isinf(low) | np.isinf(high)) or np.any(none & ~values["gaps"]):
        raise InputError("the ranges of columns are not those of their numbers")


def _check_levels(values: Mapping[str, Any]) -> None:
    words, features, width = values["words"], values["features"], values["width"]
    if not all(first < second for first, second in pairwise(words)):
        raise InputError("the words of a column are not in order")
    if len(features) != len(words) + values["gaps"] or not len(features):
        raise InputError("the features of a column are not those of its words")
    if width == 0:
        right = not np.any(features)
    else:
        right = 0 < width <= len(features) and set(features.tolist()) == set(range(width))
    if not right:
        raise InputError("the features of a column are not those of its words")


def _check_encoder(values: Mapping[str, Any]) -> None:
    names, kinds = values["names"], values["kinds"]
    if not kinds or len(names) != len(kinds) or len(set(names)) != len(names):
        raise InputError("the columns of a model do not have names of their own")
    if not set(kinds) <= set(KINDS):
        raise InputError("a column of a model is of no known kind")
    words, unread = kinds.count("word"), kinds.count("unread")
    if len(values["words"]) != words or len(values["numbers"]) != len(kinds) - words - unread:
        raise InputError("the columns of a model are not of the kinds that it says")


def _check_codes(values: Mapping[str, Any]) -> None:
    if "encoder_" in values and len(values["encoder_"].kinds) != values["n_features_in_"]:
        raise InputError("the words of a WordCodes are not those of its columns")


_WORD_CODES = transformer(WordCodes, {"encoder_": OneOf((ColumnEncoder,))}, _check_codes)

COLUMN_PARTS = [
    value(NumberScales, check=_check_scales),
    value(Levels, check=_check_levels),
    value(ColumnEncoder, check=_check_encoder),
    replace(_WORD_CODES, made=no_objection),  # it has no parameters
]
