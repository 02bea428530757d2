"""TrustedRegressor around models of every kind: linear, without trees, functions, pipelines."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import BayesianRidge, Lasso, LinearRegression, Ridge, RidgeCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.svm import SVR

from pnml import InputError, PNMLRegressor, TrustedRegressor


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4)) * [1, 10, 0.1, 3] + [5, 0, 0, 100]
    return X, X[:, 0] + X[:, 1] / 10 + rng.normal(size=200)


@pytest.mark.parametrize(
    ("model", "same"),
    [
        (LinearRegression(), PNMLRegressor()),
        (LinearRegression(fit_intercept=False), PNMLRegressor(fit_intercept=False)),
        (Ridge(alpha=2.5), PNMLRegressor(alpha=2.5)),
        (RidgeCV(alphas=[0.3]), PNMLRegressor(alpha=0.3)),
        (Lasso(alpha=0.01), PNMLRegressor(alpha="loo")),
    ],
)
def test_a_linear_model_has_the_regret_of_pnml_with_its_penalty(model, same, table):
    X, y = table
    trusted = TrustedRegressor(model, cv=3, random_state=0).fit(X, y)
    same.fit(X, y)
    new = np.vstack([X, X + 5])
    # the same factor, or for Lasso's choice of penalty the same folds: a few roundings apart
    np.testing.assert_allclose(trusted.regret(new), same.regret(new), rtol=1e-12)
    np.testing.assert_allclose(trusted.reference_.regrets, same.loo_.regrets, rtol=1e-11)
    np.testing.assert_allclose(trusted.explain(new), same.explain(new), rtol=1e-9, atol=1e-14)


def test_bayesian_ridge_has_the_penalty_that_it_has_found(table):
    X, y = table
    inner = BayesianRidge()
    trusted = TrustedRegressor(inner, cv=3).fit(X, y)
    fitted = BayesianRidge().fit(X, y)
    same = PNMLRegressor(alpha=fitted.lambda_ / fitted.alpha_).fit(X, y)
    np.testing.assert_allclose(trusted.regret(X), same.regret(X), rtol=1e-12)


def test_weights_count_rows_of_linear_models(table):
    X, y = table
    weights = np.arange(len(y)) % 3
    trusted = TrustedRegressor(Ridge(), cv=3, random_state=0).fit(X, y, sample_weight=weights)
    repeated = np.repeat(np.arange(len(y)), weights)
    same = PNMLRegressor(alpha=1.0).fit(X[repeated], y[repeated])
    np.testing.assert_allclose(trusted.regret(X), same.regret(X), rtol=1e-9)


def test_a_pipeline_is_scored_by_its_last_step_and_explained_in_the_columns_of_the_input(table):
    X, y = table
    pipe = make_pipeline(StandardScaler(), PolynomialFeatures(2), Ridge())
    trusted = TrustedRegressor(pipe, cv=3, random_state=0).fit(X, y)
    features = pipe.fit(X, y)[:-1].transform(X)
    same = PNMLRegressor(alpha=1.0).fit(features, y)
    np.testing.assert_allclose(trusted.regret(X), same.regret(features), rtol=1e-12)
    far = X.copy()
    far[:, 2] += 5  # fifty of its standard deviations
    shares = trusted.explain(far)
    assert shares.shape == X.shape
    assert (shares.argmax(axis=1) == 2).all()
    total = np.expm1(trusted.regret(far)) - 1 / len(X)
    np.testing.assert_allclose(shares.sum(axis=1), total, rtol=1e-9)


def test_words_before_an_encoder_are_explained_by_their_column():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(2)
    frame = pandas.DataFrame(
        {
            "size": rng.normal(size=200),
            "kind": rng.choice(["a", "b", "rare"], 200, p=[0.5, 0.49, 0.01]),
        }
    )
    encode = ColumnTransformer(
        [
            ("number", StandardScaler(), ["size"]),
            ("word", OneHotEncoder(handle_unknown="ignore"), ["kind"]),
        ]
    )
    trusted = TrustedRegressor(make_pipeline(encode, Ridge()), cv=3, random_state=0)
    trusted.fit(frame, frame["size"])
    new = pandas.DataFrame({"size": [9.0, 0.0], "kind": ["a", "rare"]})
    assert trusted.explain(new).argmax(axis=1).tolist() == [0, 1]
    assert trusted.score_frame(new)["because"][0].startswith("size 9 is outside")


@pytest.mark.parametrize(
    "model",
    [
        make_pipeline(StandardScaler(), SVR()),
        make_pipeline(StandardScaler(), KNeighborsRegressor()),
    ],
    ids=["svr", "knn"],
)
def test_other_models_are_scored_by_fourier_features(model, table):
    X, y = table
    trusted = TrustedRegressor(model, cv=3, random_state=0).fit(X[:150], y[:150])
    far = X[150:].copy()
    far[:, 1] += 100  # ten of its standard deviations
    assert not trusted.trusted(far).any()
    assert trusted.trusted(X[150:]).mean() > 0.85
    assert (trusted.explain(far).argmax(axis=1) == 1).all()
    total = np.expm1(trusted.regret(far)) - 1 / 150
    np.testing.assert_allclose(trusted.explain(far).sum(axis=1), total, rtol=1e-9)
    assert np.isfinite(trusted.predict_interval(X)).all()


def test_fourier_leverage_is_that_of_a_ridge_fit_to_the_features(table):
    X, y = table
    trusted = TrustedRegressor(SVR(), cv=3, random_state=0).fit(X, y)
    base = trusted.learner_.base
    rows = base.read(X[:5] + 1).mapped
    training = base.read(X).mapped.values
    alpha = base.trust_map.geometry.alpha
    centred = training - training.mean(axis=0)
    inverse = np.linalg.inv(centred.T @ centred + alpha * np.eye(centred.shape[1]))
    u = rows.values - training.mean(axis=0)
    kappa = 1 / len(X) + np.einsum("ij,jk,ik->i", u, inverse, u)
    # the explicit inverse loses the digits of its condition, at most 1e6 here
    np.testing.assert_allclose(np.expm1(trusted.regret(X[:5] + 1)), kappa, rtol=1e-7)


def test_a_function_and_a_booster_are_taken_as_they_are(table):
    X, y = table

    def rule(rows):
        return np.asarray(rows)[:, 0]

    trusted = TrustedRegressor(rule, prefit=True).fit(X, y)
    np.testing.assert_array_equal(trusted.predict(X), X[:, 0])
    assert not trusted.trusted(X + 1000).any()
    lightgbm = pytest.importorskip("lightgbm")
    fitted = lightgbm.LGBMRegressor(n_estimators=5, verbose=-1).fit(X, y)
    by_booster = TrustedRegressor(fitted.booster_, prefit=True).fit(X, y)
    by_model = TrustedRegressor(fitted, prefit=True).fit(X, y)
    np.testing.assert_array_equal(by_booster.regret(X), by_model.regret(X))


def test_calibration_rows_give_a_prefit_model_errors_and_intervals(table):
    X, y = table
    fitted = GradientBoostingRegressor(n_estimators=20, random_state=0).fit(X[:100], y[:100])
    trusted = TrustedRegressor(fitted, prefit=True).fit(X[:100], y[:100])
    assert list(trusted.score_frame(X[:2])) == ["prediction", "regret", "trusted", "because"]
    trusted.calibrate(X[100:], y[100:])
    errors = np.abs(y[100:] - fitted.predict(X[100:]))
    # each row's own error is left out of its leaves, so the mean agrees only roughly
    assert trusted.expected_error(X[100:]).mean() == pytest.approx(errors.mean(), rel=0.1)
    ends = trusted.predict_interval(X[100:], coverage=0.8)
    assert np.mean((ends[:, 0] <= y[100:]) & (y[100:] <= ends[:, 1])) >= 0.8


@pytest.mark.parametrize(
    ("estimator", "options", "sentence"),
    [
        (Ridge(), {"prefit": True}, "Ridge is not fitted"),
        (None, {"prefit": True}, "without an estimator"),
        (Ridge().fit(np.eye(3), [0, 1, 2]), {"prefit": True}, "fitted to 3 columns, but X has 4"),
        (len, {}, "prefit=True to use a function"),
        (Ridge, {}, "lacks fit or predict"),
    ],
)
def test_models_that_cannot_be_used_are_refused_in_a_sentence(estimator, options, sentence, table):
    with pytest.raises(InputError, match=sentence):
        TrustedRegressor(estimator, **options).fit(*table)


def test_gaps_and_words_that_a_model_refuses_are_told_with_what_to_do(table):
    X, y = table
    gaps = X.copy()
    gaps[3, 1] = np.nan
    with pytest.raises(InputError, match=r"'x1' has missing values .* Ridge refuses; fill them in"):
        TrustedRegressor(Ridge()).fit(gaps, y)
    words = [[str(int(a)), b] for a, b in X[:, :2]]
    words = [["w" + a, b] for a, b in words]
    with pytest.raises(InputError, match="'x0' does not hold numbers, which Ridge cannot read"):
        TrustedRegressor(Ridge()).fit(words, y)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
@pytest.mark.parametrize("name", ["default", "lightgbm", "forest"])
def test_words_dates_and_gaps_go_in_as_they_are(kind, name):
    package = pytest.importorskip(kind)
    rng = np.random.default_rng(3)
    n = 300
    frame = package.DataFrame(
        {
            "word": rng.choice(["a", "b", "c"], n).tolist(),
            "day": (np.datetime64("2024-01-01") + rng.integers(0, 300, n)).astype("datetime64[us]"),
            "flag": rng.random(n) < 0.5,
            "size": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)).tolist(),
        }
    )
    y = rng.normal(size=n) + frame["flag"].to_numpy()
    model = TrustedRegressor(_of(name), cv=3, random_state=0).fit(frame, y)
    assert model.trusted(frame).mean() > 0.9
    strange = frame[:3]
    if kind == "pandas":
        strange = strange.assign(word="new")
    else:
        strange = strange.with_columns(package.lit("new").alias("word"))
    assert not model.trusted(strange).any()
    assert "word 'new' is outside one of 3 words" in model.score_frame(strange)["because"][0]


def _of(name):
    if name == "default":
        return None
    if name == "forest":
        return RandomForestRegressor(10, random_state=0)
    return pytest.importorskip("lightgbm").LGBMRegressor(n_estimators=10, verbose=-1)


def test_long_tables_are_scored_in_parts(table, monkeypatch):
    X, y = table
    model = TrustedRegressor(cv=3, random_state=0).fit(X, y)
    whole = model.regret(X), model.trusted(X), model.explain(X), model.score_frame(X)
    monkeypatch.setattr("pnml.learners.row_parts.PART_ROWS", 37)
    again = TrustedRegressor(cv=3, random_state=0).fit(X, y)
    for fitted in (model, again):
        np.testing.assert_allclose(fitted.regret(X), whole[0], rtol=1e-9)
        np.testing.assert_array_equal(fitted.trusted(X), whole[1])
        np.testing.assert_allclose(fitted.explain(X), whole[2], rtol=1e-8, atol=1e-12)
        assert (fitted.score_frame(X)["because"] == whole[3]["because"]).all()


def test_leverages_are_found_once_for_the_same_contents(table, monkeypatch):
    X, y = table
    model = TrustedRegressor(GradientBoostingRegressor(n_estimators=5), cv=3).fit(X, y)
    reads = []
    read = type(model.learner_.base.trust_map).read
    monkeypatch.setattr(
        type(model.learner_.base.trust_map),
        "read",
        lambda self, rows, encoded: reads.append(len(rows)) or read(self, rows, encoded),
    )
    new = X[:20].copy()
    first = model.regret(new)
    model.trusted(new)
    model.regret(new.copy())
    assert reads == [20]
    new[:, 0] += 100  # in place: other contents, though the same array
    assert (model.regret(new) > first).all()
    assert not model.trusted(new).any()
    assert reads == [20, 20]
