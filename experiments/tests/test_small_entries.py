"""Entries that need no network: what the text of the thesis says of them holds, or is marked."""

from __future__ import annotations

import numpy as np
import pytest

from pnml_experiments.ch5_networks import (
    embedding_spectrum,
    gram_histogram,
    iris_maps,
    regret_curve,
)
from pnml_experiments.framework.printed import ood_pairs
from pnml_experiments.framework.registry import find


def quiet(done, total):
    pass


def test_the_regret_curve_is_the_sum_of_genies():
    for p in (0.55, 0.85, 0.99):
        for pull in (0.0, 0.3, 0.9, 1.0):
            genies = [q / (q + q**pull * (1 - q)) for q in (p, 1 - p)]
            found = regret_curve.normalised_regret(p, np.array([pull]))[0]
            assert found == pytest.approx(np.log2(sum(genies)), abs=1e-12)


def test_the_regret_curve_rises_and_stays_below_its_bound():
    for p in (0.55, 0.85, 0.99):
        curve = regret_curve.normalised_regret(p, np.linspace(0, 1, 101))
        assert np.all(np.diff(curve) > 0)
        assert curve[-1] < np.log2(1.5)


@pytest.fixture(scope="module")
def maps():
    return {split.name: iris_maps.iris_map(split, 30) for split in iris_maps.SPLITS}


def test_separable_iris_has_small_regret_where_the_network_is_sure(maps):
    found = maps["separable"]
    for regrets in (found.thesis_regret, found.regret):
        sure = max(regrets[-1, 0], regrets[0, -1])
        unsure = min(regrets[-1, -1], regrets[0, 0])
        assert unsure > 10 * sure


def test_inseparable_iris_has_small_regret_only_near_its_rows(maps):
    found = maps["inseparable"]
    near = [
        np.abs(axis - middle).argmin()
        for axis, middle in zip(found.axes, found.rows.mean(0), strict=True)
    ]
    edges = np.concatenate(
        [found.regret[0], found.regret[-1], found.regret[:, 0], found.regret[:, -1]]
    )
    assert found.regret[near[1], near[0]] < 0.25 * np.median(edges)


def test_iris_rows_are_those_of_the_research_code(maps):
    assert len(maps["separable"].rows) == 17
    assert len(maps["inseparable"].rows) == 20
    assert set(maps["separable"].labels) == {0, 1}


@pytest.mark.parametrize("name", ["regret-curve", "iris-maps", "ood-imagenet30"])
def test_entries_without_data_run_and_draw(name, out):
    pytest.importorskip("matplotlib")
    from matplotlib import pyplot as plt

    result = find(name).run("small", out, quiet)
    assert all(table.rows for table in result.tables)
    for figure in result.figures:
        plt.close(figure.draw())


def test_eigenvalues_are_those_of_the_correlation_matrix(rng):
    rows = rng.normal(size=(50, 4)) * [3.0, 1.0, 0.5, 0.1]
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    expected = np.linalg.eigvalsh(unit.T @ unit / 50)[::-1]
    np.testing.assert_allclose(embedding_spectrum.eigenvalues(rows), expected, atol=1e-12)


def test_the_best_threshold_is_the_best_of_all(rng):
    usual, strange = rng.normal(size=40), 1 + rng.normal(size=30)

    def accuracy(t):
        return np.mean(usual < t) + np.mean(strange >= t)

    best = max(accuracy(t) for t in np.concatenate([usual, strange]))
    assert accuracy(gram_histogram.best_threshold(usual, strange)) == pytest.approx(best)


def test_printed_numbers_are_those_of_the_thesis():
    pairs = {(p.network, p.ind, p.ood, p.method, p.metric): p for p in ood_pairs()}
    assert len(pairs) == len(ood_pairs()) == 664
    found = pairs["DenseNet-BC-100", "CIFAR-100", "LSUN (C)", "Gram", "auroc"]
    assert (found.plain, found.with_pnml) == (91.4, 94.5)
    found = pairs["WideResNet-40", "CIFAR-100", "Gaussian", "Energy", "tnr95"]
    assert (found.plain, found.with_pnml) == (9.6, 100.0)
    found = pairs["ResNet-34", "SVHN", "CIFAR-10", "ODIN", "detection_accuracy"]
    assert (found.plain, found.with_pnml) == (89.4, 93.4)
    found = pairs["ResNet-101", "ImageNet-30", "SVHN", "Baseline", "auroc"]
    assert (found.plain, found.with_pnml) == (98.94, 99.98)
