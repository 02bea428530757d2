"""One thread per process, fixed seeds, markers by folder, and data tests that skip without data."""

from __future__ import annotations

import os

# Before numpy is imported: the processes of pytest-xdist already fill the cores.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

from pathlib import Path

import hypothesis
import numpy as np
import pytest

hypothesis.settings.register_profile(
    "house",
    deadline=None,
    derandomize=True,
    max_examples=100,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("house")


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def data_dir():
    return Path(os.environ["PNML_DATA"])


# Folders and files whose tests and docstrings compare floating-point numbers of our maths.
NUMERIC = {
    "core",
    "laws",
    "estimators",
    "nn",
    "ood",
    "active",
    "adversarial",
    "metrics",
    "test_metrics.py",
    "README.md",
}
# Modules that cannot be imported without a package that the extra dev does not install.
PEERS = {"baal.py"}


@pytest.hookimpl(tryfirst=True)  # before -m looks at the markers
def pytest_collection_modifyitems(config, items):
    skip = pytest.mark.skip(reason="PNML_DATA names no data folder")
    for item in items:
        parts = item.path.relative_to(config.rootpath).parts
        if NUMERIC.intersection(parts):
            item.add_marker("numeric")
        if PEERS.intersection(parts):
            item.add_marker("peers")
        if "data" in item.keywords and not os.environ.get("PNML_DATA"):
            item.add_marker(skip)
