"""Bad input gets one sentence: what came, what it clashes with, what to do."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pnml import (
    ConformalRegressor,
    InputError,
    KernelPNMLRegressor,
    LpNMLRegressor,
    NormBallRegressor,
    PNMLRegressor,
    UniversalRegressor,
)

ALL = [
    PNMLRegressor,
    LpNMLRegressor,
    NormBallRegressor,
    KernelPNMLRegressor,
    UniversalRegressor,
    ConformalRegressor,
]
METHODS = ["predict", "predict_interval", "regret", "trusted", "explain"]


@pytest.fixture
def Xy(rng):
    X = rng.normal(size=(20, 3))
    return X, X[:, 0] + 0.1 * rng.normal(size=20)


@pytest.fixture(params=ALL, ids=lambda c: c.__name__)
def estimator(request):
    return request.param()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("method", METHODS)
def test_a_value_that_is_no_number_is_named_with_its_place(estimator, Xy, value, method):
    X, y = Xy
    frame = pd.DataFrame(X, columns=["age", "bmi", "dose"])
    kind = "NaN" if np.isnan(value) else "infinity"
    bad = frame.copy()
    bad.iloc[4, 1] = value
    with pytest.raises(InputError, match=rf"Input X contains {kind}.*\(row 4, column 'bmi'\)"):
        estimator.fit(bad, y)
    estimator.fit(frame, y)
    with pytest.raises(InputError, match=rf"Input X contains {kind}.*\(row 4, column 'bmi'\)"):
        getattr(estimator, method)(bad)


def test_a_target_that_is_no_number_is_named_with_its_row(estimator, Xy):
    X, y = Xy
    for value, kind in ((np.nan, "NaN"), (np.inf, "infinity")):
        bad = y.copy()
        bad[7] = value
        with pytest.raises(InputError, match=rf"Input y contains {kind}.*\(row 7\)"):
            estimator.fit(X, bad)


def test_text_is_refused_with_a_hint_to_encode_it(estimator, Xy):
    X, y = Xy
    words = X.astype(object)
    words[3, 2] = "high"
    with pytest.raises(InputError, match=r"X holds text \('high'\).*OneHotEncoder"):
        estimator.fit(words, y)
    with pytest.raises(InputError, match=r"y holds text \('cat'\)"):
        estimator.fit(X, ["cat"] * 20)


def test_one_dimensional_rows_are_refused_with_the_cure(estimator, Xy):
    X, y = Xy
    with pytest.raises(InputError, match=r"X has shape \(20,\).*reshape\(-1, 1\)"):
        estimator.fit(X[:, 0], y)
    estimator.fit(X, y)
    with pytest.raises(InputError, match=r"X has shape \(3,\)"):
        estimator.regret(X[0])


def test_empty_tables_are_refused(estimator):
    with pytest.raises(InputError, match=r"0 sample\(s\).*pass at least one row"):
        estimator.fit(np.zeros((0, 3)), np.zeros(0))
    with pytest.raises(InputError, match=r"0 feature\(s\).*Pass at least one column"):
        estimator.fit(np.zeros((5, 0)), np.arange(5.0))


def test_lengths_that_differ_are_named(estimator, Xy):
    X, y = Xy
    with pytest.raises(InputError, match="X has 20 rows but y has 19 values"):
        estimator.fit(X, y[:19])


def test_several_targets_are_learnt_or_refused_with_the_class_to_use(estimator, Xy):
    X, y = Xy
    if isinstance(estimator, PNMLRegressor | LpNMLRegressor):
        assert estimator.fit(X, np.column_stack([y, y])).predict(X).shape == (20, 2)
        return
    with pytest.raises(InputError, match=r"shape \(20, 2\).*MultiOutputRegressor"):
        estimator.fit(X, np.column_stack([y, y]))


def test_a_missing_target_is_refused(estimator, Xy):
    with pytest.raises(ValueError, match=r"requires y to be passed"):
        estimator.fit(Xy[0], None)


@pytest.mark.parametrize("method", METHODS)
def test_other_columns_than_in_fit_are_refused(estimator, Xy, method):
    X, y = Xy
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    estimator.fit(frame, y)
    with pytest.raises(ValueError, match=r"feature names should match[\s\S]*Pass the same columns"):
        getattr(estimator, method)(frame.rename(columns={"c": "d"}))
    with pytest.raises(ValueError, match=r"feature names should match"):
        getattr(estimator, method)(frame[["b", "a", "c"]])
    estimator.fit(X, y)
    with pytest.raises(InputError, match=r"2 features.*expecting 3.*same columns as in fit"):
        getattr(estimator, method)(X[:, :2])


@pytest.mark.parametrize("coverage", [0, 1, -0.1, 1.5, "90%", None])
def test_a_coverage_that_is_no_probability_is_refused(estimator, Xy, coverage):
    model = estimator.fit(*Xy)
    with pytest.raises(InputError, match=r"coverage is .*strictly between 0 and 1"):
        model.predict_interval(Xy[0], coverage=coverage)


@pytest.mark.parametrize("level", [0, 1.2, -1, "a", None])
def test_a_level_that_is_no_quantile_is_refused(estimator, Xy, level):
    model = estimator.fit(*Xy)
    with pytest.raises(InputError, match=r"level is .*quantile of the training regrets"):
        model.trusted(Xy[0], level=level)


@pytest.mark.parametrize("name", ["PNMLRegressor", "LpNMLRegressor", "KernelPNMLRegressor"])
@pytest.mark.parametrize("alpha", [-1, "auto", None, np.nan, np.inf, True])
def test_an_impossible_penalty_is_refused(name, alpha, Xy):
    estimator = {c.__name__: c for c in ALL}[name](alpha=alpha)
    with pytest.raises(InputError, match=r"alpha is .*finite number"):
        estimator.fit(*Xy)


@pytest.mark.parametrize(
    "estimator_class", [PNMLRegressor, LpNMLRegressor, NormBallRegressor, KernelPNMLRegressor]
)
@pytest.mark.parametrize("noise", [-1.0, 0.0, "cv", np.nan])
def test_an_impossible_noise_is_refused(estimator_class, noise, Xy):
    with pytest.raises(InputError, match=r"noise_variance is .*greater than 0"):
        estimator_class(noise_variance=noise).fit(*Xy)


def test_an_unknown_penalty_kind_is_refused(Xy):
    with pytest.raises(InputError, match=r"penalty is 'l3'.*penalty=\"l2\" or penalty=\"l1\""):
        LpNMLRegressor(penalty="l3").fit(*Xy)


@pytest.mark.parametrize(
    "estimator_class", [PNMLRegressor, LpNMLRegressor, NormBallRegressor, KernelPNMLRegressor]
)
def test_an_intercept_is_wanted_or_not(estimator_class, Xy):
    with pytest.raises(InputError, match=r"fit_intercept is 'no'.*True or False"):
        estimator_class(fit_intercept="no").fit(*Xy)


def test_dates_and_complex_numbers_are_refused(estimator, Xy):
    X, y = Xy
    dates = pd.DataFrame({"day": pd.date_range("2020-01-01", periods=20), "x": X[:, 0]})
    with pytest.raises(InputError, match=r"turn dates and other objects into numbers"):
        estimator.fit(dates, y)
    with pytest.raises(InputError, match=r"Complex data.*pass real numbers"):
        estimator.fit(X + 1j, y)


def test_a_kernel_that_is_not_known_is_refused_with_those_that_are(Xy):
    for kernel in ("foo", "precomputed"):
        with pytest.raises(InputError, match=rf"kernel is '{kernel}'.*rbf"):
            KernelPNMLRegressor(kernel=kernel).fit(*Xy)
    with pytest.raises(InputError, match=r"gamma is 'auto'.*gamma=\"scale\""):
        KernelPNMLRegressor(gamma="auto").fit(*Xy)


def test_classes_without_names_and_things_that_are_no_estimators_are_refused(Xy):
    with pytest.raises(InputError, match=r"each class needs a name"):
        UniversalRegressor([PNMLRegressor()]).fit(*Xy)
    with pytest.raises(InputError, match=r"estimator is a str, which has no regret"):
        ConformalRegressor("abc").fit(*Xy)
    for size in ("a", 0, 1.0, 0.99):
        with pytest.raises(InputError, match=r"calibration_size is"):
            ConformalRegressor(calibration_size=size).fit(*Xy)


@pytest.mark.parametrize("radius", [-1.0, "max", 0.0, np.inf])
def test_an_impossible_radius_is_refused(radius, Xy):
    with pytest.raises(InputError, match=r"radius is .*\"min-norm\""):
        NormBallRegressor(radius=radius).fit(*Xy)


@pytest.mark.parametrize(
    ("model", "wanted"),
    [
        (PNMLRegressor(), "noise_variance"),
        (PNMLRegressor(alpha="loo", noise_variance=1.0), "alpha"),
        (LpNMLRegressor(), "noise_variance"),
        (LpNMLRegressor(penalty="l1"), "noise_variance"),
        (NormBallRegressor(), "noise_variance"),
        (KernelPNMLRegressor(), "noise_variance"),
    ],
)
def test_one_row_or_a_constant_target_cannot_give_an_estimate(model, wanted, Xy):
    X, y = Xy
    with pytest.raises(InputError, match=rf"only one sample \(n_samples=1\).*{wanted} cannot be"):
        model.fit(X[:1], y[:1])
    with pytest.raises(InputError, match=rf"y is constant \(2 in all 20 rows\).*{wanted}"):
        model.fit(X, np.full(20, 2.0))


def test_streams_refuse_what_a_fit_would_when_first_asked(Xy):
    X, y = Xy
    model = PNMLRegressor().partial_fit(X[:1], y[:1])
    with pytest.raises(InputError, match="only one sample"):
        model.regret(X)
    assert np.isfinite(model.partial_fit(X[1:], y[1:]).regret(X)).all()


def test_one_row_is_enough_where_nothing_is_estimated(Xy):
    X, y = Xy
    model = PNMLRegressor(noise_variance=1.0).fit(X[:1], y[:1])
    np.testing.assert_array_equal(model.predict(X[:1]), y[:1])
    assert np.isfinite(model.regret(X[:1])).all()
    assert np.isinf(model.regret(X[1:])).all()
    assert not model.trusted(X).any()
    ridge = PNMLRegressor(alpha=1.0, noise_variance=1.0).fit(X[:1], y[:1])
    assert np.isfinite(ridge.regret(X)).all()


def test_weights_that_count_nothing_are_refused(Xy):
    X, y = Xy
    for estimator in (PNMLRegressor(), LpNMLRegressor()):
        with pytest.raises(InputError, match=r"negative value \(-1\)"):
            estimator.fit(X, y, sample_weight=np.append(np.ones(19), -1))
        with pytest.raises(InputError, match="zero for every row"):
            estimator.fit(X, y, sample_weight=np.zeros(20))
    with pytest.raises(InputError, match=r"sample_weight was passed.*penalty=\"l2\""):
        LpNMLRegressor(penalty="l1").fit(X, y, sample_weight=np.ones(20))


def test_a_stream_with_the_lasso_is_refused(Xy):
    with pytest.raises(AttributeError, match="partial_fit") as caught:
        LpNMLRegressor(penalty="l1").partial_fit(*Xy)
    assert 'penalty="l1"' in str(caught.value.__cause__)


def test_every_sentence_is_one_line_and_says_what_to_do(Xy):
    """All our own messages: a full stop at the end, no line break, and a verb of advice."""
    X, y = Xy
    bad = [
        (PNMLRegressor(), (X[:, 0], y)),
        (PNMLRegressor(), (X, y[:3])),
        (PNMLRegressor(alpha=-1), (X, y)),
        (LpNMLRegressor(penalty="l3"), (X, y)),
        (PNMLRegressor(), (np.where(X[0, 0] == X, np.nan, X), y)),
        (PNMLRegressor(), (X, np.ones(20))),
    ]
    for estimator, arguments in bad:
        with pytest.raises(InputError) as caught:
            estimator.fit(*arguments)
        text = str(caught.value)
        assert text.endswith(".")
        assert "\n" not in text
        assert any(verb in text for verb in ("pass", "Reshape", "fill", "add", "check"))


@pytest.mark.filterwarnings("ignore:The intervals are infinite")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_answers_come_in_the_dtype_of_the_rows(estimator, Xy, dtype):
    X, y = Xy
    model = estimator.fit(X.astype(dtype), y)
    rows = X[:5].astype(dtype)
    for method in ("predict", "predict_interval", "regret", "explain"):
        assert getattr(model, method)(rows).dtype == dtype
    assert model.trusted(rows).dtype == bool
    reference = model.regret(rows.astype(np.float64))
    np.testing.assert_allclose(model.regret(rows), reference, rtol=1e-5)


def test_integers_and_lists_are_numbers_too(estimator, rng):
    X = rng.integers(0, 9, size=(20, 2))
    y = X @ [1, 2] + rng.normal(size=20)
    model = estimator.fit(X.tolist(), y.tolist())
    assert model.regret(X[:3]).dtype == np.float64
