"""The ablation on MNIST: its numbers are those of the genies, and a run can go on."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("matplotlib")

import torch

from idx_files import write_idx
from pnml_experiments.ch5_networks import ablation_mnist
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.registry import find
from pnml_experiments.framework.stored_files import FASHION_TEST, MNIST

FILES = MNIST | {"clothes": FASHION_TEST}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A run on a few images of noise, with what it was told of its progress."""
    folder, rng = tmp_path_factory.mktemp("ablation"), np.random.default_rng(0)
    for name, path in FILES.items():
        if "labels" in name:
            values = (np.arange(30) % 10).astype(np.uint8)
        else:
            values = rng.integers(0, 256, size=(30, 28, 28), dtype=np.uint8)
        write_idx(folder / "data" / path, values)
    return folder, *run_in(folder)


def run_in(folder):
    """Output, result and progress of the experiment at a tiny scale."""
    told, out = [], Output(folder / "here", folder / "cache", "stamp")
    sizes = ablation_mnist.Sizes(train=20, epochs=1, known=6, unknown=3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PNML_DATA", str(folder / "data"))
        patch.setattr(ablation_mnist, "SIZES", {"small": sizes})
        experiment = find("ablation-mnist")
        result = experiment.run("small", out, lambda done, total: told.append((done, total)))
    return out, result, told


def by_label(table):
    return {(row.labels["layers"], row.labels["number"]): row for row in table.rows}


def test_the_numbers_are_those_of_the_genies(tiny):
    _, out, result, told = tiny
    assert told[-1] == (36, 36)
    tens, nats = (by_label(table) for table in result.tables)
    labels, ten = ablation_mnist.spread(30, 6) % 10, np.log(10)
    (journal,) = out.folder.glob("genies-*.jsonl")
    lines = map(json.loads, journal.read_text().splitlines()[1:])
    kept = {line["piece"]: line["value"] for line in lines}
    for layers in ablation_mnist.DEPTHS:
        genies = np.exp(np.concatenate([kept[f"{layers} known {i}"] for i in (0, 4)]))
        q = genies / genies.sum(axis=1, keepdims=True)
        losses, regret = -np.log(q[np.arange(6), labels]), np.log(genies.sum(axis=1))
        assert nats[layers, "log-loss, mean"].ours.value == pytest.approx(losses.mean())
        assert tens[layers, "log-loss, mean"].ours.value == pytest.approx(losses.mean() / ten)
        assert tens[layers, "log-loss, std"].ours.value == pytest.approx(losses.std() / ten)
        assert nats[layers, "regret, mean"].ours.value == pytest.approx(regret.mean())
        assert tens[layers, "accuracy"].ours.value == np.mean(q.argmax(axis=1) == labels)
        assert (layers, "regret of unknown, mean") in nats
    assert tens["0", "regret, mean"].ours.value == 0
    assert tens["2", "log-loss, mean"].printed == 0.173


def test_more_layers_have_more_room_for_hindsight(tiny):
    nats = by_label(tiny[2].tables[1])
    regret = {
        depth: row.ours.value for (depth, name), row in nats.items() if name == "regret, mean"
    }
    assert 0 == regret["0"] < regret["1"] < regret["2"] < regret["all 4"]
    assert regret["1, to the end"] > regret["1"]


def test_an_interrupted_run_trains_nothing_twice(tiny, monkeypatch):
    folder, _, result, _ = tiny
    monkeypatch.setattr("torch.optim.SGD", None)
    monkeypatch.setattr("pnml.nn.RefitLastLayerPNML.__call__", None)
    _, again, _ = run_in(folder)
    assert again.tables == result.tables


def test_it_draws(tiny):
    from matplotlib import pyplot as plt

    for figure in tiny[2].figures:
        drawn = figure.draw()
        assert all(ax.get_xlabel() and ax.get_ylabel() for ax in drawn.axes)
        plt.close(drawn)


@pytest.mark.data
def test_the_small_network_knows_most_digits(data_dir):
    from pnml_experiments.framework.mnist import pixels, stored

    labels = torch.from_numpy(stored(FILES["train labels"]).astype(np.int64))
    sizes = ablation_mnist.SIZES["small"]
    network = ablation_mnist.trained(
        pixels(FILES["train"], slice(sizes.train)), labels[: sizes.train], sizes.epochs, 0
    )
    known = network(pixels(FILES["test"])).argmax(dim=1)
    right = known.numpy() == stored(FILES["test labels"])
    assert right.mean() > 0.8
