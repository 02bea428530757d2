"""A model that a file cannot hold is asked for again, and another one is refused."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn import linear_model, svm
from sklearn.compose import make_column_transformer
from sklearn.ensemble import BaggingRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from pnml import load
from pnml.models.container import pack
from pnml.models.encode import encode
from pnml.models.refusals import LeftOutModelWarning
from pnml.models.wrapped import Fingerprint, WrappedModel
from pnml.models.wrapped.probe_rows import probe_of, rows_again
from pnml.runtime.atomic import write_whole
from sentences import assert_refused
from wrapped_examples import FRAME, THREE, N, Y, carrier, example


def quickly(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it has not converged
        return model.fit(X, y)


def network(seed=0):
    return quickly(MLPRegressor(hidden_layer_sizes=5, max_iter=20, random_state=seed), N, Y)


def write(model, rows, path):
    """A file with a model inside, or its fingerprint."""
    write_whole(path, pack(*encode(carrier(WrappedModel(model, rows)))))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.pnml"


def encoded(table):
    words = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["word"]))
    return make_pipeline(words, svm.SVR()).fit(table, Y)


def with_times(frame):
    more = {
        "day": pd.date_range("2020-01-01", periods=len(frame)),
        "count": pd.array([*range(len(frame) - 1), None], dtype="Int64"),
        "flag": np.arange(len(frame)) % 2 == 0,
        "small": np.arange(len(frame), dtype=np.int8),
        "note": ["a", None] * (len(frame) // 2),
    }
    return frame.assign(**more)


MODELS = {
    "network": lambda: (network(), N),
    "classes": lambda: (
        quickly(MLPClassifier(hidden_layer_sizes=5, max_iter=5, random_state=0), N, THREE),
        N,
    ),
    "classes without probabilities": lambda: (svm.SVC().fit(N, THREE), N),
    "a pipeline on a frame": lambda: (encoded(FRAME), FRAME),
    "a frame of many kinds": lambda: (encoded(with_times(FRAME)), with_times(FRAME)),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_model_that_was_saved_is_taken(name, path):
    model, rows = MODELS[name]()
    with pytest.warns(LeftOutModelWarning, match="keep that model"):
        write(model, rows, path)
    assert load(path, model=model).kernel_params["m"] is model


def test_a_frame_of_polars_is_kept_too(path):
    polars = pytest.importorskip("polars")
    rows = polars.DataFrame({"x": N[:, 0], "word": np.resize(["red", "blue"], len(N))})
    model = encoded(rows)
    with pytest.warns(LeftOutModelWarning):
        write(model, rows, path)
    assert load(path, model=model).kernel_params["m"] is model


OTHERS = {
    "none": (lambda: None, r"pass that fitted model too, as in pnml.load\(path, model=fitted\)"),
    "another class": (lambda: linear_model.Ridge().fit(N, Y), "it is a Ridge"),
    "another fit": (lambda: network(seed=1), "predicts other values"),
    "other features": (
        lambda: quickly(MLPRegressor(hidden_layer_sizes=5, max_iter=2), N[:, :3], Y),
        "takes 3 features and not 4",
    ),
    "nothing fitted": (lambda: MLPRegressor(), "takes None features and not 4"),
    "no model": (lambda: "network", "it is a str"),
}


@pytest.mark.filterwarnings("ignore::pnml.models.refusals.LeftOutModelWarning")
@pytest.mark.parametrize("name", OTHERS)
def test_any_other_model_is_refused_in_one_sentence(name, path):
    write(network(), N, path)
    make, words = OTHERS[name]
    other = make()
    said = assert_refused(lambda: load(path, model=other), words)
    assert str(path) in said
    assert "MLPRegressor" in said
    assert "upgrade" not in said


@pytest.mark.filterwarnings("ignore::pnml.models.refusals.LeftOutModelWarning")
def test_classes_in_another_order_are_another_model(path):
    write(svm.SVC().fit(N, THREE), N, path)
    other = svm.SVC().fit(N, np.where(THREE == "low", "lower", THREE))
    assert_refused(lambda: load(path, model=other), "other classes")


@pytest.mark.filterwarnings("ignore::pnml.models.refusals.LeftOutModelWarning")
def test_round_off_is_no_other_model(path):
    model = network()
    write(model, N, path)
    model.coefs_[0] *= 1 + 1e-9  # as much as another processor, and far below the millionth
    load(path, model=model)
    model.coefs_[0] *= 1 + 1e-3
    assert_refused(lambda: load(path, model=model), "predicts other values")


def test_a_model_that_a_file_can_hold_is_stored_and_not_asked_for(path):
    model, X = example("forest")
    write(model, X, path)
    assert load(path).kernel_params["m"].predict(X).tobytes() == model.predict(X).tobytes()
    assert_refused(lambda: load(path, model=model), "needs none; leave out model")


@pytest.mark.filterwarnings("ignore::pnml.models.refusals.LeftOutModelWarning")
def test_a_layer_is_never_taken_with_a_fitted_model(path):
    model = network()
    write(model, N, path)
    assert_refused(lambda: load(path, model=model, layer="last"), "needs no layer")


def test_what_was_written_before_a_refusal_is_taken_back():
    bagging = BaggingRegressor(svm.SVR(), n_estimators=2).fit(N, Y)  # refused for its members
    with pytest.warns(LeftOutModelWarning, match="BaggingRegressor, since params holds a SVR"):
        document, tensors = encode(carrier(WrappedModel(bagging, N)))
    classes = [item["class"] for item in document["objects"]]
    plain, _ = encode(carrier(None))
    assert sorted(classes) == sorted(
        ["ProbeRows", "Fingerprint", *(item["class"] for item in plain["objects"])]
    )
    assert set(tensors) == {
        item["array"] for item in parts(document) if isinstance(item, dict) and "array" in item
    }


def parts(value):
    yield value
    for item in value.values() if isinstance(value, dict) else value:
        if isinstance(item, dict | list):
            yield from parts(item)


def test_a_model_that_cannot_predict_the_rows_given_is_told_by_its_class(path):
    with pytest.warns(LeftOutModelWarning):
        write(network(), np.full((3, 4), np.nan), path)
    load(path, model=network(seed=1))
    assert_refused(lambda: load(path, model=linear_model.Ridge().fit(N, Y)), "it is a Ridge")


def test_rows_that_a_file_cannot_hold_are_left_out():
    strange = np.array([[object()], [object()]])
    assert probe_of(strange) is None
    mark = Fingerprint.of(linear_model.Ridge().fit(N, Y), strange)
    assert mark.answers.shape == (0, 0)


def test_probe_rows_are_the_rows_they_came_from():
    table = with_times(FRAME)
    again = rows_again(probe_of(table))
    pd.testing.assert_frame_equal(again, table.head(len(again)))
