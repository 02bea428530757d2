"""Whatever is changed in the file of a trusted model, loading gives a model or one refusal.

Compiled loops look leaves, words and trees up without asking whether there are so many. A changed
number must never reach them: that would end the process, and these tests with it.
"""

from __future__ import annotations

import contextlib
import json

import numpy as np
import pytest

from changed_files import changed
from examples import examples
from pnml import InputError, load, save
from pnml.models.decode import decode
from pnml.models.encode import encode
from trusted_examples import inside, trusted

KINDS = (
    "histograms",
    "lightgbm on words",
    "xgboost",
    "catboost classes",
    "forest",
    "bagging",
    "line on words",
    "logistic",
    "vectors",
)
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("name", KINDS)
def test_a_changed_trusted_model_is_refused_in_our_words_or_is_a_model(name):
    model, X = trusted(name)
    given = inside(model) if name == "vectors" else None
    document, tensors = encode(model)
    rng, refused, tries = np.random.default_rng(0), 0, examples(400)
    for _ in range(tries):
        try:
            other = decode(*changed(document, tensors, rng, in_texts=0.2), given)
        except InputError:
            refused += 1
            continue
        for ask in ("score_frame", "explain", "predict_interval"):
            if hasattr(other, ask):
                with contextlib.suppress(Exception):  # of parameters, which the library checks
                    getattr(other, ask)(X)
    assert tries // 10 < refused < tries


def number(field, value, at=0):
    """A change of one number of the only array of a field, or of the first one."""

    def apply(document, tensors):
        name = min(
            (name for name in tensors if name.split(".", 1)[1] == field),
            key=lambda name: int(name.split(".")[0]),
        )
        tensors[name] = tensors[name].copy()
        tensors[name].reshape(-1)[at] = value

    return apply


def shorter(field):
    """A change of the only array of a field to one with a row less."""

    def apply(document, tensors):
        (name,) = (name for name in tensors if name.split(".", 1)[1] == field)
        tensors[name] = tensors[name][:-1].copy()

    return apply


def described(cls, part, value):
    """A change of a field in the description of the first object of a class."""

    def apply(document, tensors):
        item = next(item for item in document["objects"] if item["class"] == cls)
        where = item["state"] if part in item.get("state", {}) else item["params"]
        where[part] = value

    return apply


def of_class(cls):
    """The number of the first object of a class, in every reference to the model."""

    def apply(document, tensors):
        objects = [item["class"] for item in document["objects"]]
        document["objects"][-1]["state"]["estimator_"] = {"object": objects.index(cls)}

    return apply


LEAVES, WORDS, LINE = "lightgbm", "lightgbm on words", "line on words"
CHANGES = {
    "a group that is not there": (LEAVES, number("group", 999), "merged leaves"),
    "a group of another tree": (LEAVES, number("group", 0, -1), "merged leaves"),
    "a group below 0": (LEAVES, number("group", -1), "merged leaves"),
    "fewer groups": (LEAVES, shorter("group"), "merged leaves"),
    "a node that is not there": (LEAVES, number("nodes", 10**6, -1), "not nodes of its trees"),
    "nodes out of order": (LEAVES, number("nodes", 50), "not nodes of its trees"),
    "a tree that is not there": (LEAVES, number("kept", 99, -1), "trees of its geometry"),
    "a tree kept twice": (LEAVES, number("kept", 0, 1), "trees of its geometry"),
    "a smaller inverse": (LEAVES, shorter("inverse"), "leaves and columns"),
    "an infinite inverse": (
        LEAVES,
        number("inverse", np.inf),
        "inverse of a TrustedLeaves must be finite",
    ),
    "a smaller mean": (LEAVES, shorter("pulled"), "leaves and columns"),
    "no penalty": (LEAVES, described("TrustedLeaves", "alpha", 0.0), "penalty or the weight"),
    "a cell upside down": (LEAVES, number("lowest", 1e9), "not in order"),
    "a range of NaN": (LEAVES, number("highest", np.nan), "must be other than NaN"),
    "a word of too many rows": (WORDS, number("words", 3), "more than 2 rows"),
    "other words": (
        WORDS,
        described("Levels", "words", {"tuple": ["red", "green", "blue"]}),
        "words of a column are not in order",
    ),
    "a feature of no word": (WORDS, number("features", 9), "features of a column"),
    "a column of another kind": (
        WORDS,
        described("ColumnEncoder", "kinds", {"tuple": ["word"] * 5}),
        "not of the kinds that it says",
    ),
    "a spread below 0": (WORDS, number("spread", -1.0), "must be finite and 0 or more"),
    "errors of fewer leaves": (LEAVES, shorter("errors"), "length|errors"),
    "an error below 0": (LEAVES, number("errors", -1.0), "must be finite and 0 or more"),
    "scores out of order": (LEAVES, number("scores", 1e9), "must be 0 or more and in order"),
    "a weight of 0": (LEAVES, number("_weights", 0.0), "must be finite and above 0"),
    "leverages of NaN": (LEAVES, number("_leverages", np.nan), "_leverages of a Trusted"),
    "columns with other names": (
        WORDS,
        described("TrustedRegressor", "feature_names_in_", {"names": list("abcde")}),
        "other names",
    ),
    "a model that is not fitted": (LEAVES, of_class("Unfitted"), "not fitted"),
    "a typical row of other columns": (
        LINE,
        described("TrustedFeatures", "typical", {"tuple": [1.0]}),
        "typical row has other columns",
    ),
    "a typical row of arrays": (
        LINE,
        described("TrustedFeatures", "typical", {"tuple": [[1.0]] * 5}),
        "neither number, text, truth value nor time",
    ),
    "a day that is none": (LINE, described("TimeCell", "text", "2020-13-77"), "is no Timestamp"),
    "no forest of these columns": (
        LINE,
        lambda document, tensors: described(
            "TrustedFeatures", "partition", {"object": forest_of(document)}
        )(document, tensors),
        "forest in which errors are averaged",
    ),
    "waves that are not finite": ("vectors", number("phases", np.nan), "must be finite"),
    "a certain mistake": (
        "logistic",
        described("WrongProbability", "slope", -1.0),
        "slope of a WrongProbability must be",
    ),
    "other classes": (
        "logistic",
        described("TrustedClassifier", "classes_", {"names": ["a", "b", "c"]}),
        "not those of its model",
    ),
}


def forest_of(document):
    """The number of the parameters of the forest, which is a forest that is not fitted."""
    names = [item["class"] for item in document["objects"]]
    return names.index("RandomForestRegressor")


@pytest.mark.parametrize("name", CHANGES)
def test_a_part_that_does_not_fit_the_others_is_refused_and_named(name):
    kind, change, words = CHANGES[name]
    model, _ = trusted(kind)
    document, tensors = encode(model)
    document = json.loads(json.dumps(document))
    change(document, tensors)
    with pytest.raises(InputError, match=words):
        decode(document, tensors, inside(model) if kind == "vectors" else None)


def test_trees_that_were_counted_in_another_model_are_refused():
    first, tensors = encode(trusted("lightgbm")[0])
    _, others = encode(trusted("forest")[0])
    counts = {name.split(".", 1)[1]: array for name, array in others.items()}
    for name in tensors:
        field = name.split(".", 1)[1]
        if field in ("group", "nodes", "kept"):
            tensors[name] = counts[field]
    with pytest.raises(InputError, match="merged leaves"):
        decode(first, tensors)


def test_the_refusal_of_a_changed_file_is_one_sentence_that_names_it(tmp_path, layout):
    path = tmp_path / "model.pnml"
    save(trusted("histograms")[0], path)
    parts = layout.take_apart(path)
    (name,) = (name for name in parts.entries if name.split(".", 1)[1] == "group")
    start = parts.entries[name]["data_offsets"][0]
    parts.payload = parts.payload[:start] + (99).to_bytes(8, "little") + parts.payload[start + 8 :]
    layout.put_together(path, parts)
    with pytest.raises(InputError, match="merged leaves are not those of its trees") as caught:
        load(path)
    said = str(caught.value)
    assert str(path) in said
    assert said.endswith(".")
    assert "\n" not in said
