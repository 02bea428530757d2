"""Pipelines pass questions on to their last step, and are scikit-learn's in all else."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import config_context
from sklearn import pipeline as scikit_learn
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.utils.estimator_checks import parametrize_with_checks

from pnml import (
    ConformalRegressor,
    Pipeline,
    PNMLClassifier,
    PNMLRegressor,
    TrustedRegressor,
    make_pipeline,
)
from sentences import assert_refused

METHODS = ("regret", "trusted", "explain", "predict_interval")


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(60, 3)) * [1.0, 10.0, 0.1]
    return X, X[:, 0] + rng.normal(size=60)


def steps():
    return [
        ("poly", PolynomialFeatures(2)),
        ("scale", StandardScaler()),
        ("model", PNMLRegressor()),
    ]


def steps_are_fitted_in_place(estimator):
    """The two checks that scikit-learn expects its own Pipeline to fail, and for this reason."""
    names = ("check_estimators_overwrite_params", "check_dont_overwrite_parameters")
    return dict.fromkeys(names, "a Pipeline fits the steps that it was given")


@parametrize_with_checks(
    [Pipeline([("scale", StandardScaler()), ("model", PNMLRegressor())])],
    expected_failed_checks=steps_are_fitted_in_place,
)
def test_a_pipeline_keeps_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


def test_every_answer_is_that_of_the_last_step_for_transformed_rows(rows):
    X, y = rows
    pipe = Pipeline(steps()).fit(X, y)
    inner = pipe.named_steps["scale"].transform(pipe.named_steps["poly"].transform(2 * X))
    last = pipe[-1]
    for name in METHODS:
        np.testing.assert_array_equal(getattr(pipe, name)(2 * X), getattr(last, name)(inner))
    np.testing.assert_array_equal(pipe.trusted(2 * X, 0.5), last.trusted(inner, level=0.5))
    np.testing.assert_array_equal(
        pipe.predict_interval(2 * X, coverage=0.5), last.predict_interval(inner, coverage=0.5)
    )
    dist = pipe.predict_dist(2 * X)
    np.testing.assert_array_equal(dist.log_prob(y), last.predict_dist(inner).log_prob(y))
    np.testing.assert_array_equal(pipe.reference_.regrets, last.reference_.regrets)


def test_predictions_are_those_of_scikit_learns_pipeline(rows):
    X, y = rows
    ours, theirs = Pipeline(steps()).fit(X, y), scikit_learn.Pipeline(steps()).fit(X, y)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert ours.score(X, y) == theirs.score(X, y)


def test_a_classifier_at_the_end_has_its_own_methods(rows):
    X, y = rows
    pipe = make_pipeline(StandardScaler(), PNMLClassifier(LogisticRegression())).fit(X, y > 0)
    inner = pipe[:-1].transform(X)
    np.testing.assert_array_equal(pipe.relative_regret(X), pipe[-1].relative_regret(inner))
    np.testing.assert_array_equal(pipe.predict_dist(X).prob, pipe.predict_proba(X))
    assert not hasattr(pipe, "predict_interval")


def test_methods_are_there_only_where_the_last_step_has_them(rows):
    X, y = rows
    plain = make_pipeline(StandardScaler(), LinearRegression())
    for name in (*METHODS, "predict_dist", "expected_error", "score_frame", "relative_regret"):
        assert not hasattr(plain, name)
    for name in ("reference_", "explain_names_"):
        assert not hasattr(plain.fit(X, y), name)
    ours = make_pipeline(StandardScaler(), PNMLRegressor())
    assert all(hasattr(ours, name) for name in METHODS)
    assert not hasattr(ours, "expected_error")
    assert not hasattr(ours, "reference_")  # not fitted
    assert hasattr(ours.fit(X, y), "reference_")
    assert not hasattr(ours[:-1], "regret")
    assert not hasattr(Pipeline([("scale", StandardScaler()), ("none", "passthrough")]), "regret")


def test_rows_are_refused_before_fit(rows):
    X, _ = rows
    with pytest.raises(ValueError, match="not fitted"):
        make_pipeline(StandardScaler(), PNMLRegressor()).regret(X)


def test_slices_clones_and_parameters_are_scikit_learns(rows):
    X, y = rows
    pipe = Pipeline(steps(), verbose=False).fit(X, y)
    assert type(pipe[:-1]) is type(pipe[1:]) is Pipeline
    np.testing.assert_array_equal(pipe[1:].regret(pipe[:1].transform(X)), pipe.regret(X))
    fresh = clone(pipe).set_params(poly__degree=1, model__alpha=0.5)
    assert type(fresh) is Pipeline
    assert fresh.get_params()["model__alpha"] == 0.5
    assert fresh.fit(X, y).explain(X).shape == (60, 4)
    named = make_pipeline(StandardScaler(), StandardScaler(), PNMLRegressor(), memory=None)
    theirs = scikit_learn.make_pipeline(StandardScaler(), StandardScaler(), PNMLRegressor())
    assert list(named.named_steps) == list(theirs.named_steps)


def test_steps_may_be_left_out_cached_and_nested(rows, tmp_path):
    X, y = rows
    plain = make_pipeline(StandardScaler(), PNMLRegressor()).fit(X, y)
    around = [
        make_pipeline("passthrough", StandardScaler(), "passthrough", PNMLRegressor()),
        make_pipeline(StandardScaler(), PNMLRegressor(), memory=str(tmp_path)),
        make_pipeline(make_pipeline(StandardScaler()), make_pipeline(PNMLRegressor())),
    ]
    for pipe in around:  # rows from a cache may lie otherwise in memory, and be summed otherwise
        np.testing.assert_allclose(pipe.fit(X, y).regret(X), plain.regret(X), rtol=1e-10)


def log_likelihood(model, X, y):
    return model.predict_dist(X).log_prob(y).mean()


def test_a_grid_is_searched_and_folds_are_validated(rows):
    X, y = rows
    grid = {"poly__degree": [1, 2]}
    search = GridSearchCV(Pipeline(steps()), grid, scoring=log_likelihood, cv=3).fit(X, y)
    assert type(search.best_estimator_) is Pipeline
    assert search.best_estimator_.regret(X).shape == (60,)
    scores = cross_validate(Pipeline(steps()), X, y, cv=3, scoring=log_likelihood)
    by_hand = []
    for fold in range(3):
        out = slice(20 * fold, 20 * fold + 20)
        kept = np.delete(np.arange(60), out)
        model = Pipeline(steps()).fit(X[kept], y[kept])
        by_hand.append(log_likelihood(model, X[out], y[out]))
    np.testing.assert_allclose(scores["test_score"], by_hand, rtol=1e-10)  # refits round apart


def test_explained_columns_have_the_names_that_steps_give(rows):
    X, y = rows
    table = pd.DataFrame(X, columns=["age", "dose", "hour"])
    pipe = make_pipeline(PolynomialFeatures(2, include_bias=False), PNMLRegressor())
    assert pipe.fit(X, y).explain_names_[:4].tolist() == ["x0", "x1", "x2", "x0^2"]
    assert pipe.fit(table, y).explain_names_[3:5].tolist() == ["age^2", "age dose"]
    assert len(pipe.explain_names_) == pipe.explain(table).shape[1]
    nested = make_pipeline(StandardScaler(), make_pipeline(PCA(2), PNMLRegressor())).fit(table, y)
    assert nested.explain_names_.tolist() == ["pca0", "pca1"]
    alone = make_pipeline(PNMLRegressor()).fit(table, y)
    assert alone.explain_names_.tolist() == list(table)
    nameless = make_pipeline(FunctionTransformer(np.tanh), PNMLRegressor()).fit(X, y)
    assert nameless.explain_names_.tolist() == ["x0", "x1", "x2"]


def test_a_classifier_or_a_trusted_model_at_the_end_is_named_by_the_steps_too(rows):
    X, y = rows
    table = pd.DataFrame(X, columns=["age", "dose", "hour"])
    classifier = make_pipeline(StandardScaler(), PNMLClassifier(LogisticRegression()))
    assert classifier.fit(table, y > 0).explain_names_.tolist() == list(table)
    inside = PNMLClassifier(make_pipeline(PCA(2), LogisticRegression()))
    assert make_pipeline(StandardScaler(), inside).fit(table, y > 0).explain_names_.tolist() == [
        "pca0",
        "pca1",
    ]


@pytest.fixture
def forest():
    return TrustedRegressor(RandomForestRegressor(5, random_state=0), cv=2, random_state=0)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("output", ["default", "pandas"])
def test_scores_come_as_the_data_frame_that_was_passed(kind, output, rows, forest):
    X, y = rows
    table = kind(dict(zip(["age", "dose", "hour"], X.T, strict=True)))
    pipe = make_pipeline(StandardScaler(), forest).set_output(transform=output)
    new = table[10:14]
    frame = pipe.fit(table, y).score_frame(new, coverage=0.5)
    assert type(frame) is kind
    np.testing.assert_array_equal(frame["prediction"], pipe.predict(new))
    np.testing.assert_array_equal(frame["expected_error"], pipe.expected_error(new))
    np.testing.assert_array_equal(frame["upper"], pipe.predict_interval(new, coverage=0.5)[:, 1])
    np.testing.assert_array_equal(frame["regret"], pipe.regret(new))
    if kind is pd.DataFrame:
        assert frame.index.equals(new.index)


def test_an_array_is_scored_as_a_data_frame(rows, forest):
    X, y = rows
    frame = make_pipeline(StandardScaler(), forest).fit(X, y).score_frame(X[:3])
    assert isinstance(frame, pd.DataFrame)
    assert len(frame) == 3


def test_words_and_numbers_go_through_a_column_transformer(rng):
    table = pd.DataFrame({"a": rng.normal(size=40), "b": rng.choice(["x", "y"], 40)})
    columns = ColumnTransformer([("a", StandardScaler(), ["a"]), ("b", OneHotEncoder(), ["b"])])
    pipe = make_pipeline(columns, PNMLRegressor(alpha=1.0)).fit(table, table["a"])
    assert pipe.explain_names_.tolist() == ["a__a", "b__b_x", "b__b_y"]
    far = pd.DataFrame({"a": [0.0, 90.0], "b": ["x", "x"]})
    assert pipe.trusted(far).tolist() == [True, False]


def test_a_pipeline_can_be_calibrated(rows):
    X, y = rows
    model = ConformalRegressor(make_pipeline(StandardScaler(), PNMLRegressor()), random_state=0)
    assert model.fit(X, y).predict_interval(X).shape == (60, 2)


class Shifted(TransformerMixin, BaseEstimator):
    """Adds the metadata `by` to every cell."""

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X, by=0.0):
        return X + by


def test_metadata_is_routed_to_steps_as_in_predict(rows):
    X, y = rows
    with config_context(enable_metadata_routing=True):
        shifted = Shifted().set_transform_request(by=True)
        for pipe in (
            make_pipeline(shifted, PNMLRegressor().set_fit_request(sample_weight=True)),
            make_pipeline("passthrough", make_pipeline(shifted, PNMLRegressor())),
        ):
            pipe.fit(X, y)
            last = pipe[-1] if isinstance(pipe[-1], PNMLRegressor) else pipe[-1][-1]
            np.testing.assert_array_equal(pipe.predict(X, by=2.0), last.predict(X + 2.0))
            np.testing.assert_array_equal(pipe.regret(X, by=2.0), last.regret(X + 2.0))
            np.testing.assert_array_equal(pipe.trusted(X, 0.5, by=2.0), last.trusted(X + 2.0, 0.5))
            np.testing.assert_array_equal(pipe.regret(X), last.regret(X))
        with pytest.raises(TypeError):
            pipe.regret(X, unheard_of=1)


def test_weights_reach_the_last_step_with_and_without_routing(rows):
    X, y = rows
    weights = np.arange(60) % 3 + 1.0
    plain = make_pipeline(StandardScaler(), PNMLRegressor())
    plain.fit(X, y, pnmlregressor__sample_weight=weights)
    with config_context(enable_metadata_routing=True):
        model = PNMLRegressor().set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        routed = make_pipeline(scaler, model).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(plain.regret(X), routed.regret(X), rtol=1e-10)  # two fits


def test_metadata_without_routing_is_refused_in_one_sentence(rows):
    X, y = rows
    pipe = make_pipeline(StandardScaler(), PNMLRegressor()).fit(X, y)
    assert_refused(lambda: pipe.regret(X, by=2.0), "enable_metadata_routing")
