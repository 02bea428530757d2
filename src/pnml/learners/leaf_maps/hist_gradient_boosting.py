"""Leaf maps of scikit-learn's HistGradientBoosting, which has no public way to its leaves.

The values in the leaves of copied trees are replaced by the numbers of the leaves, and the
library's own compiled walk then returns these numbers: gaps and categories go as in ``predict``,
and at its speed.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn
from sklearn.base import is_classifier
from sklearn.utils import _safe_indexing
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads

from pnml.core.arrays import FloatArray
from pnml.core.leaves.cells import IntArray
from pnml.core.leaves.leaf_gram import chunks
from pnml.learners.leaf_maps.branches import Branches, FittedTrees
from pnml.learners.leaf_maps.refusals import changed_layout, refuse_unfitted

_CHECKED_ROWS = 100


@dataclass(frozen=True)
class HistLeaves(FittedTrees):
    """Leaf map of a fitted HistGradientBoosting model.

    With C trees per round, tree number t·C + c is that of round t and class c.
    """

    numbered: tuple[Any, ...]  # the trees with the numbers of their leaves for values

    def leaf(self, X: Any) -> IntArray:
        """Leaf (n, T) of each row in each of T trees, numbered over all trees."""
        values = self.model._preprocess_X(X, reset=False)
        known = self.model._bin_mapper.make_known_categories_bitsets()
        threads = _openmp_effective_n_threads()
        out = np.empty((len(values), len(self.numbered)), dtype=np.int64)
        for rows in chunks(len(values)):
            for t, tree in enumerate(self.numbered):
                out[rows, t] = tree.predict(values[rows], *known, threads)
        return out


def of_hist_gradient_boosting(model: Any, rows: Any = None) -> HistLeaves:
    """Leaf map of a fitted HistGradientBoosting model.

    If `rows` are given, raises InputError unless the values of their leaves add up to the model's
    own predictions.
    """
    refuse_unfitted(model)
    if rows is not None:
        rows = _safe_indexing(rows, slice(0, _CHECKED_ROWS))
        own = _raw_predictions(model, rows)  # first, so that rows it refuses raise its own error
    try:
        found = _numbered(model)
        agrees = rows is None or _add_up(found, rows, own)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        agrees = False
    if not agrees:
        raise changed_layout(model, "scikit-learn", sklearn.__version__)
    return found


def _numbered(model: Any) -> HistLeaves:
    trees = [tree for of_round in model._predictors for tree in of_round]
    branches = Branches.joined([_branches(tree.nodes) for tree in trees])
    numbered = []
    for tree, start, end in zip(trees, branches.ends[:-1], branches.ends[1:], strict=True):
        twin = copy(tree)
        twin.nodes = tree.nodes.copy()
        twin.nodes["value"][tree.nodes["is_leaf"] != 0] = np.arange(start, end)
        numbered.append(twin)
    return HistLeaves(model, branches, tuple(numbered))


def _branches(nodes: Any) -> Branches:
    leaf = nodes["is_leaf"] != 0
    left, right = (np.where(leaf, -1, nodes[side].astype(np.int64)) for side in ("left", "right"))
    return Branches.of_children(left, right)


def _raw_predictions(model: Any, rows: Any) -> FloatArray:
    """Predictions (n, C): decision function of a classifier, or ``predict`` of a regressor."""
    own = model.decision_function(rows) if is_classifier(model) else model.predict(rows)
    return np.asarray(own).reshape(-1, model.n_trees_per_iteration_)


def _add_up(found: HistLeaves, rows: Any, own: FloatArray) -> bool:
    """Whether the values in the leaves of the rows add up to the model's own predictions."""
    model = found.model
    nodes = [tree.nodes for of_round in model._predictors for tree in of_round]
    values = np.concatenate([part["value"][part["is_leaf"] != 0] for part in nodes])
    parts = values[found.leaf(rows)].reshape(len(own), -1, own.shape[1])
    total = parts.sum(axis=1) + model._baseline_prediction
    if not is_classifier(model):
        total = model._loss.link.inverse(total)
    largest = float(np.abs(parts).sum(axis=1).max(initial=0.0))
    return bool(np.allclose(total, own, rtol=1e-9, atol=1e-9 * largest))
