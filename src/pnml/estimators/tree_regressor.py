"""Decision trees and forests with a regret for every row: numbers."""

from __future__ import annotations

from typing import Self

from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor
from sklearn.utils.validation import check_is_fitted

from pnml.core.leaves.values import ValueLeaves
from pnml.core.user_types import ArrayOrFrame, EstimatorLike, NumberOrLoo
from pnml.estimators.base import RegressorBase
from pnml.estimators.registry import register
from pnml.estimators.tree_growing import (
    TreeEstimator,
    check_frozen,
    check_training_values,
    check_trees,
    grow,
)
from pnml.estimators.validation import (
    as_targets,
    check_number_or_loo,
    check_weights,
    refuse_extreme,
    refuse_too_little,
)
from pnml.learners.tree_values import TreeValues, count_values

_KNOWN = (DecisionTreeRegressor, ExtraTreeRegressor, RandomForestRegressor, ExtraTreesRegressor)


class PNMLTreeRegressor(TreeEstimator, RegressorBase):
    """Tree or forest regressor with a regret for each row, from the numbers of rows in leaves.

    The splits stay fixed; adding a row with its label would change only the leaf of the row. With n
    rows in that leaf the regret of a tree is ``log(1 + 1/n)``, and the distribution is Gaussian
    around the leaf's mean with ``1 + 1/n`` times the noise's standard deviation. A forest is the
    mean of its trees, the fuller leaves counting more. The regret counts the neighbours of a row in
    its leaf; a row far outside of the training rows falls in a leaf at the edge, and is not noticed
    by it.

    Trust compares regrets with those of the training rows: with their leave-one-out regrets where
    the trees were grown on other rows. Trees grown on these rows adapted to each of them, so that
    without a row its leaves would be as full; then the regrets are those of the rows as they are. A
    row with a missing value in a feature that was never missing in training is never trusted. Eq.
    (T12).

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
        the same rows, so with small leaves it comes out too small; to avoid this, pass a frozen
        tree and rows that it has not seen.

    Attributes
    ----------
    partition_ : the splits of the trees
    leaves_ : rows in every node, and their mean
    noise_variance_ : variance of the noise, as given or as leave-one-out estimated it
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

    learner_: TreeValues

    def __init__(
        self, estimator: EstimatorLike | None = None, *, noise_variance: NumberOrLoo = "loo"
    ) -> None:
        self.estimator = estimator
        self.noise_variance = noise_variance

    def fit(
        self, X: ArrayOrFrame, y: ArrayOrFrame, sample_weight: ArrayOrFrame | None = None
    ) -> Self:
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
        y = as_targets(self, y)
        refuse_extreme("y", y)
        rows = check_training_values(self, X, len(y))
        weights = check_weights(sample_weight, rows)
        check_frozen(self, X)
        refuse_too_little(y, {"noise_variance": noise}, weights)
        _, counted = grow(self, DecisionTreeRegressor, rows, y, weights)
        self.learner_ = count_values(counted, y, noise)
        return self

    @property
    def leaves_(self) -> ValueLeaves:
        """Number of training rows in every node of the trees, and the mean of their labels."""
        check_is_fitted(self)
        return self.learner_.leaves

    @property
    def noise_variance_(self) -> float:
        """Variance of the noise in the labels: as given, or as leave-one-out estimated it."""
        check_is_fitted(self)
        return self.learner_.noise_variance


register(
    "tree-regressor",
    PNMLTreeRegressor,
    task="regression",
    about="a tree or forest, means in its leaves",
    weighs=True,
)
