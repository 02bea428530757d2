"""Conformal intervals: closed forms against refits, coverage by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import train_test_split

import oracle
from pnml import ConformalRegressor, InputError, LpNMLRegressor, PNMLRegressor
from pnml.core import conformal
from pnml.estimators.calibration_rows import split_rows


def jackknife_plus(X, y, x, alpha, intercept, coverage):
    """The definition: refit without each row, then take order statistics of the end points."""
    n = len(X)
    lower, upper = np.empty(n), np.empty(n)
    full = oracle.ridge_fit(X, y, alpha, intercept)
    e = y - oracle.design(X, intercept) @ full
    for i in range(n):
        rest = np.delete(np.arange(n), i)
        theta = oracle.ridge_fit(X[rest], y[rest], alpha, intercept)
        centre = oracle.design(x[None], intercept)[0] @ theta
        A = oracle.design(X[rest], intercept)
        penalty = alpha * np.eye(A.shape[1])
        penalty[0, 0] = 0.0 if intercept else alpha
        v = oracle.design(x[None], intercept)[0]
        K = 1 + v @ np.linalg.solve(A.T @ A + penalty, v)
        lower[i], upper[i] = centre - abs(e[i]) * K, centre + abs(e[i]) * K
    rank = int(np.ceil((n + 1) * coverage - 1e-9))
    return np.sort(lower)[n - rank], np.sort(upper)[rank - 1]


@pytest.mark.parametrize("alpha", [0.0, 2.0])
@pytest.mark.parametrize("intercept", [True, False])
def test_jackknife_plus_equals_its_refits(alpha, intercept, rng):
    X, y = rng.normal(size=(25, 3)) + 1, rng.normal(size=25)
    inner = PNMLRegressor(alpha=alpha, fit_intercept=intercept)
    model = ConformalRegressor(inner, method="jackknife+").fit(X, y)
    for x in rng.normal(size=(4, 3)) * 2:
        for coverage in (0.8, 0.9):
            expected = jackknife_plus(X, y, x, alpha, intercept, coverage)
            np.testing.assert_allclose(
                model.predict_interval(x[None], coverage)[0], expected, rtol=1e-9
            )


def coverage_by_regret(method, rounds, seed):
    """Coverage of nominal 90 % intervals on all rows, and on the fifth with the largest regret."""
    rng = np.random.default_rng(seed)
    hits, top = [], []
    for _ in range(rounds):
        X, x = rng.standard_t(4, size=(60, 5)), rng.standard_t(4, size=(100, 5))
        theta = rng.normal(size=5)
        y, truth = X @ theta + rng.normal(size=60), x @ theta + rng.normal(size=100)
        model = ConformalRegressor(PNMLRegressor(), method=method, random_state=0).fit(X, y)
        low, high = model.predict_interval(x, 0.9).T
        inside = (low <= truth) & (truth <= high)
        hits.append(inside.mean())
        top.append(inside[np.argsort(model.regret(x))[-20:]].mean())
    return np.mean(hits), np.mean(top), np.std(hits) / np.sqrt(rounds)


@pytest.mark.parametrize("method", ["split", "jackknife+"])
def test_coverage_holds_over_all_rows_and_where_the_regret_is_high(method):
    covered, where_high, error = coverage_by_regret(method, rounds=150, seed=1)
    assert covered > 0.9 - 3 * error
    assert where_high > 0.87
    assert covered < 0.96  # not bought by useless width


def test_too_few_scores_for_the_coverage_give_the_whole_line():
    dist = conformal.split_distribution(np.zeros(1), np.zeros(1), np.ones(5))
    assert np.isinf(dist.interval(0.9)).all()


def test_scores_are_ranked_without_round_off():
    """(n+1)·coverage = 18 exactly must take the 18th score, not the 19th."""
    dist = conformal.split_distribution(np.zeros(1), np.zeros(1), np.arange(1.0, 20.0))
    np.testing.assert_array_equal(dist.interval(0.9), [[-18.0, 18.0]])


def test_the_calibrated_distribution_is_one_and_its_intervals_are_conformal(rng):
    X, y = rng.normal(size=(120, 3)), rng.standard_t(4, size=120)
    model = ConformalRegressor(random_state=0).fit(X, y)
    x = rng.normal(size=(4, 3)) * 2
    dist = model.predict_dist(x)
    for coverage in (0.5, 0.8, 0.9):
        np.testing.assert_array_equal(dist.interval(coverage), model.predict_interval(x, coverage))
    for i in range(4):
        edges = dist.mean[i] + dist.scale[i] * np.concatenate([-dist.scores[::-1], dist.scores])
        far = 60 * dist.std[i]
        grid = np.unique(np.concatenate([edges, np.linspace(-far, far, 4001) + dist.mean[i]]))
        middle = (grid[1:] + grid[:-1]) / 2
        mass = np.sum(np.exp(dist.log_prob(middle[:, None])[:, i]) * np.diff(grid))
        assert mass == pytest.approx(1, abs=1e-3)
        below = np.exp(dist.log_prob(middle[:, None])[:, i]) * np.diff(grid)
        at = len(grid) // 3
        assert dist.cdf(grid[at])[i] == pytest.approx(below[:at].sum(), abs=1e-3)
    assert np.all(np.diff(dist.ppf(np.array([[0.1], [0.4], [0.6], [0.9]])), axis=0) > 0)
    draws = dist.sample(4000, random_state=0)
    np.testing.assert_allclose(draws.std(axis=1), dist.std, rtol=0.1)
    np.testing.assert_array_equal(model.predict(x, return_std=True)[1], dist.std)


def test_jackknife_plus_offers_no_distribution(rng):
    X, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    model = ConformalRegressor(method="jackknife+").fit(X, y)
    assert not hasattr(model, "predict_dist")
    std = model.predict(X, return_std=True)[1]
    np.testing.assert_array_equal(std, model.estimator_.predict(X, return_std=True)[1])


def test_what_jackknife_plus_cannot_use_is_refused(rng):
    X, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    with pytest.raises(InputError, match=r"estimator is a LpNMLRegressor; use method=\"split\""):
        ConformalRegressor(LpNMLRegressor(), method="jackknife+").fit(X, y)
    with pytest.raises(InputError, match="would void the guarantee"):
        ConformalRegressor(PNMLRegressor(alpha="loo"), method="jackknife+").fit(X, y)
    with pytest.raises(InputError, match=r"method is 'cv'.*pass method"):
        ConformalRegressor(method="cv").fit(X, y)


def test_a_row_of_infinite_regret_gets_the_whole_line(rng):
    """Held-back rows of infinite regret score 0, which must not shrink the others' intervals."""
    X, x = rng.normal(size=(40, 60)), rng.normal(size=(5, 60))
    model = ConformalRegressor(PNMLRegressor(noise_variance=1.0), random_state=0)
    model.fit(X, X[:, 0] + rng.normal(size=40))
    dist = model.predict_dist(x)
    assert np.isinf(dist.regret).all()
    np.testing.assert_array_equal(dist.interval(0.9), np.tile([-np.inf, np.inf], (5, 1)))
    assert np.isinf(dist.std).all()
    assert np.isinf(dist.sample(3, random_state=0)).all()
    np.testing.assert_array_equal(dist.cdf(0.0), 0.5)


@pytest.mark.parametrize(("rows", "share"), [(4, 0.25), (10, 0.33), (101, 0.5)])
def test_rows_are_held_back_as_scikit_learn_splits_them(rows, share):
    expected = train_test_split(np.arange(rows), test_size=share, random_state=3)
    for found, part in zip(split_rows(rows, share, None, 3), expected, strict=True):
        np.testing.assert_array_equal(found, part)
