"""Models of other libraries come back from a file as they were, without a pickle."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
from sklearn import ensemble, linear_model
from sklearn.neural_network import MLPRegressor

import child
from pnml import InputError, load, save
from pnml.learners.leaf_maps import leaf_map_of
from pnml.models.registry import CODEC_OF
from pnml.models.wrapped import stored_form
from pnml.models.wrapped.classes import class_named, name_of
from sentences import assert_refused
from wrapped_examples import (
    FRAME,
    LIBRARIES,
    LINEAR,
    MODELS,
    THREE,
    TREES,
    N,
    Y,
    carrier,
    example,
)


def back(model, folder):
    save(carrier(model), folder / "model.pnml")
    return load(folder / "model.pnml").kernel_params["m"]


def assert_same_bits(before, after):
    before, after = np.asarray(before), np.asarray(after)
    assert (before.dtype, before.shape) == (after.dtype, after.shape)
    if before.dtype == object:
        assert before.tolist() == after.tolist()
    else:
        assert before.tobytes() == after.tobytes()


@pytest.mark.parametrize("name", MODELS)
def test_a_model_comes_back_to_the_last_bit_of_its_predictions(name, tmp_path):
    model, X = example(name)
    again = back(model, tmp_path)
    assert type(again) is type(model)
    for method in ("predict", "predict_proba", "decision_function"):
        if hasattr(model, method):
            assert_same_bits(getattr(model, method)(X), getattr(again, method)(X))
    for attribute in ("classes_", "n_features_in_", "feature_names_in_", "feature_name_"):
        if hasattr(model, attribute):
            assert_same_bits(getattr(model, attribute), getattr(again, attribute))
    if hasattr(model, "get_params"):
        assert str(again.get_params()) == str(model.get_params())


@pytest.mark.parametrize("name", [*LIBRARIES, *TREES])
def test_the_leaves_of_a_model_that_came_back_are_the_same(name, tmp_path):
    model, X = example(name)
    if name in ("lightgbm linear", "several targets", "bagging of classes"):
        pytest.skip("its leaves cannot be read")
    before, after = leaf_map_of(model, X), leaf_map_of(back(model, tmp_path), X)
    if before is None:
        assert after is None
    else:
        assert_same_bits(before.leaf(X), after.leaf(X))


@pytest.mark.parametrize("name", ["lightgbm stopped", "xgboost stopped"])
def test_the_best_round_is_kept_and_so_are_the_rounds_after_it(name, tmp_path):
    model, X = example(name)
    again = back(model, tmp_path)
    rounds = "best_iteration_" if name.startswith("light") else "best_iteration"
    assert getattr(again, rounds) == getattr(model, rounds)
    if name.startswith("light"):
        assert_same_bits(model.predict(X, num_iteration=-1), again.predict(X, num_iteration=-1))


def test_spreads_of_a_bayesian_line_are_kept(tmp_path):
    model, X = example("BayesianRidge")
    again = back(model, tmp_path)
    assert_same_bits(model.predict(X, return_std=True)[1], again.predict(X, return_std=True)[1])


@pytest.mark.parametrize("name", ["lightgbm", "histograms", "xgboost"])
def test_words_unseen_in_training_and_other_columns_are_treated_the_same(name, tmp_path):
    model, X = example(name)
    again = back(model, tmp_path)
    new = X.head().assign(word=pd.Categorical(["red", "pink", None, "blue", "green"]))
    if name != "xgboost":  # which refuses words unseen in training
        assert_same_bits(model.predict(new), again.predict(new))
    with pytest.raises(ValueError):
        again.predict(X[["age", "dose"]])


@pytest.mark.parametrize("name", [*LIBRARIES, *TREES, "Ridge", "LogisticRegression of 3"])
def test_an_unfitted_model_keeps_its_parameters(name, tmp_path):
    model, _ = example(name)
    if hasattr(model, "get_params"):
        fresh = type(model)(**model.get_params(deep=False))
        again = back(fresh, tmp_path)
        assert type(again) is type(fresh)
        assert str(again.get_params()) == str(fresh.get_params())


def test_a_model_that_came_back_can_be_fitted_again(tmp_path):
    for name in ("forest", "boosting", "histograms with gaps"):
        model, X = example(name)
        assert_same_bits(back(model, tmp_path).fit(X, Y).predict(X), model.predict(X))


def test_a_model_used_twice_is_stored_once(tmp_path):
    model, _ = example("forest")
    first, second = back([model, model], tmp_path)
    assert first is second


def test_a_subclass_is_another_class():
    class Mine(linear_model.Ridge):
        pass

    assert name_of(Mine) is None
    assert stored_form(Mine().fit(N, Y)) is None


@pytest.mark.parametrize("name", ["os.system", "sklearn.linear_model.os", "builtins.eval", 3, None])
def test_a_class_that_is_not_listed_is_never_looked_up(name):
    with pytest.raises(InputError, match="not known here"):
        class_named(name)


def test_every_stored_form_has_a_codec():
    for name in MODELS:
        form = stored_form(example(name)[0])
        assert form is None or type(form) in CODEC_OF


REFUSED = {
    "a function as objective": (
        lambda: pytest.importorskip("lightgbm").LGBMRegressor(
            n_estimators=2, verbose=-1, objective=lambda y, p: (p - y, np.ones_like(y))
        ),
        "objective",
    ),
    "a generator": (
        lambda: ensemble.RandomForestRegressor(2, random_state=np.random.RandomState(0)),
        "random_state",
    ),
    "another start": (
        lambda: ensemble.GradientBoostingRegressor(n_estimators=2, init=linear_model.Ridge()),
        "init",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_file_cannot_hold_of_a_model_is_named(name, tmp_path):
    make, word = REFUSED[name]
    model = make().fit(N, Y)
    assert_refused(lambda: save(carrier(model), tmp_path / "model.pnml"), word)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("library", ["lightgbm", "xgboost", "catboost"])
@pytest.mark.parametrize("fitted", [True, False])
def test_a_missing_library_is_named_with_what_installs_it(library, fitted, tmp_path, monkeypatch):
    model, _ = example(library)
    path = tmp_path / "model.pnml"
    save(carrier(model if fitted else type(model)()), path)
    monkeypatch.setitem(sys.modules, library, None)
    said = assert_refused(lambda: load(path), rf'pip install "pnml\[{library}\]"')
    assert str(path) in said
    assert "upgrade" not in said


def test_files_load_no_library_that_they_do_not_hold(tmp_path):
    path = tmp_path / "model.pnml"
    save(carrier(ensemble.RandomForestClassifier(2).fit(N, THREE)), path)
    code = (
        f"import sys, pnml; pnml.load({str(path)!r}); "
        "print({'lightgbm', 'xgboost', 'catboost'} & set(sys.modules))"
    )
    assert child.python(code, check=True).stdout.strip() == "set()"


def test_the_version_that_wrote_a_model_is_in_the_file(tmp_path, layout):
    model, _ = example("lightgbm")
    save(carrier(model), tmp_path / "model.pnml")
    objects = layout.take_apart(tmp_path / "model.pnml").document["objects"]
    versions = {item["params"]["version"] for item in objects if "version" in item["params"]}
    assert versions == {pytest.importorskip("lightgbm").__version__}


def test_names_of_all_kinds_of_models_lead_back_to_their_classes():
    for name in [*LINEAR, *TREES]:
        cls = type(example(name)[0])
        assert class_named(name_of(cls)) is cls
    assert name_of(MLPRegressor) is None


def test_columns_of_a_frame_are_still_found_by_name(tmp_path):
    model, X = example("histograms")
    again = back(model, tmp_path)
    assert_same_bits(again.predict(FRAME[FRAME.columns[::-1]]), model.predict(X))
