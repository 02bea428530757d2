"""Decision trees and forests with a regret for every row: numbers."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor

from pnml.core.arrays import FloatArray
from pnml.core.distributions.normal import Normal
from pnml.core.leave_one_out import NOISE_FLOOR
from pnml.core.leaves.values import ValueFolds, ValueLeaves, leave_values_out
from pnml.errors import InputError
from pnml.estimators.base import RegretRegressorMixin
from pnml.estimators.tree_growing import check_frozen, check_trees, grow
from pnml.estimators.tree_rows import TreeRowsMixin, check_targets, check_training_values
from pnml.estimators.validation import check_number_or_loo, check_weights, refuse_too_little

_KNOWN = (DecisionTreeRegressor, ExtraTreeRegressor, RandomForestRegressor, ExtraTreesRegressor)


class PNMLTreeRegressor(TreeRowsMixin, RegretRegressorMixin, MetaEstimatorMixin, BaseEstimator):
    """A tree or forest that says, row by row, how far hindsight could beat its means.

    The splits stay as they were grown; told the label, only the leaf that the row falls in would
    change. With n rows in that leaf the regret of a tree is ``log(1 + 1/n)``, and the
    distribution is Gaussian around the leaf's mean with ``1 + 1/n`` times the noise's standard
    deviation. A forest is the mean of its trees, the fuller leaves counting more. The regret counts
    the neighbours of a row in its leaf; a row far outside of the training rows falls in a leaf at
    the edge, and is not noticed by it.

    Parameters
    ----------
    estimator : tree or forest, default=DecisionTreeRegressor with leaves of 5 rows or more
        A DecisionTreeRegressor, ExtraTreeRegressor, RandomForestRegressor or
        ExtraTreesRegressor. It is cloned and fitted; one that is fitted already goes in a
        ``sklearn.frozen.FrozenEstimator``, and then `fit` only counts. Bootstrap samples and the
        criterion shape the splits; a leaf predicts the mean of all rows passed to `fit` that fall
        in it, each counted once.
    noise_variance : float or "loo", default="loo"
        Variance of the noise. ``"loo"`` minimises the pooled leave-one-out log-loss over rows that
        share a leaf, and is at least a millionth of the variance of y. The splits were grown on
        the same rows, so with small leaves it comes out too small; a frozen tree and rows that it
        has not seen are the cure.

    Attributes
    ----------
    partition_ : the splits
    leaves_ : rows in every node, and their mean
    noise_variance_ : the noise in use
    loo_ : leave-one-out residuals, sds, regrets and log-losses
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn

    Examples
    --------
    >>> rows = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]
    >>> tree = DecisionTreeRegressor(min_samples_leaf=2, max_depth=1)
    >>> model = PNMLTreeRegressor(tree).fit(rows, [0.0, 1.0, 7.0, 7.0, 8.0, 8.0])
    >>> model.predict([[0.5], [4.0]])
    array([0.5, 7.5])
    >>> model.regret([[0.5], [4.0]]).round(2)
    array([0.41, 0.22])
    """

    leaves_: ValueLeaves

    def __init__(self, estimator: Any = None, *, noise_variance: Any = "loo") -> None:
        self.estimator = estimator
        self.noise_variance = noise_variance

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the trees, and average the rows in their leaves.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            NaN is a missing value where the trees take it.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            How many copies of each row to count. Leave-one-out leaves one copy out.
        """
        check_trees(self, _KNOWN)
        noise = check_number_or_loo("noise_variance", self.noise_variance, positive=True)
        y = check_targets(self, y)
        rows = check_training_values(self, X, len(y))
        weights = check_weights(sample_weight, rows)
        check_frozen(self, X)
        refuse_too_little(y, {"noise_variance": noise}, weights)
        counts = np.ones(len(rows)) if weights is None else weights
        used = counts > 0
        given = None if weights is None else weights[used]
        trees = grow(self, DecisionTreeRegressor, rows[used], y[used], given)
        self._keep(trees, rows, used)
        self.leaves_ = ValueLeaves.of(self.partition_, rows, y, counts)
        folds = leave_values_out(self.leaves_, self.partition_, rows, y, counts)
        self.noise_variance_ = _chosen(folds, y) if noise is None else noise
        self._loo = folds.judged(self.noise_variance_)
        self._set_usual(trees, rows, used)
        return self

    def _distribution(self, X: FloatArray) -> Normal:
        parts = [
            self.leaves_.predictive(self.partition_.leaves(X[part]), self.noise_variance_)
            for part in self.partition_.blocks(len(X))
        ]
        return Normal(
            np.concatenate([part.mean for part in parts]),
            np.concatenate([part.std for part in parts]),
            np.concatenate([part.regret for part in parts]),
        )

    def _looked_at(self, X: Any, compute: Any) -> Any:
        return compute(X)  # values have been looked at already, and some may be missing


def _chosen(folds: ValueFolds, y: FloatArray) -> float:
    """The noise of least pooled log-loss, but no less than a share of the spread. Eq. (T9)."""
    noise = folds.noise_variance
    if np.isnan(noise):
        raise InputError(
            "Every row is alone in its leaf, so noise_variance cannot be estimated; grow larger "
            "leaves, for instance with min_samples_leaf=5, or pass noise_variance as a number."
        )
    mean = np.average(y, weights=folds.weights)
    spread = float(np.average((y - mean) ** 2, weights=folds.weights))
    return max(noise, NOISE_FLOOR * spread)
