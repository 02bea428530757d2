"""Codecs of trees and forests: their splits as plain arrays, and the rows in their leaves."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Any

import numpy as np
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

from pnml.core.conditions import NOT_NAN, NOT_NEGATIVE
from pnml.core.leave_one_out import LeaveOneOut
from pnml.core.leaves.classes import ClassLeaves
from pnml.core.leaves.partition import Partition
from pnml.core.leaves.values import ValueLeaves
from pnml.core.softmax_leave_one_out import LabelsLeftOut
from pnml.errors import InputError
from pnml.estimators.tree_classifier import PNMLTreeClassifier
from pnml.estimators.tree_regressor import PNMLTreeRegressor
from pnml.learners.tree_classes import TreeClasses
from pnml.learners.tree_rows import SeenRows
from pnml.learners.tree_values import TreeValues
from pnml.models.codec import LABELS, Conversion, array, estimator, unfitted, value
from pnml.models.relations import RELATIONS, relations_in
from pnml.models.schema import Number, OneOf, Spec


def _check_partition(values: Mapping[str, Any]) -> None:
    """Raise unless every split leads to later nodes that exist, so that each row ends at a leaf."""
    m, inner = len(values["feature"]), values["feature"] >= 0
    for name in ("left", "right"):
        below = values[name]
        if not np.all((below > np.arange(m)) & (below < m) | ~inner):
            raise InputError("the splits of a tree do not lead to its leaves")
    roots = values["roots"]
    if not len(roots) or not np.all((roots >= 0) & (roots < m)):
        raise InputError("the trees of a forest do not begin at its nodes")


def _check_trees(values: Mapping[str, Any]) -> None:
    if "partition_" not in values:
        return  # not fitted
    partition = values["partition_"]
    if partition.feature.max() >= values["n_features_in_"]:
        raise InputError("a tree splits on a feature that the model does not have")
    if len(values["leaves_"].weight) != partition.nodes:
        raise InputError("the leaves of a model are not those of its trees")


def _check_classes(values: Mapping[str, Any]) -> None:
    _check_trees(values)
    if "leaves_" in values and values["leaves_"].classes != len(values["classes_"]):
        raise InputError("the leaves of a model count other classes than it has")


_TREES: dict[str, Spec] = {
    "partition_": OneOf((Partition,)),
    "_takes_gaps": OneOf((bool,)),
    "_had_gaps": array("d", dtype=np.bool_),
    "_usual": array("n", holds=NOT_NAN),
    "_relations": RELATIONS,
}
_CLASSES: dict[str, Spec] = _TREES | {
    "leaves_": OneOf((ClassLeaves,)),
    "_loo": OneOf((LabelsLeftOut,)),
    "classes_": LABELS,
}
_VALUES: dict[str, Spec] = _TREES | {
    "leaves_": OneOf((ValueLeaves,)),
    "_loo": OneOf((LeaveOneOut,)),
    "noise_variance_": Number((float,), NOT_NEGATIVE),
}

# Trees of scikit-learn are never stored fitted: all that is asked of them is in the partition.
GROWN_BY = (
    DecisionTreeClassifier,
    ExtraTreeClassifier,
    RandomForestClassifier,
    ExtraTreesClassifier,
    DecisionTreeRegressor,
    ExtraTreeRegressor,
    RandomForestRegressor,
    ExtraTreesRegressor,
)
_PARAMS: dict[str, Spec] = {"estimator": OneOf((NoneType, *GROWN_BY))}
TREE_PARTS = [
    value(Partition, check=_check_partition),
    value(ClassLeaves),
    value(ValueLeaves),
    *map(unfitted, GROWN_BY),
]


def _counts_state(model: Any) -> dict[str, Any]:
    value = model.learner_
    return {
        "partition_": value.partition,
        "leaves_": value.leaves,
        "_loo": value.loo,
        "_usual": value.seen.usual,
        "_takes_gaps": value.seen.takes_gaps,
        "_had_gaps": value.seen.had_gaps,
        "_relations": value.seen.relations,
    }


def _classes_state(model: PNMLTreeClassifier) -> dict[str, Any]:
    return _counts_state(model) | {"classes_": model.classes_}


def _values_state(model: PNMLTreeRegressor) -> dict[str, Any]:
    return _counts_state(model) | {"noise_variance_": model.noise_variance_}


def _seen(state: Mapping[str, Any]) -> SeenRows:
    had_gaps: Any = state["_had_gaps"]
    relations = relations_in(state, len(had_gaps) + int(had_gaps.sum()))
    weights = state["_loo"].weights
    return SeenRows(state["_usual"], weights, state["_takes_gaps"], had_gaps, relations)


def _tree_classes(made: Any, state: Mapping[str, Any]) -> dict[str, Any]:
    value = TreeClasses(state["partition_"], state["leaves_"], _seen(state), state["_loo"])
    return {"learner_": value, "classes_": state["classes_"]}


def _tree_values(made: Any, state: Mapping[str, Any]) -> dict[str, Any]:
    value = TreeValues(
        state["partition_"],
        state["leaves_"],
        _seen(state),
        state["noise_variance_"],
        state["_loo"],
    )
    return {"learner_": value}


TREES = [
    estimator(
        PNMLTreeClassifier,
        _CLASSES,
        _check_classes,
        Conversion(frozenset({"learner_", "classes_"}), _classes_state, _tree_classes),
        _PARAMS,
    ),
    estimator(
        PNMLTreeRegressor,
        _VALUES,
        _check_trees,
        Conversion(frozenset({"learner_"}), _values_state, _tree_values),
        _PARAMS,
    ),
]
