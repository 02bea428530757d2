"""Classifiers come back from a file the same to the last bit, or are not written at all."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pnml import InputError, PNMLClassifier, load, save

MODELS = {
    "default": PNMLClassifier(),
    "without a penalty": PNMLClassifier(alpha=0.0),
    "of unit norm": PNMLClassifier(normalize=True),
    "with options": PNMLClassifier(LogisticRegression(C=3.0, class_weight="balanced")),
    "liblinear": PNMLClassifier(LogisticRegression(solver="liblinear"), alpha=0.5),
}
LABELS = {
    "integers": np.array([1, 5, 9]),
    "short integers": np.array([1, 5, 9], dtype=np.int32),
    "floats": np.array([0.0, 1.0, 7.0]),
    "texts": np.array(["ill", "größer", "well"]),
    "objects": np.array(["ill", "größer", "well"], dtype=object),
}


def rows(classes=3, labels="texts", dtype=np.float64):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(classes), 12)
    X = (rng.normal(size=(len(y), 3)) + y[:, None]).astype(dtype)
    return X, LABELS[labels][y]


def back(model, folder):
    save(model, folder / "model.pnml")
    return load(folder / "model.pnml")


def assert_same(model, again, X):
    assert type(again) is PNMLClassifier
    for name in ("predict_proba", "predict_log_proba", "regret", "explain", "trusted"):
        before, after = getattr(model, name)(X), getattr(again, name)(X)
        assert before.dtype == after.dtype
        assert before.tobytes() == after.tobytes(), name
    assert again.predict(X).tolist() == model.predict(X).tolist()
    assert again.classes_.dtype == model.classes_.dtype
    assert again.loo_.threshold(0.9) == model.loo_.threshold(0.9)
    for name, value in vars(model.loo_).items():
        assert getattr(again.loo_, name).tobytes() == value.tobytes()
    assert set(vars(again)) == set(vars(model))
    assert set(vars(again.estimator_)) == set(vars(model.estimator_))
    assert repr(again) == repr(model)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_loaded_classifier_answers_the_same_to_the_last_bit(name, dtype, tmp_path):
    classes = 2 if name == "liblinear" else 3
    X, y = rows(classes, dtype=dtype)
    model = clone(MODELS[name]).fit(X, y)
    again = back(model, tmp_path)
    assert_same(model, again, 3 * X)
    first = (tmp_path / "model.pnml").read_bytes()
    save(again, tmp_path / "second")
    assert (tmp_path / "second").read_bytes() == first


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("classes", [2, 3])
def test_labels_of_every_kind_survive(labels, classes, tmp_path):
    X, y = rows(classes, labels)
    model = PNMLClassifier().fit(X, y)
    assert_same(model, back(model, tmp_path), X)


def test_yes_and_no_survive(tmp_path):
    X, y = rows(2, "integers")
    model = PNMLClassifier().fit(X, y > 1)
    assert_same(model, back(model, tmp_path), X)


def test_column_names_are_still_checked(tmp_path):
    X, y = rows()
    table = pd.DataFrame(X, columns=["age", "größe", "dose"])
    again = back(PNMLClassifier().fit(table, y), tmp_path)
    assert again.explain_names_.tolist() == table.columns.tolist()
    again.predict(table)
    with pytest.raises(InputError, match="feature names should match"):
        again.predict(table[table.columns[::-1]])


REFUSED = {
    "another classifier": (lambda: PNMLClassifier(GaussianNB()).fit(*rows()), "LogisticRegression"),
    "a pipeline": (
        lambda: PNMLClassifier(make_pipeline(StandardScaler(), LogisticRegression())).fit(*rows()),
        "holds a Pipeline",
    ),
    "labels of one byte": (
        lambda: PNMLClassifier().fit(rows()[0], np.repeat([0, 1, 2], 12).astype(np.int8)),
        "turn the labels into",
    ),
    "nothing fitted": (PNMLClassifier, "call fit first"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_file_cannot_hold_is_refused_in_one_sentence(name, tmp_path):
    make, words = REFUSED[name]
    with pytest.raises(InputError, match=words) as caught:
        save(make(), tmp_path / "model.pnml")
    assert str(caught.value).endswith(".")
    assert list(tmp_path.iterdir()) == []


def find(parts, name):
    return next(item for item in parts.document["objects"] if item["class"] == name)


def fewer_classes(parts):
    find(parts, "LogisticRegression")["state"]["classes_"] = {"texts": [6, ["ill", "well"]]}


def texts(content):
    def change(parts):
        find(parts, "LogisticRegression")["state"]["classes_"] = {"texts": content}

    return change


def not_fitted(parts):
    del find(parts, "LogisticRegression")["state"]


CHANGES = {
    "fewer classes": (fewer_classes, "not for 2 classes"),
    "too wide": (texts([1, ["ill", "b", "c"]]), "too wide"),
    "no width": (texts([["a", "b", "c"]]), "no width"),
    "no texts": (texts([3, [1, 2, 3]]), "no text"),
    "far too wide": (texts([2**40, ["a", "b", "c"]]), "characters wide"),
    "of no width": (texts([0, ["", "", ""]]), "characters wide"),
    "not fitted": (not_fitted, "not fitted to its features|uses the array"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_file_that_clashes_with_itself_is_refused(name, tmp_path, layout):
    path = tmp_path / "model.pnml"
    save(PNMLClassifier().fit(*rows()), path)
    parts = layout.take_apart(path)
    change, words = CHANGES[name]
    change(parts)
    layout.put_together(path, parts)
    with pytest.raises(InputError, match=words):
        load(path)
