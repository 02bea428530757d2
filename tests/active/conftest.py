from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def drawn(rng):
    """Log-probabilities of M models for N rows of C classes, alike between models."""

    def draw(models, rows, classes, spread=1.0):
        common = 2 * rng.normal(size=(1, rows, classes))
        logits = common + spread * rng.normal(size=(models, rows, classes))
        return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))

    return draw


@pytest.fixture(scope="session")
def dropout_network():
    """Trains a network with dropout on digits by plain gradient descent."""
    torch = pytest.importorskip("torch")

    def train(x, y, steps):
        torch.manual_seed(0)
        layers = (
            torch.nn.Linear(64, 64),
            torch.nn.ReLU(),
            torch.nn.Dropout(0.5),
            torch.nn.Linear(64, 10),
        )
        net = torch.nn.Sequential(*layers)
        for _ in range(steps):
            loss = torch.nn.functional.cross_entropy(net(x), y)
            slopes = torch.autograd.grad(loss, net.parameters())
            with torch.no_grad():
                for weight, slope in zip(net.parameters(), slopes, strict=True):
                    weight -= slope
        return net

    return train
