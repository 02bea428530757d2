"""A projection changes no regret by more than is stated, for any projection that keeps lengths."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from examples import examples
from pnml import InputError, PNMLRegressor
from pnml.core.geometry.random_projection import (
    distortion,
    effective_dimension,
    regret_error,
    size_for,
)


def regrets(X, new, alpha):
    """By a refit to the rows with each label, without any formula for the leverage."""
    y = np.zeros(len(X))
    return np.log([oracle.ridge_normaliser(X, y, x, alpha, 1.0, False) for x in new])


def rows(n, d, seed, decay=1.0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * np.arange(1.0, d + 1) ** -decay


@settings(max_examples=examples(10), deadline=None)
@given(st.integers(0, 10_000), st.floats(0.01, 10.0), st.floats(0.01, 0.5))
def test_lengths_kept_to_a_share_keep_regrets_to_its_log(seed, alpha, far):
    """Eq. (K7), for any linear map: the share is measured on the rows themselves."""
    rng = np.random.default_rng(seed)
    X, x = rows(6, 4, seed), rng.normal(size=4)
    R = np.eye(4) + far * rng.normal(size=(4, 4)) / 2
    every = np.vstack([X, x])
    before, after = (A @ A.T + alpha * np.eye(7) for A in (every, every @ R.T))
    root = np.linalg.cholesky(before)
    share = np.linalg.eigvalsh(np.linalg.solve(root, np.linalg.solve(root, after).T))
    change = regrets(X @ R.T, [R @ x], alpha) - regrets(X, [x], alpha)
    assert np.log(share.min()) - 1e-6 <= change[0] <= np.log(share.max()) + 1e-6


@pytest.mark.parametrize(("alpha", "size"), [(0.1, 400), (5.0, 150)])
def test_the_stated_error_is_passed_as_rarely_as_stated(alpha, size):
    X, new = rows(200, 1000, 0), np.vstack([rows(8, 1000, 1), 3 * rows(8, 1000, 2, decay=0.5)])
    y, chance = np.zeros(200), 0.2

    def told(A, B):
        model = PNMLRegressor(alpha=alpha, fit_intercept=False, noise_variance=1.0)
        return model.fit(A, y).regret(B)

    dimension = effective_dimension(np.linalg.svd(X, compute_uv=False) ** 2, alpha)
    truth, stated = told(X, new), regret_error(dimension, size, chance)
    assert np.isfinite(stated)
    rng, passed, worst = np.random.default_rng(3), [], 0.0
    for _ in range(20):
        R = rng.normal(size=(size, 1000)) / np.sqrt(size)
        change = np.abs(told(X @ R.T, new @ R.T) - truth)
        passed.append(change > stated)
        worst = max(worst, change.max())
    assert np.mean(passed) <= chance
    assert worst > stated / 30, "a bound that is never near says nothing"


def test_no_penalty_and_enough_room_leave_the_leverage_of_seen_directions_alone():
    rng = np.random.default_rng(0)
    basis = rng.normal(size=(5, 300))
    X, new = rng.normal(size=(40, 5)) @ basis, rng.normal(size=(9, 5)) @ basis
    R = rng.normal(size=(12, 300)) / np.sqrt(12)
    models = [
        PNMLRegressor(fit_intercept=False, noise_variance=1.0).fit(A, A[:, 0]) for A in (X, X @ R.T)
    ]
    np.testing.assert_allclose(models[1].regret(new @ R.T), models[0].regret(new), rtol=1e-8)
    stranger = rng.normal(size=(1, 300))
    assert np.isinf(models[1].regret(stranger @ R.T)[0])


def test_sizes_reach_the_error_they_are_for():
    for dimension in (0.0, 12.5, 900.0):
        for error in (0.05, 1.0):
            size = size_for(dimension, error)
            assert regret_error(dimension, size) <= error < regret_error(dimension, size - 1)
    assert effective_dimension(np.array([3.0, 0.0]), 0.0) == 1.0


def test_what_is_no_size_or_chance_is_refused():
    for call, words in (
        (lambda: distortion(3.0, 0, 0.1), "size is 0"),
        (lambda: distortion(3.0, 9, 1.0), "chance is 1.0"),
        (lambda: size_for(3.0, 0.0), "error is 0.0"),
    ):
        with pytest.raises(InputError, match=words):
            call()
