"""Whatever is changed in the file of a wrapped model, loading gives a model or one refusal.

A changed number may well make another model. It must never reach compiled code as an index that is
not there: that would end the process, and these tests with it.
"""

from __future__ import annotations

import contextlib
import json
import re

import numpy as np
import pytest

from changed_files import changed
from examples import examples
from pnml import InputError, load, save
from pnml.models.decode import decode
from pnml.models.encode import encode
from wrapped_examples import carrier, example

KINDS = (
    "lightgbm",
    "lightgbm three classes",
    "lightgbm linear",
    "xgboost",
    "xgboost gaps",
    "xgboost three classes",
    "xgboost linear",
    "catboost",
    "catboost two classes",
    "catboost three classes",
    "catboost grown",
    "tree of classes",
    "forest",
    "boosting of classes",
    "histograms",
    "histograms of classes",
    "bagging of classes",
    "adaptive",
    "Ridge",
    "RidgeClassifier of 3",
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", KINDS)
def test_a_changed_model_is_refused_in_our_words_or_is_a_model(name):
    model, X = example(name)
    document, tensors = encode(carrier(model))
    rng, refused = np.random.default_rng(0), 0
    tries = examples(1000)
    for _ in range(tries):
        try:
            again = decode(*changed(document, tensors, rng)).kernel_params
        except InputError:
            refused += 1
            continue
        other = again.get("m") if isinstance(again, dict) else None
        for method in ("predict", "predict_proba"):
            if hasattr(other, method):
                with contextlib.suppress(Exception):  # of parameters, which the library checks
                    getattr(other, method)(X)
    assert tries // 10 < refused < tries


def one_text(change):
    """A change of the only blob of a model, as text."""

    def apply(tensors):
        (name,) = (name for name, array in tensors.items() if array.dtype == np.uint8)
        text = change(tensors[name].tobytes().decode())
        tensors[name] = np.frombuffer(text.encode(), np.uint8)

    return apply


def one_number(field, value, at=0):
    """A change of one number of the first array of a field."""

    def apply(tensors):
        name = min(
            (name for name in tensors if name.split(".", 1)[1] == field),
            key=lambda name: int(name.split(".")[0]),
        )
        tensors[name] = tensors[name].copy()
        tensors[name].reshape(-1)[at] = value

    return apply


def same_length(pattern, new):
    """A number of a text by another of as many digits."""

    def change(text):
        found = re.search(pattern, text)
        return text[: found.start(1)] + new(found[1]) + text[found.end(1) :]

    return one_text(change)


def in_json(change):
    def apply(text):
        document = json.loads(text)
        change(document["learner"]["gradient_booster"]["model"])
        return json.dumps(document)

    return one_text(apply)


def loop(model):
    model["trees"][0]["left_children"][1] = 0


def far(model):
    model["trees"][0]["split_indices"][0] = 99


def spare_category(model):
    (tree,) = [tree for tree in model["trees"] if tree["categories"]][:1]
    tree["categories_sizes"][0] = 10**6


CHANGES = {
    "lightgbm: a split above itself": (
        "lightgbm",
        same_length(r"left_child=(?:-?\d+ )*?([1-9])(?=\s)", lambda _: "0"),
        "do not lead to its leaves",
    ),
    "lightgbm: another feature": (
        "lightgbm",
        same_length(r"split_feature=(\d)", lambda _: "9"),
        "feature that the model does not have",
    ),
    "lightgbm: another set of categories": (
        "lightgbm",
        same_length(r"cat_boundaries=\d (\d)", lambda _: "9"),
        "categories of a tree",
    ),
    "lightgbm: another size": (
        "lightgbm",
        same_length(r"tree_sizes=(\d)", lambda digit: str((int(digit) + 1) % 10)),
        "not what LightGBM writes",
    ),
    "lightgbm: slopes of another feature": (
        "lightgbm linear",
        same_length(r"leaf_features=\s*(\d)", lambda _: "9"),
        "slopes in the leaves",
    ),
    "lightgbm: other classes": (
        "lightgbm three classes",
        same_length(r"objective=multiclass num_class:(\d)", lambda _: "9"),
        "not what LightGBM writes",
    ),
    "xgboost: a split above itself": ("xgboost", in_json(loop), "do not lead to its leaves"),
    "xgboost: another feature": ("xgboost", in_json(far), "feature that the model does not have"),
    "xgboost: another set of categories": ("xgboost", in_json(spare_category), "not what XGBoost"),
    "xgboost: a name given twice": (
        "xgboost",
        one_text(lambda text: text.replace('"id":0', '"id":0,"id":0', 1)),
        "not what XGBoost",
    ),
    "forest: a split above itself": (
        "forest",
        one_number("left", 0),
        "do not lead to its leaves",
    ),
    "forest: two ways to one node": (
        "forest",
        one_number("right", 1),
        "do not lead to its leaves",
    ),
    "forest: another feature": (
        "forest",
        one_number("feature", 4),
        "feature that the model does not have",
    ),
    "forest: NaN": ("forest", one_number("threshold", np.nan), "splits at NaN"),
    "forest: another tree": ("forest", one_number("ends", 5, 1), "leaves|do not begin|reach"),
    "histograms: a split above itself": (
        "histograms",
        one_number("left", 0),
        "do not lead to its leaves",
    ),
    "histograms: another feature": (
        "histograms",
        one_number("feature_idx", 6),
        "feature that the model does not have",
    ),
    "histograms: a category that has no bit": (
        "histograms",
        one_number("bins", 256.0, 1),
        "bins of a model",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_an_index_that_leads_outside_is_refused_and_named(name):
    kind, change, words = CHANGES[name]
    document, tensors = encode(carrier(example(kind)[0]))
    change(tensors)
    with pytest.raises(InputError, match=words):
        decode(document, tensors)


def test_the_refusal_of_a_changed_file_is_one_sentence_that_names_it(tmp_path, layout):
    path = tmp_path / "model.pnml"
    save(carrier(example("forest")[0]), path)
    parts = layout.take_apart(path)
    (name,) = (name for name in parts.entries if name.split(".", 1)[1] == "feature")
    start = parts.entries[name]["data_offsets"][0]
    parts.payload = parts.payload[:start] + (99).to_bytes(8, "little") + parts.payload[start + 8 :]
    layout.put_together(path, parts)
    with pytest.raises(InputError, match="feature that the model does not have") as caught:
        load(path)
    said = str(caught.value)
    assert str(path) in said
    assert said.endswith(".")
    assert "\n" not in said
