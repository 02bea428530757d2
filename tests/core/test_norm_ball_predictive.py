"""The predictive distribution of a norm ball: density, cdf, quantiles and moments agree."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest

import oracle
from examples import cases
from pnml.core.norm_ball.ball import Ball
from pnml.core.norm_ball.predictive import NormBallPredictive
from pnml.errors import InputError

LEVELS = np.array([1e-9, 1e-4, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1 - 1e-4])[:, None]


def predictive(h2, t, a, b, radius, noise_variance, **ball):
    return NormBallPredictive(
        Ball(h2, t, radius, **ball), np.atleast_2d(a), np.atleast_1d(b), noise_variance
    )


def instances(seed, count):
    rng = np.random.default_rng(seed)
    return [oracle.ball_instance(rng) for _ in range(count)]


def density(dist):
    return lambda y: np.exp(dist.log_prob(y.reshape(-1, 1))).reshape(y.shape)


def edges(instance):
    *ball, noise_variance = instance
    return oracle.ball_edges(*ball, np.sqrt(noise_variance))


@pytest.mark.parametrize("instance", instances(0, 30))
def test_log_prob_is_the_genies_density_over_the_normaliser(instance):
    *ball, noise_variance = instance
    dist = predictive(*instance)
    y = dist.ppf(LEVELS)[:, 0]
    s = oracle.ball_told_residual(*ball, y).astype(float)
    truth = -0.5 * s**2 / noise_variance - 0.5 * np.log(2 * np.pi * noise_variance) - dist.regret
    np.testing.assert_allclose(dist.log_prob(y[:, None])[:, 0], truth, atol=1e-6)


@pytest.mark.parametrize("instance", instances(1, cases(25)))
def test_density_integrates_to_one(instance):
    total = oracle.halving_integral(density(predictive(*instance)), edges(instance))
    assert total == pytest.approx(1.0, abs=1e-8)


@pytest.mark.parametrize("instance", instances(2, cases(25)))
def test_mean_and_std_are_moments_of_the_density(instance):
    dist = predictive(*instance)
    p, at = density(dist), edges(instance)
    mean = oracle.halving_integral(lambda y: p(y) * (y - dist.mode), at) + dist.mode[0]
    variance = oracle.halving_integral(lambda y: p(y) * (y - dist.mean) ** 2, at)
    assert dist.mean[0] == pytest.approx(mean, abs=1e-7 * dist.std[0])
    assert dist.std[0] == pytest.approx(np.sqrt(variance), rel=1e-7)


@pytest.mark.parametrize("instance", instances(3, cases(25)))
def test_cdf_is_the_integral_of_the_density(instance):
    dist, at = predictive(*instance), edges(instance)
    for y in dist.ppf(LEVELS[[2, 4, 7]])[:, 0]:
        below = oracle.halving_integral(density(dist), np.append(at[at < y], y))
        assert dist.cdf(y)[0] == pytest.approx(below, abs=1e-8)


@pytest.mark.parametrize("instance", instances(4, 100))
def test_cdf_undoes_ppf(instance):
    dist = predictive(*instance)
    np.testing.assert_allclose(dist.cdf(dist.ppf(LEVELS)), LEVELS, atol=1e-9)


@pytest.mark.parametrize("instance", instances(5, 50))
def test_no_label_is_denser_than_the_mode(instance):
    dist = predictive(*instance)
    others = dist.mode + dist.std * np.linspace(-4, 4, 81)[:, None]
    assert np.all(dist.log_prob(others) <= dist.log_prob(dist.mode) + 1e-9)


def test_mode_is_the_constrained_fit(rng):
    h2, t, a = rng.uniform(0.1, 3, 4), rng.normal(size=4), rng.normal(size=4)
    for factor in (0.4, 1.0, 1.6):
        radius = factor * np.linalg.norm(t)
        dist = predictive(h2, t, a, 0.5, radius, 0.1)
        assert dist.mode[0] == pytest.approx(a @ oracle.ball_constrained(h2, t, radius), abs=1e-10)


@pytest.mark.parametrize("factor", [0.6, 1.0, 1.5])
def test_an_intercept_answers_in_the_units_of_y(factor, rng):
    X, y, x = rng.normal(size=(5, 7)) + 2.0, rng.normal(size=5) + 4.0, rng.normal(size=7)
    center, mean = X.mean(axis=0), y.mean()
    U, h, Vt = np.linalg.svd(X - center, full_matrices=False)
    U, h, Vt = U[:, :4], h[:4], Vt[:4]
    t = U.T @ (y - mean) / h
    a, radius = Vt @ (x - center), factor * np.linalg.norm(t)
    b = np.linalg.norm(x - center - Vt.T @ a)
    dist = predictive(h**2, t, a, b, radius, 0.3, omega=5 / 6, target_mean=mean)
    for label in dist.ppf([[0.05], [0.4], [0.95]])[:, 0]:
        s = oracle.ball_refit_residual(X, y, x, label, radius, True)
        truth = -0.5 * s**2 / 0.3 - 0.5 * np.log(2 * np.pi * 0.3) - dist.regret[0]
        assert dist.log_prob(label)[0] == pytest.approx(truth, abs=1e-5)
    p = density(dist)
    wide = np.linspace(*dist.ppf([[1e-14], [1 - 1e-14]])[:, 0], 60)
    assert oracle.halving_integral(p, wide) == pytest.approx(1.0, abs=1e-8)
    found = oracle.halving_integral(lambda v: p(v) * v, wide)
    assert dist.mean[0] == pytest.approx(found, abs=1e-7)


def test_samples_follow_the_cdf():
    dist = predictive(np.array([4.0, 1.0]), np.array([0.5, 1.0]), [1.0, 2.0], 1.5, 0.8, 0.2)
    draws = dist.sample(5000, random_state=0)
    assert draws.shape == (1, 5000)
    assert kstest(draws[0], lambda y: dist.cdf(y[:, None])[:, 0]).pvalue > 0.01
    assert np.array_equal(draws, dist.sample(5000, random_state=np.random.default_rng(0)))


@pytest.mark.parametrize("factor", [0.0, 0.5, 1.0, 1.5])
def test_a_row_of_zeros_has_the_noise_for_its_label(factor, rng):
    h2, t = rng.uniform(0.1, 3, 3), rng.normal(size=3)
    a = np.vstack([np.zeros(3), rng.normal(size=3)])
    dist = predictive(h2, t, a, [0.0, 1.0], factor * np.linalg.norm(t), 0.25)
    assert dist.regret[0] == 0.0
    assert dist.mean[0] == pytest.approx(0.0, abs=1e-12)
    assert dist.std[0] == pytest.approx(0.5, rel=1e-12)
    assert dist.ppf(0.975)[0] == pytest.approx(0.5 * 1.959963984540054, rel=1e-12)
    assert dist.log_prob(0.5)[0] == pytest.approx(-0.5 - 0.5 * np.log(2 * np.pi * 0.25))


def test_arguments_broadcast_against_the_rows(rng):
    h2, t, a = rng.uniform(0.1, 3, 3), rng.normal(size=3), rng.normal(size=(4, 3))
    dist = predictive(h2, t, a, np.array([0.0, 0.5, 1.0, 2.0]), 1.0, 0.1)
    single = [predictive(h2, t, row, b, 1.0, 0.1) for row, b in zip(a, dist.b, strict=True)]
    grid = np.linspace(-1, 1, 6).reshape(2, 3, 1)
    for method in ("log_prob", "cdf"):
        whole = getattr(dist, method)(grid)
        assert whole.shape == (2, 3, 4)
        alone = np.concatenate([getattr(one, method)(grid) for one in single], axis=-1)
        np.testing.assert_allclose(whole, alone, atol=1e-9)
    assert dist.log_prob(0.0).shape == dist.cdf(np.zeros(4)).shape == dist.ppf(0.5).shape == (4,)
    assert dist.interval(0.9).shape == (4, 2)
    assert dist.sample().shape == (4, 1)


def test_levels_of_zero_and_one_are_the_ends_of_the_line():
    dist = predictive(np.array([4.0]), np.array([0.5]), [1.0], 1.0, 0.5, 0.1)
    assert dist.ppf(0.0)[0] == -np.inf
    assert dist.ppf(1.0)[0] == np.inf
    assert dist.cdf(-1e9)[0] == 0.0
    assert dist.cdf(1e9)[0] == 1.0


def test_levels_and_coverage_outside_their_range_are_refused():
    dist = predictive(np.array([4.0]), np.array([0.5]), [1.0], 1.0, 0.5, 0.1)
    with pytest.raises(InputError, match="pass numbers from 0 to 1"):
        dist.ppf(1.2)
    with pytest.raises(InputError, match="strictly between 0 and 1"):
        dist.interval(1.0)
