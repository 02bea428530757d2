"""The benchmark of refits runs, its rival finds the same genies, and it meets its targets."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import child
import oracle
from pnml.core.logistic import LogisticModel, refit

ROOT = Path(__file__).parents[3]


def benchmark(*options, file):
    """Rows of a run in a fresh process, which sets its threads before it loads numpy."""
    command = [sys.executable, "-m", "benchmarks", "refit", *options, "--json", str(file)]
    done = child.run(command, cwd=ROOT)
    assert file.exists(), done.stderr
    return done, json.loads(file.read_text())


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky"])
def test_the_rival_finds_the_same_genies(solver, rng, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    rivals = pytest.importorskip("benchmarks.refit_rivals")
    X, y, new = rng.normal(size=(40, 3)), rng.integers(3, size=40), rng.normal(size=(2, 3))
    model = LogisticModel.fit(X, y, 3, alpha=0.5)
    rival = rivals.WarmRefits.of(X, y, model, 1e-10, solver)
    theirs = np.array([rival.genies(x, range(3)) for x in new])
    np.testing.assert_allclose(theirs, oracle.logistic_genies(X, y, 3, new, 0.5, True), atol=1e-6)
    np.testing.assert_allclose(theirs, np.exp(refit(model, new, tol=1e-8).log_genie), atol=1e-6)


def test_a_quick_run_prints_and_stores_every_row(tmp_path):
    done, run = benchmark("--quick", "--rounds", "1", file=tmp_path / "quick.json")
    assert done.returncode == 0, done.stderr
    for row in run["rows"]:
        assert row["job"] in done.stdout
        assert row["passed"] is None  # small sizes have no targets
        assert row["note"].startswith("skipped") or row["result"] >= 0


@pytest.mark.slow
@pytest.mark.data
def test_every_target_is_met(tmp_path):
    done, run = benchmark("--rounds", "5", file=tmp_path / "full.json")
    held = [row for row in run["rows"] if row["target"] is not None]
    assert len(held) == 3
    assert [row for row in held if not row["passed"]] == [], done.stdout
