"""The ablation: pNML of stored genies, printed digits, and the union over depths."""

from __future__ import annotations

import numpy as np
import pytest

from pnml_experiments.ch5_networks import ablation
from pnml_experiments.ch5_networks.ablation import Learner, union
from pnml_experiments.framework.registry import find

# Digits after the point that the thesis prints of each number.
PRINTED_DIGITS = {"accuracy": 3, "log-loss, mean": 3, "log-loss, std": 2, "regret, mean": 2}


def quiet(done, total):
    pass


def numbers(table, *labels):
    """Row labels → number."""
    return {tuple(row.labels[name] for name in labels): row.ours.value for row in table.rows}


@pytest.fixture
def tiny_genies(tmp_path, monkeypatch, rng):
    """A data folder with a few genies; both files share some images, in another order."""
    (tmp_path / "features").mkdir()
    stored = {}
    for name, index in (
        ("two_layers", np.array([0, 1, 2, 4, 5, 1500])),
        ("seven_layers", np.array([5, 4, 3, 2, 1])),
        ("svhn", np.arange(4)),
        ("noise", np.arange(4)),
    ):
        n = len(index)
        stored |= {
            f"{name}_index": index,
            f"{name}_genie": rng.uniform(0.1, 1, size=(n, 10)).astype(np.float32),
            f"{name}_erm": rng.dirichlet(np.ones(10), size=n).astype(np.float32),
            f"{name}_label": (index % 10).astype(np.int16),
        }
    np.savez(tmp_path / "features" / "deep_pnml_genie.npz", **stored)
    monkeypatch.setenv("PNML_DATA", str(tmp_path))
    return stored


def test_depths_are_compared_on_the_same_images(tiny_genies, out):
    result = find("ablation-table").run("small", out, quiet)
    found = numbers(result.tables[0], "layers", "number")
    shared = {"two_layers": [1, 2, 3, 4], "seven_layers": [4, 3, 1, 0]}  # images 1, 2, 4, 5
    for depth, name in (("2", "two_layers"), ("7", "seven_layers")):
        rows = shared[name]
        genies = tiny_genies[f"{name}_genie"][rows].astype(float)
        labels = tiny_genies[f"{name}_label"][rows]
        losses = [-np.log10(g[y] / g.sum()) for g, y in zip(genies, labels, strict=True)]
        assert found[depth, "log-loss, mean"] == pytest.approx(np.mean(losses))
        assert found[depth, "log-loss, std"] == pytest.approx(np.std(losses))
        assert found[depth, "regret, mean"] == pytest.approx(np.mean(np.log10(genies.sum(axis=1))))
    in_nats = numbers(result.tables[1], "layers", "number")
    for key, value in in_nats.items():
        assert value == pytest.approx(found[key] * np.log(10))


def test_every_figure_can_be_drawn(tiny_genies, out):
    pytest.importorskip("matplotlib")
    from matplotlib import pyplot as plt

    for figure in ablation.run("small", out, quiet).figures:
        drawn = figure.draw()
        assert all(ax.get_xlabel() and ax.get_ylabel() for ax in drawn.axes)
        plt.close(drawn)


def test_the_union_costs_no_more_than_its_price_over_any_depth(rng):
    depths = [Learner.of_genies(rng.uniform(0.01, 1, size=(50, 10))) for _ in range(3)]
    depths[0] = Learner.of_network(rng.dirichlet(np.ones(10), size=50))
    one, price = union(depths)
    labels = rng.integers(10, size=50)
    assert np.all(price >= 0)
    assert np.all(price <= np.log(3))
    for depth in depths:
        assert np.all(one.losses(labels) <= depth.losses(labels) + price + 1e-12)
    regrets = np.stack([depth.regret for depth in depths])
    assert np.all(one.regret >= regrets.min(axis=0) + price - 1e-12)
    assert np.all(one.regret <= regrets.max(axis=0) + price + 1e-12)


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    from pnml_experiments.framework.output import Output

    folder = tmp_path_factory.mktemp("ablation")
    return ablation.run("full", Output(folder, folder, ""), quiet)


@pytest.mark.data
def test_all_digits_are_as_printed(result):
    rows = result.tables[0].rows
    assert len(rows) == 12
    for row in rows:
        digits = PRINTED_DIGITS[row.labels["number"]]
        assert round(row.ours.value, digits) == row.printed, row.labels


@pytest.mark.data
def test_further_digits_are_those_of_the_stored_genies(result):
    found = numbers(result.tables[0], "layers", "number")
    known = {
        "0": (0.920, 0.203, 0.867, 0.0),
        "2": (0.921, 0.1731, 0.302, 0.1438),
        "7": (0.913, 0.2436, 0.274, 0.2279),
    }
    for layers, expected in known.items():
        for number, value in zip(PRINTED_DIGITS, expected, strict=True):
            digits = len(str(value).partition(".")[2])
            assert found[layers, number] == pytest.approx(value, abs=0.51 * 10.0**-digits)
    unknown = numbers(result.tables[-1], "images", "number")
    assert unknown["SVHN", "regret, mean, log base 10"] == pytest.approx(0.473, abs=5e-4)
    assert unknown["Noise", "regret, mean, log base 10"] == pytest.approx(0.699, abs=5e-4)


@pytest.mark.data
def test_the_union_of_depths_loses_less_than_each_depth_alone_on_average(result):
    alone = numbers(result.tables[0], "layers", "number")
    union_of = numbers(result.tables[2], "layers", "number")
    together = union_of["0, 2, 7", "log-loss, mean"]
    assert together < min(alone[depth, "log-loss, mean"] for depth in "027")
    assert union_of["0, 2, 7", "log-loss, std"] < alone["7", "log-loss, std"]
