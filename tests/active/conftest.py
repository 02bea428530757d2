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
