"""Leave-one-out in closed form against explicit refits."""

from __future__ import annotations

import numpy as np
import pytest

import oracle
from pnml import LpNMLRegressor, PNMLRegressor
from pnml.core import leave_one_out
from pnml.core.geometry.spectrum import Spectrum
from pnml.core.statistic.factor import Factor


def refitted(learner, X, y, alpha, intercept, weights=None):
    """Residuals and variance ratios of one learner, one refit per row."""
    residuals, ratios = np.empty(len(X)), np.empty(len(X))
    for i in range(len(X)):
        fit, K, B, C = oracle.ridge_left_out(X, y, i, alpha, intercept, weights)
        shift = alpha * K * B / (1 + alpha * C) if learner == "luckiness" else 0.0
        residuals[i] = y[i] - fit + shift
        ratios[i] = {"ridge": 1, "bayes": K, "pnml": K**2, "luckiness": K**2 / (1 + alpha * C)}[
            learner
        ]
    return residuals, ratios


@pytest.mark.parametrize("learner", ["ridge", "bayes", "pnml", "luckiness"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("shape", [(30, 4), (12, 20)])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_whole_path_equals_explicit_refits(learner, intercept, shape, weighted, rng):
    X, y = rng.normal(size=shape) + 2, rng.normal(size=shape[0])
    w = rng.choice([0.3, 1.0, 2.0, 2.5], size=shape[0]) if weighted else np.ones(shape[0])
    alphas = np.array([0.05, 0.8, 30.0])
    factor = Factor.of(X, y, w if weighted else None)
    spectrum = Spectrum.of_factor(factor, intercept=intercept, unit_columns=False)
    path = leave_one_out.all_learners(spectrum, X, y, alphas, w)[learner]
    for j, alpha in enumerate(alphas):
        residuals, ratios = refitted(learner, X, y, alpha, intercept, w)
        noise = np.average(residuals**2 / ratios, weights=w)
        losses = 0.5 * (np.log(2 * np.pi * noise * ratios) + residuals**2 / (noise * ratios))
        assert path.noise_variance[j] == pytest.approx(noise, rel=1e-9)
        assert path.log_loss[j] == pytest.approx(np.average(losses, weights=w), rel=1e-9)


@pytest.mark.parametrize("estimator", [PNMLRegressor, LpNMLRegressor])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 1.5])
def test_loo_of_an_estimator_is_its_refits_scored_at_the_row_left_out(
    estimator, weighted, alpha, rng
):
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    w = rng.choice([1, 2, 3], size=20) if weighted else None
    model = estimator(alpha=alpha).fit(X, y, sample_weight=w)
    for i in range(20):
        left = np.ones(20) if w is None else w.astype(float)
        left[i] -= 1
        refit = estimator(alpha=alpha, noise_variance=model.noise_variance_)
        dist = refit.fit(X, y, sample_weight=left).predict_dist(X[[i]])
        assert model.loo_.residuals[i] == pytest.approx(y[i] - dist.mean[0], rel=1e-8, abs=1e-10)
        assert model.loo_.sds[i] == pytest.approx(dist.std[0], rel=1e-9)
        assert model.loo_.regrets[i] == pytest.approx(dist.regret[0], rel=1e-8, abs=1e-12)
        assert model.loo_.log_losses[i] == pytest.approx(-dist.log_prob(y[i])[0], rel=1e-8)


def test_the_noise_minimises_the_pooled_loss(rng):
    X, y = rng.normal(size=(40, 5)), rng.normal(size=40)
    for estimator in (PNMLRegressor, LpNMLRegressor):
        best = estimator(alpha=2.0).fit(X, y)
        for factor in (0.9, 1.1):
            other = estimator(alpha=2.0, noise_variance=factor * best.noise_variance_).fit(X, y)
            assert other.loo_.log_loss > best.loo_.log_loss


def test_the_penalty_minimises_the_pooled_loss_over_the_path(rng):
    X, y = rng.normal(size=(40, 15)), rng.normal(size=40)
    for estimator in (PNMLRegressor, LpNMLRegressor):
        model = estimator(alpha="loo").fit(X, y)
        path = model.loo_.path
        assert model.alpha_ == path.alphas[np.argmin(path.log_loss)]
        assert model.loo_.log_loss == pytest.approx(path.log_loss.min(), rel=1e-9)


@pytest.mark.parametrize("estimator", [PNMLRegressor, LpNMLRegressor])
@pytest.mark.parametrize("shape", [(20, 60), (15, 15)])
def test_where_rows_can_be_interpolated_the_penalty_stays_off_the_edge(estimator, shape):
    inside = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=shape)
        y = X[:, 0] + 0.3 * rng.normal(size=shape[0])
        model = estimator(alpha="loo").fit(X, y)
        path = model.loo_.path
        assert model.alpha_ > path.alphas[0]
        assert model.noise_variance_ >= 1e-6 * np.var(y)
        error = model.loo_.standard_error
        assert np.isfinite(error)
        inside += path.alphas[0] < model.alpha_ < path.alphas[-1]
    assert inside >= 5


def test_an_interpolating_fit_without_a_penalty_keeps_a_positive_noise(rng):
    X, y = rng.normal(size=(10, 30)), rng.normal(size=10)
    model = PNMLRegressor().fit(X, y)
    assert model.noise_variance_ == pytest.approx(1e-6 * np.var(y))
    assert np.isinf(model.loo_.regrets).all()
    assert not model.trusted(X).any()


def test_left_out_residuals_of_the_interpolator_are_those_of_its_dual(rng):
    """[G⁻¹Y]_i / [G⁻¹]_ii, without an intercept and with unit columns."""
    X, y = rng.normal(size=(8, 20)), rng.normal(size=8)
    X /= np.linalg.norm(X, axis=0)
    model = PNMLRegressor(fit_intercept=False).fit(X, y)
    inverse = np.linalg.inv(X @ X.T)
    np.testing.assert_allclose(model.loo_.residuals, inverse @ y / np.diag(inverse), rtol=1e-9)


def test_training_loss_plus_regret_is_the_left_out_loss(rng):
    X, y = rng.normal(size=(25, 4)), rng.normal(size=25)
    model = PNMLRegressor(noise_variance=0.5).fit(X, y)
    residual = y - model.predict(X)
    training = 0.5 * (np.log(2 * np.pi * 0.5) + residual**2 / 0.5)
    np.testing.assert_allclose(model.loo_.log_losses, training + model.loo_.regrets, rtol=1e-10)


def test_a_row_that_alone_holds_a_direction_is_infinitely_regretted(rng):
    X = rng.normal(size=(20, 3))
    X[:, 2] = 0
    X[7, 2] = 1.0
    model = PNMLRegressor().fit(X, rng.normal(size=20))
    assert np.isinf(model.loo_.regrets[7])
    assert np.isfinite(np.delete(model.loo_.regrets, 7)).all()
    finite = np.delete(model.loo_.regrets, 7)
    assert model.loo_.threshold(1.0) == finite.max()
    assert not model.trusted(X[[7]] * [1, 1, 5]).any()


def test_streams_take_their_folds_from_the_sample(rng):
    X, y = rng.normal(size=(12_000, 3)), rng.normal(size=12_000)
    stream = PNMLRegressor()
    for i in range(0, 12_000, 3000):
        stream.partial_fit(X[i : i + 3000], y[i : i + 3000])
    memory = PNMLRegressor().fit(X, y)
    assert len(stream.loo_.regrets) == 4096
    assert stream.noise_variance_ == pytest.approx(memory.noise_variance_, rel=1e-12)
    assert stream.loo_.threshold(0.9) == pytest.approx(memory.loo_.threshold(0.9), rel=0.1)
    assert stream.loo_.log_loss == pytest.approx(memory.loo_.log_loss, abs=0.05)
    every = {round(v, 12) for v in memory.loo_.regrets}
    assert all(round(v, 12) in every for v in stream.loo_.regrets)


def test_without_rows_neither_the_loss_nor_its_error_is_known():
    none = np.zeros(0)
    left_out = leave_one_out.LeaveOneOut(none, none, none, none, none)
    assert np.isnan(left_out.log_loss)
    assert np.isnan(left_out.standard_error)
