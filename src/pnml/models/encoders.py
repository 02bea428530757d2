"""Codecs of scikit-learn's OneHotEncoder and OrdinalEncoder."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from pnml.errors import InputError
from pnml.models.codec import array, numbers
from pnml.models.schema import Cells, Either, ManyOf, Names, OneOf, Spec, Texts
from pnml.models.steps import transformer

_CATEGORIES = Either(
    (*numbers("c"), array("c", dtype=np.bool_), Names("c"), Texts("c"), Cells("c"))
)
_RARE = Either((array("c", dtype=np.int64), OneOf((NoneType,))))
_STATE: dict[str, Spec] = {
    "categories_": ManyOf(list, _CATEGORIES),
    "_infrequent_indices": Either((ManyOf(list, _RARE), OneOf((NoneType,)))),
}
_GROUPS = frozenset({"_infrequent_enabled", "_default_to_infrequent_mappings"})
_DROPPED = frozenset({"_drop_idx_after_grouping", "drop_idx_", "_n_features_outs"})


def _check_categories(values: Mapping[str, Any]) -> None:
    if "categories_" not in values:
        return  # not fitted
    categories, rare = values["categories_"], values["_infrequent_indices"]
    if len(categories) != values["n_features_in_"] or not all(map(len, categories)):
        raise InputError("the categories of an encoder are not those of its columns")
    if rare is not None and len(rare) != len(categories):
        raise InputError("the rare categories of an encoder are not those of its columns")
    for known, places in zip(categories, rare or (), strict=False):
        if places is not None and not np.all((places >= 0) & (places < len(known))):
            raise InputError("the rare categories of an encoder are not among its categories")


def _state(model: Any) -> dict[str, Any]:
    rare = vars(model).get("_infrequent_indices")
    return {"categories_": model.categories_, "_infrequent_indices": rare}


def _grouped(made: Any, state: Mapping[str, Any], missing: dict[int, int]) -> dict[str, Any]:
    """Set the attributes that both encoders have, for scikit-learn's own methods; returns {}."""
    categories, rare = state["categories_"], state["_infrequent_indices"]
    if np.dtype(made.dtype).kind not in "fiub":
        raise InputError("an encoder makes columns of no numbers")
    made._check_infrequent_enabled()
    if made._infrequent_enabled != (rare is not None):
        raise InputError("an encoder does not say which of its categories are rare")
    made.categories_ = categories
    if rare is not None:
        counts = [len(known) - (j in missing) for j, known in enumerate(categories)]
        made._infrequent_indices = rare
        made._default_to_infrequent_mappings = [
            _places(count, group) for count, group in zip(counts, rare, strict=True)
        ]
    return {}


def _places(count: int, rare: npt.NDArray[np.int64] | None) -> npt.NDArray[np.int64] | None:
    """Output column of each category; all rare categories share one column after the others."""
    if rare is None:
        return None
    frequent = np.setdiff1d(np.arange(count), rare)
    places = np.full(count, len(frequent), dtype=np.int64)
    places[frequent] = np.arange(len(frequent))
    return places


def _one_hot(made: OneHotEncoder, state: Mapping[str, Any]) -> dict[str, Any]:
    held = _grouped(made, state, {})
    made._set_drop_idx()
    made._n_features_outs = made._compute_n_features_outs()
    return held


def _ordinal(made: OrdinalEncoder, state: Mapping[str, Any]) -> dict[str, Any]:
    missing = {
        j: i
        for j, known in enumerate(state["categories_"])
        for i, category in enumerate(known)
        if isinstance(category, float | np.floating) and np.isnan(category)
    }
    return _grouped(made, state, missing) | {"_missing_indices": missing}


ENCODERS = [
    transformer(
        OneHotEncoder,
        _STATE,
        _check_categories,
        attributes=_GROUPS | _DROPPED,
        store=_state,
        restore=_one_hot,
    ),
    transformer(
        OrdinalEncoder,
        _STATE,
        _check_categories,
        attributes=_GROUPS | {"_missing_indices"},
        store=_state,
        restore=_ordinal,
    ),
]
