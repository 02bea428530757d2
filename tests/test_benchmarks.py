"""The benchmarks run, compare like with like, and meet their targets when given time."""

from __future__ import annotations

import json
import math
import pickle
import sys
import tracemalloc
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import child
from pnml import NormBallRegressor, PNMLRegressor
from pnml.core import leave_one_out
from pnml.core.geometry.spectrum import Spectrum
from pnml.core.statistic.factor import Factor

ROOT = Path(__file__).parents[1]


def benchmark(suite, *options, file):
    """Rows of a run in a fresh process, which sets its threads before it loads numpy."""
    command = [sys.executable, "-m", "benchmarks", suite, *options, "--json", str(file)]
    done = child.run(command, cwd=ROOT)
    assert file.exists(), done.stderr
    return done, json.loads(file.read_text())


@pytest.fixture
def rivals(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    return pytest.importorskip("benchmarks.rivals")


@pytest.fixture
def timing(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    return pytest.importorskip("benchmarks.timing")


def test_a_table_is_learnt_and_scored_beside_being_read(tmp_path):
    done, run = benchmark("tables", "--quick", "--rounds", "1", file=tmp_path / "quick.json")
    assert done.returncode == 0, done.stderr
    memory = [row["result"] for row in run["rows"] if "memory" in row["job"]]
    assert len(run["rows"]) == 6
    assert all(0.05 < gigabytes < 1.5 for gigabytes in memory)


def test_large_heads_are_scored_beside_their_own_product(tmp_path):
    done, run = benchmark("heads", "--quick", "--rounds", "1", file=tmp_path / "quick.json")
    assert done.returncode == 0, done.stderr
    assert len(run["rows"]) == 10
    assert {row["unit"] for row in run["rows"]} == {"x", "s", "MB"}


def test_a_quick_run_prints_and_stores_every_row(tmp_path):
    done, run = benchmark("linear", "--quick", "--rounds", "2", file=tmp_path / "quick.json")
    assert done.returncode == 0, done.stderr
    jobs = " | ".join(row["job"] for row in run["rows"])
    wanted = [
        "leave-one-out",
        "norm-ball",
        "fit",
        "partial_fit",
        "regret",
        "memory",
        "intervals",
        "import",
    ]
    assert [word for word in wanted if word not in jobs] == []
    assert run["rounds"] == 2
    assert run["quick"]
    for row in run["rows"]:
        assert row["job"] in done.stdout
        assert row["passed"] is None  # small sizes have no targets
        skipped = row["note"].startswith("skipped")
        assert skipped or (0 < row["low"] <= row["result"] <= row["high"] < math.inf)


@pytest.fixture
def model(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    return pytest.importorskip("benchmarks.scale_model")


def test_the_cost_model_finds_the_costs_that_times_were_made_of(model):
    costs = model.Costs(piece=2e-3, cell=2e-8, product=1e-10, byte=1e-9)
    seconds = np.array([costs.seconds(*size, 20) for size in model._KNOWN])
    again = model.Costs.of(model._KNOWN, seconds)
    for name, value in vars(costs).items():
        assert getattr(again, name) == pytest.approx(value, rel=1e-6), name


def test_a_statistic_takes_the_bytes_that_the_cost_model_says(model):
    for columns in (10, 300):
        measured = len(pickle.dumps(model._statistic(columns)))
        assert model.statistic_bytes(columns) == pytest.approx(measured, rel=0.01)
    assert [model.tree(parts, 10, 0.0)[0] for parts in (1, 8, 9, 512, 1e6)] == [0, 1, 2, 3, 7]


def test_the_exact_regrets_of_wide_rows_are_those_of_the_estimator(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    wide = pytest.importorskip("benchmarks.wide")
    made = wide.Wide(rows=60, columns=40, alpha=0.5)
    X = np.vstack(list(made.pieces()))
    reference = PNMLRegressor(alpha=0.5, noise_variance=1.0, fit_intercept=False).fit(X, X[:, 0])
    told, dimension = wide.exact_regrets(made)
    np.testing.assert_allclose(told, reference.regret(made.new()), rtol=1e-9)
    assert dimension == pytest.approx(
        np.trace(X @ np.linalg.solve(X.T @ X + 0.5 * np.eye(40), X.T))
    )


def test_the_rivals_of_leave_one_out_find_the_same_folds(rivals, rng):
    X, y, alphas = rng.normal(size=(40, 5)), rng.normal(size=40), np.array([0.1, 3.0])
    spectrum = Spectrum.of_factor(Factor.of(X, y), intercept=True, unit_columns=False)
    ours = leave_one_out.all_learners(spectrum, X, y, alphas)
    for folds in (
        rivals.refits(X, y, alphas, 40),
        rivals.downdates(X, y, alphas, 40),
        rivals.downdates_at_once(X, y, alphas),
    ):
        residual, K, B, C = np.moveaxis(folds, -1, 0)  # (L, n) each
        a = alphas[:, None]
        shifted = residual + a * K * B / (1 + a * C)
        noise = {
            "ridge": np.mean(residual**2, axis=1),
            "bayes": np.mean(residual**2 / K, axis=1),
            "pnml": np.mean((residual / K) ** 2, axis=1),
            "luckiness": np.mean(shifted**2 * (1 + a * C) / K**2, axis=1),
        }
        for name, path in ours.items():
            np.testing.assert_allclose(path.noise_variance, noise[name], rtol=1e-9)


def test_the_rival_of_the_norm_ball_finds_the_same_regret(rivals, rng):
    X, y, new = rng.normal(size=(8, 20)), rng.normal(size=8), rng.normal(size=(3, 20))
    ours = NormBallRegressor(noise_variance=0.05).fit(X, y).regret(new)
    theirs = [rivals.norm_ball_regret(X, y, x, 0.05) for x in new]
    np.testing.assert_allclose(ours, theirs, rtol=1e-7)


def test_contenders_take_turns_and_neither_is_always_first(timing, monkeypatch):
    calls = []
    # Every call takes 0.0625 s of this clock: long enough to be a sample, and exact in binary.
    clock = SimpleNamespace(process_time=lambda: 0.0625 * len(calls))
    monkeypatch.setattr(timing, "time", clock)
    monkeypatch.setattr(timing.gc, "collect", int)  # slow among the objects of other tests

    def contender(name):
        return lambda: calls.append(name)

    duel = timing.duel(contender("ours"), contender("rival"), rounds=3)
    warm_up, turns = calls[:2], calls[2:]
    assert warm_up == ["ours", "rival"]
    assert turns == ["ours", "rival", "rival", "ours", "ours", "rival"]
    np.testing.assert_array_equal(duel.ratios, 1.0)
    np.testing.assert_array_equal(duel.ours, 0.0625)


def test_extra_memory_is_what_a_call_holds_at_once(timing):
    size = 8 * 10**6
    assert timing.extra_memory(lambda: np.ones(10**6)) == pytest.approx(size, rel=0.01)
    one_by_one = timing.extra_memory(lambda: [np.ones(10**6).sum() for _ in range(5)])
    assert one_by_one <= 2.01 * size


@pytest.mark.parametrize("answer", ["regret", "predict", "trusted"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("dead", [False, True], ids=["full rank", "dead column"])
def test_scoring_holds_less_than_half_of_its_input_besides_it(answer, dtype, dead, rng):
    X = rng.normal(size=(60_000, 50)).astype(dtype)
    X[:, -1] *= not dead
    model = PNMLRegressor().fit(X[:1000], X[:1000, 0] + rng.normal(size=1000))
    tracemalloc.start()
    try:
        getattr(model, answer)(X)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < X.nbytes / 2


@pytest.mark.slow
def test_every_target_is_met(tmp_path):
    done, run = benchmark("linear", "--rounds", "7", file=tmp_path / "full.json")
    held = [row for row in run["rows"] if row["target"] is not None]
    assert len(held) == 8
    assert [row for row in held if not row["passed"]] == [], done.stdout
