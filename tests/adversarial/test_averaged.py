"""Genies averaged over random refinements are their definition, and attackers see through them."""

from __future__ import annotations

import copy

import pytest
import torch

from pnml.adversarial import AdversarialPNML, AveragedPNML, targeted_apgd


def drawn(seed, draws, reach, x):
    chance = torch.Generator().manual_seed(seed)
    noise = torch.empty((draws, *x.shape)).uniform_(-reach, reach, generator=chance)
    return noise.to(x)


@pytest.mark.parametrize("genie", ["own", "class"])
def test_it_is_the_mean_of_the_genies_of_its_draws(network, inputs, genie):
    defence = AveragedPNML(network, 0.2, draws=3, spread=0.25, seed=4, genie=genie)
    single = AdversarialPNML(network, 0.15, genie=genie)
    noise = drawn(4, 3, 0.05, inputs)
    near = [(inputs + n).clamp(0, 1) for n in noise]
    truth = torch.stack([single(x).exp() for x in near]).mean(dim=0)
    torch.testing.assert_close(defence(inputs).exp(), truth)
    torch.testing.assert_close(defence.reseed(4).regret(inputs), truth.sum(dim=1).log())
    torch.testing.assert_close(
        defence.reseed(4).probs(inputs), truth / truth.sum(dim=1, keepdim=True)
    )


def test_without_spread_it_is_the_defence_itself(network, inputs):
    plain = AdversarialPNML(network, 0.2)(inputs)
    torch.testing.assert_close(AveragedPNML(network, 0.2, draws=2, spread=0.0)(inputs), plain)


@pytest.mark.parametrize("backward", ["autograd", "identity", "soft"])
def test_gradients_flow_through_fresh_draws(network, inputs, backward):
    x = inputs.clamp(0.3, 0.7)
    defence = AveragedPNML(network, 0.1, draws=3, backward=backward)

    def slope(defence):
        leaf = x.clone().requires_grad_()
        (found,) = torch.autograd.grad(defence(leaf)[:, 1].sum(), leaf)
        return found

    first = slope(defence)
    assert (first != slope(defence)).any()
    assert (first == slope(defence.reseed(0))).all()
    if backward != "soft":  # nothing is clipped here, so both are the derivative
        h, truth = 1e-6, torch.zeros_like(x)
        for i in range(x.shape[1]):
            e = torch.zeros_like(x)
            e[:, i] = h
            up, down = (defence.reseed(0)(x + s * e)[:, 1] for s in (1, -1))
            truth[:, i] = (up - down) / (2 * h)
        torch.testing.assert_close(first, truth, atol=1e-6, rtol=1e-6)


def test_settings_are_kept_and_changed_and_the_network_is_shared(network, inputs):
    defence = AveragedPNML(network, 0.2, draws=3, genie="class", bounds=(0, 1))
    other = defence.with_(strength=0.1, backward="identity")
    assert (other.strength, other.draws, other.settings["genie"]) == (0.1, 3, "class")
    assert other.model is network
    twin = copy.deepcopy(defence)
    assert (twin(inputs) == defence(inputs)).all()
    assert "strength=0.2, draws=3, spread=0.5" in repr(defence)
    with torch.no_grad():
        assert not defence(inputs.requires_grad_()).requires_grad


def test_an_attack_goes_through_it(make):
    network = make(4, scale=3.0)
    x = torch.rand(20, 6, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    y = network(x).argmax(dim=1)
    defence = AveragedPNML(network, 0.1, draws=2, backward="identity")
    found = targeted_apgd(defence, x, y, 0.1, steps=8)
    assert found.accuracy < AveragedPNML(network, 0.1)(x).argmax(dim=1).eq(y).double().mean()
