"""Checks of XGBoost's JSON models, since XGBoost itself trusts every index in them."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from pnml.errors import InputError
from pnml.models.wrapped.binary_trees import IntArray, tree_depths

_BROKEN = "the JSON of its XGBoost model is not what XGBoost writes"
_TREE = {
    "base_weights": "f",
    "default_left": "i",
    "left_children": "i",
    "loss_changes": "f",
    "parents": "i",
    "right_children": "i",
    "split_conditions": "f",
    "split_indices": "i",
    "split_type": "i",
    "sum_hessian": "f",
}
_SETS = {"categories", "categories_nodes", "categories_segments", "categories_sizes"}
_MODEL = {"gbtree_model_param", "iteration_indptr", "tree_info", "trees"}
_OBJECTIVES = ("binary:", "count:", "multi:", "rank:", "reg:", "survival:")
_MOST_CATEGORIES = 2**24  # as XGBoost itself allows
_NO_PARENT = (-1, 2**31 - 1)

Json = dict[str, Any]


def check_json(text: str) -> tuple[int, int]:
    """Numbers of features and of classes of an XGBoost model; raises where its JSON is wrong.

    The number of classes is 0 for a regressor and for two classes.
    """
    document = _parsed(text)
    try:
        return _check(document)
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, OverflowError, IndexError) as error:
        raise InputError(_BROKEN) from error


def _parsed(text: str) -> Json:
    try:
        document = json.loads(text, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise InputError(_BROKEN) from error
    if type(document) is not dict or set(document) != {"learner", "version"}:
        raise InputError(_BROKEN)
    return document


def _unique(pairs: list[tuple[str, Any]]) -> Json:
    """A JSON object as a dict; raises on a name given twice, which readers may take differently."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name is given twice")
    return found


def _check(document: Json) -> tuple[int, int]:
    learner = document["learner"]
    told = learner["learner_model_param"]
    features, classes = _count(told["num_feature"]), _count(told["num_class"])
    targets = _count(told.get("num_target", "1"))
    outputs = max(classes, 1) * max(targets, 1)
    _require(features >= 1 and outputs == max(classes, targets, 1))
    for name in ("feature_names", "feature_types"):
        given = learner.get(name, [])
        _require(type(given) is list and len(given) in (0, features))
        _require(all(type(item) is str for item in given))
    start = json.loads(told["base_score"])
    starts = start if type(start) is list else [start]
    _require(len(starts) in (1, outputs) and bool(np.isfinite(_floats(starts)).all()))
    _check_objective(learner["objective"], classes, max(targets, 1))
    rounds = _check_booster(learner["gradient_booster"], features, outputs)
    given = learner["attributes"]
    _require(type(given) is dict and all(type(item) is str for item in given.values()))
    _require("best_iteration" not in given or _count(given["best_iteration"]) < rounds)
    return features, classes


def _check_objective(objective: Json, classes: int, targets: int) -> None:
    name = objective["name"]
    _require(type(name) is str and name.startswith(_OBJECTIVES))
    softmax = objective.get("softmax_multiclass_param")
    _require((softmax is not None) == name.startswith("multi:"))
    _require(softmax is None or (classes >= 2 and _count(softmax["num_class"]) == classes))
    quantiles = objective.get("quantile_loss_param")
    _require(quantiles is None or len(json.loads(quantiles["quantile_alpha"])) == targets)


def _check_booster(booster: Json, features: int, outputs: int) -> int:
    """Number of boosting rounds; raises where trees or weights do not fit the model."""
    name = booster["name"]
    if name == "gblinear":
        model = booster["model"]
        _require(set(booster) == {"model", "name"} and set(model) <= {"boosted_rounds", "weights"})
        _require(len(_floats(model["weights"])) == (features + 1) * outputs)
        rounds = model.get("boosted_rounds", 0)
        _require(type(rounds) is int and 0 <= rounds < 2**31)
        return max(int(rounds), 1)
    if name == "dart":
        _require(set(booster) == {"gbtree", "name", "weight_drop"})
        model = booster["gbtree"]["model"]
        _require(len(_floats(booster["weight_drop"])) == len(model["trees"]))
        _require(booster["gbtree"]["name"] == "gbtree")
    else:
        _require(name == "gbtree" and set(booster) == {"model", "name"})
        model = booster["model"]
    return _check_model(model, features, outputs)


def _check_model(model: Json, features: int, outputs: int) -> int:
    _require(set(model) >= _MODEL and set(model) <= _MODEL | {"cats"})
    trees, bounds = model["trees"], _ints(model["iteration_indptr"])
    param, groups = model["gbtree_model_param"], _ints(model["tree_info"])
    _require(len(trees) == len(groups) == _count(param["num_trees"]) > 0)
    _require(1 <= _count(param["num_parallel_tree"]) <= len(trees))
    _require(bool(np.all((groups >= 0) & (groups < outputs))))
    _require(bounds[0] == 0 and bounds[-1] == len(trees) and bool(np.all(np.diff(bounds) > 0)))
    for number, tree in enumerate(trees):
        _require(tree["id"] == number)
        _check_tree(tree, features)
    if "cats" in model:
        _check_cats(model["cats"], features)
    return len(bounds) - 1


def _check_tree(tree: Json, features: int) -> None:
    _require(set(tree) == {*_TREE, *_SETS, "id", "tree_param"})
    param = tree["tree_param"]
    n = _count(param["num_nodes"])
    _require(_count(param["size_leaf_vector"]) <= 1 and _count(param["num_feature"]) == features)
    _require(0 <= _count(param.get("num_deleted", "0")) < n)
    arrays: dict[str, npt.NDArray[Any]] = {
        name: (_ints if kind == "i" else _floats)(tree[name]) for name, kind in _TREE.items()
    }
    _require(all(len(array) == n for array in arrays.values()))
    left, right, parents = arrays["left_children"], arrays["right_children"], arrays["parents"]
    inner = left != -1
    _require(np.array_equal(inner, right != -1))
    depth = tree_depths(left, right, np.array([0]), inner)
    used = depth >= 0
    _require(parents[0] in _NO_PARENT)
    for child in (left, right):
        _require(np.array_equal(parents[child[inner & used]], np.flatnonzero(inner & used)))
    index, kind = arrays["split_indices"], arrays["split_type"]
    _require(bool(np.all((index >= 0) & (index < 2**32))) and bool(np.all((kind | 1) == 1)))
    if not np.all(index[inner] < features):
        raise InputError("a tree splits on a feature that the model does not have")
    _require(bool(np.all((arrays["default_left"] | 1) == 1)))
    if np.any(np.isnan(arrays["split_conditions"][inner])):
        raise InputError("a tree splits at NaN")
    _check_sets(tree, n, np.flatnonzero((kind == 1) & inner))


def _check_sets(tree: Json, n: int, chosen: IntArray) -> None:
    """Raise where a split by categories has no set of them."""
    categories, nodes = _ints(tree["categories"]), _ints(tree["categories_nodes"])
    starts, sizes = _ints(tree["categories_segments"]), _ints(tree["categories_sizes"])
    _require(len(nodes) == len(starts) == len(sizes) and np.array_equal(nodes, chosen))
    _require(bool(np.all((nodes < n) & (starts >= 0) & (sizes > 0))))
    _require(bool(np.all(starts + sizes <= len(categories))))
    _require(bool(np.all((categories >= 0) & (categories < _MOST_CATEGORIES))))


def _check_cats(cats: Json, features: int) -> None:
    """Raise where the categories of data frames are not those of the columns."""
    _require(set(cats) == {"enc", "feature_segments", "sorted_idx"})
    columns, bounds, places = (
        cats["enc"],
        _ints(cats["feature_segments"]),
        _ints(cats["sorted_idx"]),
    )
    if not columns:
        _require(not len(bounds) and not len(places))
        return
    _require(len(columns) == features == len(bounds) - 1 and bounds[0] == 0)
    counts = [_category_count(column) for column in columns]
    _require(np.array_equal(np.diff(bounds), counts) and bounds[-1] == len(places))
    for start, end in pairwise(bounds):
        _require(np.array_equal(np.sort(places[start:end]), np.arange(end - start)))


def _category_count(column: Json) -> int:
    values = _ints(column["values"])
    if set(column) == {"offsets", "values"}:
        bounds = _ints(column["offsets"])
        _require(bool(np.all((values >= -128) & (values < 256))))
        if not len(bounds):
            _require(not len(values))
            return 0
        _require(
            bounds[0] == 0 and bounds[-1] == len(values) and bool(np.all(np.diff(bounds) >= 0))
        )
        return len(bounds) - 1
    _require(set(column) == {"type", "values"} and type(column["type"]) is int)
    _require(0 <= column["type"] < 64)
    return len(values)


def _require(right: bool) -> None:
    if not right:
        raise InputError(_BROKEN)


def _count(text: Any) -> int:
    _require(type(text) is str and text.isascii() and text.isdigit() and len(text) <= 10)
    return int(text)


def _ints(items: Any) -> IntArray:
    _require(type(items) is list and all(type(item) is int for item in items))
    return np.array(items, dtype=np.int64)


def _floats(items: Any) -> npt.NDArray[np.float64]:
    _require(type(items) is list and all(type(item) in (int, float) for item in items))
    return np.array(items, dtype=np.float64)
