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

from pnml import InputError, PNMLClassifier, UniversalClassifier, load, save
from sentences import assert_refused

MODELS = {
    "default": PNMLClassifier(),
    "without a penalty": PNMLClassifier(alpha=0.0),
    "of unit norm": PNMLClassifier(normalize=True),
    "with options": PNMLClassifier(LogisticRegression(C=3.0, class_weight="balanced")),
    "liblinear": PNMLClassifier(LogisticRegression(solver="liblinear"), alpha=0.5),
    "refitted": PNMLClassifier(method="refit"),
    "refitted, no intercept": PNMLClassifier(
        LogisticRegression(C=30.0, fit_intercept=False), method="refit", tol=1e-6
    ),
    "a union": UniversalClassifier(),
    "a union of both methods": UniversalClassifier(
        [("step", PNMLClassifier()), ("refit", PNMLClassifier(method="refit"))]
    ),
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
    assert type(again) is type(model)
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
    assert repr(again) == repr(model)
    if isinstance(model, PNMLClassifier):
        assert set(vars(again.estimator_)) == set(vars(model.estimator_))


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
    assert_refused(lambda: save(make(), tmp_path / "model.pnml"), words)
    assert list(tmp_path.iterdir()) == []


def find(parts, name):
    return next(item for item in parts.document["objects"] if item["class"] == name)


def test_a_saved_refit_has_its_rows_and_need_not_leave_them_out_again(tmp_path):
    X, y = rows()
    model = PNMLClassifier(method="refit").fit(X, y)
    again = back(model, tmp_path)
    assert "loo" in vars(again.learner_)
    training = again.learner_.model.objective.training
    np.testing.assert_allclose(training.values[:, :3] + training.center, X, rtol=1e-14)
    wide = PNMLClassifier(method="refit").fit(np.tile(X, 30), y)
    save(wide, tmp_path / "wide")
    extra = (tmp_path / "wide").stat().st_size - (tmp_path / "model.pnml").stat().st_size
    assert extra > 8 * 36 * 87  # 87 more columns of 36 rows, and the geometry of the columns


def fewer_classes(parts):
    find(parts, "LogisticRegression")["state"]["classes_"] = {"texts": [6, ["ill", "well"]]}


def texts(content):
    def change(parts):
        find(parts, "LogisticRegression")["state"]["classes_"] = {"texts": content}

    return change


def not_fitted(parts):
    del find(parts, "LogisticRegression")["state"]


def array_of(parts, name):
    """Name of the first array of a field."""
    named = [key for key in parts.entries if key.split(".", 1)[1] == name]
    return min(named, key=lambda key: int(key.split(".")[0]))


def overwritten(name, at, value):
    """A change of one number of the first array of a field."""

    def change(parts):
        entry = parts.entries[array_of(parts, name)]
        start = entry["data_offsets"][0] + 8 * at
        number = np.array([value], dtype={"F64": float, "I64": np.int64}[entry["dtype"]]).tobytes()
        parts.payload = parts.payload[:start] + number + parts.payload[start + 8 :]

    return change


def param(cls, name, value):
    def change(parts):
        find(parts, cls)["params"][name] = value

    return change


def fewer_names(parts):
    del find(parts, "UniversalClassifier")["state"]["named_estimators_"]["dict"][0]


def other_labels(parts):
    item = find(parts, "LogisticRegression")
    item["state"]["classes_"] = {"texts": [6, ["a", "b", "c"]]}


REFIT_CHANGES = {
    "a label too many": (overwritten("labels", 3, 3), "not of its 3 classes"),
    "a negative label": (overwritten("labels", 3, -1), "not of its 3 classes"),
    "one class": (param("TrainingRows", "n_classes", 1), "not of its 1 classes"),
    "more classes": (param("TrainingRows", "n_classes", 4), "slopes of a model"),
    "a negative penalty": (overwritten("penalty", 0, -1.0), "penalty of a TrainingRows must"),
    "no number": (overwritten("values", 0, np.nan), "values of a TrainingRows must"),
    "a negative weight": (overwritten("weights", 0, -1.0), "weights of a TrainingRows must"),
    "a row less": (overwritten("weights", 0, 0.0), "not its training rows"),
    "no tolerance": (param("Refitted", "tol", 0.0), "tol of a Refitted must"),
    "the other method": (param("PNMLClassifier", "method", "analytic"), "not that of its method"),
}
UNION_CHANGES = {
    "one without a name": (fewer_names, "does not name"),
    "other classes": (other_labels, "other classes"),
    "an unknown label": (overwritten("_labels", 0, 3), "not those of its classes"),
}


def refused_after(change, words, model, path, layout):
    save(model, path)
    parts = layout.take_apart(path)
    change(parts)
    layout.put_together(path, parts)
    with pytest.raises(InputError, match=words):
        load(path)


@pytest.mark.parametrize("name", REFIT_CHANGES)
def test_a_refit_that_clashes_with_itself_is_refused(name, tmp_path, layout):
    model = PNMLClassifier(method="refit").fit(*rows(), sample_weight=np.arange(36) % 3 + 1.0)
    refused_after(*REFIT_CHANGES[name], model, tmp_path / "model.pnml", layout)


@pytest.mark.parametrize("name", UNION_CHANGES)
def test_a_union_that_clashes_with_itself_is_refused(name, tmp_path, layout):
    members = [("a", PNMLClassifier()), ("b", PNMLClassifier(normalize=True))]
    model = UniversalClassifier(members).fit(*rows())
    refused_after(*UNION_CHANGES[name], model, tmp_path / "model.pnml", layout)


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
    model = PNMLClassifier().fit(*rows())
    refused_after(*CHANGES[name], model, tmp_path / "model.pnml", layout)
