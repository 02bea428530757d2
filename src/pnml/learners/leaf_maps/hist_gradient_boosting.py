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
from pnml.errors import InputError
from pnml.learners.leaf_maps.branches import Branches
from pnml.learners.leaf_maps.refusals import changed_layout, refuse_unfitted

_CHECKED_ROWS = 100


@dataclass(frozen=True)
class HistLeaves:
    """A fitted HistGradientBoosting: tree t·C + c is that of round t and class c."""

    model: Any
    branches: Branches
    numbered: tuple[Any, ...]  # the trees with the numbers of their leaves for values

    @property
    def ends(self) -> IntArray:
        """(T + 1,): the leaves of tree t are ``ends[t]`` to ``ends[t + 1]``."""
        return self.branches.ends

    def leaf(self, X: Any) -> IntArray:
        """Leaf (n, T) of every row in every tree, counted over all trees."""
        values = self.model._preprocess_X(X, reset=False)
        known = self.model._bin_mapper.make_known_categories_bitsets()
        threads = _openmp_effective_n_threads()
        out = np.empty((len(values), len(self.numbered)), dtype=np.int64)
        for rows in chunks(len(values)):
            for t, tree in enumerate(self.numbered):
                out[rows, t] = tree.predict(values[rows], *known, threads)
        return out


def of_hist_gradient_boosting(model: Any, rows: Any = None) -> HistLeaves:
    """Leaves of a fitted HistGradientBoosting.

    Where `rows` are given, their leaf values must add up to the model's own predictions.
    """
    refuse_unfitted(model)
    try:
        found = _numbered(model)
        agrees = rows is None or _adds_up(found, rows)
    except InputError:
        raise
    except (AttributeError, IndexError, KeyError, TypeError):
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


def _adds_up(found: HistLeaves, X: Any) -> bool:
    """Whether the values in the leaves of the first rows add up to the model's predictions."""
    model = found.model
    rows = _safe_indexing(X, slice(0, _CHECKED_ROWS))
    nodes = [tree.nodes for of_round in model._predictors for tree in of_round]
    values = np.concatenate([part["value"][part["is_leaf"] != 0] for part in nodes])
    leaf = found.leaf(rows)
    classes = model.n_trees_per_iteration_
    raw: FloatArray = values[leaf].reshape(len(leaf), -1, classes).sum(axis=1)
    raw = raw + model._baseline_prediction
    if is_classifier(model):
        own = np.asarray(model.decision_function(rows)).reshape(len(leaf), -1)
    else:
        raw, own = model._loss.link.inverse(raw.ravel()), model.predict(rows)
    return bool(np.allclose(raw, own, rtol=1e-9, atol=1e-9 * np.abs(values).sum()))
