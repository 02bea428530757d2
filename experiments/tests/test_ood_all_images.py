"""DenseNets from all images: printed numbers beside ours, which are those of the detectors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from pnml.metrics import detection_metrics
from pnml.nn import LastLayerPNML
from pnml_experiments.ch5_networks import feature_sets, ood_all_images
from pnml_experiments.ch5_networks.feature_sets import FeatureSet


def test_rows_are_those_of_the_detectors(out, monkeypatch):
    rng = np.random.default_rng(0)

    def rows(n):
        return (3 * np.eye(8)[np.arange(n) % 4] + rng.normal(size=(n, 8))).astype(np.float32)

    weight, bias = np.eye(8, dtype=np.float32)[:4], np.zeros(4, dtype=np.float32)
    strange = {"SVHN": rows(60) + 1, "CIFAR-10": rows(50) - 1}
    y = np.arange(400) % 4
    data = FeatureSet(weight, bias, rows(400), rows(90), strange, y, y[:90])

    def densenet(ind, scale, out):
        near = {"CIFAR-100": "CIFAR-10", "CIFAR-10": "CIFAR-100"}[ind]
        outliers = {"SVHN": strange["SVHN"], near: strange["CIFAR-10"]}
        return replace(data, outliers=outliers)

    monkeypatch.setattr(feature_sets, "densenet", densenet)
    result = ood_all_images.run("full", out, lambda done, total: None)
    assert [len(table.rows) for table in result.tables[:3]] == [8, 8, 8]

    def row(method):
        labels = {"IND": "CIFAR-100", "OOD": "SVHN", "method": method}
        return next(one for one in result.tables[0].rows if one.labels == labels)

    logits = {
        name: torch.from_numpy(x @ weight.T) for name, x in (("in", data.test), *strange.items())
    }
    surest = {name: x.double().softmax(1).amax(1).numpy() for name, x in logits.items()}
    own = detection_metrics(surest["in"], surest["SVHN"]).auroc
    assert row("Baseline").ours.value == pytest.approx(100 * own.value)
    assert row("Baseline").printed is not None
    for kind, settings in (("ours", {"scale": 1.0, "regions": False}), ("fair", {})):
        m = LastLayerPNML.from_embeddings(weight, bias, data.train, **settings)
        regrets = [m(torch.from_numpy(x)).regret.numpy() for x in (data.test, strange["SVHN"])]
        wanted = 100 * detection_metrics(*(-regret for regret in regrets)).auroc.value
        assert getattr(row("Baseline + pNML"), kind).value == pytest.approx(wanted, abs=1e-9)
    names = {one.labels["detector"] for one in result.tables[4].rows}
    assert len(names) == 11
    assert "400 training images, 90 test images and 60 outliers" in row("Baseline").note
