"""What comes into trusted estimators: rounded constants, few rows, time zones, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVR

import pnml
from pnml import InputError, PNMLRegressor, TrustedClassifier, TrustedRegressor
from pnml.columns.encoder import ColumnEncoder

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
Y = X[:, 0] + 0.1 * RNG.normal(size=120)
FOREST = RandomForestRegressor(5, min_samples_leaf=20, random_state=0)


@pytest.mark.parametrize("model", [Ridge(), FOREST, SVR()], ids=["linear", "trees", "other"])
@pytest.mark.parametrize("training", [np.float32, np.float64])
def test_a_constant_that_float32_has_rounded_is_the_same_constant(model, training):
    table = np.column_stack([X, np.full(120, 0.1), np.full(120, 1e-300)])
    new = table.astype(np.float64 if training is np.float32 else np.float32)
    trusted = TrustedRegressor(model, cv=2, random_state=0).fit(table.astype(training), Y)
    assert trusted.trusted(new).mean() > 0.9
    changed = new.copy()
    changed[:, 3] *= 1 + 1e-6  # some ten roundings of float32
    assert not trusted.trusted(changed).any()


def test_whole_numbers_and_dates_are_not_rounded():
    encoder = ColumnEncoder.of(np.full((3, 1), 20240101.0))
    new = encoder.encode([[20240101.0], [20240102.0], [20240100.0], [np.nan]])
    # 20240100 is what float32 makes of the constant
    assert new.never_seen.ravel().tolist() == [False, True, False, True]
    days = np.array([["2024-01-01"], ["2024-01-01"]], dtype="datetime64[us]")
    minute = days[:1] + np.timedelta64(30, "s")  # float32 holds days to some minutes
    assert ColumnEncoder.of(days).encode(minute).never_seen.all()


def test_rows_outside_the_span_of_the_training_rows_are_told_so():
    pytest.importorskip("pandas")
    wide, new = RNG.normal(size=(20, 40)), RNG.normal(size=(3, 40))
    model = TrustedRegressor(LinearRegression(), cv=2).fit(wide, wide[:, 0])
    for rows, reason in [
        (new, "the row leaves the span of the training rows"),
        (wide[:3], "each training row leaves the span of the others"),
    ]:
        frame = model.score_frame(rows)
        assert not frame["trusted"].any()
        assert frame["because"].str.contains(reason).all()
    plain = TrustedRegressor(LinearRegression(), cv=2).fit(X, Y).score_frame(X * 9)
    assert not plain["because"].str.contains("span").any()


def test_a_column_of_gaps_is_explained_where_training_had_a_time_zone():
    pandas = pytest.importorskip("pandas")
    stamps = pandas.date_range("2024-01-01", periods=120, tz="Europe/Berlin")
    frame = pandas.DataFrame({"a": X[:, 0], "when": stamps, "n": np.arange(120) / 2})
    frame.loc[::7, "when"] = pandas.NaT
    steps = ColumnTransformer(
        [
            ("numbers", StandardScaler(), ["a", "n"]),
            ("gap", FunctionTransformer(lambda when: when.isna().astype(float)), ["when"]),
        ]
    )
    model = TrustedRegressor(make_pipeline(steps, Ridge()), cv=3, random_state=0).fit(frame, Y)
    new = frame[:4].assign(when=pandas.NaT, n=[1, 2, 3, 4])  # no time zone; whole numbers
    total = np.expm1(model.regret(new)) - 1 / 120
    np.testing.assert_allclose(model.explain(new).sum(axis=1), total, rtol=1e-9)
    np.testing.assert_allclose(model.explain(new), model.explain(new.astype({"n": float})))


RAGGED = [[1.0, 2.0, 3.0], [1.0]] * 60
COLUMNS = {"a": X[:, 0].tolist(), "b": X[:, 1].tolist(), "c": X[:, 2].tolist()}


@pytest.mark.parametrize(
    "model",
    [
        TrustedRegressor(cv=2, random_state=0),
        TrustedClassifier(LogisticRegression(), cv=2),
        PNMLRegressor(),
        pnml.TransformedTargetRegressor(TrustedRegressor(Ridge(), cv=2)),
        pnml.make_pipeline("passthrough", TrustedRegressor(Ridge(), cv=2)),
    ],
    ids=["regressor", "classifier", "linear", "target", "pipeline"],
)
@pytest.mark.parametrize("rows", ["ragged", "dict", "mixed names"])
def test_what_is_no_table_is_refused_in_a_sentence(model, rows):
    pandas = pytest.importorskip("pandas")
    given, sentence = {
        "ragged": (RAGGED, "rows of 1 and of 3 cells"),
        "dict": (COLUMNS, "X is a dict; pass an array, a data frame"),
        "mixed names": (pandas.DataFrame(X, columns=["a", 1, "c"]), "'a', which is text, and 1"),
    }[rows]
    y = Y > 0 if isinstance(model, TrustedClassifier) else Y
    with pytest.raises(InputError, match=sentence):
        clone(model).fit(given, y)
    fitted = clone(model).fit(X, y)
    for ask in (fitted.predict, fitted.trusted):
        with pytest.raises(InputError, match=sentence) as told:
            ask(given)
        assert "\n" not in str(told.value)


def test_groups_must_be_one_for_each_row():
    for model, y in ((TrustedRegressor, Y), (TrustedClassifier, Y > 0)):
        with pytest.raises(InputError, match="120 rows but groups has 5 values"):
            model(cv=GroupKFold(2), random_state=0).fit(X, y, groups=np.arange(5))
        with pytest.raises(InputError, match=r"cv cannot split these rows .* groups"):
            model(cv=GroupKFold(2), random_state=0).fit(X, y)


def test_an_infinite_number_has_no_leaf_in_xgboost():
    xgboost = pytest.importorskip("xgboost")
    fitted = xgboost.XGBRegressor(n_estimators=3, n_jobs=1).fit(X, Y)
    model = TrustedRegressor(fitted, prefit=True).fit(X, Y)
    with pytest.raises(InputError, match="infinite number") as told:
        model.trusted(np.full((1, 3), np.inf))
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("label", [-1.0, 0.0])
def test_a_label_that_has_no_logarithm_is_named(label):
    y = np.append(np.exp(Y[1:]), label)
    model = pnml.TransformedTargetRegressor(func=np.log, inverse_func=np.exp)
    with pytest.raises(InputError, match=f"for the label {label:g} in row 119"):
        model.fit(X, y)
    model.fit(X, np.exp(Y))


def test_a_prefit_model_and_its_calibration_go_through_a_transformed_target():
    fitted = Ridge().fit(X[:60], Y[:60])
    inside = TrustedRegressor(fitted, prefit=True)
    assert clone(inside).estimator is fitted
    model = pnml.TransformedTargetRegressor(inside, func=np.log, inverse_func=np.exp)
    model.fit(X[:60], np.exp(Y[:60]))
    with pytest.raises(InputError, match="calibrate"):
        model.expected_error(X)
    assert model.calibrate(X[60:], np.exp(Y[60:])) is model
    plain = clone(inside).fit(X[:60], Y[:60]).calibrate(X[60:], Y[60:])
    np.testing.assert_allclose(
        np.log(model.predict_interval(X)), plain.predict_interval(X), rtol=1e-9
    )


def test_calibration_goes_through_the_steps_of_a_pipeline():
    fitted = Ridge().fit(X[:60], Y[:60])
    scale = StandardScaler().fit(X[:60])
    last = TrustedRegressor(fitted, prefit=True)
    back = FunctionTransformer(scale.inverse_transform)
    pipe = pnml.make_pipeline(scale, back, last).fit(X[:60], Y[:60])
    assert pipe.calibrate(X[60:], Y[60:], sample_weight=np.ones(60)) is pipe
    plain = TrustedRegressor(fitted, prefit=True).fit(X[:60], Y[:60]).calibrate(X[60:], Y[60:])
    np.testing.assert_allclose(pipe.expected_error(X), plain.expected_error(X), rtol=1e-9)
    assert not hasattr(pnml.make_pipeline(StandardScaler(), Ridge()), "calibrate")


@pytest.mark.parametrize("kind", ["regressor", "target"])
def test_reasons_of_a_pipeline_have_the_names_that_its_steps_give(kind):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["age", "dose", "size"])
    last = TrustedRegressor(Ridge(), cv=2, random_state=0)
    if kind == "target":
        last = pnml.TransformedTargetRegressor(last)
    pipe = pnml.make_pipeline(StandardScaler(), last).fit(frame, Y)
    because = pipe.score_frame(frame.assign(dose=90.0))["because"]
    assert because.str.startswith("dose ").all()
    assert last_names(pipe) == ["x0", "x1", "x2"]  # new rows for the last step need no names


def last_names(pipe):
    last = pipe[-1]
    return list(getattr(last, "regressor_", last).explain_names_)
