"""Rows for the tests of classifiers."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def three(rng):
    """Rows of three classes that overlap."""
    y = np.repeat([0, 1, 2], 20)
    return rng.normal(size=(60, 3)) + 1.5 * y[:, None] * [1.0, 0.0, -1.0] + [3.0, 0.0, 0.0], y
