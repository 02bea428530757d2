"""Folds of Grams say what refits without each fold would have said."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from pnml.core.statistic.gram import Gram
from pnml.core.statistic.k_fold import k_fold, without_each

CUTS = [0, 40, 55, 120, 200]
ALPHAS = np.array([0.0, 0.3, 20.0, 1e5])


@pytest.fixture
def rows(rng):
    X = rng.normal(100.0, 1.0, size=(200, 4)) * [1.0, 10.0, 1.0, 0.1]
    return (
        X,
        X @ [1.0, -0.1, 0.0, 5.0] + rng.normal(size=200),
        rng.integers(1, 4, 200).astype(float),
    )


def folds(X, y, weights):
    return [Gram.of(X[a:b], y[a:b], weights[a:b]) for a, b in zip(CUTS, CUTS[1:], strict=False)]


@pytest.mark.parametrize("intercept", [True, False])
def test_errors_are_those_of_refits_without_the_fold(rows, intercept):
    X, y, weights = rows
    found = k_fold(folds(*rows), ALPHAS, intercept=intercept)
    for k, (a, b) in enumerate(zip(CUTS, CUTS[1:], strict=False)):
        rest = np.r_[0:a, b : len(X)]
        for j, alpha in enumerate(ALPHAS):
            refit = Ridge(alpha, fit_intercept=intercept, solver="svd")
            refit.fit(X[rest], y[rest], weights[rest])
            errors = weights[a:b] @ (y[a:b] - refit.predict(X[a:b])) ** 2
            assert found.squares[k, j] == pytest.approx(errors, rel=1e-7)
    np.testing.assert_allclose(found.mean_squares, found.squares.sum(axis=0) / weights.sum())


def test_the_sum_without_a_fold_has_all_other_rows(rows):
    X, y, weights = rows
    for (a, b), rest in zip(
        zip(CUTS, CUTS[1:], strict=False), without_each(folds(*rows)), strict=True
    ):
        others = np.r_[0:a, b : len(X)]
        direct = Gram.of(X[others], y[others], weights[others])
        assert (rest.rows, rest.weight) == (direct.rows, direct.weight)
        np.testing.assert_allclose(rest.xx, direct.xx, rtol=1e-9)
        np.testing.assert_allclose(rest.xy, direct.xy, rtol=1e-7, atol=1e-9)


def test_nothing_is_lost_where_one_fold_has_nearly_everything(rng):
    big, small = 1e9 * rng.normal(size=(50, 2)), rng.normal(size=(50, 2))
    rest = without_each([Gram.of(big), Gram.of(small)])[0]
    centred = small - small.mean(axis=0)
    np.testing.assert_allclose(rest.xx, centred.T @ centred, rtol=1e-13)


def test_the_path_is_the_log_loss_of_one_noise_for_all_rows(rows):
    found = k_fold(folds(*rows), ALPHAS, intercept=True)
    path = found.path(floor=0.0)
    np.testing.assert_allclose(path.noise_variance, found.mean_squares)
    np.testing.assert_allclose(path.log_loss, 0.5 * np.log(2 * np.pi * np.e * found.mean_squares))
    assert path.best() == np.argmin(found.mean_squares)
    assert np.all(found.path(floor=1e9).noise_variance == 1e9)
