"""Tiny networks and inputs for all tests of this folder."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)


def made(classes=5, features=6, dtype=torch.float64, seed=0, scale=2.0):
    """A smooth network, so that its gradients turn."""
    torch.manual_seed(seed)
    net = torch.nn.Sequential(
        torch.nn.Linear(features, 16), torch.nn.Tanh(), torch.nn.Linear(16, classes)
    ).to(dtype)
    with torch.no_grad():
        for weight in net.parameters():
            weight.mul_(scale)
    return net.requires_grad_(False)


@pytest.fixture
def network():
    return made()


@pytest.fixture
def inputs():
    generator = torch.Generator().manual_seed(1)
    return torch.rand(7, 6, generator=generator, dtype=torch.float64)


@pytest.fixture
def make():
    return made
