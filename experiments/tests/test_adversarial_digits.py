"""The defence on a very small network: what is trained, attacked and counted."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("torch")
pytest.importorskip("matplotlib")

import torch
from torch.nn.functional import cross_entropy

from pnml.adversarial import AdversarialPNML
from pnml_experiments.ch6_adversarial import adversarial_digits
from pnml_experiments.ch6_adversarial.adversarial_digits import (
    RADIUS,
    STRENGTHS,
    network_of,
    trained,
)
from pnml_experiments.framework.registry import find

THROUGH, WITHOUT = "through the defence", "without the defence"
_SMALL = adversarial_digits.SIZES["small"]
TINY = replace(
    _SMALL,
    seeds=(0, 1),
    points=4,
    epochs=3,
    last=1,
    budget=replace(_SMALL.budget, steps=3, targets=1, fab_steps=0),
)


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setattr(adversarial_digits, "SIZES", {"small": TINY})
    monkeypatch.setattr(adversarial_digits, "_TRAIN", 200)


def test_pushed_digits_stay_within_radius_and_range_and_raise_the_loss():
    torch.manual_seed(0)
    network = network_of().requires_grad_(False)
    digits = adversarial_digits._digits()
    x, y = digits.x[:50], digits.y[:50]
    moved = adversarial_digits._pushed(network, x, y)
    assert moved.min() >= 0
    assert moved.max() <= 1
    assert (moved - x).abs().max() <= RADIUS + 1e-6
    assert cross_entropy(network(moved), y) > cross_entropy(network(x), y)


def test_both_trainings_are_one_until_the_last_epochs_and_the_seed_decides(tiny):
    early = replace(TINY, epochs=3, last=0)
    plain, never = (trained(last, early, 0) for last in (WITHOUT, THROUGH))
    for one, other in zip(plain.parameters(), never.parameters(), strict=True):
        assert torch.equal(one, other)
    late = trained(THROUGH, replace(early, last=1), 0)
    assert not torch.equal(late[0].weight, plain[0].weight)
    assert not torch.equal(trained(WITHOUT, early, 1)[0].weight, plain[0].weight)
    assert not any(weight.requires_grad for weight in late.parameters())


def test_the_table_counts_the_points_and_a_second_run_trains_nothing(tiny, out, monkeypatch):
    told = []
    result = find("adversarial-digits").run("small", out, lambda *done: told.append(done))
    assert told[-1] == (6, 6)
    found = {tuple(row.labels.values()): row.fair for row in result.tables[0].rows}
    for last, strength in (
        (WITHOUT, STRENGTHS[0]),
        (WITHOUT, STRENGTHS[1]),
        (THROUGH, STRENGTHS[0]),
    ):
        here = {key[2]: value for key, value in found.items() if key[:2] == (last, f"{strength:g}")}
        for name in ("network, worst case", "defence, worst case"):
            assert here[name].value <= here[name.replace("worst case", "clean")].value
        gain = here["defence, worst case"].value - here["network, worst case"].value
        assert here["gain"].value == pytest.approx(gain)
        for value in here.values():
            assert value.low <= value.value <= value.high
            share = value.value * TINY.points * len(TINY.seeds) / 100
            assert share == pytest.approx(round(share))
    accuracy = counted_by_hand(out)
    clean = found[WITHOUT, f"{STRENGTHS[0]:g}", "network, clean"]
    assert clean.value == pytest.approx(accuracy)
    monkeypatch.setattr(adversarial_digits, "trained", None)
    again = find("adversarial-digits").run("small", out, lambda *done: None)
    assert again.tables == result.tables


def counted_by_hand(out):
    """Percent of the points that the kept networks name rightly."""
    digits = adversarial_digits._digits()
    x, y = digits.x[200:][: TINY.points], digits.y[200:][: TINY.points]
    right = []
    for seed in TINY.seeds:
        network = adversarial_digits._kept(WITHOUT, TINY, seed, out)
        right += (network(x).argmax(dim=1) == y).tolist()
        defence = AdversarialPNML(network, STRENGTHS[0])
        assert defence(x).shape == (len(x), 10)
    return 100 * sum(right) / len(right)
