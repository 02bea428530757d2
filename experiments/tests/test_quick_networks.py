"""Networks laid out for speed: the function of the plain ones, and dropout of the same law."""

from __future__ import annotations

import copy

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from torch import nn

from pnml_experiments.ch7_active.dial_networks import BitDropout, digit_cnn, letter_cnn, quick

LAYOUTS = [torch.contiguous_format, torch.channels_last]


@pytest.mark.parametrize("build", [digit_cnn, letter_cnn], ids=["digits", "letters"])
def test_quick_networks_have_the_function_and_gradients_of_plain_ones(build):
    plain = build(4, 8).eval()
    fast = quick(lambda: copy.deepcopy(plain)).eval()
    kinds = [type(module) for module in fast.modules()]
    assert nn.Dropout not in kinds
    assert kinds.count(BitDropout) == [type(m) for m in plain.modules()].count(nn.Dropout)
    x = torch.rand(3, 1, 28, 28)
    found = []
    for network in (plain, fast):
        logits = network(x)
        torch.logsumexp(logits, dim=1).sum().backward()
        found.append([logits, *(value.grad for value in network.parameters())])
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("layout", LAYOUTS, ids=["rows", "channels last"])
def test_bit_dropout_tosses_fair_and_independent_coins(layout):
    torch.manual_seed(0)
    values = torch.ones(64, 32, 12, 12).contiguous(memory_format=layout)
    dropped = BitDropout(0.5).train()(values)
    assert dropped.stride() == values.stride()
    assert set(dropped.unique().tolist()) == {0.0, 2.0}
    coins = dropped.permute(0, 2, 3, 1).reshape(-1, 32).numpy() - 1
    far = 5 / np.sqrt(len(coins))  # five standard deviations of a mean
    assert abs(coins.mean(axis=0)).max() < far
    assert abs(coins.T @ coins / len(coins) - np.eye(32)).max() < far
    assert abs((coins[1:] * coins[:-1]).mean(axis=0)).max() < far


@pytest.mark.parametrize("layout", LAYOUTS, ids=["rows", "channels last"])
def test_gradients_of_bit_dropout_are_those_of_its_mask(layout):
    torch.manual_seed(1)
    values = torch.randn(3, 5, 7, 2).contiguous(memory_format=layout).requires_grad_()
    dropped = BitDropout(0.5).train()(values)
    dropped.sum().backward()
    assert torch.equal(values.grad * values, dropped)
    assert 0 < (values.grad == 2).float().mean() < 1


@pytest.mark.parametrize(
    ("p", "values"),
    [(0.25, torch.ones(4000)), (0.5, torch.ones(2, 4000)[:, ::2])],
    ids=["another share", "gaps in memory"],
)
def test_bit_dropout_leaves_to_torch_what_it_cannot_do(p, values):
    torch.manual_seed(3)
    ours = BitDropout(p).train()(values)
    torch.manual_seed(3)
    assert torch.equal(ours, nn.Dropout(p).train()(values))
    assert torch.equal(BitDropout(p).eval()(values), values)
