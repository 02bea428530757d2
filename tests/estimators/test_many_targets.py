"""Several targets at once: each as if alone at the shared penalty; regret by its definition."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import dblquad
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

import oracle
from pnml import (
    ConformalRegressor,
    InputError,
    KernelPNMLRegressor,
    LpNMLRegressor,
    PNMLRegressor,
    export_onnx,
    load,
    make_pipeline,
    save,
)


@pytest.fixture
def data(rng):
    X = rng.normal(size=(40, 3)) + 1
    Y = X @ rng.normal(size=(3, 2)) + [0.2, 2.0] * rng.normal(size=(40, 2))
    return X, Y, rng.normal(size=(7, 3)) * 3


@pytest.mark.parametrize("kind", [PNMLRegressor, LpNMLRegressor])
@pytest.mark.parametrize("alpha", [0.0, 1.5, "loo"])
@pytest.mark.parametrize("weighted", [False, True])
def test_each_target_is_answered_as_if_alone_at_the_shared_penalty(kind, alpha, weighted, data):
    X, Y, new = data
    weights = np.arange(40) % 3 + 0.5 if weighted else None
    both = kind(alpha=alpha).fit(X, Y, sample_weight=weights)
    alone = [kind(alpha=both.alpha_).fit(X, y, sample_weight=weights) for y in Y.T]
    dist = both.predict_dist(new)
    mean, std = both.predict(new, return_std=True)
    interval = both.predict_interval(new, 0.8)
    assert interval.shape == (7, 2, 2)
    assert both.regret(new).shape == (7,)
    for j, model in enumerate(alone):
        single = model.predict_dist(new)
        np.testing.assert_allclose(mean[:, j], single.mean, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(std[:, j], single.std, rtol=1e-9)
        np.testing.assert_allclose(interval[:, j], model.predict_interval(new, 0.8), rtol=1e-9)
        np.testing.assert_allclose(
            dist.log_prob(np.ones((7, 2)))[:, j], single.log_prob(1.0), rtol=1e-8
        )
        np.testing.assert_allclose(both.coef_[j], model.coef_, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(both.intercept_[j], model.intercept_, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(both.noise_variance_[j], model.noise_variance_, rtol=1e-9)
        np.testing.assert_allclose(both.loo_.residuals[:, j], model.loo_.residuals, rtol=1e-8)
    mean_regret = np.mean([model.regret(new) for model in alone], axis=0)
    np.testing.assert_allclose(both.regret(new), mean_regret, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(both.explain(new), alone[0].explain(new), rtol=1e-8, atol=1e-12)
    np.testing.assert_array_equal(both.trusted(X[:1]), [True])
    assert not both.trusted(100 * np.abs(new)).any()
    assert dist.sample(5, random_state=0).shape == (7, 2, 5)


def test_the_regret_is_that_of_the_definition_shared_among_targets(rng):
    """The genie refits both targets: integrate over both labels, and halve the logarithm."""
    X, Y, x = rng.normal(size=(12, 2)), rng.normal(size=(12, 2)), rng.normal(size=2)
    noise = 0.4
    model = PNMLRegressor(alpha=0.3, fit_intercept=False, noise_variance=noise).fit(X, Y)
    X1 = np.vstack([X, x])

    def genie(a, b):
        density = 1.0
        for label, y in ((a, Y[:, 0]), (b, Y[:, 1])):
            theta = oracle.ridge_fit(X1, np.append(y, label), 0.3, False)
            residual = label - x @ theta
            density *= np.exp(-(residual**2) / (2 * noise)) / np.sqrt(2 * np.pi * noise)
        return density

    centre = model.predict(x[None])[0]
    far = 9 * np.sqrt(noise) * np.exp(model.regret(x[None])[0])
    ends = [(c - far, c + far) for c in centre]
    joint = dblquad(genie, *ends[1], *ends[0], epsabs=1e-5, epsrel=1e-5)[0]
    assert model.regret(x[None])[0] == pytest.approx(np.log(joint) / 2, abs=1e-4)


def test_the_shared_penalty_has_the_least_loss_over_all_targets(data):
    X, Y, _ = data
    model = PNMLRegressor(alpha="loo").fit(X, Y)
    path = model.loo_.path
    for place in (20, 50, 80):
        losses = [
            PNMLRegressor(alpha=float(path.alphas[place])).fit(X, y).loo_.log_loss for y in Y.T
        ]
        assert path.log_loss[place] == pytest.approx(np.mean(losses), rel=1e-6)
    assert model.alpha_ == path.alphas[np.argmin(path.log_loss)]


@pytest.mark.parametrize("kind", [PNMLRegressor, LpNMLRegressor])
def test_several_targets_work_in_pipelines_searches_and_files(kind, data, tmp_path):
    X, Y, new = data
    pipe = make_pipeline(StandardScaler(), kind(alpha=1.0)).fit(X, Y)
    assert pipe.predict_interval(new).shape == (7, 2, 2)
    assert pipe.trusted(new).shape == pipe.regret(new).shape == (7,)
    expected = make_pipeline(StandardScaler(), Ridge(1.0)).fit(X, Y).predict(X)
    if kind is PNMLRegressor:
        np.testing.assert_allclose(pipe.predict(X), expected, rtol=1e-8, atol=1e-10)
    search = GridSearchCV(kind(), {"alpha": [0.1, 10.0]}, cv=2).fit(X, Y)
    assert search.predict(new).shape == (7, 2)
    for name, model in (("one", pipe), ("two", search.best_estimator_)):
        save(model, tmp_path / f"{name}.pnml")
        again = load(tmp_path / f"{name}.pnml")
        for ask in ("predict", "regret", "trusted", "explain", "predict_interval"):
            np.testing.assert_array_equal(getattr(again, ask)(new), getattr(model, ask)(new))


def test_where_several_targets_cannot_be_learnt_is_said_in_a_sentence(data, tmp_path):
    X, Y, _ = data
    for model in (KernelPNMLRegressor(), LpNMLRegressor(penalty="l1"), ConformalRegressor()):
        with pytest.raises(InputError, match=r"learns one target here; for several fit PNMLRegr"):
            model.fit(X, Y)
    with pytest.raises(InputError, match="learns one target here"):
        PNMLRegressor().partial_fit(X, Y)
    model = PNMLRegressor().fit(X, Y)
    with pytest.raises(InputError, match="was fitted to 2 targets, but rows come or go part by"):
        model.partial_fit(X, Y[:, 0])
    with pytest.raises(InputError, match="cannot be exported to ONNX"):
        export_onnx(model, tmp_path / "model.onnx")
    constant = np.column_stack([Y[:, 0], np.ones(40)])
    with pytest.raises(InputError, match="y is constant"):
        PNMLRegressor().fit(X, constant)
    with pytest.raises(InputError, match="NaN"):
        PNMLRegressor().fit(X, np.where(Y[3, 1] == Y, np.nan, Y))
    model.fit(X, Y[:, 0]).partial_fit(X, Y[:, 0])  # one target again: rows may come later
    assert model.predict(X).shape == (40,)
