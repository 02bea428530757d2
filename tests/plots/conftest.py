"""Axes to draw on and rows to draw, for all tests of this folder."""

from __future__ import annotations

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import pytest


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    plt.close("all")


@pytest.fixture
def ax():
    return plt.subplots()[1]


@pytest.fixture
def data(rng):
    X = rng.normal(size=(60, 4)) * [3.0, 1.0, 0.3, 0.1]
    return X, X[:, 0] ** 2 + 0.1 * rng.normal(size=60)
