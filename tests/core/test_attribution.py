"""Where a row's leverage comes from."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy.optimize import minimize

from pnml import PNMLRegressor
from pnml.core.geometry import attribution
from pnml.core.geometry.spectrum import Spectrum
from pnml.core.statistic.factor import Factor


def spectrum_of(X, alpha=0.0):
    return Spectrum.of_factor(Factor.of(X), intercept=True, unit_columns=alpha == 0)


@pytest.mark.parametrize("alpha", [0.0, 0.5])
@pytest.mark.parametrize("shape", [(30, 4), (5, 9)])
def test_every_split_sums_to_the_leverage(alpha, shape, rng):
    X = rng.normal(size=shape) + 3
    spectrum = spectrum_of(X, alpha)
    x = X[:4] if shape[0] < shape[1] and alpha == 0 else rng.normal(size=(4, shape[1])) * 2
    leverage = spectrum.leverage(x, alpha) - 1 / shape[0]
    for split in (attribution.additive, attribution.directions, attribution.explain):
        np.testing.assert_allclose(split(spectrum, x, alpha).sum(axis=1), leverage, rtol=1e-9)
    assert (attribution.explain(spectrum, x, alpha) >= 0).all()
    assert (attribution.directions(spectrum, x, alpha) >= 0).all()


@pytest.mark.parametrize("alpha", [0.0, 0.7])
def test_a_drop_is_what_replacing_the_feature_by_its_expectation_takes_away(alpha, rng):
    """The conditional expectation given the others minimises the leverage over that feature."""
    X = rng.normal(size=(40, 3)) @ rng.normal(size=(3, 3))
    spectrum = spectrum_of(X, alpha)
    x = rng.normal(size=(1, 3)) * 2
    P = np.linalg.inv((X - X.mean(0)).T @ (X - X.mean(0)) + alpha * np.eye(3))
    drops = attribution.drops(spectrum, x, np.array([alpha]))
    for j in range(3):
        d = x[0] - X.mean(0)
        others = [k for k in range(3) if k != j]
        best = x.copy()
        best[0, j] = X.mean(0)[j] - P[j, others] @ d[others] / P[j, j]
        fall = spectrum.leverage(x, alpha) - spectrum.leverage(best, alpha)
        assert drops[0, j] == pytest.approx(fall[0], rel=1e-8)


@pytest.mark.parametrize("correlation", [0.0, 0.6, 0.95])
def test_the_shifted_column_is_named_among_correlated_features(correlation):
    """A shift of five standard deviations in one of eight columns is named first."""
    named = first_by_terms = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        shared = rng.normal(size=(80, 1))
        X = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * rng.normal(size=(80, 8))
        model = PNMLRegressor().fit(X[:60], rng.normal(size=60))
        j = seed % 8
        row = X[[70]].copy()
        row[0, j] += 5.0 * np.sign(row[0, j])
        named += int(np.argmax(model.explain(row)[0]) == j)
        terms = attribution.additive(model.spectrum_, row, 0.0)[0]
        first_by_terms += int(np.argmax(terms) == j)
    assert named >= 190  # of 200
    # shares of the drops name it at least as often as the additive terms
    assert named >= first_by_terms


def test_a_row_at_the_mean_has_nothing_to_explain(rng):
    X = rng.normal(size=(30, 3))
    shares = attribution.explain(spectrum_of(X), X.mean(0, keepdims=True), 0.0)
    np.testing.assert_allclose(shares, 0.0, atol=1e-25)


@pytest.mark.parametrize("shape", [(30, 4), (5, 9)])
def test_the_matching_ridge_has_the_same_leverage(shape, rng):
    X = rng.normal(size=shape)
    spectrum = spectrum_of(X, 1.0)
    x = rng.normal(size=(6, shape[1]))
    leverage = spectrum.leverage(x, 0.3) - 1 / shape[0]
    alphas = attribution.matching_penalties(spectrum, x, leverage)
    np.testing.assert_allclose(alphas, 0.3, rtol=1e-9)
    regret = np.log1p(spectrum.leverage(x, 0.3))
    np.testing.assert_allclose(
        attribution.explain_regret(spectrum, x, regret),
        attribution.explain(spectrum, x, 0.3),
        rtol=1e-7,
        atol=1e-12,
    )


@pytest.mark.parametrize("alpha", [0.0, 0.7])
def test_the_drop_of_a_group_is_what_the_best_values_of_its_columns_take_away(alpha, rng):
    """Truth by minimising the leverage over the columns of the group, nothing else."""
    X = rng.normal(size=(60, 5)) @ rng.normal(size=(5, 5))
    spectrum = spectrum_of(X, alpha)
    members = [(3, 0), (1,), (4, 2)]
    groups = attribution.Groups.of(spectrum, alpha, members)
    rows = 2 * rng.normal(size=(3, 5))
    drops = groups.drops(rows)
    for i, row in enumerate(rows):
        for g, columns in enumerate(members):

            def at(values, row=row, columns=columns):
                changed = row.copy()
                changed[list(columns)] = values
                return spectrum.leverage(changed[None], alpha)[0]

            best = minimize(at, row[list(columns)], method="BFGS", options={"gtol": 1e-9}).fun
            fall = spectrum.leverage(row[None], alpha)[0] - best
            assert drops[i, g] == pytest.approx(fall, rel=1e-6, abs=1e-9)


def one_hot(rng, n, levels):
    return np.eye(levels)[np.arange(n) % levels][rng.permutation(n)]


def test_a_rare_level_is_named_by_its_group_though_levels_sum_to_one(rng):
    words = one_hot(rng, 90, 3)
    words[:, 2] = 0.0
    words[0] = [0.0, 0.0, 1.0]  # a level of one row only
    words[1:, :2] = one_hot(rng, 89, 2)
    X = np.column_stack([words, rng.normal(size=(90, 2))])
    spectrum = spectrum_of(X, 1.0)
    row = np.array([[0.0, 0.0, 1.0, 0.1, -0.1]])
    groups = attribution.Groups.of(spectrum, 1.0, [(0, 1, 2), (3,), (4,)])
    assert groups.fractions(row)[0, 0] > 0.9


def test_groups_of_one_column_each_share_as_single_columns_do(rng):
    X = rng.normal(size=(30, 4))
    spectrum = spectrum_of(X, 0.3)
    rows = rng.normal(size=(7, 4))
    groups = attribution.Groups.of(spectrum, 0.3, [(2,), (0,), (3,), (1,)])
    single = attribution.drops(spectrum, rows, np.full(7, 0.3))
    np.testing.assert_allclose(groups.drops(rows), single[:, [2, 0, 3, 1]], rtol=1e-9)
    np.testing.assert_allclose(groups.fractions(rows).sum(axis=1), 1.0)


def test_a_group_that_carries_a_row_out_of_the_span_takes_all_the_blame(rng):
    X = np.column_stack([rng.normal(size=(30, 3)), np.zeros(30)])
    groups = attribution.Groups.of(spectrum_of(X), 0.0, [(0, 1), (2,), (3,)])
    row = np.array([[1.0, 0.0, 0.0, 5.0]])
    assert np.isinf(groups.drops(row)[0]).tolist() == [False, False, True]
    assert groups.fractions(row).tolist() == [[0.0, 0.0, 1.0]]


def test_fractions_sum_to_one_and_infinite_parts_share_alike(rng):
    parts = rng.uniform(size=(50, 4))
    np.testing.assert_allclose(attribution.fractions(parts), parts / parts.sum(1, keepdims=True))
    parts[3] = [np.inf, 1.0, np.inf, 0.0]
    parts[7] = 0.0
    shared = attribution.fractions(parts)
    assert shared[3].tolist() == [0.5, 0.0, 0.5, 0.0]
    assert shared[7].tolist() == [0.0] * 4
    np.testing.assert_allclose(np.delete(shared, 7, axis=0).sum(axis=1), 1.0)


@pytest.mark.parametrize("shape", [(30, 6), (4, 6)])
def test_many_features_are_split_without_square_matrices_and_alike(shape, rng, monkeypatch):
    spectrum = spectrum_of(rng.normal(size=shape))
    members, rows = [(0, 3), (1,), (2, 5), (4,)], rng.normal(size=(5, 6))
    few = attribution.Groups.of(spectrum, 0.7, members).drops(rows)
    monkeypatch.setattr(attribution, "_DENSE", 0)
    many = attribution.Groups.of(spectrum, 0.7, members).drops(rows)
    # sums of a few products in another order
    np.testing.assert_allclose(many, few, rtol=1e-9)


def test_the_split_of_20_000_features_takes_little_memory(rng):
    wide = 20_000
    spectrum = spectrum_of(rng.normal(size=(4, wide)))
    tracemalloc.start()
    try:
        groups = attribution.Groups.of(spectrum, 0.7, [(j,) for j in range(wide)])
        parts = groups.fractions(rng.normal(size=(2, wide)))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    np.testing.assert_allclose(parts.sum(axis=1), 1.0)
    assert most < 100e6  # a matrix of all features with all would take 3.2 GB
