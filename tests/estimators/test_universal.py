"""Twice universality: one prediction for several classes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from sklearn.base import clone
from sklearn.linear_model import Ridge

from pnml import (
    ConformalRegressor,
    InputError,
    LpNMLRegressor,
    NormBallRegressor,
    PNMLRegressor,
    PNMLTreeRegressor,
    UniversalRegressor,
    load,
    save,
)


@pytest.fixture
def fitted(rng):
    X = rng.normal(size=(20, 6))
    return UniversalRegressor().fit(X, X[:, 0] + rng.normal(size=20)), rng.normal(size=(5, 6)) * 2


def test_the_density_is_the_largest_of_the_classes_normalised(fitted):
    model, x = fitted
    parts = [estimator.predict_dist(x) for estimator in model.estimators_]
    dist = model.predict_dist(x)
    for i in range(len(x)):

        def largest(y, i=i):
            return np.exp(max(p.log_prob(y)[i] for p in parts))

        centre, width = parts[0].mean[i], max(p.std[i] for p in parts)
        edges = centre + width * np.linspace(-12, 12, 49)
        Z = sum(quad(largest, a, b)[0] for a, b in zip(edges[:-1], edges[1:], strict=True))
        assert dist.log_mass[i] == pytest.approx(np.log(Z), abs=1e-8)
        assert 0 <= dist.log_mass[i] <= np.log(3)
        for y in centre + width * np.array([-2, 0.3, 1.7]):
            assert dist.log_prob(y)[i] == pytest.approx(np.log(largest(y) / Z), abs=1e-8)


def test_no_label_costs_more_than_the_best_class_and_the_log_of_their_number(fitted, rng):
    model, x = fitted
    parts = [estimator.predict_dist(x) for estimator in model.estimators_]
    for y in rng.normal(size=50) * 5:
        best = np.max([p.log_prob(y) for p in parts], axis=0)
        ours = model.predict_dist(x).log_prob(y)
        assert np.all(ours >= best - np.log(3) - 1e-12)


def test_a_class_that_knows_nothing_of_a_row_drops_out(rng):
    X = rng.normal(size=(20, 3))
    X[:, 2] = 0
    model = UniversalRegressor(
        [("plain", PNMLRegressor()), ("ridge", PNMLRegressor(alpha=1.0))]
    ).fit(X, rng.normal(size=20))
    row = np.array([[0.1, 0.2, 1.0]])
    assert np.isinf(model.named_estimators_["plain"].regret(row)).all()
    ridge = model.named_estimators_["ridge"]
    np.testing.assert_allclose(model.regret(row), ridge.regret(row), rtol=1e-10)
    np.testing.assert_allclose(model.predict_interval(row), ridge.predict_interval(row), rtol=1e-9)
    np.testing.assert_allclose(model.explain(row), ridge.explain(row), rtol=1e-9)
    alone = UniversalRegressor([("plain", PNMLRegressor())]).fit(X, rng.normal(size=20))
    assert np.isinf(alone.regret(row)).all()
    assert not alone.trusted(row).any()


def test_one_class_alone_is_itself(rng):
    X, y, x = rng.normal(size=(20, 3)), rng.normal(size=20), rng.normal(size=(4, 3))
    alone, plain = UniversalRegressor([("a", PNMLRegressor())]).fit(X, y), PNMLRegressor().fit(X, y)
    for method in ("regret", "predict", "predict_interval", "explain"):
        np.testing.assert_allclose(
            getattr(alone, method)(x), getattr(plain, method)(x), rtol=1e-9, atol=1e-12
        )
    np.testing.assert_allclose(alone.loo_.log_losses, plain.loo_.log_losses, rtol=1e-9)
    np.testing.assert_array_equal(alone.trusted(x), plain.trusted(x))


def test_left_out_rows_are_those_of_refitted_classes(rng):
    X, y = rng.normal(size=(15, 2)), rng.normal(size=15)
    classes = [
        ("a", PNMLRegressor(noise_variance=1.0)),
        ("b", PNMLRegressor(alpha=3.0, noise_variance=0.5)),
    ]
    model = UniversalRegressor(classes).fit(X, y)
    for i in (0, 7, 14):
        rest = np.delete(np.arange(15), i)
        dist = UniversalRegressor(classes).fit(X[rest], y[rest]).predict_dist(X[[i]])
        assert model.loo_.log_losses[i] == pytest.approx(-dist.log_prob(y[i])[0], rel=1e-8)
        assert model.loo_.regrets[i] == pytest.approx(dist.regret[0], rel=1e-8)


def test_parameters_of_the_classes_are_parameters_of_the_whole():
    model = UniversalRegressor([("a", PNMLRegressor()), ("b", LpNMLRegressor())])
    assert model.get_params()["a__alpha"] == 0.0
    model.set_params(a__alpha=2.0, b=PNMLRegressor(alpha="loo"))
    assert clone(model).get_params()["a__alpha"] == 2.0
    assert clone(model).get_params()["b__alpha"] == "loo"


def test_what_cannot_be_combined_is_refused(rng):
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    with pytest.raises(InputError, match=r"'c' is a ConformalRegressor.*no density to follow"):
        UniversalRegressor([("c", ConformalRegressor())]).fit(X, y)
    with pytest.raises(InputError, match=r"'u' \(UniversalRegressor\) has no genie"):
        UniversalRegressor([("u", UniversalRegressor())]).fit(X, y)
    with pytest.raises(InputError, match=r"'r' is a Ridge, which predicts no distribution"):
        UniversalRegressor([("r", Ridge())]).fit(X, y)
    with pytest.raises(InputError, match="empty list"):
        UniversalRegressor([]).fit(X, y)
    with pytest.raises(ValueError, match="unique"):
        UniversalRegressor([("a", PNMLRegressor()), ("a", PNMLRegressor())]).fit(X, y)


UNLIKE = [
    ("ball", NormBallRegressor(noise_variance=0.3)),
    ("lasso", LpNMLRegressor(penalty="l1", alpha=0.5, noise_variance=0.2)),
    ("tree", PNMLTreeRegressor(noise_variance=0.5)),
]


@pytest.fixture(scope="module")
def unlike():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(14, 4))
    y = X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=14)
    return UniversalRegressor(UNLIKE).fit(X, y), X, y


@pytest.mark.parametrize("member", UNLIKE, ids=[name for name, _ in UNLIKE])
def test_one_unlike_class_alone_is_itself(member, unlike, rng):
    _, X, y = unlike
    x = rng.normal(size=(3, 4))
    alone, plain = UniversalRegressor([member]).fit(X, y), clone(member[1]).fit(X, y)
    for method in ("regret", "predict", "predict_interval", "explain"):
        np.testing.assert_allclose(
            getattr(alone, method)(x), getattr(plain, method)(x), rtol=1e-6, atol=1e-7
        )
    for name in ("residuals", "sds", "regrets", "log_losses"):
        np.testing.assert_allclose(
            getattr(alone.loo_, name), getattr(plain.loo_, name), rtol=1e-6, atol=1e-7
        )


def test_left_out_rows_are_those_of_refitted_unlike_classes(unlike):
    # a tree grown anew has other splits, so that only those that are refitted are compared
    _, X, y = unlike
    model = UniversalRegressor(UNLIKE[:2]).fit(X, y)
    for i in (0, 13):
        rest = np.delete(np.arange(14), i)
        dist = UniversalRegressor(UNLIKE[:2]).fit(X[rest], y[rest]).predict_dist(X[[i]])
        assert model.loo_.log_losses[i] == pytest.approx(-dist.log_prob(y[i])[0], abs=1e-6)
        assert model.loo_.regrets[i] == pytest.approx(dist.regret[0], abs=1e-6)


def test_unlike_classes_trust_training_rows_and_explain_by_shares(unlike):
    model, X, _ = unlike
    assert model.trusted(X).mean() > 0.8
    assert not model.trusted(X[:3] + 1e3).any()
    shares = model.predict_dist(X[:3]).shares
    parts = np.stack([member.explain(X[:3]) for member in model.estimators_])
    expected = np.einsum("nk,knd->nd", shares, parts)
    np.testing.assert_allclose(model.explain(X[:3]), expected, rtol=1e-9)


def test_unlike_classes_come_back_from_a_file(unlike, tmp_path):
    model, X, _ = unlike
    save(model, tmp_path / "unlike.pnml")
    again = load(tmp_path / "unlike.pnml")
    for method in ("predict", "regret", "predict_interval", "trusted", "explain"):
        np.testing.assert_allclose(
            getattr(again, method)(X[:4]), getattr(model, method)(X[:4]), rtol=1e-9
        )
    np.testing.assert_array_equal(again.loo_.regrets, model.loo_.regrets)


def test_no_label_costs_more_than_the_best_unlike_class(unlike, rng):
    model, X, _ = unlike
    parts = [member.predict_dist(X[:4]) for member in model.estimators_]
    dist = model.predict_dist(X[:4])
    for y in rng.normal(size=10) * 5:
        best = np.max([part.log_prob(y) for part in parts], axis=0)
        assert np.all(dist.log_prob(y) >= best - np.log(3) - 1e-12)
