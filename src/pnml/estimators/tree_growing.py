"""Trees and forests of scikit-learn: input checks, fitting, and splits as plain arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from pnml.core.arrays import FloatArray
from pnml.core.leaves.partition import Partition
from pnml.core.user_types import ArrayOrFrame
from pnml.errors import InputError
from pnml.estimators.validation import as_rows, check_values
from pnml.estimators.wrapped import check_table
from pnml.learners.last_step import unfrozen
from pnml.learners.protocol import Inputs
from pnml.learners.tree_classes import TreeClasses
from pnml.learners.tree_rows import RowsToCount
from pnml.learners.tree_values import TreeValues

# Leaves of at least five rows, whether a row comes five times or once with a weight of five.
_LEAF_WEIGHT = 4.5


def check_trees(model: BaseEstimator, known: Sequence[type]) -> None:
    """Raise InputError if ``model.estimator`` is of none of the supported classes `known`.

    None is allowed and stands for the default tree; monotonic constraints are not.
    """
    trees = unfrozen(model.estimator)
    name, own = type(trees).__name__, type(model).__name__
    names = [cls.__name__ for cls in known]
    if trees is not None and not isinstance(trees, tuple(known)):
        raise InputError(
            f"estimator is a {name}, but {own} counts rows in the leaves of "
            f"{', '.join(names[:-1])} or {names[-1]}; pass one of these, with other steps of a "
            f"Pipeline before {own}."
        )
    if getattr(trees, "monotonic_cst", None) is not None:
        raise InputError(
            f"estimator is a {name} with monotonic_cst, which counts in leaves need not keep; "
            "leave monotonic_cst out."
        )


def takes_gaps(model: BaseEstimator) -> bool:
    """Whether the trees inside `model`, an estimator of ours, take rows with missing values."""
    return model.estimator is None or bool(get_tags(model.estimator).input_tags.allow_nan)


def check_training_values(model: BaseEstimator, X: ArrayOrFrame, targets: int) -> FloatArray:
    """Validated rows (n, d) to grow trees on; raises if n is not the number of `targets`."""
    rows: FloatArray = as_rows(model, X, reset=True)
    if len(rows) != targets:
        raise InputError(
            f"X has {len(rows)} rows but y has {targets} values; pass exactly one target per row."
        )
    check_values(model, rows, Inputs(compares=True, gaps=takes_gaps(model)))
    return rows


class TreeEstimator(MetaEstimatorMixin):
    """Mixin of the two tree estimators: the splits of their trees, and scikit-learn's tags."""

    estimator: BaseEstimator
    learner_: TreeClasses | TreeValues

    @property
    def partition_(self) -> Partition:
        """The splits of the fitted trees, as arrays over their nodes."""
        check_is_fitted(self)
        return self.learner_.partition

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = takes_gaps(self)
        return tags


def grow(
    model: BaseEstimator,
    default: type,
    X: FloatArray,
    y: npt.NDArray[Any],
    weights: FloatArray | None,
) -> tuple[Any, RowsToCount]:
    """Trees fitted to the rows of positive weight, and all rows to count in their leaves.

    `model` is the estimator of ours that holds the tree or forest to fit; `default` is the class of
    the tree to fit if it holds none.
    """
    counts = np.ones(len(X)) if weights is None else weights
    used = counts > 0
    given = None if weights is None else weights[used]
    trees = _fitted(model, default, X[used], y[used], given)
    partition = partition_of(trees)
    on_these = grown_on(trees, partition, X[used])
    return trees, RowsToCount(partition, X, counts, takes_gaps(model), on_these)


def _fitted(
    model: BaseEstimator,
    default: type,
    X: FloatArray,
    y: npt.NDArray[Any],
    weights: FloatArray | None,
) -> Any:
    """Trees fitted to rows, or the unchanged trees of a frozen estimator."""
    if model.estimator is None:
        total = float(len(X) if weights is None else weights.sum())
        share = min(_LEAF_WEIGHT / total, 0.5)
        trees = default(min_weight_fraction_leaf=share, random_state=0)
    else:
        trees = clone(model.estimator)
    return unfrozen(trees.fit(X, y, sample_weight=weights))


def check_frozen(model: BaseEstimator, X: ArrayOrFrame) -> None:
    """Raise InputError if frozen trees in `model` were fitted to other columns or many targets."""
    trees = unfrozen(model.estimator)
    if trees is model.estimator or not hasattr(trees, "n_features_in_"):
        return
    check_table(trees, X, reset=False)
    if trees.n_outputs_ != 1:
        raise InputError(
            f"estimator is a {type(trees).__name__} of {trees.n_outputs_} targets, but "
            f"{type(model).__name__} learns one; pass a tree or forest of one target."
        )


def partition_of(trees: Any) -> Partition:
    """The splits of a fitted tree or forest, as arrays over the nodes of one tree after another."""
    structures = [tree.tree_ for tree in getattr(trees, "estimators_", [trees])]
    starts = np.cumsum([0] + [tree.node_count for tree in structures])
    feature = np.concatenate([tree.feature for tree in structures])
    leaf = feature < 0

    def joined(name: str) -> npt.NDArray[np.int64]:
        parts = [getattr(t, name) + start for t, start in zip(structures, starts[:-1], strict=True)]
        return np.where(leaf, -1, np.concatenate(parts)).astype(np.int64)

    gaps_left = np.concatenate([tree.missing_go_to_left for tree in structures]).astype(bool)
    return Partition(
        roots=starts[:-1].astype(np.int64),
        left=joined("children_left"),
        right=joined("children_right"),
        feature=np.where(leaf, -1, feature).astype(np.int64),
        threshold=np.where(leaf, 0.0, np.concatenate([tree.threshold for tree in structures])),
        gaps_left=gaps_left & ~leaf,
    )


def grown_on(trees: Any, partition: Partition, X: FloatArray) -> bool:
    """Whether the first tree was grown on these rows: its row counts agree with ours. Eq. (T12)."""
    first = getattr(trees, "estimators_", [trees])[0].tree_
    sample = np.arange(len(X))
    if getattr(trees, "bootstrap", False):
        sample = np.unique(trees.estimators_samples_[0])
        if sample[-1] >= len(X):
            return False
    counts = np.bincount(partition.first_leaves(X)[sample], minlength=first.node_count)
    leaf = first.feature < 0
    return bool(np.array_equal(counts[leaf], first.n_node_samples[leaf]))
