"""The whole test of a defence is exact where the worst case is known, and can be interrupted."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from pnml.adversarial import (
    AdversarialPNML,
    AttackBudget,
    AveragedPNML,
    evaluate_defence,
    evaluation_protocol,
    paired_gain,
    pgd,
    share_held,
    untargeted_apgd,
)
from pnml.adversarial import external_attacks as libraries
from pnml.errors import InputError
from pnml.runtime.progress import reporting

WIDE, RADIUS = (-10.0, 10.0), 0.3
# On a linear network one step of Auto-PGD goes all the way.
BUDGET = AttackBudget(
    steps=3,
    quick_steps=2,
    fab_steps=0,
    square_queries=0,
    hop_queries=0,
    joint_steps=2,
    joint_abstain=(0.05,),
    sweep_steps=3,
)


def linear(classes, features=5, seed=0):
    torch.manual_seed(seed)
    return nn.Linear(features, classes).double().requires_grad_(False)


def rows(network, n=40, seed=1):
    x = torch.randn(n, network.in_features, generator=torch.Generator().manual_seed(seed)).double()
    return x, network(x).argmax(dim=1)


def least_lead(network, x, y, radius):
    """How far the label leads at worst: radius · ‖w_y − w_t‖₁ lower, for the worst t."""
    z, w = network(x), network.weight
    leads = z.gather(1, y[:, None]) - z - radius * (w[y][:, None] - w).abs().sum(dim=2)
    return leads.scatter(1, y[:, None], torch.inf).amin(dim=1)


def evaluated(network, x, y, strength=0.1, **settings):
    defence = AdversarialPNML(network, strength, bounds=WIDE)
    return evaluate_defence(defence, x, y, RADIUS, **{"budget": BUDGET, **settings})


def test_with_two_classes_a_linear_network_and_its_defence_have_the_known_worst_case():
    # Both labels are refined by the same length of the same direction: neither gains by it.
    network = linear(2)
    x, y = rows(network)
    y[:5] = 1 - y[:5]
    truth = (least_lead(network, x, y, RADIUS) > 0).numpy()
    found = evaluated(network, x, y)
    assert (found.static_worst == truth).all()
    assert (found.defended_worst == truth).all()
    assert 0 < truth.mean() < 1
    assert found.clean_static.value == found.clean_defended.value == pytest.approx(35 / 40)
    assert found.gain.value == 0
    assert found.static_accuracy.value == pytest.approx(truth.mean())
    assert "no gain is shown" in found.verdict


def test_with_more_classes_the_network_alone_has_the_known_worst_case():
    network = linear(4)
    x, y = rows(network)
    found = evaluated(network, x, y)
    truth = (least_lead(network, x, y, RADIUS) > 0).numpy()
    assert (found.static_worst == truth).all()
    assert 0 < truth.mean() < 1


def test_without_strength_the_defence_is_the_network():
    network = linear(3)
    x, y = rows(network)
    found = evaluated(network, x, y, strength=0.0)
    assert (found.static_worst == found.defended_worst).all()


@pytest.mark.parametrize("attack", [pgd, untargeted_apgd])
def test_untargeted_attacks_find_the_worst_case_of_two_classes(attack):
    network = linear(2)
    x, y = rows(network)
    found = attack(network, x, y, RADIUS, steps=8, bounds=WIDE)
    torch.testing.assert_close(
        found.margin[~found.fooled],
        least_lead(network, x, y, RADIUS)[~found.fooled],
        atol=1e-9,
        rtol=0,
    )
    assert (found.fooled == (least_lead(network, x, y, RADIUS) < 0)).all()


def test_one_step_of_pgd_from_the_input_is_fgsm(make, inputs):
    network = make()
    y = network(inputs).argmax(dim=1)
    leaf = inputs.clone().requires_grad_()
    loss = nn.functional.cross_entropy(network(leaf), y, reduction="sum")
    (slope,) = torch.autograd.grad(loss, leaf)
    found = pgd(network, inputs, y, 0.4, steps=1, step_size=0.4, random_start=False)
    stepped = (inputs + 0.4 * slope.sign()).clamp(0, 1)
    fell = network(stepped).argmax(dim=1) != y
    assert (found.fooled == fell).all()
    torch.testing.assert_close(found.inputs[fell], stepped[fell])


def test_what_is_reported_adds_up(make):
    network = make(4, scale=3.0)
    x = torch.rand(12, 6, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    y = network(x).argmax(dim=1)
    seen = []
    found = evaluate_defence(
        AdversarialPNML(network, 0.1),
        x,
        y,
        0.1,
        budget=BUDGET,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen[-1][0] == seen[-1][1]
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    for kind, inputs, model in (
        (found.static, found.static_inputs, network),
        (found.defended, found.defended_inputs, AdversarialPNML(network, 0.1)),
    ):
        shares = [outcome.accuracy for outcome in kind]
        assert shares == sorted(shares, reverse=True)
        assert all((after.held <= before.held).all() for before, after in pairwise(kind))
        assert all((o.tried <= b.held).all() for b, o in pairwise(kind))
        assert (inputs - x).abs().max() <= 0.1 + 1e-9
        assert ((model(inputs).argmax(dim=1) == y).numpy() == kind[-1].held).all()
    assert [o.name for o in found.defended[:2]] == ["clean", "transferred"]
    assert {o.name for o in found.defended[2:]} == {
        "apgd-margin-targeted identity quick",
        *(f"apgd-{loss} {way}" for loss in ("dlr-targeted", "ce") for way in BUDGET.backwards),
    }
    assert found.cost > 1
    assert set(found.detection) <= {"transferred", "end to end", "joint"}
    assert len(found.rows()) == len(found.static) + len(found.defended)
    assert found.verdict in found.summary()
    assert "\n" not in found.verdict


def test_the_results_are_json_lines(tmp_path):
    network = linear(2)
    x, y = rows(network, 10)
    found = evaluated(network, x, y)
    found.write(tmp_path / "rows.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert lines[:-1] == json.loads(json.dumps(found.rows()))
    assert lines[-1]["verdict"] == found.verdict


class Stop(Exception):
    pass


def keys(path):
    return [json.loads(line)["key"] for line in path.read_text().splitlines()[1:]]


def test_an_interrupted_evaluation_goes_on_and_a_line_cut_short_is_done_again(tmp_path, make):
    network = make(3, scale=3.0)
    x = torch.rand(8, 6, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    y, path = network(x).argmax(dim=1), tmp_path / "parts.jsonl"

    def run(path, progress=False):
        defence = AdversarialPNML(network, 0.05)
        return evaluate_defence(
            defence, x, y, 0.02, budget=BUDGET, path=path, chunk=4, progress=progress
        )

    def interrupt(done, total):
        if done > total / 2:
            raise Stop

    whole = run(tmp_path / "whole.jsonl")
    with pytest.raises(Stop):
        run(path, interrupt)
    half = keys(path)
    assert 0 < len(half) < len(keys(tmp_path / "whole.jsonl"))
    with path.open("ab") as file:
        file.write(b'{"key": "cut sho')
    found = run(path)
    assert keys(path)[: len(half)] == half
    assert keys(path) == keys(tmp_path / "whole.jsonl")
    assert (found.defended_inputs == whole.defended_inputs).all()
    assert (found.defended_worst == whole.defended_worst).all()
    before = path.read_bytes()
    again = run(path)
    assert path.read_bytes() == before
    assert again.rows()[1]["seconds"] == found.rows()[1]["seconds"]


def test_other_data_weights_or_settings_are_never_taken_up_but_the_network_alone_is_shared(
    tmp_path,
):
    network, path = linear(2), tmp_path / "parts.jsonl"
    x, y = rows(network, 12)

    def new(**changes):
        """Lines that a call adds, of the network alone and of the defence."""
        old = path.read_text().splitlines() if path.exists() else []
        settings = {"x": x, "y": y, "network": network, "path": path, **changes}
        evaluated(**settings)
        lines = [json.loads(line) for line in path.read_text().splitlines()[max(1, len(old)) :]]
        return {
            kind: sum(line["model"] == kind for line in lines) for kind in ("static", "defence")
        }

    first = new()
    assert min(first.values()) > 0
    assert new() == {"static": 0, "defence": 0}
    other = new(strength=0.2)
    assert other["static"] == 0
    assert other["defence"] > 0
    assert new(x=x + 0.01)["static"] > 0
    assert new(seed=1)["static"] > 0
    assert new(budget=AttackBudget(**{**vars(BUDGET), "steps": 7}))["static"] > 0
    changed = linear(2)
    changed.weight.mul_(0.99)
    assert new(network=changed)["static"] > 0


def test_the_strength_is_the_best_on_held_out_points_under_attack(make):
    network = make(4, scale=3.0)
    x = torch.rand(24, 6, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    y = network(x).argmax(dim=1)
    found = evaluate_defence(
        AdversarialPNML(network, 0.1),
        x[:10],
        y[:10],
        0.05,
        strengths=(0.3, 0.0, 0.02),
        held_out=(x[10:], y[10:]),
        budget=BUDGET,
    )
    assert [row.strength for row in found.sweep] == [0.3, 0.0, 0.02]
    most = max(row.worst for row in found.sweep)
    assert found.strength == min(row.strength for row in found.sweep if row.worst == most)
    assert all(row.clean >= row.transferred >= row.worst for row in found.sweep)
    assert found.sweep[1].worst == found.sweep[1].transferred


def test_a_missing_package_is_named_and_all_else_is_run(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(name, name=name)

    monkeypatch.setattr(libraries, "import_module", missing)
    network = nn.Sequential(nn.Flatten(), nn.Linear(16, 3)).requires_grad_(False)
    x = torch.rand(5, 1, 4, 4, generator=torch.Generator().manual_seed(0))
    y = network(x).argmax(dim=1)
    budget = AttackBudget(**{**vars(BUDGET), "fab_steps": 5, "square_queries": 5, "hop_queries": 5})
    found = evaluate_defence(AdversarialPNML(network, 0.0), x, y, 0.001, budget=budget)
    assert set(found.left_out) == {
        "fab on the static",
        "square on the static",
        "square on the defence",
        "hop-skip-jump on the defence",
    }
    assert all('pip install "pnml[adversarial]"' in why for why in found.left_out.values())
    assert "Left out: fab on the static (This attack needs pyautoattack" in found.summary()


def test_attacks_that_do_not_fit_the_inputs_are_named_too():
    pytest.importorskip("pyautoattack")
    network = linear(2)
    x, y = rows(network, 4)
    budget = AttackBudget(**{**vars(BUDGET), "square_queries": 5, "fab_steps": 5})
    found = evaluate_defence(AdversarialPNML(network, 0.1, bounds=WIDE), x, y, 1e-6, budget=budget)
    assert "takes inputs between 0 and 1" in found.left_out["square on the static"]


@pytest.mark.filterwarnings("ignore")
def test_black_boxes_are_tried_on_what_is_left_with_a_curve():
    for package in ("pyautoattack", "art"):
        pytest.importorskip(package)
    torch.manual_seed(0)
    network = nn.Sequential(nn.Flatten(), nn.Linear(16, 3)).requires_grad_(False)
    x = torch.rand(8, 1, 4, 4, generator=torch.Generator().manual_seed(0))
    y = network(x).argmax(dim=1)
    many = {"square_queries": 20, "hop_queries": 40, "hop_rows": 2, "steps": 1, "quick_steps": 0}
    budget = AttackBudget(**{**vars(BUDGET), **many, "backwards": ("identity",)})
    found = evaluate_defence(AdversarialPNML(network, 0.0), x, y, 0.02, budget=budget)
    last = found.defended[-1]
    assert last.name == "hop-skip-jump"
    assert last.tried.sum() == min(2, found.defended[-2].held.sum())
    for outcome in found.defended[-2:]:
        if outcome.queries is not None:
            curve = outcome.curve([0, 5, 1000])
            assert curve == sorted(curve, reverse=True)
            assert curve[-1] == pytest.approx(outcome.accuracy)


def test_averaged_defences_are_evaluated_and_repeat_themselves(make):
    network = make(3, scale=3.0)
    x = torch.rand(10, 6, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    y = network(x).argmax(dim=1)
    defence = AveragedPNML(network, 0.1, draws=2)
    first, again = (evaluate_defence(defence.with_(), x, y, 0.05, budget=BUDGET) for _ in range(2))
    assert (first.defended_worst == again.defended_worst).all()
    assert first.strength == 0.1


def test_intervals_are_those_of_rows_drawn_again():
    rng = np.random.default_rng(0)
    first, second = rng.random(300) < 0.8, rng.random(300) < 0.6
    drawn = rng.integers(0, 300, size=(20000, 300))
    for estimate, values in (
        (share_held(first, resamples=20000), first.astype(float)),
        (paired_gain(first, second, resamples=20000), first.astype(float) - second),
    ):
        low, high = np.quantile(values[drawn].mean(axis=1), [0.025, 0.975])
        assert estimate.value == pytest.approx(values.mean())
        assert estimate.low == pytest.approx(low, abs=0.005)
        assert estimate.high == pytest.approx(high, abs=0.005)


def test_a_gain_is_paired_and_all_or_nothing_still_has_a_width():
    same = np.arange(100) % 2 == 0
    gain = paired_gain(same, same)
    assert gain.value == 0
    assert gain.low < 0 < gain.high
    none = share_held(np.zeros(50, dtype=bool))
    assert (1 - none.high) ** 50 == pytest.approx(0.025)
    assert share_held(np.ones(50, dtype=bool)).low == pytest.approx(1 - none.high)


def test_a_bar_is_told_as_well(capsys):
    pytest.importorskip("rich")
    with reporting(True, 5, "Attacking") as advance:
        advance(2)
        advance(9)
    said = capsys.readouterr().err
    assert "Attacking" in said
    assert "100%" in said


def test_a_file_of_another_kind_is_refused(tmp_path):
    network = linear(2)
    x, y = rows(network, 4)
    path = tmp_path / "notes.txt"
    path.write_text("not ours\n")
    with pytest.raises(InputError, match="is no record of attacks"):
        evaluated(network, x, y, path=path)
    assert path.read_text() == "not ours\n"
    with pytest.raises(InputError, match=r"Cannot use .*pass another path"):
        evaluated(network, x, y, path=tmp_path / "none" / "parts.jsonl")


def test_a_journal_of_the_first_release_is_resumed(tmp_path, monkeypatch):
    path = tmp_path / "attacks.jsonl"
    path.write_bytes(Path(__file__).with_name("attacks_0_1.jsonl").read_bytes())
    before = path.read_bytes()
    monkeypatch.setattr(evaluation_protocol, "version", lambda name: "0.1.0")
    network = nn.Linear(2, 2, bias=False).requires_grad_(False)
    network.weight.copy_(4 * torch.eye(2))
    x = torch.tensor([[0.875, 0.125], [0.625, 0.375], [0.25, 0.75]])
    changes = {"quick_steps": 0, "joint_steps": 0, "backwards": ("identity", "soft")}
    budget = AttackBudget(**{**vars(BUDGET), **changes})
    defence = AdversarialPNML(network, strength=0.125)
    report = evaluate_defence(defence, x, [0, 0, 1], 0.1875, budget=budget, path=path, chunk=2)
    assert path.read_bytes() == before
    assert report.defended_worst.tolist() == [True, False, True]
