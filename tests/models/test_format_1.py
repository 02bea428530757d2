"""Format 1 stays readable: files made by hand, from docs/model-file.md and the definitions."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from pnml import KernelPNMLRegressor, PNMLRegressor, load, save
from pnml.models import registry, stored_layer

PAGE = Path(__file__).parents[2] / "docs" / "model-file.md"

# Three rows on a line with an intercept, ordinary least squares, noise variance ¼.
x, y = np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 2.5])
HAT = 1 / 3 + (x - 1) ** 2 / 2
FIT = y.mean() + 1.25 * (x - 1)


def arrays():
    left_out, sds = (y - FIT) / (1 - HAT), 0.5 / (1 - HAT)
    centred = y - y.mean()
    root = np.sqrt(2.0)  # norm of the centred column
    return {
        "x_mean": np.array([1.0]),
        "y_mean": np.array([y.mean()]),
        "xx": np.array([[2.0]]),
        "xy": np.array([[2.5]]),
        "yy": np.array([[centred @ centred]]),
        "keys": np.array([0.1, 0.2, 0.3]),
        "rows": np.column_stack([x, y, np.ones(3)]),
        "scale": np.array([root]),
        "V": np.ones((1, 1)),
        "absent": np.array([1e-14]),
        "h2": np.ones(1),
        "z": np.array([[2.5 / root]]),
        "unexplained": np.array([np.sum((y - FIT) ** 2)]),
        "residuals": left_out,
        "sds": sds,
        "regrets": -np.log(1 - HAT),
        "log_losses": 0.5 * np.log(2 * np.pi * sds**2) + 0.5 * (left_out / sds) ** 2,
        "weights": np.ones(3),
    }


def named(*names):
    return {name: {"array": name} for name in names}


def document():
    eps = 2.0**-52
    gram = {"rows": 3, "weight": 3.0, "rounding": eps, "whole": True, "sample": {"object": 0}}
    span = named("scale", "V", "absent") | {"tolerance": {"scalar": ["float64", 1e-14]}}
    spectrum = named("scale", "V", "h2", "z", "y_mean", "unexplained") | {
        "center": {"array": "x_mean"},
        "weight": 3.0,
        "intercept_share": 1 / 3,
        "span": {"object": 2},
        "squared_condition": 1.0,
    }
    loo = named("residuals", "sds", "regrets", "log_losses", "weights") | {"path": None}
    objects = [
        ("RowSample", named("keys", "rows") | {"size": 4096, "bound": 1.0}),
        ("Gram", named("x_mean", "y_mean", "xx", "xy", "yy") | gram),
        ("Span", span),
        ("Spectrum", spectrum),
        ("LeaveOneOut", loo),
        ("Choice", {"alpha": 0.0, "noise_variance": 0.25, "loo": {"object": 4}}),
        (
            "Solution",
            {"method": {"named": "ordinary"}, "spectrum": {"object": 3}, "choice": {"object": 5}},
        ),
    ]
    state = {
        "n_features_in_": 1,
        "feature_names_in_": {"names": ["height"]},
        "_asked": {"tuple": [0.0, 0.25, True]},
        "_statistic": {"object": 1},
        "_solution": {"object": 6},
    }
    model = {"class": "PNMLRegressor", "params": {"noise_variance": 0.25}, "state": state}
    return {
        "format": 1,
        "pnml": "0.1.0",
        "objects": [*({"class": name, "params": params} for name, params in objects), model],
        "layouts": {"V": {"axes": [1, 0], "flip": [0]}},
        "model": {"object": 7},
    }


@pytest.fixture
def by_hand(tmp_path, layout):
    path = tmp_path / "by-hand.pnml"
    entries, payload = layout.tensors(arrays())
    parts = SimpleNamespace(entries=entries, document=document(), payload=payload)
    layout.put_together(path, parts)
    return path


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_a_file_of_format_1_made_by_hand_is_the_model_it_describes(by_hand):
    model = load(by_hand)
    new = np.array([[0.5], [9.0]])
    leverage = 1 / 3 + (new[:, 0] - 1) ** 2 / 2
    assert model.get_params() == PNMLRegressor(noise_variance=0.25).get_params()
    assert model.feature_names_in_.tolist() == ["height"]
    np.testing.assert_allclose(model.predict(new), np.polyval(np.polyfit(x, y, 1), new[:, 0]))
    np.testing.assert_allclose(model.regret(new), np.log1p(leverage))
    np.testing.assert_allclose(model.predict_dist(new).std, 0.5 * (1 + leverage))
    np.testing.assert_allclose(model.explain(new)[:, 0], leverage - 1 / 3)
    assert model.trusted(new, level=1.0).tolist() == [True, False]


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_its_stream_goes_on(by_hand):
    model = load(by_hand).partial_fit([[5.0]], [3.0])
    line = np.polyfit([*x, 5.0], [*y, 3.0], 1)
    np.testing.assert_allclose(model.predict([[7.0]]), np.polyval(line, 7.0))
    fresh = PNMLRegressor(noise_variance=0.25).fit([[0.0], [1.0], [2.0], [5.0]], [*y, 3.0])
    np.testing.assert_allclose(np.sort(model.loo_.regrets), np.sort(fresh.loo_.regrets))


def documented_fields():
    """Class → fields, as the tables of the page give them."""
    classes, _ = PAGE.read_text().split("### The last layer of a network")
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", classes, flags=re.MULTILINE)
    return {name: set(re.findall(r"`(\w+)`", fields)) for name, fields in rows}


@pytest.mark.parametrize("name", registry.CODECS)
def test_every_class_that_a_file_may_hold_is_documented_with_its_fields(name):
    codec, documented = registry.CODECS[name], documented_fields()
    if codec.state:
        general = {"n_features_in_", "feature_names_in_", "_sklearn_output_config"}
        assert set(codec.state) - general == documented[name] - {"fit"}
    elif codec.cls.__module__.startswith("pnml."):
        assert set(codec.params) == documented[name]
    else:
        assert f"`{name}`" in PAGE.read_text()


VALUES = [
    codec
    for codec in registry.CODECS.values()
    if codec.cls.__module__.startswith("pnml.") and not codec.state
]


@pytest.mark.parametrize("codec", VALUES, ids=lambda codec: codec.name)
def test_the_page_gives_shapes_and_kinds_of_values_as_their_type_hints_do(codec):
    """The row of the page must begin with what the codec derives from the class."""
    assert f"| `{codec.name}` | {codec.text} |" in PAGE.read_text()


def test_every_documented_class_can_still_be_read():
    keys = {"format", "pnml", "sha256", "objects", "layouts", "model", "last_layer"}
    assert set(documented_fields()) - keys <= set(registry.CODECS)


def test_the_page_names_every_key_and_array_of_a_last_layer():
    page = PAGE.read_text().split("### The last layer of a network")[1]
    rows = re.findall(r"^\| (`.*?) \| (.*) \|$", page, flags=re.MULTILINE)
    told = dict(row for row in rows if "." not in row[0])
    assert {key.strip("`") for key in told} == stored_layer.PARTS
    assert set(re.findall(r"`(\w+)`", told["`settings`"])) >= stored_layer.SETTINGS
    arrays = {name for row in rows for name in re.findall(r"`(\w+\.\w+)`", row[0])}
    statistic = {f"statistic.{name}" for name in stored_layer.STATISTIC | stored_layer.REGIONS}
    assert arrays == statistic | {"head.weight", "head.bias"}


def test_a_file_without_relations_keeps_the_verdicts_it_had(tmp_path):
    """As older versions wrote them: the constant column does not count."""
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(size=40), np.full(40, 3.0)])
    model = KernelPNMLRegressor(gamma=0.01).fit(rows, rows[:, 0] + rng.normal(size=40))
    new = rows[:5] + [0.0, 0.1]
    assert not model.trusted(new).any()
    model.learner_ = replace(model.learner_, relations=None)
    before = model.trusted(new)
    assert before.any()
    save(model, tmp_path / "old.pnml")
    np.testing.assert_array_equal(load(tmp_path / "old.pnml").trusted(new), before)
