"""Trusted estimators inside scikit-learn: searches, stacking, Pipelines, metadata, odd tables."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import config_context
from sklearn.ensemble import GradientBoostingRegressor, StackingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import check_estimator

from pnml import InputError, TrustedClassifier, TrustedRegressor
from pnml import make_pipeline as our_pipeline


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(150, 3))
    return X, X[:, 0] + 0.1 * rng.normal(size=150)


def boosted(**options):
    inner = GradientBoostingRegressor(n_estimators=5, random_state=0)
    return TrustedRegressor(inner, cv=3, random_state=0, **options)


def test_searches_cross_validation_and_stacks_take_it(table):
    X, y = table
    search = GridSearchCV(boosted(), {"estimator__max_depth": [1, 2]}, cv=2).fit(X, y)
    assert search.best_estimator_.trusted(X).mean() > 0.9
    assert np.isfinite(cross_validate(boosted(), X, y, cv=2)["test_score"]).all()
    stack = StackingRegressor([("boosted", boosted()), ("ridge", Ridge())], cv=2).fit(X, y)
    assert np.isfinite(stack.predict(X)).all()


def test_a_pipeline_that_ends_in_it_passes_its_answers_through(table):
    X, y = table
    pipe = our_pipeline(StandardScaler(), boosted()).fit(X, y)
    rows = pipe[:-1].transform(X)
    np.testing.assert_array_equal(pipe.trusted(X), pipe[-1].trusted(rows))
    np.testing.assert_array_equal(pipe.expected_error(X), pipe[-1].expected_error(rows))
    assert list(pipe.score_frame(X)["trusted"]) == list(pipe.trusted(X))


@pytest.mark.parametrize("kind", [TrustedRegressor, TrustedClassifier])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.EstimatorCheckFailedWarning")
def test_a_pipeline_around_it_keeps_scikit_learns_contract(kind):
    reason = {
        "check_sample_weight_equivalence_on_dense_data": "boosting bins without weights",
        "check_estimators_overwrite_params": "a Pipeline fits the steps that it was given",
        "check_dont_overwrite_parameters": "a Pipeline fits the steps that it was given",
        "check_estimators_nan_inf": "a Pipeline does not say that its steps take NaN",
    }
    pipe = make_pipeline(StandardScaler(), kind(cv=2, random_state=0))
    failed = [
        result["check_name"]
        for result in check_estimator(pipe, expected_failed_checks=reason, on_fail=None)
        if result["status"] == "failed"
    ]
    assert not failed


class _Recorder(Ridge):
    """Notes the lengths of what its fit is given."""

    seen: list = []

    def fit(self, X, y, sample_weight=None, note=None):
        type(self).seen.append((len(X), None if note is None else len(note)))
        return super().fit(X, y, sample_weight)


def test_other_parameters_of_fit_reach_the_model_row_by_row(table):
    X, y = table
    _Recorder.seen = []
    TrustedRegressor(_Recorder(), cv=3).fit(X, y, note=np.arange(150))
    assert _Recorder.seen == [(150, 150)] + [(100, 100)] * 3


def test_metadata_goes_where_routing_says(table):
    X, y = table
    groups = np.arange(150) % 5
    weights = np.where(np.arange(150) < 30, 0.0, 1.0)
    with config_context(enable_metadata_routing=True):
        inner = _Recorder().set_fit_request(sample_weight=True, note=True)
        model = TrustedRegressor(inner, cv=GroupKFold(5)).set_fit_request(
            sample_weight=True, groups=True
        )
        _Recorder.seen = []
        model.fit(X, y, sample_weight=weights, groups=groups, note=np.arange(150))
        assert _Recorder.seen == [(150, 150)] + [(120, 120)] * 5
        plain = Ridge().fit(X, y, weights)
        np.testing.assert_allclose(model.predict(X), plain.predict(X), rtol=1e-12)


@pytest.mark.parametrize(
    "inner", [None, DecisionTreeRegressor(max_depth=1), DecisionTreeRegressor(min_samples_leaf=100)]
)
def test_a_tree_of_one_leaf_and_constant_columns_are_no_trouble(inner):
    X, y = np.ones((60, 2)), np.random.default_rng(0).normal(size=60)
    model = TrustedRegressor(inner, cv=3, random_state=0).fit(X, y)
    assert model.trusted(X).all()
    assert not model.trusted([[1.0, 2.0]]).any()
    assert np.isfinite(model.expected_error(X)).all()


def test_several_targets_and_linear_trees_are_refused_in_a_sentence(table):
    X, y = table
    with pytest.raises(InputError, match="learns one target"):
        boosted().fit(X, np.column_stack([y, y]))
    lightgbm = pytest.importorskip("lightgbm")
    linear = lightgbm.LGBMRegressor(linear_tree=True, n_estimators=2, verbose=-1)
    with pytest.raises(InputError, match="linear_tree=False"):
        TrustedRegressor(linear, cv=2).fit(X, y)


def test_categorical_splits_of_lightgbm_are_read():
    lightgbm, pandas = pytest.importorskip("lightgbm"), pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    words = pandas.Series(rng.choice(list("abcdef"), 400)).astype("category")
    frame = pandas.DataFrame({"word": words, "size": rng.normal(size=400)})
    y = words.isin(["a", "c"]) * 1.0 + 0.1 * rng.normal(size=400)
    inner = lightgbm.LGBMRegressor(n_estimators=5, verbose=-1, min_data_per_group=5, cat_smooth=1)
    model = TrustedRegressor(inner, cv=3, random_state=0).fit(frame, y)
    assert "cat_threshold" in model.estimator_.booster_.model_to_string()
    assert model.trusted(frame).mean() > 0.95
    new = frame[:2].assign(word=pandas.Categorical(["g", "a"]))
    assert model.trusted(new)[0] == np.False_


def test_a_frozen_model_is_never_asked_about_folds_that_it_has_seen(table):
    X, y = table
    fitted = GradientBoostingRegressor(n_estimators=5, random_state=0).fit(X, y)
    for inner in (FrozenEstimator(fitted), make_pipeline("passthrough", FrozenEstimator(fitted))):
        model = TrustedRegressor(inner, cv=3).fit(X, y)
        np.testing.assert_array_equal(model.predict(X), fitted.predict(X))
        with pytest.raises(InputError, match="calibrate"):
            model.expected_error(X)


def test_weights_reach_a_model_behind_codes_of_words_however_they_are_routed():
    rng = np.random.default_rng(0)
    X = [
        [word, x] for word, x in zip(rng.choice(list("ab"), 120), rng.normal(size=120), strict=True)
    ]
    y = rng.normal(size=120)
    weights = (np.arange(120) % 2).astype(float)
    inner = GradientBoostingRegressor(n_estimators=3, random_state=0)
    plain = TrustedRegressor(inner, cv=3, random_state=0).fit(X, y, sample_weight=weights)
    with config_context(enable_metadata_routing=True):
        routed = TrustedRegressor(inner.set_fit_request(sample_weight=True), cv=3, random_state=0)
        routed.set_fit_request(sample_weight=True).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(plain.predict(X), routed.predict(X))
    without = TrustedRegressor(inner, cv=3, random_state=0).fit(X, y)
    assert not np.array_equal(plain.predict(X), without.predict(X))


def test_models_that_cannot_predict_rows_or_be_cloned_are_refused_in_a_sentence(table):
    X, y = table
    xgboost = pytest.importorskip("xgboost")
    booster = xgboost.XGBRegressor(n_estimators=2).fit(X, y).get_booster()
    with pytest.raises(InputError, match="fitted Booster cannot predict these rows"):
        TrustedRegressor(booster, prefit=True).fit(X, y)
    catboost = pytest.importorskip("catboost")
    changed = catboost.CatBoostRegressor(iterations=2, cat_features=[0], verbose=False)
    with pytest.raises(InputError, match="cannot be cloned"):
        TrustedRegressor(changed).fit(X, y)
