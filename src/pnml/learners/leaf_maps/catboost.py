"""Leaf maps of CatBoost."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from pnml.core.leaves.cells import IntArray
from pnml.learners.leaf_maps.branches import Branches, FittedTrees
from pnml.learners.leaf_maps.refusals import changed_layout, several_targets, unfitted

_SEVERAL_TARGETS = ("MultiRMSE", "MultiLogloss", "MultiCrossEntropy")


@dataclass(frozen=True)
class CatBoostLeaves(FittedTrees):
    """Leaf map of a fitted CatBoost model; all classes share one tree per round."""

    def leaf(self, X: Any) -> IntArray:
        """Leaf (n, T) of each row in each of T trees, numbered over all trees."""
        local = np.asarray(self.model.calc_leaf_indexes(X))  # uint32
        leaf: IntArray = local + self.ends[:-1]
        return leaf


def of_model(model: Any) -> CatBoostLeaves:
    """Leaf map of a fitted CatBoostRegressor, CatBoostClassifier or CatBoost."""
    if not model.is_fitted() or not model.tree_count_:
        raise unfitted(model)
    if str(model.get_all_params().get("loss_function")).startswith(_SEVERAL_TARGETS):
        raise several_targets(model)
    try:
        if not hasattr(model, "calc_leaf_indexes"):
            raise AttributeError("calc_leaf_indexes")
        counts = np.asarray(model.get_tree_leaf_counts(), dtype=np.int64)
        if model._object._is_oblivious():
            trees = [_symmetric(int(count)) for count in counts]
        else:
            trees = [_grown(model, tree, int(count)) for tree, count in enumerate(counts)]
    except (AttributeError, IndexError):
        version = sys.modules["catboost"].__version__
        raise changed_layout(model, "CatBoost", version) from None
    return CatBoostLeaves(model, Branches.joined(trees))


def _symmetric(leaves: int) -> Branches:
    """A tree with one split per level; bit k of a leaf's number is the answer at level k.

    After j splits with answers i (a number of j bits), a row is at node 2ʲ − 1 + i.
    """
    node = np.arange(2 * leaves - 1)
    size = 2 ** np.floor(np.log2(node + 1)).astype(np.int64)  # nodes of its level
    half = size // 2
    above = np.where(node == 0, -1, half - 1 + (node + 1 - size) % np.maximum(half, 1))
    return Branches.of_tree(above, np.arange(leaves - 1, 2 * leaves - 1))


def _grown(model: Any, tree: int, leaves: int) -> Branches:
    """A tree grown node by node, for which CatBoost stores how far children are from a node."""
    steps = np.array(model._get_tree_step_nodes(tree), dtype=np.int64).reshape(-1, 2)
    numbers = np.array(model._get_tree_node_to_leaf(tree), dtype=np.int64)
    node = np.arange(len(steps))
    above = np.full(len(steps), -1, dtype=np.int64)
    for step in steps.T:
        above[(node + step)[step > 0]] = node[step > 0]
    leaf = numbers < leaves  # the numbers of inner nodes are huge
    if not np.array_equal(np.sort(numbers[leaf]), np.arange(leaves)):
        raise IndexError(f"leaves of tree {tree}")
    at = np.empty(leaves, dtype=np.int64)
    at[numbers[leaf]] = node[leaf]
    return Branches.of_tree(above, at)
