"""The fit itself: the minimum of its objective, as scikit-learn and plain Newton steps find it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression

import oracle
from pnml.core.logistic import LogisticModel, refit
from pnml.errors import InputError


def blobs(rng, n=60, features=3, classes=3):
    """Overlapping classes, which no weights tell apart."""
    y = rng.integers(classes, size=n)
    y[:classes] = np.arange(classes)
    return rng.normal(size=(n, features)) + 0.5 * np.eye(classes, features)[y], y


def probabilities(W, X, intercept):
    z = oracle.design(X, intercept) @ W.T
    p = np.exp(z - z.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("load", [load_iris, load_wine, load_digits])
def test_the_fit_of_three_classes_and_more_is_scikit_learns(load, intercept):
    X, y = load(return_X_y=True)
    X, y = X[::3] / (1 + X.std(axis=0)), y[::3]
    C, strength = y.max() + 1, 2.0
    peer = LogisticRegression(
        C=strength, fit_intercept=intercept, solver="newton-cholesky", tol=1e-9
    ).fit(X, y)
    ours = LogisticModel.fit(X, y, C, alpha=1 / strength, intercept=intercept)
    np.testing.assert_allclose(ours.weight, peer.coef_, atol=1e-7)
    bias = peer.intercept_ - np.mean(peer.intercept_)
    np.testing.assert_allclose(ours.bias - ours.bias.mean(), bias, atol=1e-6)
    np.testing.assert_allclose(np.exp(ours.log_prob(X)), peer.predict_proba(X), atol=1e-7)


@pytest.mark.parametrize("intercept", [True, False])
def test_the_fit_of_two_classes_is_scikit_learns_at_twice_the_strength(intercept, rng):
    X, y = blobs(rng, classes=2)
    peer = LogisticRegression(C=0.5, fit_intercept=intercept, tol=1e-10, max_iter=5000).fit(X, y)
    ours = LogisticModel.fit(X, y, 2, alpha=2 / 0.5, intercept=intercept)
    np.testing.assert_allclose(ours.weight[1] - ours.weight[0], peer.coef_[0], atol=1e-6)
    np.testing.assert_allclose(np.diff(ours.bias), peer.intercept_, atol=1e-6)
    np.testing.assert_allclose(np.exp(ours.log_prob(X)), peer.predict_proba(X), atol=1e-7)


@pytest.mark.parametrize("seed", range(10))
def test_the_fit_is_the_minimum_of_the_objective(seed):
    X, y, C, alpha, intercept, new = oracle.logistic_instance(np.random.default_rng(seed))
    ours = LogisticModel.fit(X, y, C, alpha=alpha, intercept=intercept)
    W = oracle.logistic_fit(X, y, C, alpha, intercept)
    np.testing.assert_allclose(ours.weight, W[:, int(intercept) :], atol=1e-7)
    found = np.exp(ours.log_prob(new))
    np.testing.assert_allclose(found, probabilities(W, new, intercept), atol=1e-8)


@pytest.mark.parametrize("intercept", [True, False])
def test_without_a_penalty_the_fit_is_the_maximum_of_the_likelihood(intercept, rng):
    X, y = blobs(rng)
    ours = LogisticModel.fit(X, y, 3, alpha=0.0, intercept=intercept)
    W = oracle.logistic_fit(X, y, 3, 0.0, intercept)
    np.testing.assert_allclose(np.exp(ours.log_prob(X)), probabilities(W, X, intercept), atol=1e-8)


@pytest.mark.parametrize("intercept", [True, False])
def test_weights_are_copies(intercept, rng):
    X, y = blobs(rng)
    w = rng.integers(4, size=len(X))
    weighted = LogisticModel.fit(X, y, 3, alpha=0.3, intercept=intercept, sample_weight=w)
    copied = LogisticModel.fit(X.repeat(w, axis=0), y.repeat(w), 3, alpha=0.3, intercept=intercept)
    np.testing.assert_allclose(weighted.weight, copied.weight, atol=1e-9)
    np.testing.assert_allclose(weighted.log_prob(X), copied.log_prob(X), atol=1e-8)
    some = X[:4] * 3
    np.testing.assert_allclose(
        refit(weighted, some, tol=1e-8).log_genie,
        refit(copied, some, tol=1e-8).log_genie,
        atol=1e-8,
    )


def test_where_the_search_begins_does_not_matter(rng):
    X, y = blobs(rng)
    cold = LogisticModel.fit(X, y, 3, alpha=0.1)
    far = rng.normal(size=(3, 3)), rng.normal(size=3)
    for start in ((cold.weight, cold.bias), far):
        warm = LogisticModel.fit(X, y, 3, alpha=0.1, start=start)
        np.testing.assert_allclose(warm.weight, cold.weight, atol=1e-8)
        np.testing.assert_allclose(warm.log_prob(X), cold.log_prob(X), atol=1e-8)


def test_a_shift_of_the_columns_only_renames_the_intercepts(rng):
    X, y = blobs(rng)
    here = LogisticModel.fit(X, y, 3, alpha=0.1)
    there = LogisticModel.fit(X + 1e5, y, 3, alpha=0.1)
    np.testing.assert_allclose(there.weight, here.weight, atol=1e-6)
    np.testing.assert_allclose(there.log_prob(X + 1e5), here.log_prob(X), atol=1e-6)


def test_a_class_of_one_row_is_fitted_like_any_other(rng):
    X, y = blobs(rng)
    y = np.where(y == 2, 0, y)
    y[5] = 2
    model = LogisticModel.fit(X, y, 3, alpha=1.0)
    W = oracle.logistic_fit(X, y, 3, 1.0, True)
    np.testing.assert_allclose(np.exp(model.log_prob(X)), probabilities(W, X, True), atol=1e-8)


@pytest.mark.parametrize("classes", [2, 3])
def test_separable_classes_without_a_penalty_are_refused_with_the_regret_they_have(classes, rng):
    X, y = blobs(rng, classes=classes)
    X[np.arange(len(X)), y] += 20
    with pytest.raises(InputError, match=f"log {classes} = {np.log(classes):.3f} everywhere"):
        LogisticModel.fit(X, y, classes, alpha=0.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": np.full((4, 2), np.nan)}, "NaN or infinite"),
        ({"rows": np.full((4, 2), np.inf)}, "NaN or infinite"),
        ({"rows": np.zeros((3, 2))}, "one label and one weight a row"),
        ({"rows": np.zeros(4)}, "one label and one weight a row"),
        ({"rows": np.zeros((0, 2)), "labels": []}, "no row"),
        ({"labels": [0, 1, 2, 1]}, "2 classes"),
        ({"labels": [0, 1, -1, 1]}, "2 classes"),
        ({"labels": [0, 0, 0, 0], "n_classes": 1}, "1 class"),
        ({"alpha": -1.0}, "alpha is -1"),
        ({"alpha": np.nan}, "alpha is nan"),
        ({"alpha": np.inf}, "alpha is inf"),
        ({"sample_weight": np.zeros(4)}, "weight"),
        ({"sample_weight": [1, -1, 1, 1]}, "weight"),
        ({"sample_weight": [1, 1]}, "one weight a row"),
    ],
)
def test_what_cannot_be_fitted_is_refused_with_a_sentence(change, message):
    good = {"rows": np.eye(4, 2), "labels": [0, 1, 0, 1], "n_classes": 2, "alpha": 1.0}
    asked = good | change
    with pytest.raises(InputError, match=message):
        LogisticModel.fit(asked.pop("rows"), asked.pop("labels"), asked.pop("n_classes"), **asked)
