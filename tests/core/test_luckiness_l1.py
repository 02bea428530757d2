"""ℓ1 luckiness against its definition: refit for every label, integrate over labels."""

from __future__ import annotations

import numpy as np
import pytest

import oracle
from examples import cases
from pnml.core.lasso.leave_one_out import L1Folds
from pnml.core.lasso.luckiness import L1Fit
from pnml.core.lasso.path import lasso

KINDS = ["tall", "wide", "integer", "copies"]


def rows(kind, seed):
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    n, m = int(rng.integers(3, 45)), int(rng.integers(1, 31))
    n = int(rng.integers(3, 15)) if kind == "wide" else n
    X, x = rng.normal(size=(n, m)), rng.normal(size=m)
    y = X[:, :3].sum(axis=1) + rng.normal(size=n) + 1
    if kind == "integer":
        X, x, y = np.round(1.5 * X), np.round(1.5 * x), np.round(2 * y)
    if kind == "copies":
        source = rng.integers(0, m, size=m)
        X, x = X[:, source], x[source] if seed % 2 else x
    return X, y, x, float(rng.choice([0.05, 0.3, 1.0, 4.0])), float(rng.choice([0.05, 0.3, 1.0]))


def centred(X, y, intercept):
    if not intercept:
        return X, y, np.zeros(X.shape[1]), 0.0
    return X - X.mean(axis=0), y - y.mean(), X.mean(axis=0), float(y.mean())


def fit_of(X, y, penalty, intercept):
    Xc, yc, x_mean, y_mean = centred(X, y, intercept)
    weight = len(X) / (len(X) + 1) if intercept else 1.0
    return L1Fit.of(Xc.T @ Xc, Xc.T @ yc, penalty, x_mean, y_mean, weight)


def folds_of(X, y, penalty, intercept):
    Xc, yc, _, _ = centred(X, y, intercept)
    coef = lasso(Xc.T @ Xc, Xc.T @ yc, np.array([penalty]))[0]
    return L1Folds.of(Xc, yc, penalty, 1 - 1 / len(X) if intercept else 1.0, coef)


def cuts(value, row=0, shift=0.0):
    """Where the oracle may cut its integral: the pieces of the distribution."""
    starts = value.pieces.start[row]
    return starts[np.isfinite(starts)] + shift


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(cases(8)))
def test_the_normaliser_is_the_definition(kind, seed, intercept):
    X, y, x, penalty, variance = rows(kind, seed)
    fit = fit_of(X, y, penalty, intercept)
    value = fit.predictive(x[None], variance)
    centre = fit.predict(x[None])[0]
    truth = oracle.l1_log_normaliser(X, y, x, penalty, variance, intercept, centre, cuts(value))
    assert value.log_mass[0] == pytest.approx(truth, abs=1e-9)
    assert value.regret[0] == max(value.log_mass[0], 0.0)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_density_is_the_genies_over_the_normaliser(kind, intercept):
    X, y, x, penalty, variance = rows(kind, 9)
    value = fit_of(X, y, penalty, intercept).predictive(x[None], variance)
    labels = np.linspace(-6, 8, 29)
    truth = oracle.l1_log_density(X, y, x, penalty, variance, intercept)(labels)
    got = value.log_prob(labels[:, None])[:, 0] + value.log_mass
    np.testing.assert_allclose(got, truth, rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_one_walk_serves_every_noise_variance(kind):
    X, y, x, penalty, _ = rows(kind, 10)
    fit, variances = fit_of(X, y, penalty, True), np.geomspace(1e-3, 10, 7)
    together = fit.regret(np.stack([x, -x]), variances)
    alone = [fit.predictive(np.stack([x, -x]), float(v)).regret for v in variances]
    np.testing.assert_allclose(together, np.transpose(alone), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("intercept", [False, True])
def test_a_vanishing_penalty_gives_least_squares(intercept, rng):
    X, y, x = rng.normal(size=(40, 4)), rng.normal(size=40), rng.normal(size=4)
    truth = oracle.ridge_normaliser(X, y, x, 0.0, 0.5, intercept)
    value = fit_of(X, y, 1e-9, intercept).predictive(x[None], 0.5)
    assert value.log_mass[0] == pytest.approx(np.log(truth), abs=1e-7)


def test_a_crushing_penalty_leaves_only_the_intercept(rng):
    X, y, x = rng.normal(size=(40, 4)), rng.normal(size=40), rng.normal(size=4)
    value = fit_of(X, y, 1e9, True).predictive(x[None], 0.5)
    assert value.regret[0] == pytest.approx(np.log(41 / 40))
    assert value.mean[0] == pytest.approx(y.mean())
    assert value.std[0] == pytest.approx(np.sqrt(0.5) * 41 / 40)
    assert fit_of(X, y, 1e9, False).regret(x[None], np.array([0.5]))[0, 0] < 1e-12


def test_at_a_kink_the_relative_normaliser_can_be_below_one():
    fit = L1Fit.of(np.eye(1), np.ones(1), 1.0, np.zeros(1), 0.0, 1.0)
    value = fit.predictive(np.ones((1, 1)), 0.01)
    truth = oracle.l1_log_normaliser(
        np.eye(1), np.ones(1), np.ones(1), 1.0, 0.01, False, 0.0, cuts(value)
    )
    assert value.log_mass[0] == pytest.approx(truth, abs=1e-10)
    assert value.log_mass[0] < -0.5
    assert value.regret[0] == 0.0


def test_units_of_the_label_do_not_matter():
    X, y, x, penalty, variance = rows("tall", 11)
    plain = fit_of(X, y, penalty, True).predictive(x[None], variance)
    scaled = fit_of(X, 1e3 * y, 1e3 * penalty, True).predictive(x[None], 1e6 * variance)
    assert scaled.regret[0] == pytest.approx(plain.regret[0], abs=1e-10)
    np.testing.assert_allclose(scaled.interval(0.9), 1e3 * plain.interval(0.9), rtol=1e-9)


def test_a_feature_never_seen_in_training_is_never_trusted_more(rng):
    X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    X[:, 2] = 0.0
    fit = fit_of(X, y, 0.3, True)
    known, new = np.array([0.5, -0.2, 0.0]), np.array([0.5, -0.2, 4.0])
    regrets = fit.regret(np.stack([known, new, 2.5 * new - 1.5 * known]), np.array([1.0]))[:, 0]
    assert np.all(np.diff(regrets) > 0.1)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_leaving_out_is_refitting_without_the_row(kind, intercept):
    for seed in range(cases(3)):
        X, y, _, penalty, variance = rows(kind, 20 + seed)
        folds, picked = folds_of(X, y, penalty, intercept), np.array([0, len(X) - 1])
        variances = np.array([variance, 4 * variance])
        losses, regrets = folds.losses(picked, variances)
        shift = y.mean() if intercept else 0.0
        for k, i in enumerate(picked):
            others = np.arange(len(X)) != i
            args = X[others], y[others], X[i], penalty
            for v, spread in enumerate(variances):
                value = folds.predictive(picked, float(spread))
                centre = value.mode[k] + shift
                log_mass = oracle.l1_log_normaliser(
                    *args, spread, intercept, centre, cuts(value, k, shift)
                )
                density = oracle.l1_log_density(*args, spread, intercept)(y[i : i + 1])[0]
                assert losses[k, v] == pytest.approx(log_mass - density, rel=1e-9, abs=1e-9)
                assert regrets[k, v] == pytest.approx(max(log_mass, 0.0), rel=1e-9, abs=1e-9)


def test_what_a_fold_predicts_is_what_a_fit_without_the_row_predicts():
    X, y, _, penalty, variance = rows("tall", 30)
    value = folds_of(X, y, penalty, True).predictive(np.arange(4), variance)
    for i in range(4):
        others = np.arange(len(X)) != i
        fold = fit_of(X[others], y[others], penalty, True).predictive(X[i][None], variance)
        assert value.mean[i] + y.mean() == pytest.approx(fold.mean[0], rel=1e-10)
        assert value.std[i] == pytest.approx(fold.std[0], rel=1e-10)
        assert value.regret[i] == pytest.approx(fold.regret[0], rel=1e-10)


@pytest.mark.parametrize("size", [30.0, 1e3])
def test_a_row_that_makes_up_its_columns_is_left_out_with_all_digits(size):
    X, y, _, penalty, variance = rows("tall", 31)
    X[0] *= size
    losses, regrets = folds_of(X, y, penalty, True).losses(np.array([0]), np.array([variance]))
    fold = fit_of(X[1:], y[1:], penalty, True).predictive(X[:1], variance)
    assert regrets[0, 0] == pytest.approx(fold.regret[0], rel=1e-8)
    assert losses[0, 0] == pytest.approx(-fold.log_prob(y[0])[0], rel=1e-6)


def test_a_column_only_one_row_has_is_unseen_once_it_is_left_out():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(12, 3)), rng.normal(size=12)
    X[1:, 2] = 0.0
    y[0] = 30.0
    losses, _ = folds_of(X, y, 0.2, False).losses(np.array([0]), np.array([1.0]))
    fold = fit_of(X[1:], y[1:], 0.2, False).predictive(X[:1], 1.0)
    assert losses[0, 0] == pytest.approx(-fold.log_prob(y[0])[0], rel=1e-9)
