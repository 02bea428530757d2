"""Tables as they come: mixed units, timestamps, float32, copies, and streams of all of these."""

from __future__ import annotations

import warnings

import mpmath as mp
import numpy as np
import pytest

from pnml import (
    ConditionWarning,
    ConformalRegressor,
    InputError,
    KernelPNMLRegressor,
    LpNMLRegressor,
    NormBallRegressor,
    PNMLRegressor,
    UniversalRegressor,
)
from pnml.core.geometry.attribution import additive


@pytest.fixture
def mixed_units(rng):
    """Income, a fraction and a flag; the fraction carries the signal."""
    X = np.c_[rng.lognormal(11, 1, 500), 0.05 * rng.normal(size=500), rng.integers(0, 2, 500)]
    return X, X[:, 1] / 0.05 * 3 + 0.5 * X[:, 2] + 0.1 * rng.normal(size=500)


@pytest.mark.parametrize(
    "model",
    [
        PNMLRegressor(),
        PNMLRegressor(alpha="loo"),
        LpNMLRegressor(),
        LpNMLRegressor(penalty="l1"),
        UniversalRegressor(),
    ],
)
def test_a_chosen_penalty_survives_columns_of_very_different_units(model, mixed_units):
    X, y = mixed_units
    assert model.fit(X, y).score(X, y) > 0.99


@pytest.mark.parametrize("alpha", [0.0, 1e-3, 1.0])
def test_a_stream_with_timestamps_is_as_good_as_memory(alpha, rng):
    X = np.c_[1.7e9 + rng.uniform(0, 3e7, 2000), 0.1 * rng.normal(size=2000)]
    y = 30 * X[:, 1] + 0.1 * rng.normal(size=2000)
    memory, stream = PNMLRegressor(alpha=alpha).fit(X, y), PNMLRegressor(alpha=alpha)
    for i in range(0, 2000, 500):
        stream.partial_fit(X[i : i + 500], y[i : i + 500])
    np.testing.assert_allclose(stream.coef_, memory.coef_, rtol=1e-6)
    odd = X[:1] + [0, 1.0]
    np.testing.assert_allclose(stream.regret(odd), memory.regret(odd), rtol=1e-7)
    assert not stream.trusted(odd).any()


@pytest.mark.parametrize("alpha", [1e-8, 1e-2, 1.0])
def test_a_penalty_in_raw_units_keeps_its_digits_on_graded_columns(alpha):
    t = np.linspace(0.1, 20, 60)
    X, x = (np.column_stack([s**k for k in range(1, 11)]) for s in (t, np.array([5.0, 22.0])))
    model = PNMLRegressor(alpha=alpha, noise_variance=1.0).fit(X, np.sin(t))
    with mp.workdps(80):
        A = mp.matrix(X.tolist())
        mean = [mp.fsum(A[:, j]) / len(t) for j in range(10)]
        C = mp.matrix(len(t), 10)
        for i in range(len(t)):
            for j in range(10):
                C[i, j] = A[i, j] - mean[j]
        G = C.T * C + mp.mpf(alpha) * mp.eye(10)
        for row, regret in zip(x, model.regret(x), strict=True):
            v = mp.matrix([mp.mpf(float(row[j])) - mean[j] for j in range(10)])
            truth = mp.log(1 + mp.mpf(1) / len(t) + (v.T * mp.lu_solve(G, v))[0])
            assert regret == pytest.approx(float(truth), rel=1e-8)


def test_a_stream_that_lost_a_direction_warns_and_trusts_nothing(rng):
    X = rng.normal(size=(200, 2))
    X[:, 1] = X[:, 0] + 1e-9 * X[:, 1]
    model = PNMLRegressor().partial_fit(X, rng.normal(size=200))
    with pytest.warns(ConditionWarning, match="above"):
        assert np.isinf(model.regret([[0, 2e-8], [0, 1e-7]])).all()
    assert not model.trusted([[0, 2e-8]]).any()


def test_a_target_that_is_rarely_not_zero_is_not_constant(rng):
    X, y = rng.normal(size=(60_000, 2)), np.zeros(60_000)
    y[[5, 20_000, 50_000]] = 1
    stream = PNMLRegressor()
    for i in range(0, 60_000, 10_000):
        stream.partial_fit(X[i : i + 10_000], y[i : i + 10_000])
    assert stream.noise_variance_ == pytest.approx(PNMLRegressor().fit(X, y).noise_variance_)


@pytest.mark.parametrize("fitted_in", [np.float32, np.float64])
@pytest.mark.parametrize("scored_in", [np.float32, np.float64])
def test_rows_of_another_float_width_stay_inside(fitted_in, scored_in, rng):
    X = np.c_[rng.normal(size=(50, 2)), np.full(50, 0.1)]
    X = np.c_[X, X[:, 0] + X[:, 1]]
    model = PNMLRegressor().fit(X.astype(fitted_in), rng.normal(size=50))
    assert len(model.spectrum_.h2) == 2
    assert np.isfinite(model.regret(X.astype(scored_in))).all()
    moved = X[:2].copy()
    moved[0, 2], moved[1, 3] = 0.2, 5.0
    assert np.isinf(model.regret(moved.astype(scored_in))).all()


def test_an_offset_in_one_column_hides_nothing_in_another(rng):
    X = np.c_[1.7e9 + rng.uniform(0, 1, 50), rng.normal(size=50), np.zeros(50)]
    model = PNMLRegressor().fit(X, rng.normal(size=50))
    row = X[:1].copy()
    assert np.isfinite(model.regret(row)).all()
    row[0, 2] = 1e-9
    assert np.isinf(model.regret(row)).all()


def test_a_dummy_trap_and_an_unseen_category(rng):
    colours = rng.integers(0, 3, size=60)
    X = np.column_stack([np.eye(4)[colours], rng.normal(size=60)])  # the fourth is never seen
    for model in (PNMLRegressor(), PNMLRegressor(fit_intercept=False)):
        model.fit(X, rng.normal(size=60))
        assert np.isfinite(model.regret(X)).all()
        assert model.trusted(X).mean() > 0.9
        unseen = np.array([[0, 0, 0, 1.0, 0.0]])
        assert np.isinf(model.regret(unseen)).all()
        assert np.isinf(model.explain(unseen)[0, 3])
        assert np.isinf(additive(model.spectrum_, unseen, 0.0)).any()


def test_the_noise_does_not_jump_when_weights_sum_to_the_number_of_rows(rng):
    X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    w = np.r_[np.full(15, 0.5), np.full(15, 1.5)]
    at, beside = (
        PNMLRegressor(alpha=1.0).fit(X, y, sample_weight=w * f).noise_variance_
        for f in (1.0, 1 + 1e-12)
    )
    assert at == pytest.approx(beside, rel=1e-9)


@pytest.mark.parametrize("estimator", [PNMLRegressor, LpNMLRegressor])
def test_rows_of_weight_zero_take_no_part_in_the_choice(estimator, rng):
    X, y = rng.normal(size=(12, 8)), rng.normal(size=12)
    w = np.r_[np.ones(7), np.zeros(5)]
    weighted = estimator(alpha="loo").fit(X, y, sample_weight=w)
    assert weighted.alpha_ == pytest.approx(estimator(alpha="loo").fit(X[:7], y[:7]).alpha_)


def test_a_kernel_names_two_features_that_are_both_far_off(rng):
    X = rng.normal(size=(80, 4))
    model = KernelPNMLRegressor().fit(X, X[:, 0] + 0.1 * rng.normal(size=80))
    row = 0.1 * X[:1]
    row[0, [1, 2]] += 30
    shares = model.explain(row)[0]
    assert set(np.argsort(shares)[-2:]) == {1, 2}
    assert shares.sum() == pytest.approx(np.expm1(model.regret(row)[0]) - 1 / 80)


def test_numbers_whose_squares_overflow_are_refused(rng):
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    for bad in (X * 1e154, X * 1e-155):
        with pytest.raises(InputError, match="squares leave the range of floats"):
            PNMLRegressor().fit(bad, y)
    with pytest.raises(InputError, match="squares leave the range of floats"):
        PNMLRegressor().fit(X, y * 1e160)
    with pytest.raises(InputError, match="squares leave the range of floats"):
        NormBallRegressor().fit(X, y).regret(X * 1e200)


@pytest.mark.filterwarnings("ignore:The intervals are infinite")
def test_parameters_set_after_fitting_wait_for_the_next_fit(rng):
    X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    stream = PNMLRegressor().partial_fit(X, y)
    expected = PNMLRegressor().fit(X, y).regret(X)
    np.testing.assert_allclose(stream.set_params(alpha=100.0).regret(X), expected, rtol=1e-8)
    split = ConformalRegressor(random_state=0).fit(X, y)
    interval = split.predict_interval(X)
    np.testing.assert_array_equal(
        split.set_params(method="jackknife+").predict_interval(X), interval
    )
    lasso = LpNMLRegressor(penalty="l1", alpha=1.0).fit(X, y)
    lasso.set_params(penalty="l2").partial_fit(X, y)
    twice = LpNMLRegressor(alpha=1.0).fit(np.vstack([X, X]), np.append(y, y))
    np.testing.assert_allclose(lasso.regret(X), twice.regret(X), rtol=1e-6)


def test_no_warning_leaks_from_small_tables(rng):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n, d in ((2, 1), (3, 3), (4, 3), (5, 9)):
            X, y = rng.normal(size=(n, d)), rng.normal(size=n)
            for model in (PNMLRegressor(), PNMLRegressor(alpha="loo"), LpNMLRegressor()):
                model.fit(X, y).predict_interval(X * 3)
                model.trusted(X)
                assert not np.isnan(model.loo_.regrets).any()
                _ = model.loo_.standard_error
            jackknife = ConformalRegressor(PNMLRegressor(), method="jackknife+")
            with pytest.warns(ConditionWarning, match="The intervals are infinite"):
                assert jackknife.fit(X, y).predict_interval(X).shape == (n, 2)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [1e-14, 1e-6, 1.0])
def test_ridge_on_columns_of_any_units_is_least_squares_with_pseudo_rows(alpha, intercept):
    """The same fit in unit columns: √α e_j appended as rows, the intercept by centring."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        units = 10.0 ** rng.integers(-9, 10, size=5)
        Z, y = rng.normal(size=(30, 5)), rng.normal(size=30)
        Zc, yc = (Z - Z.mean(0), y - y.mean()) if intercept else (Z, y)
        A = np.vstack([Zc, np.diag(np.sqrt(alpha) / units)])
        theta = np.linalg.lstsq(A, np.append(yc, np.zeros(5)), rcond=None)[0]
        model = PNMLRegressor(alpha=alpha, fit_intercept=intercept).fit(Z * units, y)
        np.testing.assert_allclose(model.coef_ * units, theta, rtol=1e-8, atol=1e-10)
        z = rng.normal(size=5)
        d = z - Z.mean(0) if intercept else z
        leverage = d @ np.linalg.solve(A.T @ A, d) + (1 / 30 if intercept else 0)
        regret = model.regret((z * units)[None])[0]
        assert regret == pytest.approx(np.log1p(leverage), rel=1e-7)


def test_large_columns_leave_no_round_off_outside_the_span(rng):
    """Nanosecond timestamps beside a dummy trap: b is of the dummies alone."""
    colour = rng.integers(0, 3, 200)
    X = np.column_stack([1.7e18 + rng.uniform(0, 1e17, 200), np.eye(3)[colour]])
    model = PNMLRegressor(alpha=1.0).fit(X, colour + rng.normal(size=200))
    x = np.array([[1.75e18, 0, 0, 0], [1.7001e18, 1, 1, 0]])
    with mp.workdps(60):
        A = mp.matrix(X.tolist())
        mean = [mp.fsum(A[:, j]) / 200 for j in range(4)]
        C = mp.matrix([[A[i, j] - mean[j] for j in range(4)] for i in range(200)])
        G = C.T * C + mp.eye(4)
        for row, regret in zip(x, model.regret(x), strict=True):
            v = mp.matrix([mp.mpf(float(row[j])) - mean[j] for j in range(4)])
            truth = mp.log(1 + mp.mpf(1) / 200 + (v.T * mp.lu_solve(G, v))[0])
            assert regret == pytest.approx(float(truth), rel=0.02)


@pytest.mark.parametrize("estimator", [PNMLRegressor, LpNMLRegressor])
def test_repeated_rows_choose_alike_in_streams_and_with_an_offset(estimator):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, y = np.repeat(rng.normal(size=(10, 30)), 2, 0), np.repeat(rng.normal(size=10), 2)
        memory = estimator(alpha="loo").fit(X, y).alpha_
        assert estimator(alpha="loo").partial_fit(X, y).alpha_ == pytest.approx(memory, rel=1e-3)
        assert estimator(alpha="loo").fit(X, y + 1e5).alpha_ == pytest.approx(memory, rel=1e-3)
