"""Labels on another scale: what is said of a label follows from what is said of its transform."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.integrate import quad
from scipy.special import expit, logit
from scipy.stats import lognorm
from sklearn import compose, config_context
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline as chain
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.utils.estimator_checks import parametrize_with_checks

from pnml import (
    ConformalRegressor,
    PNMLRegressor,
    TransformedTargetRegressor,
    TrustedRegressor,
    make_pipeline,
)
from pnml.core.elementwise import ELEMENTWISE
from sentences import assert_refused


def cube(y):
    return y**3


def own_log(y):
    return np.log(y)


# The transform, and whether every number is the transform of a label.
SCALES = {
    "identity": ({}, True),
    "log": ({"func": np.log, "inverse_func": np.exp}, True),
    "log1p": ({"func": np.log1p, "inverse_func": np.expm1}, True),
    "own function": ({"func": own_log, "inverse_func": np.exp}, True),
    "cube root": ({"func": np.cbrt, "inverse_func": cube}, True),
    "arcsinh": ({"func": np.arcsinh, "inverse_func": np.sinh}, True),
    "falling": ({"func": np.negative, "inverse_func": np.negative}, True),
    "square root": ({"func": np.sqrt, "inverse_func": np.square}, False),
    "reciprocal": ({"func": np.reciprocal, "inverse_func": np.reciprocal}, False),
    "standard": ({"transformer": StandardScaler()}, True),
    "range": ({"transformer": MinMaxScaler()}, True),
    "robust": ({"transformer": RobustScaler()}, True),
    "largest": ({"transformer": MaxAbsScaler()}, True),
    "Box-Cox": ({"transformer": PowerTransformer(method="box-cox")}, False),
    "Yeo-Johnson": ({"transformer": PowerTransformer()}, False),
    "quantiles": ({"transformer": QuantileTransformer(n_quantiles=30)}, False),
    "normal quantiles": (
        {"transformer": QuantileTransformer(n_quantiles=30, output_distribution="normal")},
        False,
    ),
    "chain": (
        {"transformer": chain(FunctionTransformer(np.log, inverse_func=np.exp), StandardScaler())},
        True,
    ),
}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(80, 2))
    return X, np.exp(0.5 * X[:, 0] + 0.3 * rng.normal(size=80) + 1)


def fitted(name, rows, regressor=None):
    regressor = PNMLRegressor() if regressor is None else regressor
    return TransformedTargetRegressor(regressor, **SCALES[name][0]).fit(*rows)


def transformed(model, y):
    return model.transformer_.transform(np.reshape(y, (-1, 1))).reshape(np.shape(y))


def back(model, z):
    return model.transformer_.inverse_transform(np.reshape(z, (-1, 1))).reshape(np.shape(z))


def flat_labels_in_1_6(estimator):
    """scikit-learn 1.6 flattens labels of one column before the regressor could warn."""
    old = sklearn.__version__.startswith("1.6.")
    return {"check_supervised_y_2d": "of scikit-learn 1.6 itself"} if old else {}


@parametrize_with_checks(
    [TransformedTargetRegressor(), TransformedTargetRegressor(transformer=StandardScaler())],
    expected_failed_checks=flat_labels_in_1_6,
)
def test_it_keeps_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", SCALES)
def test_predictions_are_those_of_scikit_learn(name, rows):
    X, y = rows
    theirs = compose.TransformedTargetRegressor(PNMLRegressor(), **SCALES[name][0]).fit(X, y)
    new = X / 2  # near: beyond its image the inverse of a power is NaN, in scikit-learn too
    # two fits; a label may be a steep function of its transform
    np.testing.assert_allclose(fitted(name, rows).predict(new), theirs.predict(new), rtol=1e-9)


@pytest.mark.parametrize("name", SCALES)
def test_regret_trust_and_reasons_are_those_of_the_regressor_of_the_transform(name, rows):
    X, y = rows
    model = fitted(name, rows)
    by_hand, inner = PNMLRegressor().fit(X, transformed(model, y)), model.regressor_
    np.testing.assert_allclose(model.regret(2 * X), by_hand.regret(2 * X), rtol=1e-10)  # two fits
    for method in ("regret", "trusted", "explain"):
        np.testing.assert_array_equal(getattr(model, method)(2 * X), getattr(inner, method)(2 * X))
    np.testing.assert_array_equal(model.trusted(2 * X, 0.5), inner.trusted(2 * X, 0.5))
    np.testing.assert_array_equal(model.reference_.regrets, inner.reference_.regrets)
    np.testing.assert_array_equal(model.predict_dist(X).regret, inner.regret(X))


@pytest.mark.parametrize("name", SCALES)
def test_the_ends_of_intervals_are_mapped_exactly(name, rows):
    X, _ = rows
    model = fitted(name, rows)
    inner = model.regressor_.predict_interval(X, coverage=0.5)
    low, high = model._labels.z_low, model._labels.z_high
    whole = ((inner > low) & (inner < high)).all(axis=1)  # others end where the labels do
    assert whole.mean() > 0.5
    expected = back(model, inner[whole])
    if not model._labels.increasing:
        expected = expected[:, ::-1]
    ours = model.predict_interval(X, coverage=0.5)
    np.testing.assert_array_equal(ours[whole], expected)
    np.testing.assert_array_equal(ours, model.predict_dist(X).interval(0.5))
    assert np.all(ours[:, 0] < ours[:, 1])


@pytest.mark.parametrize("name", SCALES)
def test_the_cdf_is_that_of_the_transform(name, rows):
    X, y = rows
    model = fitted(name, rows)
    labels = np.quantile(y, [0.1, 0.4, 0.8])[:, None]
    below = model.regressor_.predict_dist(X).cdf(transformed(model, labels))
    expected = below if model._labels.increasing else 1 - below
    np.testing.assert_array_equal(model.predict_dist(X).cdf(labels), expected)


@pytest.mark.parametrize("name", SCALES)
def test_quantiles_and_the_cdf_are_inverse(name, rows):
    X, _ = rows
    dist = fitted(name, rows).predict_dist(X[:5])
    levels = np.array([[0.3], [0.5], [0.6]])
    labels = dist.ppf(levels)
    low, high = dist.labels.ends
    within = (labels > low) & (labels < high)
    # the inverse of a power is rounded where it is steep, and one of scikit-learn's is by bisection
    np.testing.assert_allclose(dist.cdf(labels)[within], (levels + 0 * labels)[within], rtol=1e-6)
    np.testing.assert_array_equal(dist.median, dist.ppf(0.5))


@pytest.mark.parametrize("name", SCALES)
def test_the_density_integrates_to_the_probability_between_labels(name, rows):
    X, y = rows
    dist = fitted(name, rows).predict_dist(X[:1])
    ends = np.quantile(y, [0.05, 0.95])
    knots = np.quantile(y, np.linspace(0.05, 0.95, 40))
    if "quantiles" in name:  # the slope jumps at the knots of the transform
        knots = np.unique(np.clip(fitted(name, rows).transformer_.quantiles_[:, 0], *ends))
    pieces = zip(knots[:-1], knots[1:], strict=True)
    mass = sum(quad(lambda t: np.exp(dist.log_prob(t)[0]), a, b)[0] for a, b in pieces)
    expected = (dist.cdf(ends[1]) - dist.cdf(ends[0]))[0]
    # quad's own bound is 1.5e-8 a piece; 40 pieces
    assert mass == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("name", [name for name, (_, whole) in SCALES.items() if whole])
def test_the_density_integrates_to_one_where_the_transform_reaches_the_whole_line(name, rows):
    X, _ = rows
    dist = fitted(name, rows).predict_dist(X[:1])
    knots = np.sort(dist.ppf(np.array([[1e-12], [1e-4], [0.1], [0.5], [0.9], [0.9999]]))[:, 0])
    knots = np.append(knots, dist.ppf(1 - 1e-12))
    pieces = zip(knots[:-1], knots[1:], strict=True)
    mass = sum(quad(lambda t: np.exp(dist.log_prob(t)[0]), a, b)[0] for a, b in pieces)
    assert mass == pytest.approx(1.0, abs=1e-7)  # six pieces of quad's 1.5e-8


def test_labels_that_a_square_root_does_not_reach_are_at_zero_without_density(rows):
    X, y = rows
    far = X[:1] - [9.0, 0.0]
    model = TransformedTargetRegressor(func=np.sqrt, inverse_func=np.square).fit(X, y)
    dist, inner = model.predict_dist(far), model.regressor_.predict_dist(far)
    assert dist.interval(0.9)[0, 0] == 0.0
    assert dist.cdf(0.0) == inner.cdf(0.0) > 0.5
    assert dist.cdf(-1e-9) == 0.0
    assert dist.log_prob(-1.0) == -np.inf
    assert np.mean(dist.sample(2000, 0) == 0.0) == pytest.approx(inner.cdf(0.0)[0], abs=0.05)


def test_a_logarithm_gives_log_normal_labels(rows):
    X, y = rows
    model = fitted("log", rows)
    dist, inner = model.predict_dist(X), model.regressor_.predict_dist(X)
    truth = lognorm(s=inner.std, scale=np.exp(inner.mean))
    # both are a few roundings from the definition; the mean is by integration to seven digits
    np.testing.assert_allclose(dist.log_prob(y), truth.logpdf(y), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(dist.median, truth.median(), rtol=1e-12)
    np.testing.assert_allclose(dist.mean, truth.mean(), rtol=1e-7)
    np.testing.assert_allclose(dist.std, truth.std(), rtol=1e-6)
    # the maximum of a smooth function has half of its digits
    np.testing.assert_allclose(dist.mode, np.exp(inner.mean - inner.std**2), rtol=1e-6)


def test_the_regret_of_log_normal_labels_is_the_definition(rows):
    """Refit with every label of a row, on the scale of the label itself, and integrate."""
    X, y = rows
    x = X[:1] * 3
    noise = 0.09
    model = TransformedTargetRegressor(
        PNMLRegressor(noise_variance=noise), func=np.log, inverse_func=np.exp
    ).fit(X, y)
    design = np.column_stack([np.ones(81), np.vstack([X, x])])

    def genie(label):
        z = np.log(np.append(y, label))
        slopes = np.linalg.lstsq(design, z, rcond=None)[0]
        return lognorm.pdf(label, s=np.sqrt(noise), scale=np.exp(design[-1] @ slopes))

    ends = model.predict_dist(x).ppf(np.array([[1e-12], [0.1], [0.5], [0.9], [1 - 1e-12]]))[:, 0]
    mass = sum(quad(genie, a, b)[0] for a, b in zip(ends[:-1], ends[1:], strict=True))
    assert np.log(mass) == pytest.approx(model.regret(x)[0], abs=1e-6)  # quad's own bounds


@pytest.mark.parametrize("name", [name for name, f in ELEMENTWISE.items() if f.log_slope])
def test_slopes_in_closed_form_are_the_derivatives(name):
    known = ELEMENTWISE[name]
    y = np.array([0.07, 0.31, 0.62, 0.9])  # where all of them are defined
    h = 1e-5
    rise = (known.function(y + h) - known.function(y - h)) / (2 * h)
    # the differences are off by h² times the third derivative, at most 1e4 here
    np.testing.assert_allclose(known.log_slope(y), np.log(np.abs(rise)), atol=1e-5)


def test_shares_go_through_the_logit(rng):
    X = rng.normal(size=(60, 2))
    y = expit(X[:, 0] + 0.2 * rng.normal(size=60))
    model = TransformedTargetRegressor(func=logit, inverse_func=expit).fit(X, y)
    ends = model.predict_interval(50 * X)
    assert np.all((ends >= 0) & (ends <= 1))


@pytest.mark.parametrize(
    "make",
    [
        lambda: {"func": np.abs, "inverse_func": np.abs},
        lambda: {"func": np.sin, "inverse_func": np.arcsin},
        lambda: {"func": np.log, "inverse_func": np.sqrt},
    ],
)
def test_a_transform_that_turns_round_predicts_but_gives_no_intervals(make, rng):
    X = rng.normal(size=(60, 2))
    y = 5 * X[:, 0] if make()["func"] is not np.log else np.exp(X[:, 0])
    model = TransformedTargetRegressor(PNMLRegressor(), check_inverse=False, **make())
    with warnings.catch_warnings(), np.errstate(invalid="ignore"):
        warnings.simplefilter("ignore")
        model.fit(X, y).predict(X)
    assert np.all(model.regret(X) >= 0)
    assert_refused(lambda: model.predict_interval(X), "only rises or only falls")
    assert_refused(lambda: model.predict_dist(X), "only rises or only falls")


def test_several_targets_predict_but_give_no_intervals(rows):
    X, y = rows
    both = np.column_stack([y, 2 * y])
    model = TransformedTargetRegressor(func=np.log, inverse_func=np.exp).fit(X, both)
    assert model.predict(X).shape == both.shape
    assert model.trusted(X).shape == y.shape
    assert_refused(lambda: model.predict_interval(X), "fitted to 2 targets")
    assert_refused(lambda: model.predict_dist(X), "fitted to 2 targets")


def test_an_unknown_label_has_the_whole_range_as_interval(rows):
    X, y = rows
    model = TransformedTargetRegressor(func=np.log, inverse_func=np.exp)
    model.fit(np.column_stack([X, np.zeros(80)]), y)
    new = np.array([[0.0, 0.0, 1.0]])  # outside the span of training
    assert model.regret(new) == [np.inf]
    np.testing.assert_array_equal(model.predict_interval(new), [[0.0, np.inf]])
    assert np.isinf(model.predict_dist(new).std)
    assert np.isfinite(model.predict_dist(new).mode)


def test_expected_errors_span_the_labels_within_that_of_the_transform(rows):
    X, y = rows
    forest = TrustedRegressor(RandomForestRegressor(5, random_state=0), cv=2, random_state=0)
    model = TransformedTargetRegressor(forest, func=np.log, inverse_func=np.exp).fit(X, y)
    z, e = model.regressor_.predict(X), model.regressor_.expected_error(X)
    np.testing.assert_array_equal(model.expected_error(X), (np.exp(z + e) - np.exp(z - e)) / 2)
    table = pd.DataFrame(X, columns=["a", "b"], index=np.arange(80) + 7)
    frame = model.fit(table, y).score_frame(table, coverage=0.5)
    np.testing.assert_array_equal(frame["prediction"], model.predict(table))
    np.testing.assert_array_equal(frame[["lower", "upper"]], model.predict_interval(table, 0.5))
    np.testing.assert_array_equal(frame["regret"], model.regret(table))
    assert frame.index.equals(table.index)
    # conformal scores end, so that the mean is that of the labels which samples have
    dist = model.predict_dist(table[:3])
    sampled = dist.sample(200_000, 0).mean(axis=1)
    np.testing.assert_allclose(dist.mean, sampled, rtol=0.02)  # 133 levels of a step function


def test_coverage_of_conformal_intervals_is_kept(rows):
    X, y = rows
    inner = ConformalRegressor(PNMLRegressor(alpha=0.1), method="jackknife+")
    model = TransformedTargetRegressor(inner, func=np.log, inverse_func=np.exp).fit(X, y)
    assert not hasattr(model, "predict_dist")
    ends, z = model.predict_interval(X), model.regressor_.predict_interval(X)
    covered = (ends[:, 0] <= y) & (y <= ends[:, 1])
    np.testing.assert_array_equal(covered, (z[:, 0] <= np.log(y)) & (np.log(y) <= z[:, 1]))


def test_methods_are_there_only_where_the_regressor_has_them(rows):
    plain = TransformedTargetRegressor(LinearRegression())
    for name in ("regret", "trusted", "explain", "predict_interval", "predict_dist"):
        assert not hasattr(plain, name)
        assert hasattr(TransformedTargetRegressor(), name)
    assert not hasattr(TransformedTargetRegressor(), "expected_error")
    assert not hasattr(plain.fit(*rows), "reference_")


def test_it_is_cloned_searched_and_nested(rows):
    X, y = rows
    inner = make_pipeline(StandardScaler(), PNMLRegressor())
    model = TransformedTargetRegressor(inner, func=np.log, inverse_func=np.exp)
    grid = {"regressor__pnmlregressor__alpha": [0.1, 10.0]}
    search = GridSearchCV(clone(model), grid, cv=3).fit(X, y)
    best = search.best_estimator_
    assert type(best) is TransformedTargetRegressor
    assert best.explain_names_.tolist() == ["x0", "x1"]
    np.testing.assert_array_equal(best.regret(X), best.regressor_.regret(X))
    around = make_pipeline(StandardScaler(), clone(model)).fit(X, y)
    np.testing.assert_array_equal(
        around.predict_interval(X), around[-1].predict_interval(around[:-1].transform(X))
    )


def test_weights_are_passed_on_with_and_without_routing(rows):
    X, y = rows
    weights = np.arange(80) % 3 + 1.0
    plain = TransformedTargetRegressor(func=np.log, inverse_func=np.exp)
    plain.fit(X, y, sample_weight=weights)
    by_hand = PNMLRegressor().fit(X, np.log(y), sample_weight=weights)
    np.testing.assert_allclose(plain.regret(X), by_hand.regret(X), rtol=1e-10)  # two fits
    with config_context(enable_metadata_routing=True):
        routed = TransformedTargetRegressor(func=np.log, inverse_func=np.exp)
        routed.fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(routed.regret(X), by_hand.regret(X), rtol=1e-10)


def test_float32_rows_get_float32_intervals(rows):
    X, y = rows
    model = fitted("log", (X.astype(np.float32), y))
    assert model.predict_interval(X.astype(np.float32)).dtype == np.float32
