"""Codecs of Relations, the linear relations between columns; older files have none."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Any

import numpy as np

from pnml.core.relations import ExactRelations, NoisyRelations, Relations
from pnml.errors import InputError
from pnml.models.codec import value
from pnml.models.schema import OneOf

RELATIONS = OneOf((Relations, NoneType))


def check_relations(values: Mapping[str, Any]) -> None:
    """Raise InputError where the fields of a Relations do not belong to its own columns."""
    places, width = values["places"], len(values["center"])
    if not np.all((places >= 0) & (places < width)):
        raise InputError("the relations of a model are not those of its columns")
    if not np.all(values["scale"][places] > 0):
        raise InputError("the relations of a model have constant columns")
    exact, noisy = values.get("exact"), values.get("noisy")
    for part in (exact, noisy):
        if part is not None and len(_of(part)) != len(places):
            raise InputError("the relations of a model are not those of its columns")


def relations_in(state: Mapping[str, Any], width: int | None = None) -> Relations | None:
    """The stored linear relations between columns, or None in a file of an older version.

    `state` are the stored fields of an estimator. Raises InputError where the relations are not of
    `width` columns, by default ``n_features_in_``.
    """
    relations: Relations | None = state.get("_relations")
    expected = state["n_features_in_"] if width is None else width
    if relations is not None and len(relations.center) != expected:
        raise InputError("the relations of a model are not those of its columns")
    return relations


def check_own(values: Mapping[str, Any]) -> None:
    """Raise InputError if the relations of a least-squares fit have other columns than the fit."""
    relations = values.get("relations")
    if relations is not None and len(relations.center) != len(values["spectrum"].center):
        raise InputError("the relations of a model are not those of its columns")


def _of(part: ExactRelations | NoisyRelations) -> Any:
    return part.basis if isinstance(part, ExactRelations) else part.directions


RELATION_PARTS = [
    value(ExactRelations),
    value(NoisyRelations),
    value(Relations, check=check_relations),
]
