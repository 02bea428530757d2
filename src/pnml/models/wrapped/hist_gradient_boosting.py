"""Fitted HistGradientBoosting models of scikit-learn, to and from a file."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.ensemble._hist_gradient_boosting.binning import _BinMapper
from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.preprocessing import LabelEncoder

from pnml.core.arrays import FloatArray
from pnml.core.conditions import ANY_NUMBER, COUNT
from pnml.errors import InputError
from pnml.models.codec import value
from pnml.models.wrapped.binary_trees import IntArray, check_ends, tree_depths
from pnml.models.wrapped.category_columns import (
    category_transformer,
    check_categories,
    stored_categories,
)
from pnml.models.wrapped.plain import attributes_of, set_attributes, unfitted_copy
from pnml.models.wrapped.stored import Attributes, stored

HIST_BOOSTING = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)
BoolArray = npt.NDArray[np.bool_]

_WORDS = 8  # of 32 bits in a set of categories
_BINS = 256
_KINDS = {"f": np.float64, "i": np.int64, "u": np.int64}
_FLAGS = ("missing_go_to_left", "is_leaf", "is_categorical")


@dataclass(frozen=True)
class HistNodes:
    """All m nodes of the T trees of HistGradientBoosting; child numbers count within each tree."""

    ends: Annotated[IntArray, "e"]  # (T + 1,)
    value: Annotated[FloatArray, "m"]
    count: Annotated[IntArray, "m", COUNT]
    feature_idx: Annotated[IntArray, "m"]
    num_threshold: Annotated[FloatArray, "m", ANY_NUMBER]
    missing_go_to_left: Annotated[BoolArray, "m"]
    left: Annotated[IntArray, "m"]
    right: Annotated[IntArray, "m"]
    gain: Annotated[FloatArray, "m", ANY_NUMBER]
    depth: Annotated[IntArray, "m"]
    is_leaf: Annotated[BoolArray, "m"]
    bin_threshold: Annotated[IntArray, "m"]
    is_categorical: Annotated[BoolArray, "m"]
    bitset_idx: Annotated[IntArray, "m"]  # set of categories, counted within the tree
    set_ends: Annotated[IntArray, "e"]
    binned_sets: Annotated[IntArray, "s u"]  # words of the sets of categories that go left
    raw_sets: Annotated[IntArray, "s u"]


@dataclass(frozen=True)
class StoredHistBoosting:
    """Stored form of a fitted HistGradientBoosting model, with its trees in order of the rounds."""

    estimator: Any  # not fitted
    attributes: Attributes
    nodes: HistNodes
    baseline: Annotated[FloatArray, "one o"]
    bins: Any  # list of the bins' ends (b,), or of the categories, of every feature
    bin_counts: Annotated[IntArray, "f"]
    categorical: Annotated[BoolArray, "f"]  # in the order of the bins
    categories: Any  # list of the categories of every such column; None without any
    is_categorical: Annotated[BoolArray, "f"] | None  # in the order of the columns


def store_hist_boosting(model: Any) -> StoredHistBoosting:
    """The stored form of a fitted HistGradientBoosting model."""
    mapper = model._bin_mapper
    return StoredHistBoosting(
        unfitted_copy(model, HIST_BOOSTING),
        attributes_of(model, "is_categorical_"),
        _stored_nodes([tree for trees in model._predictors for tree in trees]),
        np.asarray(model._baseline_prediction, dtype=np.float64),
        [np.asarray(ends, dtype=np.float64) for ends in mapper.bin_thresholds_],
        mapper.n_bins_non_missing_.astype(np.int64),
        mapper.is_categorical_.astype(np.bool_),
        stored_categories(model._preprocessor),
        model.is_categorical_,
    )


def _stored_nodes(trees: list[Any]) -> HistNodes:
    names = set(PREDICTOR_RECORD_DTYPE.names)
    if not trees or names != set(HistNodes.__dataclass_fields__) - _NOT_FIELDS:
        raise InputError("this scikit-learn stores boosted trees in a way unknown here")
    nodes = np.concatenate([tree.nodes for tree in trees])
    kinds = {name: np.bool_ if name in _FLAGS else _KINDS[nodes.dtype[name].kind] for name in names}
    ends = [0, *(len(tree.nodes) for tree in trees)]
    set_ends = [0, *(len(tree.raw_left_cat_bitsets) for tree in trees)]
    return HistNodes(
        ends=np.cumsum(ends, dtype=np.int64),
        set_ends=np.cumsum(set_ends, dtype=np.int64),
        binned_sets=np.concatenate([t.binned_left_cat_bitsets for t in trees]).astype(np.int64),
        raw_sets=np.concatenate([t.raw_left_cat_bitsets for t in trees]).astype(np.int64),
        **{name: nodes[name].astype(kind) for name, kind in kinds.items()},
    )


_NOT_FIELDS = {"ends", "set_ends", "binned_sets", "raw_sets"}


def _model(held: StoredHistBoosting) -> Any:
    made = unfitted_copy(held.estimator, HIST_BOOSTING)
    set_attributes(made, held.attributes)
    features = made.n_features_in_
    width = vars(made).get("n_trees_per_iteration_")
    labels = _labels(made)
    if width != (1 if len(labels) <= 2 else len(labels)) or held.baseline.shape != (1, width):
        raise InputError("the trees of a model are not those of its outputs")
    _check_bins(held, features)
    trees = _trees(held.nodes, held.categorical)
    if len(trees) % width:
        raise InputError("the trees of a model are not those of its outputs")
    made._predictors = [trees[i : i + width] for i in range(0, len(trees), width)]
    made._baseline_prediction = held.baseline
    made._n_features = features
    made._bin_mapper = _mapper(made, held)
    made.is_categorical_ = held.is_categorical
    made._is_categorical_remapped = None if held.is_categorical is None else held.categorical
    names = vars(made).get("feature_names_in_")
    made._preprocessor = category_transformer(held.categories, held.is_categorical, names)
    made._loss = made._get_loss(sample_weight=None)
    made._in_fit = False
    if len(labels):
        made._label_encoder = LabelEncoder()
        made._label_encoder.classes_ = labels
    return made


def _labels(model: Any) -> npt.NDArray[Any]:
    """The classes of a classifier; an empty array for a regressor."""
    if not is_classifier(model):
        return np.zeros(0)
    labels: Any = vars(model).get("classes_")
    if type(labels) is not np.ndarray or labels.ndim != 1 or len(labels) < 2:
        raise InputError("the classes of a model are not two or more")
    return labels


def _check_bins(held: StoredHistBoosting, features: int) -> None:
    """Raise where bins and categories are not those of the features."""
    bins, categorical = held.bins, held.categorical
    right = type(bins) is list and len(bins) == features == len(categorical)
    right = right and bool(np.all((held.bin_counts >= 0) & (held.bin_counts < _BINS)))
    for ends in bins if right else ():
        array = type(ends) is np.ndarray and ends.dtype == np.float64 and ends.ndim == 1
        right = right and array and len(ends) < _BINS
    for ends in (bins[j] for j in np.flatnonzero(categorical)) if right else ():
        right = right and bool(np.all((ends >= 0) & (ends < _BINS) & (ends == np.floor(ends))))
    if not right:
        raise InputError("the bins of a model are not those of its features")
    check_categories(held.categories, held.is_categorical, categorical)


def _trees(nodes: HistNodes, categorical: BoolArray) -> list[Any]:
    """The trees; raises where rows would leave one of them."""
    _check_nodes(nodes, categorical)
    record = np.zeros(len(nodes.value), dtype=PREDICTOR_RECORD_DTYPE)
    for name in PREDICTOR_RECORD_DTYPE.names:
        record[name] = getattr(nodes, name)
    binned, raw = nodes.binned_sets.astype(np.uint32), nodes.raw_sets.astype(np.uint32)
    return [
        TreePredictor(record[a:b].copy(), binned[c:d].copy(), raw[c:d].copy())
        for (a, b), (c, d) in zip(pairwise(nodes.ends), pairwise(nodes.set_ends), strict=True)
    ]


def _check_nodes(nodes: HistNodes, categorical: BoolArray) -> None:
    check_ends(nodes.ends, len(nodes.value))
    if nodes.set_ends[0] or nodes.set_ends[-1] != len(nodes.raw_sets):
        raise InputError("the categories of a tree are not those of its splits")
    sizes, sets = np.diff(nodes.ends), np.diff(nodes.set_ends)
    starts, inner = np.repeat(nodes.ends[:-1], sizes), ~nodes.is_leaf
    sizes, sets = np.repeat(sizes, sizes), np.repeat(sets, sizes)
    for child in (nodes.left, nodes.right):
        if not np.all((child >= 0) & (child < sizes)):
            raise InputError("the splits of a tree do not lead to its leaves")
    depth = tree_depths(starts + nodes.left, starts + nodes.right, nodes.ends[:-1], inner)
    if not np.array_equal(depth, nodes.depth):
        raise InputError("the splits of a tree do not lead to its leaves")
    feature, sorts = nodes.feature_idx, nodes.is_categorical
    if not np.all((feature >= 0) & (feature < len(categorical))):
        raise InputError("a tree splits on a feature that the model does not have")
    if np.any(np.isnan(nodes.num_threshold) & inner):
        raise InputError("a tree splits at NaN")
    among = (nodes.bitset_idx >= 0) & (nodes.bitset_idx < sets) & categorical[feature]
    word = (nodes.raw_sets | nodes.binned_sets) >> 32
    if np.any(sorts & inner & ~among) or np.any(sets < 0) or np.any(word):
        raise InputError("the categories of a tree are not those of its splits")
    if nodes.raw_sets.shape[1] != _WORDS or np.any((nodes.bin_threshold >> 8) != 0):
        raise InputError("the categories of a tree are not those of its splits")
    for counted in (nodes.count, nodes.bitset_idx, nodes.depth):
        if np.any(counted >> 32):
            raise InputError("a tree counts more rows or nodes than there can be")


def _mapper(model: Any, held: StoredHistBoosting) -> Any:
    mapper = _BinMapper(n_bins=model.max_bins + 1, is_categorical=held.categorical)
    mapper.is_categorical_ = held.categorical.astype(np.uint8)
    mapper.bin_thresholds_ = held.bins
    mapper.n_bins_non_missing_ = held.bin_counts.astype(np.uint32)
    mapper.missing_values_bin_idx_ = model.max_bins
    return mapper


HIST_CODECS = [value(HistNodes), stored(StoredHistBoosting, "FittedHistBoosting", _model)]
