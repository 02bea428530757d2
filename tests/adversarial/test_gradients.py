"""What an attacker differentiates: three derivatives, each against differences."""

from __future__ import annotations

import pytest
import torch

import oracle
from pnml.adversarial import AdversarialPNML

STRENGTH, BOUNDS = 0.15, (0.0, 1.0)


def differences(function, x, h=1e-6):
    """Derivatives (n, d) of the sum of a function of rows, one entry at a time."""
    slopes = torch.zeros_like(x)
    for i in range(x.shape[1]):
        e = torch.zeros_like(x)
        e[:, i] = h
        slopes[:, i] = (function(x + e) - function(x - e)) / (2 * h)
    return slopes


def slope(function, x):
    x = x.clone().requires_grad_()
    (found,) = torch.autograd.grad(function(x).sum(), x)
    return found


@pytest.fixture
def rows():
    # Some entries are so near to the ends of the range that their refinement is clipped.
    generator = torch.Generator().manual_seed(3)
    x = torch.rand(6, 6, generator=generator, dtype=torch.float64)
    return x.clamp(0.01, 0.99)


@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize("genie", ["own", "class"])
def test_autograd_is_the_derivative_of_the_scores(network, rows, genie, steps):
    defence = AdversarialPNML(network, STRENGTH, steps, genie=genie)
    for label in range(5):
        truth = differences(lambda x, c=label: defence(x)[:, c].detach(), rows)
        found = slope(lambda x, c=label: defence(x)[:, c], rows)
        torch.testing.assert_close(found, truth, atol=1e-6, rtol=1e-6)
    clipped = (defence.refine(rows) == 0) | (defence.refine(rows) == 1)
    assert clipped.any()


@pytest.mark.parametrize("steps", [1, 3])
def test_identity_is_its_closed_form(network, rows, steps):
    defence = AdversarialPNML(network, STRENGTH, steps, backward="identity")
    q, refined = defence.probs(rows), defence.refine(rows)

    def at_refined(label):  # ∇ log p of a label where the input was refined towards it
        return slope(lambda x: network(x).log_softmax(dim=1)[:, label], refined[:, label])

    up = torch.stack([at_refined(label) for label in range(5)])  # (C, n, d)
    for label in range(5):
        truth = -(up[label] - torch.einsum("nc,cnd->nd", q, up))
        found = slope(lambda x, c=label: -defence(x).log_softmax(dim=1)[:, c], rows)
        torch.testing.assert_close(found, truth, atol=1e-10, rtol=0)


@pytest.mark.parametrize("steps", [1, 3])
def test_identity_is_autograd_where_nothing_is_clipped(network, rows, steps):
    def found(backward):
        defence = AdversarialPNML(network, STRENGTH, steps, bounds=(-1.0, 2.0), backward=backward)
        return slope(lambda x: defence(x)[:, 2], rows)

    torch.testing.assert_close(found("identity"), found("autograd"))


@pytest.mark.parametrize("softness", [0.3, 1.0])
@pytest.mark.parametrize("steps", [1, 3])
def test_soft_is_the_chain_of_soft_steps_at_the_points_passed(network, rows, steps, softness):
    settings = {"backward": "soft", "softness": softness}
    defence = AdversarialPNML(network, STRENGTH, steps, **settings)
    size = STRENGTH / steps
    for label in range(5):
        found = slope(lambda x, c=label: defence(x)[:, c], rows)
        for i, x in enumerate(rows):
            path = oracle.towards(network, x, label, STRENGTH, steps, size, BOUNDS)
            moves = torch.eye(6, dtype=torch.float64)  # how the point moves with x
            for at in path[:-1]:
                by_x, by_at = oracle.soft_step_slope(
                    network, x, at, label, STRENGTH, size, BOUNDS, softness, h=1e-7
                )
                moves = by_x + by_at @ moves
            score = differences(
                lambda x, c=label: network(x).log_softmax(dim=1)[:, c], path[-1:], h=1e-5
            )
            torch.testing.assert_close(found[i], (score @ moves)[0], atol=5e-6, rtol=0)


@pytest.mark.parametrize("backward", ["autograd", "identity"])
def test_weights_learn_through_the_defence(network, rows, backward):
    network.requires_grad_(True)
    defence, weight = AdversarialPNML(network, STRENGTH, backward=backward), network[2].weight

    def loss():
        return -defence(rows).log_softmax(dim=1)[:, 1].sum()

    (found,) = torch.autograd.grad(loss(), weight)
    for i, j in [(0, 0), (1, 3), (4, 15)]:
        with torch.no_grad():
            weight[i, j] += 1e-6
            above = loss()
            weight[i, j] -= 2e-6
            below = loss()
            weight[i, j] += 1e-6
        assert float(found[i, j]) == pytest.approx(float(above - below) / 2e-6, abs=1e-5)


def test_the_regret_has_a_derivative_too(network, rows):
    defence = AdversarialPNML(network, STRENGTH)
    truth = differences(lambda x: defence.regret(x).detach(), rows)
    torch.testing.assert_close(slope(defence.regret, rows), truth, atol=1e-6, rtol=1e-6)
