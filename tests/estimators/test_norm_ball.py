"""The norm-ball estimator, in the user's own coordinates, against the definition."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

from pnml import NormBallRegressor, PNMLRegressor


def constrained_fit(X, y, radius, intercept):
    """Least squares within a ball, by bisection on the multiplier; the intercept is free."""
    Xc, yc = (X - X.mean(0), y - y.mean()) if intercept else (X, y)
    U, h, Vt = np.linalg.svd(Xc, full_matrices=False)
    keep = h > 1e-11 * h[0]
    U, h, Vt = U[:, keep], h[keep], Vt[keep]

    def fit(lam):
        return Vt.T @ (h * (U.T @ yc) / (h**2 + lam))

    if np.linalg.norm(fit(0.0)) <= radius:
        theta = fit(0.0)
    else:
        gap = lambda u: np.linalg.norm(fit(np.exp(u))) - radius  # noqa: E731
        theta = fit(np.exp(brentq(gap, -60, 30, xtol=1e-14, rtol=1e-15)))
    return theta, (y.mean() - X.mean(0) @ theta if intercept else 0.0)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(("shape", "share"), [((6, 12), 1.0), ((6, 12), 1.5), ((15, 3), 0.7)])
def test_regret_and_density_are_the_definition(intercept, shape, share, rng):
    X, y = rng.normal(size=shape) + 0.5, rng.normal(size=shape[0]) + 2
    x = rng.normal(size=shape[1])
    smallest = NormBallRegressor(fit_intercept=intercept, noise_variance=0.3).fit(X, y).radius_
    radius = "min-norm" if share == 1 else share * smallest
    model = NormBallRegressor(radius=radius, fit_intercept=intercept, noise_variance=0.3).fit(X, y)
    theta, constant = constrained_fit(X, y, model.radius_, intercept)
    np.testing.assert_allclose(model.coef_, theta, atol=1e-8)
    centre = x @ theta + constant
    labels = centre + np.linspace(-40, 40, 801)
    s = np.empty_like(labels)
    for i, label in enumerate(labels):
        told, const = constrained_fit(
            np.vstack([X, x]), np.append(y, label), model.radius_, intercept
        )
        s[i] = label - x @ told - const
    log_density = -(s**2) / 0.6 - 0.5 * np.log(0.6 * np.pi)
    K = np.trapezoid(np.exp(log_density), labels)
    assert model.regret(x[None])[0] == pytest.approx(np.log(K), abs=1e-4)
    some = slice(300, 500, 25)
    log_prob = model.predict_dist(x[None]).log_prob(labels[some])
    np.testing.assert_allclose(log_prob, log_density[some] - np.log(K), atol=2e-4)


@pytest.mark.parametrize("radius", ["min-norm", 0.5, 5.0])
@pytest.mark.parametrize("intercept", [False, True])
def test_the_bound_is_never_below_the_regret(radius, intercept, rng):
    X, y = rng.normal(size=(10, 25)), rng.normal(size=10)
    model = NormBallRegressor(radius=radius, fit_intercept=intercept, noise_variance=0.1).fit(X, y)
    x = rng.normal(size=(200, 25)) * rng.uniform(0.01, 5, size=(200, 1))
    assert np.all(model.regret_bound(x) >= model.regret(x) - 1e-9)


def test_a_large_ball_over_many_rows_is_ordinary_least_squares(rng):
    X, y, x = rng.normal(size=(50, 3)), rng.normal(size=50), rng.normal(size=(6, 3))
    ball = NormBallRegressor(radius=1e6, fit_intercept=True, noise_variance=1.0).fit(X, y)
    plain = PNMLRegressor(noise_variance=1.0).fit(X, y)
    np.testing.assert_allclose(ball.regret(x), plain.regret(x), rtol=1e-8)
    np.testing.assert_allclose(ball.predict(x), plain.predict(x), rtol=1e-7)
    np.testing.assert_allclose(ball.predict_dist(x).std, plain.predict_dist(x).std, rtol=1e-7)


def test_the_noise_minimises_the_pooled_left_out_loss(rng):
    X = rng.normal(size=(20, 40))
    y = X[:, 0] + 0.3 * rng.normal(size=20)
    best = NormBallRegressor().fit(X, y)
    assert 1e-6 * np.var(y) < best.noise_variance_ < 10 * np.var(y)
    for factor in (0.7, 1.4):
        other = NormBallRegressor(noise_variance=factor * best.noise_variance_).fit(X, y)
        assert other.loo_.log_loss > best.loo_.log_loss


@pytest.mark.parametrize("intercept", [False, True])
def test_left_out_rows_are_refits_without_them(intercept, rng):
    X, y = rng.normal(size=(9, 14)), rng.normal(size=9)
    options = {"fit_intercept": intercept, "noise_variance": 0.2}
    model = NormBallRegressor(**options).fit(X, y)
    for i in range(9):
        rest = np.delete(np.arange(9), i)
        dist = NormBallRegressor(**options).fit(X[rest], y[rest]).predict_dist(X[[i]])
        assert model.loo_.residuals[i] == pytest.approx(y[i] - dist.mean[0], abs=1e-7)
        assert model.loo_.sds[i] == pytest.approx(dist.std[0], rel=1e-7)
        assert model.loo_.regrets[i] == pytest.approx(dist.regret[0], rel=1e-8)
        assert model.loo_.log_losses[i] == pytest.approx(-dist.log_prob(y[i])[0], rel=1e-7)


def test_explanations_sum_to_the_growth_and_name_the_odd_feature(rng):
    X = rng.normal(size=(15, 30))
    model = NormBallRegressor().fit(X, X[:, 0])
    x = 0.1 * rng.normal(size=(3, 30))
    x[:, 7] += 8
    shares = model.explain(x)
    np.testing.assert_allclose(shares.sum(axis=1), np.expm1(model.regret(x)), rtol=1e-7)
    assert (shares.argmax(axis=1) == 7).all()


def test_the_mode_is_the_fit_and_the_mean_is_not(rng):
    X, y = rng.normal(size=(8, 20)), rng.normal(size=8)
    model = NormBallRegressor(noise_variance=0.5).fit(X, y)
    x = rng.normal(size=(5, 20))
    dist = model.predict_dist(x)
    np.testing.assert_allclose(dist.mode, x @ model.coef_, atol=1e-9)
    assert np.abs(dist.mean - dist.mode).max() > 1e-3
    np.testing.assert_array_equal(model.predict(x), dist.mean)
