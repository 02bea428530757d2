"""Active learning on images: the tables are those of the curves, and a run can go on."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("matplotlib")

import torch

from idx_files import write_idx
from pnml.active import LearningCurves, Strategy
from pnml_experiments.ch7_active import dial, dial_cifar10, dial_pools, dial_variants
from pnml_experiments.ch7_active.dial_networks import (
    Training,
    digit_cnn,
    letter_cnn,
    picture_resnet,
    trained,
)
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.registry import find
from pnml_experiments.framework.stored_files import EMNIST, FASHION_TEST, MNIST

TINY = {"seeds": 2, "step": 2, "candidates": 8, "targets": 6, "passes": 3, "test": 20}


@pytest.fixture
def folder(tmp_path, monkeypatch, rng):
    """A data folder with a few images of noise."""

    def some(*shape):
        return rng.integers(0, 256, size=shape, dtype=np.uint8)

    home = tmp_path / "data"
    for name, path in (MNIST | {"clothes": FASHION_TEST}).items():
        labels = (np.arange(40) % 10).astype(np.uint8)
        write_idx(home / path, labels if "labels" in name else some(40, 28, 28))
    for name in ("emnist", "images"):
        (home / name).mkdir()
    kinds = {"y_train": np.arange(94) % 47, "y_test": np.arange(47)}
    labels = {name: values.astype(np.uint8) for name, values in kinds.items()}
    np.savez(home / EMNIST, x_train=some(94, 28, 28), x_test=some(47, 28, 28), **labels)
    for path in dial_cifar10.FILES:
        np.savez(
            home / path,
            x_train=some(40, 32, 32, 3),
            y_train=(np.arange(40) % 10).astype(np.uint8),
            x_test=some(20, 32, 32, 3),
            y_test=(np.arange(20) % 10).astype(np.uint8),
        )
    monkeypatch.setenv("PNML_DATA", str(home))
    return home


def shrink(monkeypatch, name, build, **sizes):
    """Settings of a data set, as small as can be."""
    training = Training(steps=2, batch=4)
    usual = dial_pools.settings(name)["small"]
    small = replace(usual, build=build, training=training, **(TINY | sizes))
    monkeypatch.setattr(dial_pools, "settings", lambda _: {"small": small})
    return small


def by_labels(table):
    return {tuple(row.labels.values()): row for row in table.rows}


@pytest.mark.parametrize(
    ("name", "polluted"), [("dial-mnist", False), ("dial-mnist-ood", True)], ids=["", "ood"]
)
def test_mnist_runs_and_goes_on(name, polluted, folder, tmp_path, monkeypatch):
    setting = shrink(monkeypatch, "MNIST", partial(digit_cnn, 2, 4), start=10, stop=14)
    told = []
    first = run_in(name, tmp_path, told)
    rounds = 2 * 3 * len(setting.strategies)
    assert told[-1] == (rounds, rounds)
    monkeypatch.setattr("pnml_experiments.ch7_active.dial_networks._epoch", None)
    again = run_in(name, tmp_path, [])
    assert again.tables == first.tables
    titles = [table.title for table in first.tables]
    assert ("Picks out of distribution" in titles) == polluted
    assert [figure.name for figure in first.figures] == [
        f"{name}-accuracy",
        *[f"{name}-picks"] * polluted,
    ]
    assert first.seeds == (0, 1)
    draw(first)


def test_turns_change_the_order_of_the_rounds_and_nothing_else(folder, tmp_path, monkeypatch):
    setting = shrink(monkeypatch, "MNIST", partial(digit_cnn, 2, 4), start=10, stop=16)
    straight = run_in("dial-mnist", tmp_path / "straight", [])
    in_turn = replace(setting, turn=2)
    assert in_turn.stops() == [12, 14, 16]
    monkeypatch.setattr(dial_pools, "settings", lambda _: {"small": in_turn})
    told = []
    assert run_in("dial-mnist", tmp_path / "turns", told).tables == straight.tables
    assert told == sorted(told)
    first, second = (
        [json.loads(line)["piece"] for line in journal.read_text().splitlines()[1:]]
        for where in ("straight", "turns")
        for journal in (tmp_path / where / "dial-mnist").glob("rounds-*.jsonl")
    )
    assert first != second
    assert sorted(first) == sorted(second)
    names = [rule.name for rule in setting.strategies]
    half = [key for key in second[: len(second) // 2] if key.endswith("accuracy")]
    assert {key.split(" ", 1)[1].rsplit(" ", 2)[0] for key in half} == set(names)


def test_variants_of_dial_share_seeds_that_no_other_table_uses(folder, tmp_path, monkeypatch):
    small = shrink(monkeypatch, "MNIST", partial(digit_cnn, 2, 4), start=10, stop=12)
    monkeypatch.setattr(dial_variants, "settings", lambda _: {"small": small})
    told = []
    result = run_in("dial-variants", tmp_path, told)
    assert told[-1][0] == told[-1][1]
    assert result.seeds == (100, 101)
    names = {row.labels["strategy"] for row in result.tables[-1].rows}
    assert names == {variant.strategy.name for variant in dial_variants.VARIANTS}
    more = {v.strategy.name: v.setting(small, "small") for v in dial_variants.VARIANTS}
    assert more["DIAL, 3 × passes"].passes == 3 * small.passes
    assert more["DIAL, 4 × targets"].targets == 4 * small.targets


def run_in(name, folder, told):
    out = Output(folder / name, folder / "cache", "stamp")
    return find(name).run("small", out, lambda done, total: told.append((done, total)))


def draw(result):
    from matplotlib import pyplot as plt

    for figure in result.figures:
        plt.close(figure.draw())


def test_emnist_runs_with_clothes_in_the_pool(folder, tmp_path, monkeypatch):
    shrink(monkeypatch, "EMNIST", partial(letter_cnn, 2, 4), start=47, stop=49)
    result = run_in("dial-emnist-ood", tmp_path, [])
    accuracy = by_labels(result.tables[-1])
    assert {labels for labels, _ in accuracy} == {"47", "49"}
    assert by_labels(result.tables[0])["25", "DIAL"].printed == 59


def test_cifar10_says_what_it_lacks(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    result = run_in("dial-cifar10", tmp_path, [])
    assert "needs a GPU" in result.remarks[0]
    assert by_labels(result.tables[0])["DIAL", "65"].printed == 2484
    assert all(row.ours is None for row in result.tables[0].rows)
    (folder / dial_cifar10.FILES[1]).unlink()
    assert "needs a GPU" in run_in("dial-cifar10", tmp_path, []).remarks[0]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert "images/svhn.npz" in run_in("dial-cifar10", tmp_path, []).remarks[0]


def test_cifar10_would_run_on_any_device(folder, tmp_path):
    out = Output(tmp_path / "here", tmp_path / "cache", "stamp")
    setting = replace(
        dial_cifar10.settings()["full"],
        build=partial(picture_resnet, 2, drop=0.2),
        training=Training(steps=1, batch=4, epochs=2, patience=1),
        start=10,
        stop=12,
        **TINY,
    )
    result = dial_cifar10.run_on("cpu", setting, out, lambda done, total: None)
    assert by_labels(result.tables[0])["65", "BALD"].printed == 3156


@pytest.fixture
def curves():
    """DIAL passes 65 percent at 20 labels in both runs, random in none."""
    accuracy = {
        "DIAL": np.array([[0.5, 0.66, 0.80], [0.5, 0.68, 0.90]]),
        "random": np.array([[0.5, 0.52, 0.60], [0.5, 0.50, 0.62]]),
    }
    strange = {
        "DIAL": np.array([[0, 1, 1], [0, 0, 3]]),
        "random": np.array([[0, 5, 9], [0, 5, 11]]),
    }
    return LearningCurves((0, 1), np.array([10, 20, 30]), accuracy, strange)


def test_tables_stand_beside_what_was_printed(curves):
    result = dial.result_of("name", "MNIST", "polluted", (65, 75), curves, "words")
    labels, shares, paired, accuracies = result.tables
    reached = by_labels(labels)
    assert reached["65", "DIAL"].ours.value == 20
    assert reached["65", "DIAL"].printed == 30
    assert reached["75", "random"].ours is None
    assert "within 30 labels" in reached["75", "random"].note
    assert "open" in reached["75", "DIAL"].note  # two runs that differ by a tenth
    assert reached["75", "DIAL"].ours.high == 30
    assert by_labels(shares)["random",].ours.value == pytest.approx(50)
    assert by_labels(shares)["DIAL",].ours.value == pytest.approx(10)
    gain = by_labels(paired)["DIAL less this", "random"].ours
    expected = np.mean(curves.accuracy["DIAL"] - curves.accuracy["random"])
    assert gain.value == pytest.approx(100 * expected)
    assert gain.low < gain.value < gain.high
    assert by_labels(accuracies)["30", "DIAL"].ours.value == pytest.approx(85)


def test_numbers_that_the_thesis_does_not_print_name_their_source(curves):
    others = replace(curves, accuracy=curves.accuracy | {"EPIG": curves.accuracy["DIAL"]})
    others = replace(others, strange=curves.strange | {"EPIG": curves.strange["DIAL"]})
    rows = by_labels(dial.result_of("name", "MNIST", "polluted", (65,), others, "").tables[0])
    assert "author's notebook" in rows["65", "EPIG"].note
    assert "notebook" not in rows["65", "DIAL"].note
    clean = by_labels(dial.result_of("name", "MNIST", "clean", (65,), others, "").tables[0])
    assert clean["65", "EPIG"].printed is None
    assert "notebook" not in clean["65", "EPIG"].note
    unrun = dial.unrun("CIFAR-10", "polluted", "No GPU.").tables[0].rows
    assert {"notebook" in row.note for row in unrun if row.labels["strategy"] == "EPIG"} == {True}
    assert {"notebook" in row.note for row in unrun if row.labels["strategy"] != "EPIG"} == {False}


def test_what_was_printed_is_all_there():
    printed = dial.printed_labels()
    assert len(printed) == 51
    for data, levels in (
        ("MNIST", (65, 75, 85)),
        ("EMNIST", (25, 30, 40)),
        ("CIFAR-10", (60, 62, 65)),
    ):
        for level in levels:
            each = [printed[data, "polluted", s, level] for s in ("random", "BALD", "EPIG", "DIAL")]
            assert each[0] > each[-1] <= min(each)


def test_training_is_a_function_of_the_seed():
    x, y = torch.rand(6, 1, 28, 28), torch.arange(6)
    build, training = partial(digit_cnn, 2, 4), Training(steps=3, batch=4)
    state = torch.random.get_rng_state()
    one, same, other = (trained(build, x, y, training, seed) for seed in (1, 1, 2))
    assert torch.equal(torch.random.get_rng_state(), state)
    assert torch.equal(one(x), same(x))
    assert not torch.equal(one(x), other(x))
    assert not one.training


def test_training_stops_when_validation_does_and_goes_back_to_the_best(monkeypatch):
    losses, seen = iter([3.0, 1.0, 2.0, 2.5, 0.0]), []

    def judged(network, x, y):
        seen.append([value.clone() for value in network.state_dict().values()])
        return next(losses)

    monkeypatch.setattr("pnml_experiments.ch7_active.dial_networks._loss", judged)
    x, y = torch.rand(6, 1, 28, 28), torch.arange(6)
    training = Training(steps=1, batch=4, epochs=9, patience=2)
    network = trained(partial(digit_cnn, 2, 4), x, y, training, 0, (x, y))
    assert len(seen) == 4
    for value, best in zip(network.state_dict().values(), seen[1], strict=True):
        assert torch.equal(value, best)


@pytest.mark.parametrize("name", ["MNIST", "EMNIST"])
def test_published_networks_have_the_published_sizes(name):
    network = dial_pools.settings(name)["full"].build()
    filters = [part.out_channels for part in network if isinstance(part, torch.nn.Conv2d)]
    units = [part.out_features for part in network if isinstance(part, torch.nn.Linear)]
    sizes = {"MNIST": ([32, 64], [128, 10]), "EMNIST": ([32, 64, 128], [512, 47])}
    assert (filters, units) == sizes[name]
    rates = [part.p for part in network if isinstance(part, torch.nn.Dropout)]
    assert rates == [0.5] * (len(filters) + 1)


@pytest.mark.data
def test_the_small_network_learns_digits_from_few_labels(data_dir):
    setting = dial_pools.settings("MNIST")["medium"]
    data = dial_pools.digits(1_000, polluted=True, validated=False)
    assert len(data.x) == len(data.x_ood) == 10_000
    network = trained(setting.build, data.x[:100], data.y[:100], setting.training, 0)
    right = network(data.x_test).argmax(dim=1) == data.y_test
    assert right.double().mean() > 0.7


@pytest.mark.data
def test_characters_are_of_all_classes(data_dir):
    data = dial_pools.characters(500, polluted=False, validated=True)
    assert len(data.x) == 10_000
    assert len(data.validation[1]) == 1_024
    assert data.y.unique().tolist() == list(range(47))
    assert data.x_ood is None


def test_every_strategy_has_a_name_of_its_own():
    names = [strategy.name for strategy in dial.ALL_STRATEGIES]
    assert len(set(names)) == len(names)
    assert all(isinstance(strategy, Strategy) for strategy in dial.ALL_STRATEGIES)
