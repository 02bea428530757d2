"""Tiny networks and features for all tests of this folder."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)


@pytest.fixture
def network():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(6, 12), torch.nn.ReLU(), torch.nn.Linear(12, 4))
    return net.requires_grad_(False)


@pytest.fixture
def inputs():
    return torch.randn(300, 6, generator=torch.Generator().manual_seed(1))
