"""Corners of trusted estimators that once gave wrong or foreign answers."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor, StackingClassifier, StackingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import KFold, LeaveOneOut
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, StandardScaler
from sklearn.svm import SVR

from pnml import InputError, TrustedClassifier, TrustedRegressor

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
Y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * RNG.normal(size=300)
CODES = np.column_stack([X[:, 0], RNG.choice([0, 1, 2, 9, 10, 11], 300)])


def histogram():
    return HistGradientBoostingRegressor(categorical_features=[1], max_iter=5), {}


def lightgbm():
    package = pytest.importorskip("lightgbm")
    return package.LGBMRegressor(n_estimators=5, verbose=-1), {"categorical_feature": [1]}


@pytest.mark.parametrize("make", [histogram, lightgbm])
@pytest.mark.filterwarnings("ignore:categorical_feature")
def test_a_category_that_is_a_number_and_was_never_seen_is_never_trusted(make):
    inner, params = make()
    model = TrustedRegressor(inner, cv=3, random_state=0).fit(CODES, Y, **params)
    assert model.trusted(CODES).mean() > 0.95
    for code in (5.0, 1.5):
        strange = np.column_stack([CODES[:20, 0], np.full(20, code)])
        assert not model.trusted(strange).any()


def test_catboosts_categories_are_words():
    package = pytest.importorskip("catboost")
    table = CODES.astype(object)
    table[:, 1] = table[:, 1].astype(int)
    fitted = package.CatBoostRegressor(iterations=5, verbose=False).fit(table, Y, cat_features=[1])
    model = TrustedRegressor(fitted, prefit=True).fit(table, Y)
    strange = table[:20].copy()
    strange[:, 1] = 5
    assert model.trusted(table).mean() > 0.95
    assert not model.trusted(strange).any()


def test_what_training_never_had_is_the_first_reason():
    pytest.importorskip("pandas")
    constant = np.column_stack([X, np.full(300, 5.0)])
    model = TrustedRegressor(make_pipeline(StandardScaler(), SVR()), cv=3).fit(constant, Y)
    because = model.score_frame([[0.3, 0.2, 0.1, 9.0]])["because"][0]
    assert because.startswith("x3 9 is outside always 5")


def test_weights_decide_the_quantiles_of_intervals():
    rows = np.arange(600)
    noisy = rows % 2 == 1
    Z = RNG.normal(size=(600, 2))
    y = Z[:, 0] + np.where(noisy, 5, 0.1) * RNG.normal(size=600)
    weights = np.where(noisy, 1e-3, 1.0)
    model = TrustedRegressor(LinearRegression(), cv=KFold(3)).fit(Z, y, sample_weight=weights)
    ends = model.predict_interval(Z, 0.5)
    covered = (ends[:, 0] <= y) & (y <= ends[:, 1])
    # 300 rows that count: three standard errors of .03
    assert np.average(covered, weights=weights) == pytest.approx(0.5, abs=0.1)


def test_calibration_rows_of_weight_zero_are_as_if_they_were_not_there():
    fitted = Ridge().fit(X, Y)
    weights = np.repeat([0.0, 1.0], [50, 250])
    some = TrustedRegressor(fitted, prefit=True).fit(X, Y).calibrate(X[50:], Y[50:])
    all_rows = TrustedRegressor(fitted, prefit=True).fit(X, Y).calibrate(X, Y, weights)
    np.testing.assert_allclose(
        all_rows.predict_interval(X[:5]), some.predict_interval(X[:5]), rtol=1e-12
    )


def test_shares_sum_to_the_leverage_where_no_column_stands_out():
    bins = KBinsDiscretizer(5, quantile_method="averaged_inverted_cdf")
    model = TrustedRegressor(make_pipeline(bins, Ridge()), cv=3).fit(X, Y)
    new = RNG.normal(size=(100, 3))
    total = np.expm1(model.regret(new)) - 1 / len(X)
    np.testing.assert_allclose(model.explain(new).sum(axis=1), total, rtol=1e-9)


def test_predictions_refuse_other_columns_as_all_answers_do():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abc"))
    model = TrustedRegressor(cv=3, random_state=0).fit(frame, Y)
    with pytest.raises(InputError, match="same columns as in fit"):
        model.predict(frame[["c", "b", "a"]])


def test_expected_errors_follow_the_unit_of_the_target():
    y = X[:, 1] + np.exp(X[:, 0]) * RNG.normal(size=300)
    whole = TrustedRegressor(KNeighborsRegressor(), cv=KFold(3)).fit(X, y).expected_error(X)
    tiny = TrustedRegressor(KNeighborsRegressor(), cv=KFold(3)).fit(X, y * 2.0**-40)
    np.testing.assert_allclose(tiny.expected_error(X) * 2.0**40, whole, rtol=1e-9)


def test_stacks_are_taken():
    stack = StackingRegressor([("ridge", Ridge())], cv=2)
    assert TrustedRegressor(stack, cv=2).fit(X, Y).trusted(X).mean() > 0.9
    classes = StackingClassifier([("logistic", LogisticRegression())], cv=2)
    assert TrustedClassifier(classes, cv=2).fit(X, Y > 0).trusted(X).mean() > 0.9


def test_huge_values_and_empty_columns_are_no_trouble():
    model = TrustedRegressor(make_pipeline(StandardScaler(), SVR()), cv=3).fit(X, Y)
    huge = X[:1].copy()
    huge[0, 0] = 1e39
    assert np.isfinite(model.expected_error(huge)).all()
    empty = np.column_stack([X, np.full(300, np.nan)])
    assert TrustedRegressor(cv=3, random_state=0).fit(empty, Y).trusted(empty).mean() > 0.95


@pytest.mark.parametrize("cv", [2.5, "five", True, LeaveOneOut, object()])
def test_what_is_no_number_of_folds_and_no_splitter_is_refused(cv):
    with pytest.raises(InputError, match="cv is"):
        TrustedRegressor(Ridge(), cv=cv).fit(X, Y)


def test_a_model_of_several_classes_is_no_regressor():
    package = pytest.importorskip("lightgbm")
    labels = np.digitize(Y, [-0.5, 0.5])
    booster = package.LGBMClassifier(n_estimators=2, verbose=-1).fit(X, labels).booster_
    with pytest.raises(InputError, match="predicts 3 numbers for each row"):
        TrustedRegressor(booster, prefit=True).fit(X, Y)


def test_pictures_of_regret_are_drawn_with_the_verdicts_of_the_model():
    pytest.importorskip("matplotlib").use("Agg")
    from pnml.plots import RegretDisplay

    for model in (
        TrustedRegressor(cv=2, random_state=0).fit(X, Y),
        TrustedClassifier(cv=2, random_state=0).fit(X, Y > 0),
    ):
        display = RegretDisplay.from_estimator(model, X * 2)
        assert display.trusted.tolist() == model.trusted(X * 2).tolist()
