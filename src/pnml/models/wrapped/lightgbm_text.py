"""Checks of LightGBM's model text, since LightGBM itself trusts every number in it."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import numpy.typing as npt

from pnml.errors import InputError
from pnml.models.wrapped.binary_trees import IntArray, tree_depths

_BROKEN = "the text of its LightGBM model is not what LightGBM writes"
_HEADER = {
    "version",
    "num_class",
    "num_tree_per_iteration",
    "label_index",
    "max_feature_idx",
    "objective",
    "average_output",
    "feature_names",
    "monotone_constraints",
    "feature_infos",
    "tree_sizes",
}
_WHOLE = re.compile(r"-?\d{1,10}")
_WHOLES = re.compile(r"(?:-?\d{1,10}(?: +|$))*")
_NUMBERS = re.compile(r"[-+0-9.einfa ]*")
_OBJECTIVE = re.compile(r"[a-z_0-9]+(?: [a-z_0-9]+:[-+.\w]+| [a-z]+)*")
_PARAMETER = re.compile(r"\[\w+: [^\r\n]*\]")
# Arrays of a tree of L leaves by their length: L − 1 splits, or L leaves.
_SPLITS = {
    "split_feature": "i",
    "split_gain": "f",
    "threshold": "f",
    "decision_type": "i",
    "left_child": "i",
    "right_child": "i",
    "internal_value": "f",
    "internal_weight": "f",
    "internal_count": "f",
}
_LEAVES = {"leaf_value": "f", "leaf_weight": "f", "leaf_count": "f", "leaf_const": "f"}
_OTHERS = {
    "num_leaves",
    "num_cat",
    "cat_boundaries",
    "cat_threshold",
    "is_linear",
    "num_features",
    "leaf_features",
    "leaf_coeff",
    "shrinkage",
}
_NEEDED = {"num_leaves", "num_cat", "leaf_value", "shrinkage"}
_NEEDED_SPLITS = {"split_feature", "threshold", "decision_type", "left_child", "right_child"}

Fields = dict[str, str]


def check_text(text: str) -> tuple[int, int]:
    """Numbers of features and of outputs of a LightGBM model; raises where its text is wrong."""
    if "\r" in text or "\0" in text:
        raise InputError(_BROKEN)
    head, blank, rest = text.partition("\n\n")
    first, _, lines = head.partition("\n")
    fields = _fields(lines, _HEADER, flags=frozenset({"average_output"}))
    if first != "tree" or not blank or not set(fields) >= _NEEDED_HEADER:
        raise InputError(_BROKEN)
    features, outputs = _int(fields["max_feature_idx"]) + 1, _int(fields["num_class"])
    _check_header(fields, features, outputs)
    sizes, body = _ints(fields["tree_sizes"]), rest.encode()
    start = 0
    for number, size in enumerate(sizes.tolist()):
        part = body[start : start + size]
        prefix = f"Tree={number}\n".encode()
        if size < len(prefix) or not part.startswith(prefix) or not part.endswith(b"\n\n"):
            raise InputError(_BROKEN)
        _check_tree(part[len(prefix) :].decode(errors="replace").rstrip("\n"), features)
        start += size
    if not len(sizes) or len(sizes) % outputs:
        raise InputError(_BROKEN)
    _check_rest(body[start:].decode(errors="replace"))
    return features, outputs


_NEEDED_HEADER = _HEADER - {"average_output", "monotone_constraints", "objective"}


def _check_header(fields: Fields, features: int, outputs: int) -> None:
    right = features >= 1 and outputs >= 1
    right = right and _int(fields["num_tree_per_iteration"]) == outputs
    right = right and 0 <= _int(fields["label_index"]) <= features
    for name in ("feature_names", "feature_infos"):
        right = right and len(fields[name].split(" ")) == features
    objective = fields.get("objective", "custom")
    right = right and _OBJECTIVE.fullmatch(objective) is not None
    for count in re.findall(r"num_class:(\S*)", objective):
        right = right and count == str(outputs)
    if "multiclass" in objective and "num_class:" not in objective:
        right = False
    if not right:
        raise InputError(_BROKEN)


def _check_tree(text: str, features: int) -> None:
    fields = _fields(text, {*_SPLITS, *_LEAVES, *_OTHERS})
    if not set(fields) >= _NEEDED:
        raise InputError(_BROKEN)
    leaves, sorts = _int(fields["num_leaves"]), _int(fields["num_cat"])
    linear = fields.get("is_linear", "0")
    if not 1 <= leaves <= len(text) or not 0 <= sorts < leaves or linear not in ("0", "1"):
        raise InputError(_BROKEN)
    if len(_floats(fields["shrinkage"])) != 1 or len(_floats(fields["leaf_value"])) != leaves:
        raise InputError(_BROKEN)
    if leaves == 1 and linear == "0":
        return  # nothing else is read
    arrays: dict[str, npt.NDArray[Any]] = {}
    for lengths, count in ((_SPLITS, leaves - 1), (_LEAVES, leaves)):
        for name in lengths.keys() & fields.keys():
            arrays[name] = (_ints if lengths[name] == "i" else _floats)(fields[name])
            if len(arrays[name]) != count:
                raise InputError(_BROKEN)
    if leaves > 1:
        _check_splits(arrays, leaves, features)
        _check_sets(fields, arrays, sorts)
    if linear == "1":
        _check_slopes(fields, arrays, leaves, features)


def _check_splits(arrays: dict[str, npt.NDArray[Any]], leaves: int, features: int) -> None:
    if not set(arrays) >= _NEEDED_SPLITS:
        raise InputError(_BROKEN)
    inner = np.arange(2 * leaves - 1) < leaves - 1
    sides = []
    for side in ("left_child", "right_child"):
        child = arrays[side]
        if not np.all((child >= -leaves) & (child < leaves - 1)):
            raise InputError("the splits of a tree do not lead to its leaves")
        nodes = np.zeros(2 * leaves - 1, dtype=np.int64)
        nodes[: leaves - 1] = np.where(child < 0, leaves - 2 - child, child)
        sides.append(nodes)
    if np.any(tree_depths(sides[0], sides[1], np.array([0]), inner) < 0):
        raise InputError("a tree has nodes that no row can reach")
    feature = arrays["split_feature"]
    if not np.all((feature >= 0) & (feature < features)):
        raise InputError("a tree splits on a feature that the model does not have")
    if np.any(np.isnan(arrays["threshold"])):
        raise InputError("a tree splits at NaN")
    if not np.all(np.abs(arrays["decision_type"]) < 16):
        raise InputError(_BROKEN)


def _check_sets(fields: Fields, arrays: dict[str, npt.NDArray[Any]], sorts: int) -> None:
    """Raise where a split by categories refers to a set of categories that is not there."""
    chosen = arrays["threshold"][arrays["decision_type"] % 2 == 1]
    if sorts == 0 and not len(chosen):
        return
    ends, words = _ints(fields.get("cat_boundaries", "")), fields.get("cat_threshold", "")
    right = len(ends) == sorts + 1 and ends[0] == 0 and np.all(np.diff(ends) > 0)
    right = right and len(_ints(words)) == ends[-1]
    if not right or not np.all((chosen >= 0) & (chosen < sorts) & (chosen == np.floor(chosen))):
        raise InputError("the categories of a tree are not those of its splits")


def _check_slopes(
    fields: Fields, arrays: dict[str, npt.NDArray[Any]], leaves: int, features: int
) -> None:
    """Raise where a leaf with a linear model has coefficients of features that do not exist."""
    counts, of = _ints(fields.get("num_features", "")), _ints(fields.get("leaf_features", ""))
    right = "leaf_const" in arrays and len(counts) == leaves and bool(np.all(counts >= 0))
    right = right and len(of) == counts.sum() == len(_floats(fields.get("leaf_coeff", "")))
    if not right or not np.all((of >= 0) & (of < features)):
        raise InputError("the slopes in the leaves of a tree are not those of its features")


def _check_rest(text: str) -> None:
    """Raise where the text after the trees is not importances, parameters and categories."""
    ended, _, rest = text.partition("\n")
    importances, marked, tail = rest.partition("\nparameters:\n")
    parameters, closed, last = tail.partition("\nend of parameters\n")
    if ended != "end of trees" or (marked and not closed):
        raise InputError(_BROKEN)
    if not all(_PARAMETER.fullmatch(line) for line in parameters.split("\n") if line):
        raise InputError(_BROKEN)
    last = last if marked else importances[importances.rfind("\npandas_categorical:") :]
    for line in last.strip().split("\n"):
        key, _, words = line.partition(":")
        if line and (key != "pandas_categorical" or not _are_categories(words)):
            raise InputError(_BROKEN)


def _are_categories(text: str) -> bool:
    try:
        known = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return known is None or (type(known) is list and all(type(item) is list for item in known))


def _fields(text: str, known: set[str], flags: frozenset[str] = frozenset()) -> Fields:
    """Lines ``name=value`` by name, each given once; flags have no value."""
    fields: Fields = {}
    for line in text.split("\n"):
        name, equals, content = line.partition("=")
        if name not in known or name in fields or bool(equals) == (name in flags):
            raise InputError(_BROKEN)
        fields[name] = content
    return fields


def _int(text: str) -> int:
    if not _WHOLE.fullmatch(text):
        raise InputError(_BROKEN)
    return int(text)


def _ints(text: str) -> IntArray:
    if not _WHOLES.fullmatch(text.strip()):
        raise InputError(_BROKEN)
    return np.array(text.split(), dtype=np.int64)


def _floats(text: str) -> npt.NDArray[np.float64]:
    if not _NUMBERS.fullmatch(text):
        raise InputError(_BROKEN)
    try:
        return np.array(text.split(), dtype=np.float64)
    except ValueError as error:
        raise InputError(_BROKEN) from error
