"""Checks of CatBoost's bytes, since CatBoost itself trusts every index in them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pnml.errors import InputError
from pnml.models.wrapped.catboost_features import Features, read_features
from pnml.models.wrapped.catboost_tables import check_tables
from pnml.models.wrapped.flat_tables import BROKEN, FlatTable

_MAGIC = b"CBM1"
_FORMAT = "FlabuffersModel_v1"
_PARTS: tuple[list[str], ...] = ([], ["static_provider_v1"])
_STEP = [("left", "<u2"), ("right", "<u2")]
_BIN = [("feature", "<u2"), ("mask", "u1"), ("split", "u1")]
_MOST_DEPTH = 16
_NO_LEAF = 2**32 - 1
# Losses whose models give several numbers a row: how many, or None where any number will do.
_SEVERAL = {
    "RMSEWithUncertainty": 2,
    "MultiClass": None,
    "MultiClassOneVsAll": None,
    "MultiQuantile": None,
}

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class CheckedModel:
    """Numbers of features and classes of a CatBoost model, as its bytes give them."""

    features: int
    classes: int  # 0 of a regressor


def check_bytes(data: bytes) -> CheckedModel:
    """Numbers of features and classes of a CatBoost model; raises where its bytes are wrong."""
    if data[:4] != _MAGIC or len(data) < 8:
        raise InputError(BROKEN)
    size = int.from_bytes(data[4:8], "little")
    core, rest = data[8 : 8 + size], data[8 + size :]
    if len(core) != size or size == 2**32 - 1:
        raise InputError(BROKEN)
    model = FlatTable.root(core)
    if model.text(0) != _FORMAT or model.texts(3) not in _PARTS:
        raise InputError(BROKEN)
    trees = model.table(1)
    features = read_features(trees)
    width = trees.number(0, "<i4")
    if not 1 <= width <= 10**6 or len(trees.array(16, "<f8")) != width:
        raise InputError(BROKEN)
    _check_trees(trees, features, width)
    check_tables(rest if model.texts(3) else b"", features)
    if rest and not model.texts(3):
        raise InputError(BROKEN)
    return CheckedModel(features.count, _check_info(model, width))


def _check_trees(trees: FlatTable, features: Features, width: int) -> None:
    splits, sizes = _ints(trees, 1, "<i4"), _ints(trees, 2, "<i4")
    steps, leaf_of = trees.array(10, _STEP), _ints(trees, 11, "<u4")
    values, weights = trees.array(8, "<f8"), trees.array(9, "<f8")
    starts = np.cumsum(sizes) - sizes
    right = len(sizes) > 0 and bool(np.all(sizes >= 0)) and sizes.sum() == len(splits)
    if not right or not np.array_equal(_ints(trees, 3, "<i4"), starts):
        raise InputError(BROKEN)
    bins = features.bins
    if not np.all((splits >= 0) & (splits < max(len(bins), 1))):
        raise InputError("a tree splits on a feature that the model does not have")
    _check_packed(trees.array(17, _BIN), splits, bins)
    if len(steps):
        leaves = _grown_leaves(steps, leaf_of, sizes, width)
    elif len(leaf_of) or np.any(sizes > _MOST_DEPTH) or (len(splits) and not len(bins)):
        raise InputError("the splits of a tree do not lead to its leaves")
    else:
        leaves = int(np.sum(2**sizes))
    if len(values) != leaves * width or len(weights) not in (0, leaves):
        raise InputError("the values in the leaves of a tree are not those of its outputs")


def _grown_leaves(steps: npt.NDArray[Any], leaf_of: Ints, sizes: Ints, width: int) -> int:
    """Number of leaves of trees grown node by node; raises where a row would leave its tree."""
    nodes = int(sizes.sum())
    if len(steps) != nodes or len(leaf_of) != nodes or np.any(sizes < 1):
        raise InputError("the splits of a tree do not lead to its leaves")
    at, ends = np.arange(nodes), np.repeat(np.cumsum(sizes), sizes)
    ended = np.zeros(nodes, dtype=bool)
    for side in ("left", "right"):
        step = steps[side].astype(np.int64)
        if np.any(at + step >= ends):
            raise InputError("the splits of a tree do not lead to its leaves")
        ended |= step == 0
    # Leaves are numbered tree by tree, and within each tree in any order.
    tree = np.repeat(np.arange(len(sizes)), sizes)[ended]
    ids = leaf_of[ended]
    counts = np.bincount(tree, minlength=len(sizes))
    order = np.lexsort((ids, tree))
    numbered = np.array_equal(ids[order], np.arange(len(ids)) * width)
    if np.any(counts < 1) or not numbered or np.any(leaf_of[~ended] != _NO_LEAF):
        raise InputError("the splits of a tree do not lead to its leaves")
    return len(ids)


def _check_packed(packed: npt.NDArray[Any], splits: Ints, bins: npt.NDArray[Any]) -> None:
    """Raise where the packed copy of the splits, which CatBoost uses, differs from the splits."""
    if not len(packed):
        return
    wanted = bins[splits] if len(bins) else np.zeros(len(splits), dtype=bins.dtype)
    if len(packed) != len(splits):
        raise InputError(BROKEN)
    for name in ("feature", "mask", "split"):
        if not np.array_equal(packed[name], wanted[name]):
            raise InputError(BROKEN)


def _check_info(model: FlatTable, width: int) -> int:
    """Number of classes; raises where they are not those of the trees."""
    info = {pair.text(0): pair.text(1) for pair in model.tables(2)}
    parsed = {
        name: _object(info[name])
        for name in ("params", "class_params", "output_options", "training")
        if name in info
    }
    try:
        loss = parsed["params"]["loss_function"]["type"]
        known = parsed.get("class_params", {})
        names, labels = known.get("class_names", []), known.get("class_to_label", [])
        classes = len(names)
    except (KeyError, TypeError) as error:
        raise InputError(BROKEN) from error
    if type(loss) is not str or type(names) is not list or type(labels) is not list:
        raise InputError(BROKEN)
    right = width == 1 if loss not in _SEVERAL else _SEVERAL[loss] in (None, width)
    if loss.startswith("MultiClass") or known:
        right = right and classes == (width if width > 1 else 2)
    right = right and all(type(name) in (str, int, float, bool) for name in names)
    if not right or labels not in ([], list(range(classes))):
        raise InputError("the classes of a model are not those of its trees")
    return classes


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(BROKEN) from error
    if type(found) is not dict:
        raise InputError(BROKEN)
    return found


def _ints(table: FlatTable, field: int, dtype: str) -> Ints:
    return table.array(field, dtype).astype(np.int64)
