"""Decision trees and forests with a regret for every row: classes."""

from __future__ import annotations

from typing import Self

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier
from sklearn.utils.validation import check_is_fitted

from pnml.core.leaves.classes import ClassLeaves
from pnml.core.user_types import ArrayOrFrame, EstimatorLike
from pnml.errors import InputError
from pnml.estimators.base import ClassifierBase
from pnml.estimators.labels import check_labels, positions, refuse_one_class
from pnml.estimators.registry import register
from pnml.estimators.tree_growing import (
    TreeEstimator,
    check_frozen,
    check_training_values,
    check_trees,
    grow,
)
from pnml.estimators.validation import check_weights, is_number
from pnml.learners.tree_classes import TreeClasses, count_classes

_KNOWN = (
    DecisionTreeClassifier,
    ExtraTreeClassifier,
    RandomForestClassifier,
    ExtraTreesClassifier,
)


class PNMLTreeClassifier(TreeEstimator, ClassifierBase):
    """Tree or forest classifier with a regret for each row, from the class counts in leaves.

    The splits stay fixed; adding a row with its label would change only the leaf of the row. A
    tree's probabilities are those of Laplace's rule, ``(n_c + 1)/(n + C)`` for a class that has
    n_c of the n rows in the leaf, with C classes in all, and the regret is
    ``log((n + C)/(n + 1))``: large in leaves with few rows. A forest is the mean of its trees. The
    regret counts the neighbours of a row in its leaf; a row far outside of the training rows falls
    in a leaf at the edge, and is not noticed by it. It reaches log C where all leaves are empty.

    Trust compares regrets with those of the training rows: with their leave-one-out regrets where
    the trees were grown on other rows. Trees grown on these rows adapted to each of them, so that
    without a row its leaves would be as full; then the regrets are those of the rows as they are. A
    row with a missing value in a feature that was never missing in training is never trusted. Eq.
    (T12).

    Parameters
    ----------
    estimator : tree or forest, default=DecisionTreeClassifier with leaves of 5 rows or more
        A DecisionTreeClassifier, ExtraTreeClassifier, RandomForestClassifier or
        ExtraTreesClassifier. It is cloned and fitted; one that is fitted already goes in a
        ``sklearn.frozen.FrozenEstimator``, and then `fit` only counts. Bootstrap samples,
        ``class_weight`` and the like shape the splits; in the leaves every row that was passed to
        `fit` counts once, in every tree.
    prior : float, default=0.0
        Exponent of Dirichlet luckiness, 0 or more: above 0 it prefers leaves with even
        probabilities, in the regret too.

    Attributes
    ----------
    classes_ : labels (C,), in the order of the columns of ``predict_proba``
    partition_ : the splits of the trees
    leaves_ : training rows of each class in every node: ``leaves_.counts`` (nodes, classes)
    loo_ : leave-one-out leverages, regrets and log-losses
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn

    Examples
    --------
    >>> rows = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [7.0]]
    >>> tree = DecisionTreeClassifier(min_samples_leaf=2)
    >>> model = PNMLTreeClassifier(tree).fit(rows, list("aabbbbbb"))
    >>> model.predict_proba([[0.5], [5.0]])
    array([[0.75 , 0.25 ],
           [0.125, 0.875]])
    >>> model.regret([[0.5], [5.0]]).round(2)
    array([0.29, 0.13])
    """

    learner_: TreeClasses

    def __init__(self, estimator: EstimatorLike | None = None, *, prior: float = 0.0) -> None:
        self.estimator = estimator
        self.prior = prior

    def fit(
        self, X: ArrayOrFrame, y: ArrayOrFrame, sample_weight: ArrayOrFrame | None = None
    ) -> Self:
        """Grow the trees, and count the rows in their leaves.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            NaN is a missing value where the trees take it.
        y : array-like of shape (n,)
            Labels of at least two classes: numbers, text or booleans.
        sample_weight : array-like of shape (n,), optional
            How many copies of each row to count.
        """
        check_trees(self, _KNOWN)
        prior = self._check_prior()
        labels = check_labels(self, y)
        rows = check_training_values(self, X, len(labels))
        weights = check_weights(sample_weight, labels)
        check_frozen(self, X)
        refuse_one_class(labels if weights is None else labels[weights > 0])
        trees, counted = grow(self, DecisionTreeClassifier, rows, labels, weights)
        self.classes_ = trees.classes_
        used = counted.weights > 0
        at = np.zeros(len(labels), dtype=np.intp)  # rows without weight may have any label
        at[used] = positions(labels[used], self.classes_)
        self.learner_ = count_classes(counted, at, len(self.classes_), prior)
        return self

    @property
    def leaves_(self) -> ClassLeaves:
        """Class counts in the trees, one object: ``leaves_.counts`` is (nodes, classes).

        Line i of the counts belongs to node i of ``partition_``, which numbers the nodes of all
        trees together: the training rows of each class, weighted, that pass through the node.
        """
        check_is_fitted(self)
        return self.learner_.leaves

    def _check_prior(self) -> float:
        if not is_number(self.prior) or self.prior < 0:
            raise InputError(
                f"prior is {self.prior!r}, but it is an exponent of luckiness; pass a finite "
                "number of at least 0, for instance prior=0.0."
            )
        return float(self.prior)


register(
    "tree-classifier",
    PNMLTreeClassifier,
    task="classification",
    about="a tree or forest, counts in its leaves",
    weighs=True,
)
