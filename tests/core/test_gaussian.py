"""Ordinary and ridge pNML against the definition: refit for every label, integrate."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

import oracle
from pnml import LpNMLRegressor, PNMLRegressor
from pnml.core import gaussian


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 0.3, 5.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_closed_form_regret_is_the_definition(alpha, intercept, weighted, rng):
    X, y, x = rng.normal(size=(20, 3)) + 1, rng.normal(size=20), 2 * rng.normal(size=3)
    w = rng.uniform(0.5, 3, size=20) if weighted else None
    model = PNMLRegressor(alpha=alpha, fit_intercept=intercept, noise_variance=0.4)
    model.fit(X, y, sample_weight=w)
    K = oracle.ridge_normaliser(X, y, x, alpha, 0.4, intercept, w)
    assert np.exp(model.regret(x[None])[0]) == pytest.approx(K, rel=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
def test_the_density_is_the_genies_divided_by_the_normaliser(intercept, rng):
    X, y, x = rng.normal(size=(15, 2)), rng.normal(size=15), rng.normal(size=2)
    model = PNMLRegressor(alpha=0.2, fit_intercept=intercept, noise_variance=0.7).fit(X, y)
    density = oracle.ridge_genie_density(X, y, x, 0.2, 0.7, intercept)
    K = oracle.ridge_normaliser(X, y, x, 0.2, 0.7, intercept)
    labels = np.linspace(-3, 3, 7)
    ours = model.predict_dist(x[None]).log_prob(labels)
    np.testing.assert_allclose(ours, [np.log(density(v) / K) for v in labels], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.1, 1.0, 20.0])
@pytest.mark.parametrize("shape", [(20, 3), (5, 9)])
def test_luckiness_is_the_definition(alpha, intercept, shape, rng):
    X, y, x = rng.normal(size=shape), rng.normal(size=shape[0]), 2 * rng.normal(size=shape[1])
    model = LpNMLRegressor(alpha=alpha, fit_intercept=intercept, noise_variance=0.4).fit(X, y)
    relative, mean, sd = oracle.ridge_luckiness(X, y, x, alpha, 0.4, intercept)
    dist = model.predict_dist(x[None])
    assert dist.regret[0] == pytest.approx(relative, rel=1e-9, abs=1e-9)
    assert dist.mean[0] == pytest.approx(mean, rel=1e-9, abs=1e-9)
    assert dist.std[0] == pytest.approx(sd, rel=1e-9)


def test_luckiness_lies_between_bayes_and_pnml_in_width(rng):
    X, y, x = rng.normal(size=(20, 6)), rng.normal(size=20), 3 * rng.normal(size=(50, 6))
    options = {"alpha": 2.0, "noise_variance": 1.0}
    pnml, lucky = (c(**options).fit(X, y) for c in (PNMLRegressor, LpNMLRegressor))
    bayes = gaussian.bayes_spread(pnml.spectrum_.leverage(x, 2.0))
    assert np.all(bayes <= lucky.predict_dist(x).std * (1 + 1e-12))
    assert np.all(lucky.predict_dist(x).std <= pnml.predict_dist(x).std * (1 + 1e-12))


@pytest.mark.parametrize("alpha", [0.3, 2.0, 15.0])
def test_bayes_is_the_integral_over_all_weights(alpha, rng):
    X, y, x = rng.normal(size=(8, 2)), rng.normal(size=8), 3 * rng.normal(size=(4, 2))
    model = PNMLRegressor(alpha=alpha, fit_intercept=False, noise_variance=0.4).fit(X, y)
    spread = np.sqrt(0.4) * gaussian.bayes_spread(model.spectrum_.leverage(x, alpha))
    labels = np.linspace(-4, 4, 9)
    for row, mean, sd in zip(x, model.predict(x), spread, strict=True):
        truth = oracle.bayes_ridge_density(X, y, row, alpha, 0.4, labels)
        np.testing.assert_allclose(norm.pdf(labels, mean, sd), truth, rtol=1e-9)


def test_luckiness_without_a_penalty_is_ordinary_pnml(rng):
    X, y, x = rng.normal(size=(20, 3)), rng.normal(size=20), rng.normal(size=(5, 3))
    lucky, plain = (c(alpha=0.0).fit(X, y) for c in (LpNMLRegressor, PNMLRegressor))
    np.testing.assert_allclose(lucky.regret(x), plain.regret(x), rtol=1e-12)
    np.testing.assert_allclose(lucky.predict_dist(x).std, plain.predict_dist(x).std, rtol=1e-12)


def test_a_row_outside_the_span_keeps_the_prior_mean_under_luckiness(rng):
    X = np.column_stack([rng.normal(size=(6, 4)), np.zeros((6, 2))])
    model = LpNMLRegressor(alpha=1e-9, fit_intercept=False, noise_variance=1.0)
    model.fit(X, rng.normal(size=6))
    dist = model.predict_dist(np.array([[0, 0, 0, 0, 3.0, 4.0]]))
    assert dist.mean[0] == 0.0  # normal equations return up to ±36 here
    assert dist.std[0] == pytest.approx(np.sqrt(1 + 25 / 1e-9), rel=1e-12)


def test_uncertainty_is_least_at_the_mean_of_the_data_not_at_the_origin(rng):
    X, y = rng.normal(size=(50, 2)) + [100.0, -40.0], rng.normal(size=50)
    model = PNMLRegressor().fit(X, y)
    at_mean, at_origin = model.predict(np.array([X.mean(0), [0, 0]]), return_std=True)[1]
    assert at_mean < at_origin / 10
    assert np.exp(model.regret(X.mean(0)[None])[0]) == pytest.approx(1 + 1 / 50, rel=1e-12)
