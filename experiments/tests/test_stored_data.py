"""Facts of the stored features, images and weights, where they are at hand."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from pnml_experiments.ch5_networks import (
    feature_sets,
    ood_features,
    ood_networks,
)
from pnml_experiments.ch5_networks import image_subjects as subjects
from pnml_experiments.framework.data import arrays

pytestmark = pytest.mark.data


def quiet(done, total):
    pass


def auroc(result, ood):
    """Detector → AUROC in percent; with the chosen scale under "auto"."""
    rows = [row for row in result.tables[0].rows if row.labels["OOD"] == ood]
    found = {row.labels["detector"]: row.ours.value for row in rows}
    found["auto"] = next(row.fair.value for row in rows if row.fair is not None)
    return found


@pytest.fixture(scope="module")
def resnet20(tmp_path_factory):
    from pnml_experiments.framework.output import Output

    folder = tmp_path_factory.mktemp("resnet20")
    return ood_features.run("ResNet-20", "full", Output(folder, folder, ""), quiet)


def test_resnet20_features_give_the_known_means(resnet20):
    found = auroc(resnet20, "mean")
    known = {"MSP": 87.5, "Energy": 86.5, "leverage alone": 91.1, "pNML, own p": 90.9, "pNML": 94.2}
    for name, value in known.items():
        assert found[name] == pytest.approx(value, abs=0.06), name
    assert found["auto"] >= 94.0
    assert found["auto"] - max(found["MSP"], found["Energy"]) >= 5


def test_resnet20_features_give_the_known_near_ood_numbers(resnet20):
    found = auroc(resnet20, "CIFAR-100")
    assert found["MSP"] == pytest.approx(86.0, abs=0.06)
    assert found["Energy"] == pytest.approx(88.1, abs=0.06)
    assert found["pNML"] == pytest.approx(85.2, abs=0.06)
    assert found["auto"] == max(found.values())


def test_twice_the_unit_features_give_the_known_mean():
    from pnml.ood import RegretDetector
    from pnml_experiments.ch5_networks.ood_tables import measured

    data = feature_sets.resnet20()
    detector = RegretDetector.from_embeddings(
        data.weight, data.bias, data.train, scale=2.0, regions=False
    )
    usual = detector.predict_features(data.test)
    found = {
        name: measured(usual, detector.predict_features(rows))["auroc"][0]
        for name, rows in data.outliers.items()
    }
    assert np.mean(list(found.values())) == pytest.approx(94.8, abs=0.06)
    assert found["CIFAR-100"] == pytest.approx(88.9, abs=0.06)


def test_clinc150_gives_the_known_numbers(out):
    result = ood_features.run("CLINC150", "full", out, quiet)
    found = auroc(result, "out of scope")
    assert found["MSP"] == pytest.approx(96.18, abs=0.06)
    assert found["MaxLogit"] == pytest.approx(97.22, abs=0.06)
    assert found["Energy"] == pytest.approx(97.25, abs=0.06)
    assert found["auto"] >= 97.3
    assert found["auto"] == max(found.values())
    assert result.tables[-1].rows[0].ours.value == pytest.approx(95.5, abs=0.1)


@pytest.mark.parametrize(
    "subject",
    [s for s in ood_networks.subjects("DenseNet-BC-100") if s.ind != "SVHN"],
    ids=lambda s: s.key,
)
def test_densenet_weights_are_as_accurate_as_stated(subject):
    stated = {"cifar10": 93.5, "cifar100": 75.8, "cifar10_oecc": 94.5, "cifar100_oecc": 77.0}
    stored = arrays(subject.images)
    chosen = subjects.spread(len(stored["x_test"]), 200)
    test, labels = stored["x_test"][chosen], stored["y_test"][chosen]
    network = subject.network()
    with torch.no_grad():
        named = torch.cat([network(batch).argmax(1) for batch in subject.batches(test)])
    accuracy = 100 * float(np.mean(named.numpy() == labels))
    right = stated[subject.key.removeprefix("densenet_bc100_")]
    # 200 images: three standard errors
    assert accuracy == pytest.approx(
        right, abs=300 * np.sqrt(right * (100 - right)) / 100 / np.sqrt(200)
    )
