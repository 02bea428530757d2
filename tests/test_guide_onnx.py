"""The guide to ONNX runs as it stands, and what it says of its examples is so."""

from __future__ import annotations

import numpy as np
import pytest

import pages

for package in ("onnx", "onnxruntime", "onnxscript", "pandas", "skl2onnx", "torch"):
    pytest.importorskip(package)


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    return pages.run("onnx.md", tmp_path_factory.mktemp("guide"))


def test_graphs_say_what_the_models_say(names):
    scaled = names["model"][0].transform(names["rows"])
    dist = names["model"][1].predict_dist(scaled)
    np.testing.assert_allclose(names["regret"], dist.regret, rtol=1e-5)
    np.testing.assert_allclose(names["std"], dist.std, rtol=1e-5)
    np.testing.assert_allclose(names["prediction"], dist.mean, rtol=1e-5)
    import torch

    with torch.no_grad():
        out = names["m"](torch.tensor(names["rows"]))
    np.testing.assert_allclose(names["net_regret"], out.regret, rtol=1e-5)


def test_a_word_never_seen_has_infinite_regret(names):
    assert names["known"] == pytest.approx(0.29, abs=0.005)
    assert names["strange"] == np.inf
