"""An attacker who knows the detector, on networks where what he can do is known."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.optimize import brentq
from torch import nn

from pnml.adversarial import AdversarialPNML, abstention_curve, joint_attack, targeted_apgd

RADIUS, STRENGTH, WIDE = 0.3, 0.1, (-10.0, 10.0)


@pytest.fixture
def linear():
    torch.manual_seed(0)
    return nn.Linear(5, 2).double().requires_grad_(False)


@pytest.fixture
def rows(linear):
    x = torch.randn(80, 5, generator=torch.Generator().manual_seed(1)).double()
    return x, linear(x).argmax(dim=1)


def margins(network, x, y):
    z = network(x)
    return (z.gather(1, y[:, None]) - z.gather(1, 1 - y[:, None]))[:, 0].numpy()


def regret(margin, gain):
    """log(σ(m + a) + σ(a − m)): refining lifts either label's log-odds by a = λ‖w‖₁."""
    return np.log(1 / (1 + np.exp(-margin - gain)) + 1 / (1 + np.exp(margin - gain)))


def unnoticed(network, x, y, limit):
    """Rows that can be brought over the boundary as far as the regret falls to the limit."""
    w = float((network.weight[0] - network.weight[1]).abs().sum())
    least = margins(network, x, y) - RADIUS * w
    if regret(0.0, STRENGTH * w) <= limit:
        return least < 0
    beyond = brentq(lambda m: regret(m, STRENGTH * w) - limit, 0.0, 50.0)
    return least < -beyond


def test_the_regret_of_a_linear_network_is_the_formula(linear, rows):
    x, y = rows
    w = float((linear.weight[0] - linear.weight[1]).abs().sum())
    found = AdversarialPNML(linear, STRENGTH, bounds=WIDE).regret(x).numpy()
    np.testing.assert_allclose(found, regret(margins(linear, x, y), STRENGTH * w), atol=1e-12)


@pytest.mark.parametrize("limit", [0.03, 0.05, 0.065, np.inf])
def test_it_finds_all_that_can_be_wrong_without_being_noticed(linear, rows, limit):
    x, y = rows
    defence = AdversarialPNML(linear, STRENGTH, bounds=WIDE)
    found = joint_attack(defence, x, y, RADIUS, limit, steps=20)
    truth = unnoticed(linear, x, y, limit)
    assert (found.hidden.numpy() == truth).all()
    assert found.accuracy == pytest.approx(1 - truth.mean())
    assert (found.inputs - x).abs().max() <= RADIUS + 1e-9
    np.testing.assert_allclose(found.regret, defence.regret(found.inputs))
    assert (found.wrong == (defence(found.inputs).argmax(dim=1) != y)).all()


def test_without_a_limit_it_is_the_targeted_attack(make):
    network = make(4, scale=3.0)
    defence = AdversarialPNML(network, 0.1)
    x = torch.rand(20, 6, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    y = defence(x).argmax(dim=1)
    plain = targeted_apgd(defence, x, y, 0.1, steps=8, loss="margin", seed=3)
    joint = joint_attack(defence, x, y, 0.1, np.inf, steps=8, seed=3)
    assert (joint.wrong == plain.fooled).all()
    torch.testing.assert_close(joint.inputs[joint.wrong], plain.inputs[joint.wrong])


def test_the_curve_counts_what_is_right_accepted_and_stays_so(linear, rows):
    x, y = rows
    y = y.clone()
    y[:4] = 1 - y[:4]
    defence = AdversarialPNML(linear, STRENGTH, bounds=WIDE)
    shares = (0.0, 0.1, 0.3)
    curve = abstention_curve(defence, x, y, RADIUS, abstain=shares, steps=20)
    clean = defence.regret(x).numpy()
    right = defence(x).argmax(dim=1).eq(y).numpy()
    for i, share in enumerate(shares):
        limit = np.quantile(clean, 1 - share)
        assert curve.threshold[i] == pytest.approx(limit)
        accepted = clean <= limit
        held = right & accepted & ~unnoticed(linear, x, y, limit)
        assert (curve.held[:, i] == held).all()
        assert curve.robust[i].value == pytest.approx(held.mean())
        assert curve.clean_accepted[i] == pytest.approx(accepted.mean())
        assert curve.clean_accuracy[i] == pytest.approx((accepted & right).mean())
    assert len(curve.rows()) == len(curve.table().splitlines()) - 2 == 3


def test_what_other_attacks_found_is_judged_and_thresholds_may_come_from_elsewhere(linear, rows):
    x, y = rows
    defence = AdversarialPNML(linear, STRENGTH, bounds=WIDE)
    other = torch.randn(50, 5, generator=torch.Generator().manual_seed(7)).double()
    found = targeted_apgd(defence, x, y, RADIUS, steps=20, bounds=WIDE)
    curve = abstention_curve(
        defence, x, y, RADIUS, abstain=(0.2,), reference=other, already=(found,), steps=1
    )
    limit = np.quantile(defence.regret(other).numpy(), 0.8)
    assert curve.threshold[0] == pytest.approx(limit)
    seen = found.fooled.numpy() & (defence.regret(found.inputs).numpy() <= limit)
    assert (curve.hidden[:, 0] >= seen).all()
