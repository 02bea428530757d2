"""The comparison of detectors runs on any features, and its rows are those of the evaluation."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

from pnml.metrics import detection_metrics
from pnml.ood import KNN
from pnml_experiments.ch5_networks import ood_detectors
from pnml_experiments.ch5_networks.feature_sets import FeatureSet


def quiet(done, total):
    pass


@pytest.fixture
def made(monkeypatch):
    rng = np.random.default_rng(0)
    y = np.arange(200) % 4

    def rows(n):
        return 3 * np.eye(6)[np.arange(n) % 4] + rng.normal(size=(n, 6))

    strange = {"CIFAR-10": rows(30) + 1, "CIFAR-100": rows(30) - 1, "out of scope": rows(20) * 3}
    data = FeatureSet(np.eye(6)[:4], np.zeros(4), rows(200), rows(60), strange, y)
    monkeypatch.setattr(ood_detectors, "features", lambda *_: data)
    monkeypatch.setattr(ood_detectors, "densenet", lambda *_: data)
    return data


def test_every_detector_has_a_row_for_every_subject_and_set(made, out):
    result = ood_detectors.run("small", out, quiet)
    titles = [table.title for table in result.tables]
    assert titles[:2] == ["Mean AUROC, percent", "Mean FPR95, percent"]
    subjects, sets = len(ood_detectors.SUBJECTS), len(made.outliers)
    # CLINC150 has one mean, the others three
    assert len(result.tables[0].rows) == 11 * (3 * (subjects - 1) + 1)
    assert len(result.tables[2].rows) == 11 * subjects * sets
    row = next(
        row
        for row in result.tables[2].rows
        if (row.labels["detector"], row.labels["OOD"]) == ("KNN", "CIFAR-10")
    )
    detector = KNN(k=50).fit_features(made.train)
    usual, strange = (-detector.predict(x) for x in (made.test, made.outliers["CIFAR-10"]))
    assert row.ours.value == pytest.approx(100 * detection_metrics(usual, strange).auroc.value)
    result.figures[0].draw()


def test_the_best_other_detector_is_named_beside_ours(made, out):
    remark = ood_detectors.run("small", out, quiet).remarks[0]
    assert all(name in remark for name in ood_detectors.SUBJECTS)
