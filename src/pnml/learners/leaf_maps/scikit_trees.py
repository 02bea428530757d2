"""Leaf maps of scikit-learn's trees, forests, gradient boosting, bagging and AdaBoost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from pnml.core.leaves.cells import IntArray
from pnml.learners.leaf_maps.branches import Branches, FittedTrees
from pnml.learners.leaf_maps.node_leaves import NodeLeaves
from pnml.learners.leaf_maps.protocol import LeafMap
from pnml.learners.leaf_maps.refusals import refuse_unfitted, several_targets


@dataclass(frozen=True)
class JoinedLeaves(FittedTrees):
    """Leaf map of bagging or AdaBoost: the trees of all members, each with its own columns."""

    members: tuple[LeafMap, ...]
    columns: tuple[IntArray | None, ...]  # of each member; None for all

    def leaf(self, X: Any) -> IntArray:
        """Leaf (n, T) of each row in each of T trees, numbered over all trees."""
        rows = member_rows(self.model, X)
        out = np.empty((rows.shape[0], len(self.ends) - 1), dtype=np.int64)
        tree = 0
        for member, columns in zip(self.members, self.columns, strict=True):
            leaf = member.leaf(rows if columns is None else rows[:, columns])
            out[:, tree : tree + leaf.shape[1]] = leaf + self.ends[tree]
            tree += leaf.shape[1]
        return out


def of_tree(model: Any) -> NodeLeaves:
    """Leaf map of a fitted decision tree or extra tree of scikit-learn."""
    _check(model)
    return NodeLeaves(model, _branches(model))


def of_forest(model: Any) -> NodeLeaves:
    """Leaf map of a fitted random forest or extra-trees forest of scikit-learn."""
    _check(model)
    return NodeLeaves(model, Branches.joined([_branches(tree) for tree in model.estimators_]))


def of_gradient_boosting(model: Any) -> NodeLeaves:
    """Leaf map of scikit-learn's fitted GradientBoostingClassifier or GradientBoostingRegressor.

    Its ``leaf(X)`` (n, T) is the leaf of each row in each of T trees. Three classes or more have a
    tree per class and round: tree t·C + c is that of round t and class c of C. Else C is 1.
    """
    _check(model)
    trees = model.estimators_.ravel()  # (rounds, classes), as `apply` orders them
    return NodeLeaves(model, Branches.joined([_branches(tree) for tree in trees]))


def member_rows(model: Any, X: Any) -> Any:
    """Rows X as bagging and AdaBoost pass them to their members: arrays without column names."""
    return validate_data(
        model, X, reset=False, accept_sparse="csr", dtype=None, ensure_all_finite=False
    )


def member_columns(model: Any) -> list[IntArray | None]:
    """Positions of the columns that each member of a fitted ensemble sees; None means all."""
    features = getattr(model, "estimators_features_", [None] * len(model.estimators_))
    every = np.arange(model.n_features_in_)
    return [None if f is None or np.array_equal(f, every) else np.asarray(f) for f in features]


def of_members(model: Any, members: list[LeafMap | None]) -> JoinedLeaves | None:
    """Leaf map of fitted bagging or AdaBoost, from the leaf maps of its members in order.

    None if the leaf map of any member is None.
    """
    known = tuple(member for member in members if member is not None)
    if len(known) < len(members):
        return None
    branches = Branches.joined([member.branches for member in known])
    return JoinedLeaves(model, branches, known, tuple(member_columns(model)))


def _check(model: Any) -> None:
    refuse_unfitted(model)
    if getattr(model, "n_outputs_", 1) > 1:
        raise several_targets(model)


def _branches(tree: Any) -> Branches:
    return Branches.of_children(tree.tree_.children_left, tree.tree_.children_right)
