"""Fitted trees, forests and gradient boosting of scikit-learn, to and from a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

from pnml.errors import InputError
from pnml.models.codec import value
from pnml.models.wrapped.binary_trees import IntArray
from pnml.models.wrapped.plain import attributes_of, set_attributes, unfitted_copy
from pnml.models.wrapped.stored import Attributes, stored
from pnml.models.wrapped.tree_nodes import TreeNodes

TREES = (DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor)
FORESTS = (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
BOOSTING = (GradientBoostingClassifier, GradientBoostingRegressor)
# Starting points of boosting whose shape can be checked.
_STARTS = (DummyClassifier, DummyRegressor)


@dataclass(frozen=True)
class StoredTree:
    """Stored form of one fitted decision tree of scikit-learn."""

    estimator: Any  # not fitted
    attributes: Attributes
    nodes: TreeNodes


@dataclass(frozen=True)
class StoredForest:
    """Stored form of a fitted forest or gradient boosting model of scikit-learn."""

    estimator: Any  # not fitted
    attributes: Attributes
    nodes: TreeNodes
    tree: Any  # the first tree, not fitted
    tree_attributes: Attributes
    seeds: Annotated[IntArray, "t"] | None  # random_state of each tree of a forest
    start: Any  # fitted model to which boosting adds; None in a forest


def store_tree(model: Any) -> StoredTree:
    """The stored form of a fitted decision tree of scikit-learn."""
    return StoredTree(_copy(model), attributes_of(model), TreeNodes.of([model]))


def store_forest(model: Any) -> StoredForest:
    """The stored form of a fitted forest of scikit-learn."""
    return _stored(model, list(model.estimators_), None)


def store_boosting(model: Any) -> StoredForest:
    """The stored form of fitted gradient boosting of scikit-learn.

    Raises InputError where boosting starts from an ``init`` that is neither constant nor zero.
    """
    start = model.init_
    if type(start) not in _STARTS and start != "zero":
        raise InputError(
            f"init of this {type(model).__name__} is a {type(start).__name__}, which a model file "
            "cannot hold"
        )
    return _stored(model, model.estimators_.ravel().tolist(), None if start == "zero" else start)


def _stored(model: Any, trees: list[Any], start: Any) -> StoredForest:
    seeds = [tree.random_state for tree in trees]
    known = all(type(seed) is int for seed in seeds)  # boosting hands one generator to all trees
    return StoredForest(
        _copy(model),
        attributes_of(model),
        TreeNodes.of(trees),
        _copy(type(trees[0])(**trees[0].get_params() | {"random_state": None})),
        attributes_of(trees[0]),
        np.array(seeds, dtype=np.int64) if known else None,
        start,
    )


def _copy(model: Any) -> Any:
    return unfitted_copy(model, (type(model),))


def _tree(held: StoredTree) -> Any:
    made = unfitted_copy(held.estimator, TREES)
    set_attributes(made, held.attributes)
    trees = held.nodes.grown(made.n_features_in_, _classes(made))
    if len(trees) != 1:
        raise InputError(f"it stores {len(trees)} trees as one")
    made.tree_ = trees[0]
    return made


def _forest(held: StoredForest) -> Any:
    made = unfitted_copy(held.estimator, (*FORESTS, *BOOSTING))
    set_attributes(made, held.attributes)
    trees = _members(held)
    if trees[0].n_features_in_ != made.n_features_in_:
        raise InputError("the trees of a model were not fitted to its features")
    if type(made) in BOOSTING:
        _boosted(made, trees, held.start)
    elif held.start is not None or _classes(made) != _classes(trees[0]):
        raise InputError("the trees of a forest have other outputs than it has")
    else:
        made.estimators_, made.estimator_ = trees, made.estimator
    return made


def _members(held: StoredForest) -> list[Any]:
    first = unfitted_copy(held.tree, TREES)
    set_attributes(first, held.tree_attributes)
    grown = held.nodes.grown(first.n_features_in_, _classes(first))
    if not grown or (held.seeds is not None and len(held.seeds) != len(grown)):
        raise InputError("the seeds of a model are not those of its trees")
    seeds = [None] * len(grown) if held.seeds is None else held.seeds.tolist()
    members = []
    for seed, tree in zip(seeds, grown, strict=True):
        member = type(first)(**first.get_params(deep=False) | {"random_state": seed})
        vars(member).update({**held.tree_attributes, "tree_": tree})
        members.append(member)
    return members


def _boosted(made: Any, trees: list[Any], start: Any) -> None:
    """Give a gradient boosting model its trees and its starting model."""
    width, zero = vars(made).get("n_trees_per_iteration_"), vars(made).get("init_")
    outputs = len(made.classes_) if is_classifier(made) else 1
    if width != (outputs if outputs > 2 else 1) or len(trees) % width or outputs < 1:
        raise InputError("the trees of a model are not those of its classes")
    if type(trees[0]) is not DecisionTreeRegressor or _classes(trees[0]) != (1,):
        raise InputError("boosting adds trees that do not predict one number")
    if is_classifier(made) and (outputs < 2 or made.n_classes_ != outputs):
        raise InputError("a model counts other classes than it has")
    if (start is None) != (zero == "zero"):
        raise InputError("a model does not say what its trees add to")
    if start is not None:
        _check_start(start, outputs if is_classifier(made) else None)
        made.init_ = start
    rounds = np.empty(len(trees), dtype=object)
    rounds[:] = trees
    made.estimators_ = rounds.reshape(-1, width)
    made._loss = made._get_loss(sample_weight=None)


def _check_start(start: Any, classes: int | None) -> None:
    cls = DummyRegressor if classes is None else DummyClassifier
    one = type(start) is cls and vars(start).get("n_outputs_") == 1
    if not one or (classes is not None and len(start.classes_) != classes):
        raise InputError("the model to which boosting adds has other outputs")


def _classes(model: Any) -> tuple[int, ...]:
    """Number of classes of each output of a model with its attributes set; 1 for a number."""
    outputs = vars(model).get("n_outputs_")
    if type(outputs) is not int or outputs < 1:
        raise InputError(f"a {type(model).__name__} does not say how many outputs it has")
    if not is_classifier(model):
        return (1,) * outputs
    labels = vars(model).get("classes_")
    several: Sequence[Any] = [labels] if outputs == 1 else labels if type(labels) is list else ()
    counts = tuple(len(one) for one in several if type(one) is np.ndarray and one.ndim == 1)
    told = np.ravel(vars(model).get("n_classes_"))
    if len(counts) != outputs or min(counts) < 1 or told.tolist() != list(counts):
        raise InputError(f"a {type(model).__name__} counts other classes than it has")
    return counts


SCIKIT_TREES = [
    value(TreeNodes),
    stored(StoredTree, "FittedTree", _tree),
    stored(StoredForest, "FittedTrees", _forest),
]
