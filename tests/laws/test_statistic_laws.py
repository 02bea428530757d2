"""Laws of the statistic and of what is made of it."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from pnml import PNMLRegressor
from pnml.core.geometry.spectrum import Spectrum
from pnml.core.statistic.factor import Factor
from pnml.core.statistic.gram import Gram

seeds = st.integers(0, 2**32 - 1)


def rows(seed, n, d, scale=1.0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * scale, rng.normal(size=n)


@given(seed=seeds, n=st.integers(2, 40), cut=st.integers(0, 40), offset=st.floats(-1e4, 1e4))
def test_splitting_the_rows_never_changes_the_statistic(seed, n, cut, offset):
    X, y = rows(seed, n, 3)
    X = X + offset
    cut = min(cut, n)
    parts, whole = Gram.of(X[:cut], y[:cut]) + Gram.of(X[cut:], y[cut:]), Gram.of(X, y)
    for name in ("x_mean", "y_mean", "xx", "xy", "yy"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-7, atol=1e-7)
    assert parts.rows == whole.rows


@given(seed=seeds, order=st.permutations(range(4)))
def test_the_order_of_merging_never_changes_the_statistic(seed, order):
    X, y = rows(seed, 40, 3)
    parts = [Gram.of(X[10 * i : 10 * i + 10], y[10 * i : 10 * i + 10]) for i in order]
    merged, whole = parts[0] + (parts[1] + parts[2]) + parts[3], Gram.of(X, y)
    np.testing.assert_allclose(merged.xx, whole.xx, atol=1e-9)
    np.testing.assert_allclose(merged.xy, whole.xy, atol=1e-9)


@given(seed=seeds, n=st.integers(1, 12), d=st.integers(1, 8), intercept=st.booleans())
def test_regret_is_never_negative_and_training_rows_are_never_out_of_span(seed, n, d, intercept):
    X, y = rows(seed, n, d)
    model = PNMLRegressor(fit_intercept=intercept, noise_variance=1.0).fit(X, y)
    regret = model.regret(X)
    assert np.all(regret >= 0)
    assert np.all(np.isfinite(regret))


@given(seed=seeds, n=st.integers(6, 30), more=st.integers(1, 20), intercept=st.booleans())
def test_more_rows_never_raise_the_regret_of_a_row(seed, n, more, intercept):
    X, y = rows(seed, n + more, 4)
    x = np.random.default_rng(seed).normal(size=(5, 4)) * 3
    few, many = (
        PNMLRegressor(fit_intercept=intercept).fit(X[:k], y[:k]).regret(x) for k in (n, n + more)
    )
    assert np.all(many <= few * (1 + 1e-9) + 1e-12)


@given(seed=seeds, intercept=st.booleans(), spread=st.floats(-3, 3))
def test_regret_is_invariant_under_invertible_linear_maps_without_a_penalty(
    seed, intercept, spread
):
    X, y = rows(seed, 25, 4)
    rng = np.random.default_rng(seed + 1)
    Q, _ = np.linalg.qr(rng.normal(size=(4, 4)))
    A = Q * np.array([1, 10**spread, 2, 1 / 3]) + 0.01 * rng.normal(size=(4, 4))
    if np.linalg.cond(A) > 1e5:
        A = Q
    x = rng.normal(size=(6, 4))
    plain = PNMLRegressor(fit_intercept=intercept).fit(X, y).regret(x)
    mapped = PNMLRegressor(fit_intercept=intercept).fit(X @ A, y).regret(x @ A)
    np.testing.assert_allclose(mapped, plain, rtol=1e-8)


@given(seed=seeds, units=st.lists(st.floats(-8, 8), min_size=4, max_size=4))
def test_units_of_the_columns_never_change_the_regret_without_a_penalty(seed, units):
    X, y = rows(seed, 20, 4)
    X[:, 3] = X[:, 0] + X[:, 1]  # a dependent column must stay dependent in any units
    x = np.random.default_rng(seed).normal(size=(6, 4))
    x[:3, 3] = x[:3, 0] + x[:3, 1]
    scale = 10.0 ** np.round(np.array(units))
    plain = PNMLRegressor().fit(X, y).regret(x)
    scaled = PNMLRegressor().fit(X * scale, y).regret(x * scale)
    assert np.isfinite(plain[:3]).all()
    assert np.isinf(plain[3:]).all()
    np.testing.assert_allclose(scaled, plain, rtol=1e-9)


@given(
    seed=seeds,
    alpha=st.just(0.0) | st.floats(1e-3, 10),
    n=st.integers(3, 30),
    intercept=st.booleans(),
)
@settings(max_examples=examples(60))
def test_a_stream_agrees_with_rows_in_memory(seed, alpha, n, intercept):
    X, y = rows(seed, n, 3)
    memory = PNMLRegressor(alpha=alpha, fit_intercept=intercept, noise_variance=1.0).fit(X, y)
    stream = PNMLRegressor(alpha=alpha, fit_intercept=intercept, noise_variance=1.0)
    for i in range(0, n, 4):
        stream.partial_fit(X[i : i + 4], y[i : i + 4])
    if memory.spectrum_.condition < 1e3:
        x = np.random.default_rng(seed).normal(size=(4, 3))
        np.testing.assert_allclose(stream.regret(x), memory.regret(x), rtol=1e-7)
        np.testing.assert_allclose(stream.predict(x), memory.predict(x), rtol=1e-6, atol=1e-7)


@given(seed=seeds, weights=st.lists(st.integers(0, 3), min_size=15, max_size=15))
def test_weights_count_copies(seed, weights):
    X, y = rows(seed, 15, 2)
    w = np.array(weights)
    if (w > 0).sum() < 4:
        w[:4] = 1
    weighted = PNMLRegressor(alpha=0.5).fit(X, y, sample_weight=w)
    copied = PNMLRegressor(alpha=0.5).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(weighted.regret(X), copied.regret(X), rtol=1e-10)
    assert weighted.noise_variance_ == copied.noise_variance_ or np.isclose(
        weighted.noise_variance_, copied.noise_variance_, rtol=1e-10
    )
    np.testing.assert_allclose(weighted.loo_.log_loss, copied.loo_.log_loss, rtol=1e-10)
    np.testing.assert_array_equal(weighted.trusted(X), copied.trusted(X))


@given(seed=seeds, rank=st.integers(1, 5), n=st.integers(6, 40), offset=st.floats(-100, 100))
def test_rows_in_the_span_of_a_rank_deficient_design_are_told_from_rows_outside(
    seed, rank, n, offset
):
    rng = np.random.default_rng(seed)
    basis = rng.normal(size=(rank, 7))
    X = rng.normal(size=(n, rank)) @ basis + offset
    spectrum = Spectrum.of_factor(Factor.of(X), intercept=True, unit_columns=True)
    assert len(spectrum.h2) == min(rank, n - 1)
    inside = rng.normal(size=(5, rank)) @ basis + offset
    outside = inside + 0.1 * rng.normal(size=(5, 7))
    assert np.isfinite(spectrum.leverage(inside, 0.0)).all()
    assert np.isinf(spectrum.leverage(outside, 0.0)).all()
