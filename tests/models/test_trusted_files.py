"""Trusted models come back from a file with every answer to the last bit, and the model inside."""

from __future__ import annotations

import warnings
from datetime import date, timedelta

import numpy as np
import pandas as pd
import pytest
from sklearn import linear_model, svm
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from pnml import ConformalRegressor, InputError, TrustedRegressor, load, save
from pnml.models.encode import encode
from pnml.models.refusals import LeftOutModelWarning
from pnml.models.row_cells import loaded_cells, stored_cells
from sentences import assert_refused
from trusted_examples import CLASSIFIERS, FRAME, OTHERS, REGRESSORS, WHOLE, N, Y, inside, trusted

ANSWERS = ("predict", "predict_proba", "regret", "trusted", "explain", "expected_error")
pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")


def assert_same_bits(before, after):
    before, after = np.asarray(before), np.asarray(after)
    assert (before.dtype, before.shape) == (after.dtype, after.shape)
    same = before.tolist() == after.tolist() if before.dtype == object else None
    assert before.tobytes() == after.tobytes() if same is None else same


def assert_same_answers(model, again, X):
    assert type(again) is type(model)
    for ask in ANSWERS:
        if hasattr(model, ask):
            assert_same_bits(getattr(model, ask)(X), getattr(again, ask)(X))
    if hasattr(model, "predict_interval"):
        assert_same_bits(model.predict_interval(X, 0.8), again.predict_interval(X, 0.8))
    pd.testing.assert_frame_equal(model.score_frame(X), again.score_frame(X), check_exact=True)
    assert str(again) == str(model)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.pnml"


@pytest.mark.parametrize("name", WHOLE)
def test_every_answer_comes_back_to_the_last_bit(name, path):
    model, X = trusted(name)
    save(model, path)
    again = load(path)
    assert_same_answers(model, again, X)
    first = path.read_bytes()
    save(again, path)
    if "catboost" not in name:  # which writes the same model in other bytes
        assert path.read_bytes() == first


@pytest.mark.parametrize("name", OTHERS)
def test_a_model_that_no_file_holds_is_asked_for_and_then_answers_the_same(name, path):
    model, X = trusted(name)
    with pytest.warns(LeftOutModelWarning, match="keep that model") as told:
        save(model, path)
    assert len(told) == 1
    assert_refused(lambda: load(path), r"pnml.load\(path, model=fitted\)")
    again = load(path, model=inside(model))
    assert again.estimator_ is inside(model)
    if name not in ("function", "own objective"):  # whose text has their place in memory
        assert_same_answers(model, again, X)
    assert_same_bits(again.regret(X), model.regret(X))
    first = path.read_bytes()
    with pytest.warns(LeftOutModelWarning):
        save(again, path)
    assert path.read_bytes() == first


@pytest.mark.filterwarnings("ignore::pnml.models.refusals.LeftOutModelWarning")
def test_another_fit_of_a_model_that_no_file_holds_is_refused(path):
    model, _ = trusted("vectors")
    save(model, path)
    assert_refused(lambda: load(path, model=svm.SVR().fit(N, Y**2)), "predicts other values")


@pytest.mark.filterwarnings("ignore::pnml.models.refusals.LeftOutModelWarning")
def test_a_function_is_passed_as_it_was_to_the_estimator(path):
    model, X = trusted("function")
    save(model, path)
    assert_same_bits(load(path, model=model.estimator).predict(X), model.predict(X))
    assert_refused(lambda: load(path, model=lambda X: X[:, 1]), "predicts other values")


def test_training_rows_are_kept_in_a_file_only_where_the_model_is_not():
    whole, _ = encode(trusted("lightgbm")[0])
    with pytest.warns(LeftOutModelWarning):
        mark, _ = encode(trusted("vectors")[0])
    assert "ProbeRows" not in {item["class"] for item in whole["objects"]}
    assert [item["class"] for item in mark["objects"]].count("ProbeRows") == 1


@pytest.mark.parametrize("name", ["default on words", "lightgbm on words", "vectors", "line"])
def test_what_came_back_is_fitted_again_as_before(name, path):
    model, X = trusted(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeftOutModelWarning)
        save(model, path)
    again = load(path, model=inside(model) if name == "vectors" else None)
    rows = FRAME if name.endswith("words") else N
    fresh = clone(model).fit(rows, Y)
    assert_same_bits(clone(again).fit(rows, Y).regret(X), fresh.regret(X))


def test_a_model_by_fingerprint_behind_codes_of_words_keeps_its_own_parameters(path):
    lightgbm = pytest.importorskip("lightgbm")

    class Mine(lightgbm.LGBMRegressor):
        pass

    model = TrustedRegressor(Mine(n_estimators=3, verbose=-1), cv=2).fit(FRAME, Y)
    with pytest.warns(LeftOutModelWarning, match="fingerprint of the Pipeline"):
        save(model, path)
    again = load(path, model=model.estimator_)
    assert type(again.estimator) is Mine
    assert again.estimator.get_params() == model.estimator.get_params()
    assert_same_bits(again.regret(FRAME), model.regret(FRAME))


def test_a_prefit_model_is_the_one_inside(path):
    save(trusted("prefit")[0], path)
    again = load(path)
    assert again.estimator is again.estimator_


def test_one_without_errors_comes_back_without_them(path):
    model = TrustedRegressor(inside(trusted("prefit")[0]), prefit=True).fit(N, Y)
    save(model, path)
    again = load(path)
    assert again.learner_.errors is None
    assert_refused(lambda: again.expected_error(N), "calibrate")
    assert_same_bits(
        again.calibrate(N, Y).expected_error(N), model.calibrate(N, Y).expected_error(N)
    )


def test_weights_and_thinned_trees_come_back(path, monkeypatch):
    monkeypatch.setattr("pnml.learners.model_leaves._MOST_LEAVES", 12)
    light = inside(trusted("lightgbm")[0])
    model = TrustedRegressor(light, cv=2).fit(N, Y, sample_weight=np.arange(160) % 3)
    kept = model.learner_.base.trust_map.leaves.kept
    assert 0 < len(kept) < 5
    save(model, path)
    assert_same_answers(model, load(path), N)


def test_a_frame_of_polars_is_answered_the_same(path):
    polars = pytest.importorskip("polars")
    table = polars.DataFrame({"x": N[:, 0], "word": np.resize(["red", "blue"], len(N))})
    table = table.with_columns(day=polars.Series([date(2020, 1, 1 + i % 9) for i in range(len(N))]))
    words = make_column_transformer((OneHotEncoder(), ["word"]), (StandardScaler(), ["x"]))
    line = TrustedRegressor(make_pipeline(words, linear_model.Ridge()), cv=2)
    for model in (line, TrustedRegressor(random_state=0, cv=2)):
        save(model.fit(table, Y), path)
        again = load(path)
        assert_same_bits(again.explain(table), model.explain(table))
        assert again.score_frame(table).equals(model.score_frame(table))


def test_a_row_of_times_comes_back():
    cells = (
        1.5,
        "a",
        None,
        True,
        np.int64(3),
        date(2020, 1, 2),
        timedelta(days=-3, microseconds=7),
    )
    cells += (pd.Timestamp("2020-01-02 03:04:05.123456789"), pd.Timedelta("-1 days 3 ns"))
    assert loaded_cells(stored_cells(cells)) == cells
    gaps = loaded_cells(stored_cells((pd.NaT, pd.NA)))
    assert gaps[0] is pd.NaT
    assert gaps[1] is pd.NA
    assert_refused(lambda: stored_cells((1j,)), "a cell of complex")


def test_a_splitter_is_kept_or_named(path):
    model, _ = trusted("forest")
    save(model, path)
    assert str(load(path).cv) == str(KFold(2))
    other = clone(model).set_params(cv=2).fit(N, Y).set_params(cv=ShuffleSplit())
    assert_refused(lambda: save(other, path), "cv holds a ShuffleSplit.*pass a number of folds")


def test_a_trusted_model_is_kept_inside_another_estimator(path):
    model = ConformalRegressor(TrustedRegressor(linear_model.Ridge(), cv=2), random_state=0)
    save(model.fit(N, Y), path)
    assert_same_bits(load(path).predict_interval(N), model.predict_interval(N))


@pytest.mark.filterwarnings("ignore::pnml.models.refusals.LeftOutModelWarning")
def test_a_step_that_a_file_cannot_hold_makes_the_model_one_to_be_passed(path):
    steps = make_pipeline(FunctionTransformer(first_two), StandardScaler(), linear_model.Ridge())
    model = TrustedRegressor(steps, cv=2).fit(N, Y)
    save(model, path)
    assert_same_answers(model, load(path, model=model.estimator_), N)


def first_two(X):
    return X[:, :2]


def test_a_model_changed_after_the_fit_is_refused_before_compiled_code_sees_its_leaves():
    lightgbm = pytest.importorskip("lightgbm")
    light = lightgbm.LGBMRegressor(n_estimators=5, num_leaves=6, verbose=-1).fit(N, Y)
    model = TrustedRegressor(light, prefit=True).fit(N, Y)
    light.set_params(n_estimators=9, num_leaves=20, min_child_samples=2).fit(N, Y)
    assert_refused(lambda: model.regret(N), "trees of the model are not those")


def test_no_graph_is_made_of_a_trusted_model_and_the_refusal_says_what_to_do(tmp_path):
    pytest.importorskip("onnx")
    from pnml import export_onnx

    for name in ("lightgbm", "scaled line", "logistic", "last step"):
        model, _ = trusted(name)
        said = assert_refused(
            lambda model=model: export_onnx(model, tmp_path / "model.onnx"), "cannot be exported"
        )
        assert "pnml.save" in said
    assert list(tmp_path.iterdir()) == []


def test_the_examples_cover_both_kinds_of_trust_maps():
    kinds = {
        type(trusted(name)[0].learner_.base.trust_map).__name__
        for name in [*REGRESSORS, *CLASSIFIERS]
        if name != "last step"
    }
    assert kinds == {"LeafCells", "ModelFeatures"}


def test_an_unfitted_one_is_not_saved(path):
    with pytest.raises(InputError, match="call fit first"):
        save(TrustedRegressor(), path)
