"""Finds the leaf map of a fitted model by its class, without importing other libraries."""

from __future__ import annotations

import sys
from functools import singledispatch
from importlib import import_module
from typing import Any

from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from pnml.learners.last_step import unfrozen
from pnml.learners.leaf_maps import hist_gradient_boosting, scikit_trees
from pnml.learners.leaf_maps.protocol import LeafMap
from pnml.learners.leaf_maps.refusals import refuse_unfitted

# Library → its classes with leaves, and the function of our module of that name that reads them.
_LIBRARIES = {
    "lightgbm": {"LGBMModel": "of_estimator", "Booster": "of_booster"},
    "xgboost": {"XGBModel": "of_estimator", "Booster": "of_booster"},
    "catboost": {"CatBoost": "of_model"},
}


def leaf_map_of(model: Any, rows: Any = None) -> LeafMap | None:
    """The leaf map of a fitted tree ensemble; None if the model is not one.

    Known are scikit-learn's trees, forests, extra trees, gradient boosting, and bagging and
    AdaBoost of these, and the models of LightGBM, XGBoost and CatBoost, which are not imported for
    this. Pass some `rows` that the model can predict: where leaves can only be read from private
    attributes, this checks that the values of the leaves add up to the model's predictions.

    >>> forest = RandomForestRegressor(3, max_leaf_nodes=2, random_state=0)
    >>> leaves = leaf_map_of(forest.fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 0.0, 1.0, 1.0]))
    >>> leaves.ends.tolist(), leaves.leaf([[0.0], [3.0]]).tolist()
    ([0, 2, 4, 6], [[0, 2, 4], [1, 3, 5]])
    """
    model = unfrozen(model)
    _register_libraries(type(model))
    return _leaf_map(model, rows)


def is_tree_ensemble(model: Any) -> bool:
    """Whether a model, fitted or not, is of a class whose leaves can be read.

    >>> is_tree_ensemble(RandomForestRegressor()), is_tree_ensemble(object())
    (True, False)
    """
    cls = type(unfrozen(model))
    _register_libraries(cls)
    return _leaf_map.dispatch(cls) is not _leaf_map.dispatch(object)


@singledispatch
def _leaf_map(model: Any, rows: Any) -> LeafMap | None:
    return None


@_leaf_map.register(DecisionTreeClassifier)
@_leaf_map.register(DecisionTreeRegressor)
def _of_tree(model: Any, rows: Any) -> LeafMap:
    return scikit_trees.of_tree(model)


@_leaf_map.register(RandomForestClassifier)
@_leaf_map.register(RandomForestRegressor)
@_leaf_map.register(ExtraTreesClassifier)
@_leaf_map.register(ExtraTreesRegressor)
def _of_forest(model: Any, rows: Any) -> LeafMap:
    return scikit_trees.of_forest(model)


@_leaf_map.register(GradientBoostingClassifier)
@_leaf_map.register(GradientBoostingRegressor)
def _of_gradient_boosting(model: Any, rows: Any) -> LeafMap:
    return scikit_trees.of_gradient_boosting(model)


@_leaf_map.register(HistGradientBoostingClassifier)
@_leaf_map.register(HistGradientBoostingRegressor)
def _of_hist_gradient_boosting(model: Any, rows: Any) -> LeafMap:
    return hist_gradient_boosting.of_hist_gradient_boosting(model, rows)


@_leaf_map.register(AdaBoostClassifier)
@_leaf_map.register(AdaBoostRegressor)
@_leaf_map.register(BaggingClassifier)
@_leaf_map.register(BaggingRegressor)
def _of_members(model: Any, rows: Any) -> LeafMap | None:
    refuse_unfitted(model)
    given = None if rows is None else scikit_trees.member_rows(model, rows)
    members = []
    for member, columns in zip(model.estimators_, scikit_trees.member_columns(model), strict=True):
        seen = given if given is None or columns is None else given[:, columns]
        members.append(leaf_map_of(member, seen))
    return scikit_trees.of_members(model, members)


def _register_libraries(cls: type) -> None:
    """Register the classes of a library when one of them, or a subclass, is first met."""
    for base in cls.__mro__:
        library = base.__module__.partition(".")[0]
        module = sys.modules.get(library)
        if library not in _LIBRARIES or module is None:
            continue
        reader = import_module(f"pnml.learners.leaf_maps.{library}")
        for name, function in _LIBRARIES[library].items():
            known = getattr(module, name)
            if known not in _leaf_map.registry:
                read = getattr(reader, function)
                _leaf_map.register(known, lambda model, rows, read=read: read(model))
