"""Means over near and far sets, their intervals, and all detectors in one call."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from pnml.errors import InputError
from pnml.ood import MSP, Energy, evaluate_ood, fit_detectors, fit_detectors_to_features
from pnml.ood.ood_means import mean_auroc

NAMES = ("pNML", "MSP", "MaxLogit", "Energy", "GEN", "KNN", "ViM", "Mahalanobis", "RMD")


@pytest.fixture
def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 12), torch.nn.Tanh(), torch.nn.Linear(12, 3))


@pytest.fixture
def inputs():
    generator = torch.Generator().manual_seed(1)
    train, test = torch.randn(300, 4, generator=generator), torch.randn(60, 4, generator=generator)
    return train, test, {"far": 9 * test, "near": test + 1, "odd": -3 * test.abs()}


def head(rows):
    return rows


@pytest.fixture
def table(rng):
    usual = 4 * np.eye(3)[rng.integers(3, size=90)] + rng.normal(size=(90, 3))
    sets = {"a": rng.normal(size=(40, 3)), "b": 1 + rng.normal(size=(30, 3)), "c": usual[:20]}
    return evaluate_ood([MSP(head), Energy(head)], usual, sets, near=["c"])


def test_near_and_far_sets_have_means_of_their_own(table):
    for sets, oods in {"all": "abc", "near": "c", "far": "ab"}.items():
        for metric in ("auroc", "fpr95"):
            mean = np.mean([getattr(table["MSP", ood], metric).value for ood in oods])
            assert table.mean(metric, sets)["MSP"] == pytest.approx(mean)
    frame = table.means.to_pandas().set_index(["detector", "sets"])
    assert len(frame) == 6
    for metric in ("auroc", "fpr95", "aupr_in", "aupr_out"):
        mean = np.mean([getattr(table["Energy", ood], metric).value for ood in "ab"])
        assert frame.loc[("Energy", "far"), metric] == pytest.approx(mean)
    assert list(table.to_pandas()["near"]) == [False, False, True] * 2
    assert [line.split(" | ")[0] for line in table.to_markdown().splitlines()[-2:]] == [
        "| mean, near",
        "| mean, far",
    ]
    lines = str(table.means).splitlines()
    assert "AUROC near" in lines[0]
    assert lines[1].startswith("MSP")


def test_the_interval_of_a_mean_of_one_set_is_that_of_the_set(table):
    near = next(m for m in table.means.rows if (m.detector, m.sets) == ("MSP", "near"))
    np.testing.assert_allclose(near.auroc, table["MSP", "c"].auroc, rtol=1e-12)


def test_the_variance_of_a_mean_counts_the_shared_rows_once(rng):
    usual, sets = rng.normal(1, 1, 30), [rng.normal(0, 1, 20), rng.normal(0.5, 1, 25)]
    wins = [np.array([[float(s > t) + (s == t) / 2 for t in out] for s in usual]) for out in sets]
    area = np.mean([w.mean() for w in wins])
    shared = np.var(np.mean([w.mean(axis=1) for w in wins], axis=0), ddof=1) / 30
    own = sum(np.var(w.mean(axis=0), ddof=1) / w.shape[1] for w in wins) / 4
    reach = 1.959963984540054 * np.sqrt(shared + own) / (area * (1 - area))
    odds = np.log(area / (1 - area))
    ends = 1 / (1 + np.exp(-odds + np.array([reach, -reach])))
    np.testing.assert_allclose(mean_auroc(usual, sets), [area, *ends], rtol=1e-12)


def test_all_detectors_of_a_network_stand_in_one_table(network, inputs):
    train, test, sets = inputs
    labels = network(train).argmax(dim=1)
    detectors = fit_detectors(network, [(train[:150], labels[:150]), (train[150:], labels[150:])])
    assert tuple(detectors) == (*NAMES, "FDBD", "NCI")
    table = evaluate_ood(detectors, test, sets, near=["near"], resamples=2)
    features = {
        key: network[:2](x).detach() for key, x in {**sets, "": test, "train": train}.items()
    }
    by_features = fit_detectors_to_features(
        features.pop("train"), labels, weight=network[2].weight, bias=network[2].bias
    )
    again = evaluate_ood(by_features, features.pop(""), features, near=["near"], resamples=2)
    for name in table.detectors:
        assert detectors[name].trusted(test).shape == (60,)
        for ood in sets:  # float32 features of other batches may swap two rows
            expected = again[name, ood].auroc.value
            assert table[name, ood].auroc.value == pytest.approx(expected, abs=1e-3), name


def test_the_network_runs_once_for_a_batch_whatever_the_number_of_detectors(network, inputs):
    train, test, sets = inputs
    runs = []
    network.register_forward_hook(lambda *_: runs.append(1))
    detectors = fit_detectors(network, [train])
    assert len(runs) == 1
    evaluate_ood(detectors, [test[:30], test[30:]], {"far": sets["far"]}, resamples=2)
    assert len(runs) == 1 + 2 + 1


def test_an_input_that_changed_in_place_is_scored_anew(network, inputs):
    train, test, _ = inputs
    detector = fit_detectors(network, train)["KNN"]
    before = detector.predict(test)
    assert not torch.allclose(before, detector.predict(test.mul_(3)))


def test_progress_is_told_to_its_end(table, rng):
    seen = []
    rows = rng.normal(size=(9, 3))
    evaluate_ood([MSP(head)], rows, {"x": rows}, progress=lambda *state: seen.append(state))
    assert seen == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda t: evaluate_ood([MSP(head)], np.eye(2), {"x": np.eye(2)}, near=["y"]), "'y'"),
        (lambda t: t.mean("auroc", "middle"), "sets is 'middle'"),
        (lambda t: fit_detectors(head, np.eye(3)), "head of the network"),
        (lambda t: fit_detectors_to_features(np.eye(4), weight=np.eye(3)), "takes 3"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(call, says, table):
    with pytest.raises(InputError, match=says):
        call(table)
