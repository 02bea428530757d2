"""TrustedRegressor: the model's own predictions, and verdicts that know the training rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from pnml import InputError
from pnml.estimators.trusted_regressor import TrustedRegressor

MODELS = {
    "hist": HistGradientBoostingRegressor(max_iter=10, random_state=0),
    "boosting": GradientBoostingRegressor(n_estimators=10, random_state=0),
    "forest": RandomForestRegressor(n_estimators=5, random_state=0),
    "extra": ExtraTreesRegressor(n_estimators=5, random_state=0),
    "pipeline": make_pipeline(
        StandardScaler(), HistGradientBoostingRegressor(max_iter=10, random_state=0)
    ),
    "linear": Ridge(),
}


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(400, 4))
    return X, np.sin(6 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=400)


def lightgbm(**options):
    package = pytest.importorskip("lightgbm")
    return package.LGBMRegressor(n_estimators=10, verbose=-1, random_state=0, **options)


@pytest.mark.parametrize("name", [*MODELS, "lightgbm"])
def test_predictions_are_the_models_own_to_the_bit(name, table):
    X, y = table
    inner = lightgbm() if name == "lightgbm" else MODELS[name]
    model = TrustedRegressor(inner, random_state=0).fit(X, y)
    alone = type(inner)(**inner.get_params()) if name != "pipeline" else inner
    np.testing.assert_array_equal(model.predict(X), alone.fit(X, y).predict(X))


@pytest.mark.parametrize("name", MODELS)
def test_far_rows_and_wrong_units_are_not_trusted_and_ordinary_ones_are(name, table):
    X, y = table
    model = TrustedRegressor(MODELS[name], cv=3, random_state=0).fit(X[:300], y[:300])
    far = X[300:].copy()
    far[:, 2] *= 100
    assert model.trusted(X[300:]).mean() > 0.9
    assert not model.trusted(far[far[:, 2] > 5]).any()
    worst = model.explain(far).argmax(axis=1)
    assert (worst[far[:, 2] > 5] == 2).all()


def test_the_verdict_is_the_one_rule_on_regret_and_excess(table):
    X, y = table
    model = TrustedRegressor(cv=3, random_state=0).fit(X, y)
    new = np.vstack([X[:20] * 1.05, X[:20] + 3])
    excess = np.maximum(np.maximum(X.min(axis=0) - new, new - X.max(axis=0)), 0) / np.ptp(X, axis=0)
    for level in (0.9, 0.99, 1.0):
        limits = model.reference_.thresholds(level)
        rule = (model.regret(new) <= limits.regret) & (excess.max(axis=1) <= limits.excess)
        np.testing.assert_array_equal(model.trusted(new, level), rule)
        assert model.reference_.trusted_share(level) >= level - 1e-9


def test_explanations_sum_to_the_leverage(table):
    X, y = table
    model = TrustedRegressor(cv=3, random_state=0).fit(X, y)
    new = X[:30] * 1.5
    total = np.expm1(model.regret(new)) - 1 / len(X)
    np.testing.assert_allclose(model.explain(new).sum(axis=1), total, rtol=1e-8)


def test_the_mean_expected_error_of_left_out_rows_is_their_mean_error(table):
    X, y = table
    model = TrustedRegressor(MODELS["boosting"], cv=KFold(4), random_state=0).fit(X, y)
    errors = np.empty(len(y))
    for train, test in KFold(4).split(X):
        part = GradientBoostingRegressor(n_estimators=10, random_state=0).fit(X[train], y[train])
        errors[test] = np.abs(y[test] - part.predict(X[test]))
    kappa = np.expm1(model.reference_.regrets)
    noise = model.learner_.errors.noise.left_out(
        model.learner_.base.read(X).mapped.leaf, errors, np.ones(len(y))
    )
    expected = model.learner_.errors.factor * noise * np.sqrt(1 + np.minimum(kappa, 10))
    assert expected.mean() == pytest.approx(errors.mean(), rel=1e-9)


def test_intervals_cover_about_what_they_say(table):
    X, y = table
    model = TrustedRegressor(cv=5, random_state=0).fit(X[:250], y[:250])
    ends = model.predict_interval(X[250:], coverage=0.8)
    covered = np.mean((ends[:, 0] <= y[250:]) & (y[250:] <= ends[:, 1]))
    assert 0.68 <= covered <= 0.92  # 150 rows: three standard errors of .033, and the folds' bias
    dist = model.predict_dist(X[250:])
    np.testing.assert_array_equal(dist.interval(0.8), ends)
    np.testing.assert_array_equal(dist.mean, model.predict(X[250:]))


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_data_frames_with_words_and_gaps_go_in_as_they_are(kind):
    package = pytest.importorskip(kind)
    rng = np.random.default_rng(1)
    n = 300
    size = rng.uniform(1, 5, n)
    columns = {
        "size": np.where(rng.random(n) < 0.1, np.nan, size).tolist(),
        "kind": rng.choice(["a", "b"], n).tolist(),
    }
    numbers = make_pipeline(_Selector(), HistGradientBoostingRegressor(max_iter=5, random_state=0))
    model = TrustedRegressor(numbers, cv=3, random_state=0)
    frame = package.DataFrame(columns)
    model.fit(frame, size)
    new = package.DataFrame({"size": [3.0, 30.0, 3.0], "kind": ["a", "a", "z"]})
    scored = model.score_frame(new)
    assert type(scored).__module__.startswith(kind)
    assert list(scored["trusted"]) == [True, False, False]
    assert "size 30 is outside" in scored["because"][1]
    assert "kind 'z'" in scored["because"][2]


class _Selector(TransformerMixin, BaseEstimator):
    """Keeps the column of numbers."""

    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def transform(self, X):
        return np.asarray(X["size"], dtype=float)[:, None]


def test_a_fitted_model_is_kept_and_says_what_it_cannot_tell(table):
    X, y = table
    fitted = GradientBoostingRegressor(n_estimators=5, random_state=0).fit(X, y)
    for inner, options in ((fitted, {"prefit": True}), (FrozenEstimator(fitted), {"prefit": True})):
        model = TrustedRegressor(inner, **options).fit(X, y)
        np.testing.assert_array_equal(model.predict(X), fitted.predict(X))
        assert model.trusted(X).mean() > 0.9
        with pytest.raises(InputError, match="prefit"):
            model.expected_error(X)


def test_splitters_and_groups_are_taken(table):
    X, y = table
    groups = np.arange(len(y)) % 8
    model = TrustedRegressor(MODELS["forest"], cv=GroupKFold(4)).fit(X, y, groups=groups)
    assert np.isfinite(model.expected_error(X)).all()


def test_rows_of_weight_zero_are_as_if_they_were_not_there(table):
    X, y = table
    weights = np.ones(len(y))
    weights[:20] = 0
    X = X.copy()
    X[:20] += 50
    inner = GradientBoostingRegressor(n_estimators=5, random_state=0)
    model = TrustedRegressor(inner, cv=3, random_state=0).fit(X, y, sample_weight=weights)
    assert not model.trusted(X[:20]).any()
    without = TrustedRegressor(inner, cv=3, random_state=0).fit(X[20:], y[20:])
    np.testing.assert_allclose(model.regret(X), without.regret(X), rtol=1e-8)


def never_repeats(estimator):
    reason = "HistGradientBoostingRegressor bins rows without looking at their weights"
    return {"check_sample_weight_equivalence_on_dense_data": reason}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([TrustedRegressor(random_state=0)], expected_failed_checks=never_repeats)
def test_estimator_keeps_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"estimator": "model"}, "lacks fit or predict"),
        ({"estimator": LogisticRegression()}, "pass a regressor"),
        ({"cv": 1}, "from 2 to the number of rows"),
        ({"cv": 9999}, "from 2 to the number of rows"),
        ({"prefit": "yes"}, "must be True or False"),
    ],
)
def test_bad_arguments_are_refused_in_a_sentence(options, sentence, table):
    with pytest.raises(InputError, match=sentence):
        TrustedRegressor(**options).fit(*table)
