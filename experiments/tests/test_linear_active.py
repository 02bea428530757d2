"""Designs for least squares are greedy over refits, and the tables are of their picks."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from pnml_experiments.framework.output import Output
from pnml_experiments.framework.registry import find
from pnml_experiments.studies import linear_active
from pnml_experiments.studies.linear_active import ALPHA, MORE, OURS, RANDOM


def inverse(X):
    """Of rows with an intercept, which is not penalised."""
    rows = np.column_stack([np.ones(len(X)), X])
    penalty = np.diag([0.0, *[ALPHA] * X.shape[1]])
    return np.linalg.inv(rows.T @ rows + penalty)


def leverages(P, X):
    rows = np.column_stack([np.ones(len(X)), X])
    return np.einsum("nd,de,ne->n", rows, P, rows)


@pytest.mark.parametrize("design", ["largest_regret", "least_variance"])
def test_designs_are_greedy_over_refits(design, rng):
    X, pool, targets = (rng.normal(size=(n, 3)) for n in (6, 12, 5))
    seen, left, expected = X, list(range(12)), []
    for _ in range(4):
        if design == "largest_regret":
            best = int(np.argmax(leverages(inverse(seen), pool[left])))
        else:
            after = [leverages(inverse(np.vstack([seen, pool[i]])), targets).sum() for i in left]
            best = int(np.argmin(after))
        expected.append(left.pop(best))
        seen = np.vstack([seen, pool[expected[-1]]])
    found = getattr(linear_active, design)(X, pool, targets, 4)
    np.testing.assert_array_equal(found, expected)


@pytest.fixture
def result(tmp_path, monkeypatch, rng):
    """Two tiny sets, of which one is not there, and what the run was told."""
    (tmp_path / "uci").mkdir()
    X, y = rng.normal(size=(150, 3)), rng.normal(size=150)
    splits = {f"{part}_{k}": rows for k in range(3) for part, rows in split(rng).items()}
    np.savez(tmp_path / "uci" / "yacht.npz", X=X, y=X @ [1, 2, 3] + y, **splits)
    monkeypatch.setenv("PNML_DATA", str(tmp_path))
    sizes = linear_active.Sizes(("yacht", "wine"), 2, 100, 20, 2)
    monkeypatch.setattr(linear_active, "SIZES", {"small": sizes})
    told = []

    def run():
        out = Output(tmp_path / "here", tmp_path / "cache", "stamp")
        return find("linear-active").run("small", out, lambda *done: told.append(done))

    return run, told


def split(rng):
    order = rng.permutation(150)
    return {"train": order[:120], "test": order[120:]}


def test_the_tables_are_those_of_the_splits_and_a_second_run_finds_them(result, monkeypatch):
    run, told = result
    first = run()
    assert told[-1] == (4, 4)
    gains, *measures = first.tables
    values = {tuple(row.labels.values()): row.ours.value for row in measures[1].rows}
    assert len(values) == 2 * 4 * len(MORE)
    for kind in ("real", "linear"):
        mine, chance = (
            np.mean([values["yacht", kind, name, str(more)] for more in MORE[1:]])
            for name in (OURS, RANDOM)
        )
        gain = {tuple(row.labels.values()): row.ours for row in gains.rows}
        found = gain["yacht", kind, "mean regret, nats", OURS]
        assert found.value == pytest.approx(mine - chance)
        assert found.value < 0  # the regret is what it lowers
    monkeypatch.setattr(linear_active, "_one", pytest.fail)
    assert run().tables == first.tables


def test_figures_can_be_drawn(result):
    for figure in result[0]().figures:
        assert len(figure.draw().axes) == 2
