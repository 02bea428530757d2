"""Trees and forests come back from a file the same to the last bit, or are not written at all."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

from pnml import InputError, PNMLTreeClassifier, PNMLTreeRegressor, load, save

CLASSIFIERS = {
    "tree": PNMLTreeClassifier(),
    "tree with options": PNMLTreeClassifier(DecisionTreeClassifier(max_depth=2), prior=0.5),
    "random tree": PNMLTreeClassifier(ExtraTreeClassifier(random_state=0)),
    "forest": PNMLTreeClassifier(RandomForestClassifier(5, random_state=0)),
    "random forest": PNMLTreeClassifier(ExtraTreesClassifier(5, random_state=np.int64(3))),
}
REGRESSORS = {
    "tree": PNMLTreeRegressor(),
    "tree with options": PNMLTreeRegressor(DecisionTreeRegressor(max_depth=2), noise_variance=2.0),
    "random tree": PNMLTreeRegressor(ExtraTreeRegressor(min_samples_leaf=3, random_state=0)),
    "forest": PNMLTreeRegressor(RandomForestRegressor(5, random_state=0)),
    "random forest": PNMLTreeRegressor(ExtraTreesRegressor(5, min_samples_leaf=3, random_state=0)),
}


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    X[3, 1] = np.nan
    return X, (X[:, 0] > 0).astype(int) + (X[:, 2] > 1)


def back(model, folder):
    save(model, folder / "model.pnml")
    return load(folder / "model.pnml")


def assert_same(model, again, X, extra=()):
    assert type(again) is type(model)
    for name in ("predict", "regret", "explain", "trusted", *extra):
        before, after = getattr(model, name)(X), getattr(again, name)(X)
        assert before.dtype == after.dtype
        assert before.tobytes() == after.tobytes(), name
    assert again.loo_.threshold(0.9) == model.loo_.threshold(0.9)
    assert set(vars(again)) == set(vars(model))
    assert repr(again) == repr(model)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_loaded_classifier_answers_the_same_to_the_last_bit(name, rows, tmp_path):
    X, y = rows
    model = clone(CLASSIFIERS[name]).fit(X, np.array(["ill", "größer", "well"])[y])
    again = back(model, tmp_path)
    assert_same(model, again, 2 * X, ("predict_proba", "predict_log_proba"))
    save(again, tmp_path / "second")
    assert (tmp_path / "second").read_bytes() == (tmp_path / "model.pnml").read_bytes()


@pytest.mark.parametrize("name", REGRESSORS)
def test_a_loaded_regressor_answers_the_same_to_the_last_bit(name, rows, tmp_path):
    X, y = rows
    model = clone(REGRESSORS[name]).fit(X, y + X[:, 0])
    again = back(model, tmp_path)
    assert_same(model, again, 2 * X, ("predict_interval",))
    assert again.predict_dist(X).std.tobytes() == model.predict_dist(X).std.tobytes()


def test_column_names_are_still_checked(rows, tmp_path):
    X, y = rows
    table = pd.DataFrame(X, columns=["age", "größe", "dose", "hour"])
    again = back(PNMLTreeClassifier().fit(table, y), tmp_path)
    again.predict(table)
    with pytest.raises(InputError, match="feature names should match"):
        again.predict(table[table.columns[::-1]])


def test_a_loaded_tree_can_be_fitted_again(rows, tmp_path):
    X, y = rows
    again = back(PNMLTreeClassifier(RandomForestClassifier(3, random_state=0)).fit(X, y), tmp_path)
    fresh = clone(again).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), fresh.predict_proba(X))


def test_a_frozen_tree_is_refused_in_one_sentence(rows, tmp_path):
    X, y = rows
    frozen = FrozenEstimator(DecisionTreeRegressor(max_depth=2).fit(X, y))
    with pytest.raises(InputError, match=r"holds a FrozenEstimator.*not frozen") as caught:
        save(PNMLTreeRegressor(frozen).fit(X, y + X[:, 0]), tmp_path / "model.pnml")
    assert str(caught.value).endswith(".")
    assert list(tmp_path.iterdir()) == []


def overwritten(name, at, value):
    """A change of one number of the first array of a field."""

    def change(parts):
        named = [key for key in parts.entries if key.split(".", 1)[1] == name]
        entry = parts.entries[min(named, key=lambda key: int(key.split(".")[0]))]
        start = entry["data_offsets"][0] + 8 * at
        number = np.array([value], dtype={"F64": float, "I64": np.int64}[entry["dtype"]]).tobytes()
        parts.payload = parts.payload[:start] + number + parts.payload[start + 8 :]

    return change


def one_class(parts):
    (model,) = (item for item in parts.document["objects"] if item["class"] == "PNMLTreeClassifier")
    model["state"]["classes_"] = {"texts": [1, ["a"]]}


def other_leaves(parts):
    (leaves,) = (item for item in parts.document["objects"] if item["class"] == "ClassLeaves")
    arrays = {name for name in parts.entries if name.endswith("counts")}
    assert leaves["params"]["counts"]["array"] in arrays
    (name,) = arrays
    start, end = parts.entries[name]["data_offsets"]
    rows, classes = parts.entries[name]["shape"]
    parts.entries[name]["shape"] = [rows * classes, 1]
    assert end - start == 8 * rows * classes


CHANGES = {
    "a node above": (overwritten("left", 0, 0), "do not lead to its leaves"),
    "a node that is not": (overwritten("right", 0, 10_000), "do not lead to its leaves"),
    "a root that is not": (overwritten("roots", 0, 10_000), "do not begin at its nodes"),
    "a negative root": (overwritten("roots", 0, -1), "do not begin at its nodes"),
    "another feature": (overwritten("feature", 0, 4), "feature that the model does not have"),
    "one class": (one_class, "other classes than it has"),
    "other leaves": (other_leaves, "not those of its trees"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_file_that_clashes_with_itself_is_refused(name, rows, tmp_path, layout):
    X, y = rows
    path = tmp_path / "model.pnml"
    save(PNMLTreeClassifier().fit(X, np.array(["a", "b", "c"])[y]), path)
    parts = layout.take_apart(path)
    change, words = CHANGES[name]
    change(parts)
    layout.put_together(path, parts)
    with pytest.raises(InputError, match=words):
        load(path)
