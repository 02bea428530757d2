"""Leaf maps of XGBoost: its scikit-learn estimators and its Booster."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from pnml.errors import InputError
from pnml.learners.leaf_maps.branches import Branches
from pnml.learners.leaf_maps.node_leaves import NodeLeaves
from pnml.learners.leaf_maps.refusals import (
    changed_layout,
    refuse_unfitted,
    several_targets,
    unfitted,
)


@dataclass(frozen=True)
class _Applied:
    """A Booster with the ``apply`` of the estimators, over all its rounds as in ``predict``."""

    booster: Any

    def apply(self, X: Any) -> Any:
        matrix = sys.modules["xgboost"].DMatrix
        rows = X if isinstance(X, matrix) else matrix(X, enable_categorical=True)
        return self.booster.predict(rows, pred_leaf=True)


@dataclass(frozen=True)
class _Told:
    """A model whose ``apply`` raises an InputError if the rows hold infinite numbers."""

    model: Any

    def apply(self, X: Any) -> Any:
        try:
            return self.model.apply(X)
        except sys.modules["xgboost"].core.XGBoostError as error:
            if "contains `inf`" not in str(error):
                raise
            raise InputError(
                "X holds an infinite number, or one beyond float32, whose leaf XGBoost does not "
                "tell; replace it by a missing value or a sensible bound."
            ) from error


def of_estimator(model: Any) -> NodeLeaves | None:
    """Leaf map of a fitted XGBModel up to its best iteration; None if it has no trees."""
    refuse_unfitted(model)
    try:
        rounds = int(model.best_iteration) + 1
    except AttributeError:  # it was not stopped early
        rounds = None
    branches = _branches(model, model.get_booster(), rounds)
    return None if branches is None else NodeLeaves(_Told(model), branches)


def of_booster(model: Any) -> NodeLeaves | None:
    """Leaf map of an XGBoost Booster; None if it has no trees (gblinear)."""
    try:
        model.num_features()
    except sys.modules["xgboost"].core.XGBoostError:  # it was never given rows
        raise unfitted(model) from None
    branches = _branches(model, model, None)
    return None if branches is None else NodeLeaves(_Told(_Applied(model)), branches)


def _branches(model: Any, booster: Any, rounds: int | None) -> Branches | None:
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    boosting = learner["gradient_booster"]
    if boosting["name"] == "gblinear":
        return None
    stored = boosting.get("gbtree", boosting)  # dart wraps the trees once more
    try:
        trees, bounds = stored["model"]["trees"], stored["model"]["iteration_indptr"]
        targets = int(learner["learner_model_param"].get("num_target", 1))
    except KeyError:
        raise changed_layout(model, "XGBoost", sys.modules["xgboost"].__version__) from None
    trees = trees[: bounds[len(bounds) - 1 if rounds is None else min(rounds, len(bounds) - 1)]]
    if not trees:
        raise unfitted(model)
    if targets > 1:
        raise several_targets(model)
    return Branches.joined([_tree(tree) for tree in trees])


def _tree(tree: Any) -> Branches:
    left, right = (
        np.array(tree[side], dtype=np.int64) for side in ("left_children", "right_children")
    )
    return Branches.of_children(left, right)
