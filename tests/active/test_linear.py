"""The regret after a row of the pool is that of a refit with it."""

from __future__ import annotations

import numpy as np
import pytest

import oracle
from pnml.active import linear_scores, linear_select


def literal(X, pool, targets, alpha, intercept):
    return np.array(
        [oracle.mean_ridge_regret(np.vstack([X, z]), targets, alpha, intercept) for z in pool]
    )


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_scores_are_those_of_refits(alpha, intercept, rng):
    X, pool, targets = (rng.normal(size=(n, 4)) * [1, 9, 0.1, 1] + 1 for n in (9, 7, 5))
    found = linear_scores(X, pool, targets, alpha=alpha, fit_intercept=intercept)
    expected = literal(X, pool, targets, alpha, intercept)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
def test_with_fewer_rows_than_features_a_penalty_still_gives_those_of_refits(intercept, rng):
    X, pool, targets = (rng.normal(size=(n, 6)) for n in (3, 7, 5))
    found = linear_scores(X, pool, targets, alpha=0.2, fit_intercept=intercept)
    np.testing.assert_allclose(found, literal(X, pool, targets, 0.2, intercept), rtol=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_a_batch_is_greedy_over_refits(alpha, intercept, rng):
    X, pool, targets = (rng.normal(size=(n, 3)) for n in (6, 8, 5))
    seen, left, expected = X, list(range(8)), []
    for _ in range(5):
        scores = literal(seen, pool[left], targets, alpha, intercept)
        expected.append(left.pop(int(np.argmin(scores))))
        seen = np.vstack([seen, pool[expected[-1]]])
    found = linear_select(X, pool, targets, 5, alpha=alpha, fit_intercept=intercept)
    np.testing.assert_array_equal(found, expected)


def test_a_row_that_opens_the_direction_of_a_target_makes_its_regret_finite():
    X = np.array([[1.0, 0.0, 0.0], [2.0, 0.0, 0.0]])
    pool = np.array([[5.0, 0.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 1.0]])
    targets = np.array([[3.0, 1.0, 0.0]])
    found = linear_scores(X, pool, targets, fit_intercept=False)
    seen = np.vstack([X, pool[1]])
    expected = oracle.mean_ridge_regret(seen, targets, 0.0, False)
    np.testing.assert_allclose(found, [np.inf, expected, np.inf])
    assert linear_select(X, pool, targets, fit_intercept=False) == [1]


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_without_a_penalty_picks_are_those_of_a_vanishing_one(seed, intercept):
    rng = np.random.default_rng(seed)
    X, pool, targets = (rng.normal(size=(n, 6)) for n in (3, 9, 4))
    X, pool, targets = (part / np.abs(X).max() for part in (X, pool, targets))
    # columns of unit norm, in which the choice without a penalty is made
    centred = X - X.mean(axis=0) if intercept else X
    scale = np.linalg.norm(centred, axis=0)
    found = linear_select(X, pool, targets, 6, fit_intercept=intercept)
    tiny = linear_select(
        X / scale, pool / scale, targets / scale, 6, alpha=1e-7, fit_intercept=intercept
    )
    np.testing.assert_array_equal(found, tiny)


def test_after_enough_picks_every_regret_is_finite_and_that_of_a_refit(rng):
    X, pool, targets = (rng.normal(size=(n, 5)) for n in (2, 9, 4))
    picks = linear_select(X, pool, targets, 6)
    rest = np.setdiff1d(np.arange(9), picks)
    seen = np.vstack([X, pool[picks]])
    found = linear_scores(seen, pool[rest], targets)
    np.testing.assert_allclose(found, literal(seen, pool[rest], targets, 0.0, True), rtol=1e-8)


def test_units_do_not_matter_without_a_penalty(rng):
    X, pool, targets = (rng.normal(size=(n, 3)) for n in (7, 8, 5))
    units = np.array([1e-6, 1.0, 1e5])
    found = linear_scores(X * units, pool * units, targets * units)
    np.testing.assert_allclose(found, linear_scores(X, pool, targets), rtol=1e-9)


def test_small_regrets_choose_as_designs_for_least_mean_variance_do(rng):
    X, pool, targets = (rng.normal(size=(n, 3)) for n in (4000, 30, 20))
    P = [np.linalg.inv(X.T @ X + np.outer(z, z)) for z in pool]
    variance = [np.einsum("td,de,te->", targets, inverse, targets) for inverse in P]
    picks = linear_select(X, pool, targets, fit_intercept=False)
    assert picks == np.argmin(variance)


def test_another_row_never_raises_a_regret(rng):
    X, pool, targets = (rng.normal(size=(n, 3)) for n in (6, 50, 5))
    before = oracle.mean_ridge_regret(X, targets, 0.0, True)
    assert (linear_scores(X, pool, targets) <= before).all()
