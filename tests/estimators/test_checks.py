"""scikit-learn's own contract, with nothing expected to fail."""

from __future__ import annotations

import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import parametrize_with_checks

from pnml import (
    ConformalRegressor,
    LpNMLRegressor,
    NormBallRegressor,
    PNMLClassifier,
    UniversalClassifier,
)
from pnml.estimators.registry import every_learner

# The lasso refuses weights; five refits for every label of every row take long, two will do; the
# checks of trees are in test_trees.py, beside those of forests.
APART = {"lpnml-l1", "universal-classifier", "tree-regressor", "tree-classifier"}
VARIANTS = [
    NormBallRegressor(),
    ConformalRegressor(method="jackknife+"),
    PNMLClassifier(alpha=0.0),
    PNMLClassifier(GaussianNB(), normalize=True),
    UniversalClassifier(
        [("step", PNMLClassifier()), ("refit", PNMLClassifier(method="refit", tol=1e-6))]
    ),
]
ESTIMATORS = [
    *(
        entry.make()
        for name, entry in every_learner().items()
        if name not in APART and entry.make_coded is None  # those in test_trusted_*.py
    ),
    *VARIANTS,
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(ESTIMATORS)
def test_estimator_keeps_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


def weights_are_refused(estimator):
    """The lasso counts every row once, and says so."""
    names = (
        "check_sample_weights_pandas_series",
        "check_sample_weights_not_an_array",
        "check_sample_weights_list",
        "check_all_zero_sample_weights_error",
        "check_sample_weights_shape",
        "check_sample_weights_not_overwritten",
        "check_sample_weight_equivalence_on_dense_data",
    )
    return dict.fromkeys(names, "sample_weight is refused with penalty='l1'")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(
    [LpNMLRegressor(penalty="l1", alpha=1.0)], expected_failed_checks=weights_are_refused
)
def test_the_lasso_keeps_it_but_for_weights(estimator, check):
    check(estimator)
