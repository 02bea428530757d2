"""The entries on the defence: their attacks stay within bounds, and their numbers are counted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from torch import nn

from idx_files import write_idx
from pnml.adversarial import AdversarialPNML
from pnml_experiments.ch6_adversarial import (
    adversarial_attacks,
    adversarial_bench,
    adversarial_curves,
    adversarial_holds,
    adversarial_mnist,
    adversarial_printed,
    adversarial_subjects,
    adversarial_toy,
)
from pnml_experiments.ch6_adversarial.adversarial_attacks import (
    fgsm,
    pgd_to_the_end,
    printed_accuracy,
)
from pnml_experiments.ch6_adversarial.adversarial_bench import Effort
from pnml_experiments.ch6_adversarial.adversarial_mnist_tables import (
    Defended,
    Plain,
    defended_rows,
    gain_by_attack,
)
from pnml_experiments.ch6_adversarial.adversarial_subjects import (
    PGD_TRAINED,
    Points,
    cnn,
    in_blocks,
)
from pnml_experiments.ch6_adversarial.adversarial_training import Recipe, pushed, tuned
from pnml_experiments.framework.registry import find
from pnml_experiments.framework.rows import stored
from pnml_experiments.framework.stored_files import MNIST


def quiet(done, total):
    pass


@pytest.fixture
def network():
    torch.manual_seed(0)
    return cnn().eval().requires_grad_(False)


@pytest.fixture
def points():
    draw = torch.Generator().manual_seed(0)
    return Points(torch.rand(6, 1, 28, 28, generator=draw), torch.arange(6))


def test_printed_numbers_are_those_of_the_thesis():
    printed = printed_accuracy()
    assert printed["MNIST", "pNML", "worst"] == 90.7
    assert printed["MNIST", "robust", "worst"] == 89.9
    assert printed["CIFAR-10", "pNML", "worst"] == 67.3
    assert printed["CIFAR-10", "pNML 2 steps", "PGD"] == 66.89
    assert printed["CIFAR-10", "pNML", "adaptive 40 × 0.01"] == 67.3
    assert printed["ImageNet 8/255", "pNML", "worst"] == 19.0
    for (data, model, attack), worst in printed.items():
        if attack == "worst":
            single = [
                printed[data, model, name]
                for name in ("FGSM", "PGD", "adaptive", "HopSkipJump")
                if (data, model, name) in printed
            ]
            assert worst == min(single)


def test_blocks_of_pixels_leave_the_function_as_it_is(network, points):
    same = in_blocks(network)
    torch.testing.assert_close(same(points.x), network(points.x), rtol=1e-5, atol=1e-5)
    x, z = (points.x.clone().requires_grad_() for _ in range(2))
    network(x)[:, 3].sum().backward()
    same(z)[:, 3].sum().backward()
    torch.testing.assert_close(x.grad, z.grad, rtol=1e-4, atol=1e-6)


def test_attacks_stay_within_radius_and_range_and_raise_the_loss(network, points):
    def loss(x):
        return nn.functional.cross_entropy(network(x), points.y, reduction="none")

    stepped = fgsm(network, points, 0.1)
    climbed = pgd_to_the_end(network, points, 0.1, steps=5, step_size=0.05, starts=2)
    for moved in (stepped, climbed):
        assert moved.min() >= 0
        assert moved.max() <= 1
        assert (moved - points.x).abs().max() <= 0.1 + 1e-6
        assert (loss(moved) > loss(points.x)).all()
    assert loss(climbed).sum() > loss(stepped).sum()


def test_the_published_caption_says_how_strong_the_attack_on_the_detector_was():
    about = adversarial_holds.refusing(adversarial_holds.SIZES["full"])
    assert "shares of all points" in about
    assert "15 steps towards the 3 likeliest other labels" in about
    assert "have 20 towards every label" in about
    path = Path(__file__).parents[2] / "docs" / "results" / "data" / "adversarial-holds.jsonl"
    tables = stored(path).result.tables
    assert about in [table.about for table in tables if "abstention" in table.title]


@pytest.mark.parametrize("strength", [0.0, 0.1])
def test_what_training_attacks_lowers_the_lead(network, points, strength):
    from pnml.adversarial.attack_losses import label_margin
    from pnml_experiments.ch6_adversarial.adversarial_training import seen_through

    model, y = seen_through(network, strength), network(points.x).argmax(dim=1)
    recipe = Recipe(strength, 6, 1, steps=3)
    moved = pushed(model, points.x, y, recipe, torch.Generator().manual_seed(0))
    assert (moved - points.x).abs().max() <= 0.3 + 1e-6
    assert (label_margin(model(moved), y) < label_margin(model(points.x), y)).all()


def test_tuning_goes_on_where_it_was_interrupted(network, points, out, monkeypatch):
    recipe = Recipe(0.1, 6, 2, steps=1)
    first = tuned(in_blocks(network), points.x, points.y, recipe, out, ("here",))
    before = in_blocks(network)
    assert not torch.equal(first[2].weight, before[2].weight)
    monkeypatch.setattr("pnml_experiments.ch6_adversarial.adversarial_training._one_epoch", None)
    again = tuned(in_blocks(network), points.x, points.y, recipe, out, ("here",))
    for one, other in zip(first.parameters(), again.parameters(), strict=True):
        assert torch.equal(one, other)
    assert not any(weight.requires_grad for weight in again.parameters())


def test_an_epoch_of_drawn_images_sees_so_many_and_others_in_the_next(network, out, monkeypatch):
    seen = []

    def pushed(model, x, y, recipe, draw):
        seen.append(sorted(y.tolist()))
        return x

    monkeypatch.setattr("pnml_experiments.ch6_adversarial.adversarial_training.pushed", pushed)
    images, labels = torch.rand(10, 1, 28, 28), torch.arange(10)
    recipe = Recipe(0.0, 10, 2, drawn=4)
    tuned(in_blocks(network), images, labels, recipe, out, ("here",))
    assert [len(set(one)) for one in seen] == [4, 4]
    assert seen[0] != seen[1]


def test_the_printed_network_takes_the_maximum_before_the_relu_without_a_change(points):
    network = adversarial_subjects.printed_network().eval().requires_grad_(False)
    first, second, head = network[0], network[3], network[6:]
    pooled = nn.functional.max_pool2d(first(points.x).relu(), 2)
    pooled = nn.functional.max_pool2d(second(pooled).relu(), 2)
    torch.testing.assert_close(network(points.x), head(pooled))


def test_a_recipe_without_strength_never_builds_the_defence(network, points, out, monkeypatch):
    monkeypatch.setattr(
        "pnml_experiments.ch6_adversarial.adversarial_training.AdversarialPNML", None
    )
    recipe = Recipe(0.0, 6, 1, steps=1)
    found = tuned(in_blocks(network), points.x, points.y, recipe, out, ("here",))
    assert not torch.equal(found[2].weight, in_blocks(network)[2].weight)


def test_gains_by_attack_are_counted_point_by_point():
    def points(text):
        return np.array([mark == "+" for mark in text])

    plain = Plain(
        {"none": points("++++"), "FGSM": points("+++-"), "PGD": points("+---")}, points("----")
    )
    defended = {"none": points("+++-"), "FGSM": points("++++"), "PGD": points("+++-")}
    evaluation = SimpleNamespace(defended_worst=points("++--"), defended=())
    each = Defended(defended | {"adaptive": points("+---")}, points("++++"), evaluation)
    rows = {row.labels["attack"]: row for row in gain_by_attack(plain, each).rows}
    assert {name: row.ours.value for name, row in rows.items()} == {
        "none": -25,
        "FGSM": 25,
        "PGD": 50,
        "worst": 0,
    }
    assert rows["worst"].fair.value == 25
    assert [row.printed for row in rows.values()] == [0.0, 0.0, 2.5, 0.8]


def test_an_attack_that_was_not_run_has_no_note():
    evaluation = SimpleNamespace(defended_worst=np.ones(4, bool), defended=())
    each = Defended({"none": np.ones(4, bool)}, np.ones(4, bool), evaluation)
    rows = {row.labels["attack"]: row for row in defended_rows("a", "pNML", each)}
    assert rows["HopSkipJump"].ours is None
    assert not rows["HopSkipJump"].note
    evaluation.defended = (SimpleNamespace(name="hop-skip-jump"),)
    rows = {row.labels["attack"]: row for row in defended_rows("a", "pNML", each)}
    assert rows["HopSkipJump"].note


def test_the_toy_shows_both_mechanisms(out, monkeypatch):
    pytest.importorskip("matplotlib")
    from matplotlib import pyplot as plt

    monkeypatch.setattr(adversarial_toy, "SIZES", {"small": (300, 100)})
    result = find("adversarial-toy").run("small", out, quiet)
    accuracy, mechanisms = result.tables
    shares = {row.labels["of label 1"]: row.ours.value for row in mechanisms.rows}
    assert shares["of these: local maximum"] > 5
    assert shares["of these: overshoot"] > 0
    assert sum(v for k, v in shares.items() if k.startswith("of these")) == pytest.approx(100)
    found = {tuple(row.labels.values()): row for row in accuracy.rows}
    network, defence = (found[name, "1", "PGD"] for name in ("network", "defence"))
    assert defence.ours.value > network.ours.value
    for row in (network, defence):
        assert row.fair.value <= row.ours.value
    plt.close(result.figures[0].draw())


def test_a_mechanism_is_what_its_definition_says():
    torch.manual_seed(0)
    network = nn.Linear(2, 2).requires_grad_(False)
    x = torch.rand(20, 2)
    defence = AdversarialPNML(network, adversarial_toy.STRENGTH, bounds=adversarial_toy.BOUNDS)
    found = adversarial_toy.refined(network, defence, x, x)
    said = network(x)
    assert torch.equal(found.fooled, said[:, 0] > said[:, 1])
    # the step of a linear network is the best one, so none overshoots
    torch.testing.assert_close(found.gained, found.possible, rtol=1e-4, atol=1e-5)
    assert not found.overshot.any()


@pytest.fixture
def few_digits(tmp_path, monkeypatch, rng, network):
    """A data folder with images of noise, and a network without training that is right on them."""
    for part in ("train", "test"):
        images = rng.integers(0, 256, size=(40, 28, 28), dtype=np.uint8)
        said = network(torch.from_numpy(images / np.float32(255))[:, None]).argmax(dim=1)
        write_idx(tmp_path / "data" / MNIST[part], images)
        write_idx(tmp_path / "data" / MNIST[f"{part} labels"], said.numpy().astype(np.uint8))
    (tmp_path / "data" / "weights").mkdir()
    torch.save(network.state_dict(), tmp_path / "data" / PGD_TRAINED)
    monkeypatch.setenv("PNML_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(adversarial_subjects, "_APART", 20)


def few_steps(usual):
    """A budget with every attack that it has, each cut short."""
    caps = {"steps": 2, "targets": 1, "fab_steps": 2, "square_queries": 10, "hop_queries": 40}
    fewer = {name: min(getattr(usual, name), cap) for name, cap in caps.items()}
    return replace(usual, hop_rows=1, **fewer)


def little_effort(module):
    return Effort(starts=1, adaptive=2, budget=few_steps(module.SIZES["small"].effort.budget))


OF_MNIST = {
    "points": 3,
    "held_out": 6,
    "strengths": (0.1,),
    "effort": little_effort(adversarial_mnist),
    "sweep_steps": 2,
}
OF_HOLDS = {
    "points": 3,
    "held_out": 6,
    "images": 8,
    "joint_steps": 2,
    "budget": few_steps(adversarial_holds.SIZES["small"].budget),
}
OF_PRINTED = {
    "points": 3,
    "robust": (Recipe(0.0, 8, 1, steps=0), Recipe(0.0, 8, 1, steps=1)),
    "last": Recipe(0.0, 8, 1, steps=1, drawn=4),
    "effort": little_effort(adversarial_printed),
}


@pytest.mark.parametrize(
    ("name", "module", "fewer"),
    [
        ("adversarial-mnist", adversarial_mnist, OF_MNIST),
        ("adversarial-curves", adversarial_curves, {"points": 3, "few": 2, "radii": (0.3,)}),
        ("adversarial-holds", adversarial_holds, OF_HOLDS),
        ("adversarial-printed", adversarial_printed, OF_PRINTED),
    ],
    ids=["adversarial-mnist", "adversarial-curves", "adversarial-holds", "adversarial-printed"],
)
def test_an_entry_runs_draws_and_goes_on(name, module, fewer, few_digits, out, monkeypatch):
    pytest.importorskip("matplotlib")
    from matplotlib import pyplot as plt

    monkeypatch.setattr(module, "SIZES", {"small": replace(module.SIZES["small"], **fewer)})
    told = []
    result = find(name).run("small", out, lambda done, total: told.append((done, total)))
    assert told[-1][0] == told[-1][1]
    for table in result.tables:
        for row in table.rows:
            found = row.fair or row.ours
            assert found is None or found.low <= found.value <= found.high
    for figure in result.figures:
        plt.close(figure.draw())
    for attack in ("targeted_apgd", "pgd", "pgd_to_the_end"):
        for place in (module, adversarial_bench):
            if hasattr(place, attack):
                monkeypatch.setattr(place, attack, None)
    monkeypatch.setattr(adversarial_attacks, "_stepped", None)
    again = find(name).run("small", out, quiet)
    assert again.tables[0] == result.tables[0]
