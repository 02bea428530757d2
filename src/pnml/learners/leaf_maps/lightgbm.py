"""Leaf maps of LightGBM: its scikit-learn estimators and its Booster."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from pnml.core.leaves.cells import IntArray
from pnml.errors import InputError
from pnml.learners.leaf_maps.branches import Branches, FittedTrees
from pnml.learners.leaf_maps.refusals import refuse_unfitted, unfitted

_FIELD = re.compile(r"^(num_leaves|left_child|right_child|is_linear)=(.*)$", flags=re.MULTILINE)


@dataclass(frozen=True)
class LightGBMLeaves(FittedTrees):
    """Leaf map of a fitted LightGBM model.

    With C trees per round, tree number t·C + c is that of round t and class c.
    """

    def leaf(self, X: Any) -> IntArray:
        """Leaf (n, T) of each row in each of T trees, numbered over all trees."""
        local = np.asarray(self.model.predict(X, pred_leaf=True))
        local = local.reshape(len(local), -1)
        if local.shape[1] != len(self.ends) - 1:  # another number of rounds was asked for
            return local
        return local + self.ends[:-1]


def of_estimator(model: Any) -> LightGBMLeaves:
    """Leaf map of a fitted LGBMRegressor, LGBMClassifier or LGBMRanker."""
    refuse_unfitted(model)
    return LightGBMLeaves(model, _branches(model, model.booster_))


def of_booster(model: Any) -> LightGBMLeaves:
    """Leaf map of a LightGBM Booster, up to its best iteration as in its ``predict``."""
    return LightGBMLeaves(model, _branches(model, model))


def _branches(model: Any, booster: Any) -> Branches:
    """The trees that ``predict`` uses: up to the best iteration if training stopped early."""
    trees = booster.model_to_string().partition("\nend of trees")[0].split("\nTree=")[1:]
    if not trees:
        raise unfitted(model)
    return Branches.joined([_tree(model, text) for text in trees])


def _tree(model: Any, text: str) -> Branches:
    fields = dict(_FIELD.findall(text))
    if int(fields.get("is_linear", 0)):
        raise InputError(
            f"The {type(model).__name__} has linear trees, whose leaves hold slopes and not "
            "values; fit it with linear_tree=False."
        )
    leaves = int(fields["num_leaves"])
    if leaves == 1:
        return Branches.of_tree(np.array([-1]), np.array([0]))
    above = np.full(2 * leaves - 1, -1, dtype=np.int64)  # first the splits, then the leaves
    for side in ("left_child", "right_child"):
        child = np.array(fields[side].split(), dtype=np.int64)
        above[np.where(child < 0, leaves - 2 - child, child)] = np.arange(leaves - 1)
    return Branches.of_tree(above, np.arange(leaves - 1, 2 * leaves - 1))
