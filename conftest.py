"""One thread per process, limits on time and files, fixed seeds, markers, and data or a skip."""

from __future__ import annotations

import gc
import os

# Before numpy is imported: the processes of pytest-xdist already fill the cores.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")
# LightGBM takes a thread for each core all the same: threads that wait must leave the cores alone.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import hypothesis
import numpy as np
import pytest

import markers

FILE_BYTES = 2**31  # no test, and no process that a test starts, writes a larger file
SECONDS = {"slow": 3600, "integration": 600}  # pyproject.toml limits all other tests

for _name, _examples in (("quick", 15), ("thorough", 100)):
    hypothesis.settings.register_profile(
        _name,
        deadline=None,
        derandomize=True,
        max_examples=_examples,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
hypothesis.settings.load_profile(os.environ.get("PNML_TEST_PROFILE", "quick"))


def limit_files(most_bytes):
    """Let this process and its children write no larger file: the writing fails instead."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    if soft == resource.RLIM_INFINITY or soft > most_bytes:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, hard))


limit_files(FILE_BYTES)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def data_dir():
    return Path(os.environ["PNML_DATA"])


@pytest.fixture
def call(monkeypatch, capsysbinary):
    """Runs the command within this process: arguments → exit code, standard output and error."""
    pytest.importorskip("typer")
    from pnml.cli import main

    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    monkeypatch.setenv("OMP_WAIT_POLICY", "PASSIVE")

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["pnml", *map(str, arguments)])
        monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
        capsysbinary.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsysbinary.readouterr()
        return SimpleNamespace(code=ended.value.code, out=out.decode(), err=err.decode())

    return run


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """Collect without collecting garbage, and never again look at all that has been imported."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)  # before -m looks at the markers
def pytest_collection_modifyitems(config, items):
    skip = pytest.mark.skip(reason="PNML_DATA names no data folder")
    for item in items:
        path = item.path.relative_to(config.rootpath)
        name = getattr(item, "originalname", item.name)
        for marker in markers.markers(path, name, getattr(item, "fixturenames", ())):
            item.add_marker(marker)
        limits = [seconds for marker, seconds in SECONDS.items() if item.get_closest_marker(marker)]
        if limits and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(max(limits)))
        if "data" in item.keywords and not os.environ.get("PNML_DATA"):
            item.add_marker(skip)
