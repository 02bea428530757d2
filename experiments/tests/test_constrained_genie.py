"""Heads of bounded norm: the best of their class, and genies by literal refits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

from pnml.metrics import Estimate
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.registry import find
from pnml_experiments.framework.rows import stored
from pnml_experiments.studies import constrained_genie
from pnml_experiments.studies.bounded_heads import Bounded, Rows, Whitening

RADIUS = 1.0


@pytest.fixture
def rows(rng):
    labels = rng.integers(3, size=30)
    X = rng.normal(size=(30, 2)) + np.eye(3)[labels][:, :2]
    return Rows(np.column_stack([X, np.ones(30)]), labels, 3)


def constrained(rows):
    """The best head inside the ball by a solver for constraints in general."""
    inside = {"type": "ineq", "fun": lambda w: RADIUS**2 - np.sum(w.reshape(3, 3)[:-1] ** 2)}
    found = minimize(
        lambda w: rows.loss(w, 0.0)[0],
        np.zeros(9),
        jac=lambda w: rows.loss(w, 0.0)[1],
        method="SLSQP",
        constraints=[inside],
        options={"ftol": 1e-12, "maxiter": 500},
    )
    return found.x.reshape(3, 3), found.fun


def test_the_loss_and_its_gradient_are_those_of_the_definition(rows, rng):
    w = rng.normal(size=9)
    W = w.reshape(3, 3)
    p = np.exp(rows.X @ W)
    p /= p.sum(axis=1, keepdims=True)
    expected = -np.log(p[np.arange(30), rows.labels]).sum() + 0.5 * 0.7 * np.sum(W[:-1] ** 2)
    assert rows.loss(w, 0.7)[0] == pytest.approx(expected)
    for i in range(9):
        step = 1e-6 * np.eye(9)[i]
        slope = (rows.loss(w + step, 0.7)[0] - rows.loss(w - step, 0.7)[0]) / 2e-6
        assert rows.loss(w, 0.7)[1][i] == pytest.approx(slope, abs=1e-5)


def test_the_bounded_fit_is_the_best_inside_the_ball(rows):
    head = Bounded(rows, RADIUS)
    W, multiplier = head.best
    expected, least = constrained(rows)
    assert np.linalg.norm(W[:-1]) == pytest.approx(RADIUS, rel=1e-3)
    assert multiplier > 0
    assert rows.loss(W.ravel(), 0.0)[0] == pytest.approx(least, rel=1e-4)
    np.testing.assert_allclose(W[:-1], expected[:-1], atol=5e-3)


def test_a_bound_that_is_not_met_leaves_the_best_fit_of_all(rows):
    W, multiplier = Bounded(rows, 50.0).best
    free = minimize(lambda w: rows.loss(w, 0.0)[0], np.zeros(9), tol=1e-12)
    assert multiplier < 1e-6
    assert rows.loss(W.ravel(), 0.0)[0] == pytest.approx(free.fun, rel=1e-6)


def test_genies_are_fits_with_the_row_and_its_label(rows, rng):
    head, x = Bounded(rows, RADIUS), np.append(3 * rng.normal(size=2), 1.0)
    bounded, penalised = head.genies(x[None]), head.genies(x[None], penalised=True)
    for label in range(3):
        more = rows.with_row(x, label)
        assert len(more.X) == 31
        W = constrained(more)[0]
        expected = (x @ W)[label] - np.logaddexp.reduce(x @ W)
        assert bounded[0, label] == pytest.approx(expected, abs=5e-3)
        at = head.best[1]
        loss = minimize(lambda w, m=more, at=at: m.loss(w, at)[0], np.zeros(9), tol=1e-12)
        W = loss.x.reshape(3, 3)
        expected = (x @ W)[label] - np.logaddexp.reduce(x @ W)
        assert penalised[0, label] == pytest.approx(expected, abs=5e-3)


def test_whitened_columns_have_unit_covariance_and_keep_logits(rng):
    features, weight = (
        rng.normal(size=(40, 3)) @ rng.normal(size=(3, 3)) + 5,
        rng.normal(size=(4, 3)),
    )
    whitening = Whitening.of(features)
    X = whitening.rows(features)
    np.testing.assert_allclose(X[:, :-1].T @ X[:, :-1] / 40, np.eye(3), atol=1e-9)
    slopes = np.linalg.lstsq(X, features @ (weight - weight.mean(axis=0)).T, rcond=None)[0]
    assert whitening.norm(weight) == pytest.approx(np.linalg.norm(slopes[:-1]))


def area(value, spread):
    return {constrained_genie._AREA: Estimate(value, value - spread, value + spread)}


@pytest.mark.parametrize(
    ("ours", "words"),
    [
        (95, "detects better than the closed form at 0.1 of the network's norm"),
        (91, "cannot be told apart (the intervals overlap) from the closed form at 0.1"),
        (89, "cannot be told apart (the intervals overlap) from the closed form at 0.1"),
        (85, "detects worse than the closed form at 0.1"),
    ],
)
def test_areas_whose_intervals_overlap_are_not_told_apart(ours, words):
    bounded, closed = constrained_genie.BOUNDED, constrained_genie.CLOSED
    lines = {("0.1", bounded): area(ours, 2), ("0.1", closed): area(90, 2)}
    assert constrained_genie._beside(lines, closed).startswith(words)
    lines |= {("0.2", bounded): area(90, 2), ("0.2", closed): area(90, 2)}
    both = constrained_genie._beside(lines, closed)
    assert both.startswith(words)
    assert both.endswith("0.2 of the network's norm")


def test_the_published_findings_are_those_of_the_published_rows():
    path = Path(__file__).parents[2] / "docs" / "results" / "data" / "constrained-genie.jsonl"
    result = stored(path).result
    expected = (*constrained_genie.findings(result.tables), *constrained_genie._REMARKS)
    assert result.remarks == expected


def test_a_tiny_run_has_all_tables_and_is_taken_up(tmp_path, monkeypatch, rng):
    (tmp_path / "features").mkdir()
    stored = {"fc_weight": rng.normal(size=(10, 4)), "fc_bias": np.zeros(10)}
    for part, count in (("train", 60), ("test", 9)):
        stored[f"y_cifar10_{part}"] = np.arange(count) % 10
        stored[f"f_cifar10_{part}"] = rng.normal(size=(count, 4))
    for name in constrained_genie.OOD:
        stored[f"f_{name}"] = 4 + rng.normal(size=(6, 4))
    np.savez(tmp_path / "features" / "cifar10_resnet20.npz", **stored)
    monkeypatch.setenv("PNML_DATA", str(tmp_path))
    sizes = constrained_genie.Sizes(30, 4, 2, (0.5,))
    monkeypatch.setattr(constrained_genie, "_SIZES", {"small": sizes})

    def run():
        out = Output(tmp_path / "here", tmp_path / "cache", "stamp")
        return find("constrained-genie").run("small", out, lambda *done: None)

    result = run()
    assert [table.title for table in result.tables] == [
        "Genies of the last layer",
        "Detection by set",
        "What the bound changes",
        "The fit at every radius",
    ]
    assert "Is it worth it?" in result.remarks[1]
    assert result.remarks[:2] == constrained_genie.findings(result.tables)
    monkeypatch.setattr(constrained_genie, "answers", pytest.fail)
    assert run().tables == result.tables
