"""Losses on UCI sets are those of refits and integrals, and the tables are their means."""

from __future__ import annotations

import numpy as np
import pytest

import oracle

pytest.importorskip("matplotlib")

from scipy.integrate import quad

from pnml.core.norm_ball.ball import Ball
from pnml_experiments.ch3_overparameterized import uci_double_descent, uci_min_norm
from pnml_experiments.ch3_overparameterized.uci_min_norm import (
    Rows,
    Split,
    as_printed,
    fair_losses,
    printed_losses,
)
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.registry import find


def some_split(rng, rows=(12, 9, 7), columns=4):
    """Rows of a linear truth with noise."""
    parts = []
    for n in rows:
        X = rng.normal(size=(n, columns))
        parts.append(Rows(X, X @ np.arange(1.0, columns + 1) + rng.normal(size=n)))
    return Split(*parts)


def test_doubled_regrets_are_twice_the_integral_over_labels_above_the_fit(rng):
    h2, t, v = np.array([4.0, 0.7]), np.array([0.5, -0.8]), 0.09
    a, b = rng.normal(size=(2, 2)), np.array([0.4, 2.5])
    found = uci_min_norm.doubled_regrets(Ball.min_norm(h2, t), a, b, np.array([v, 1.0]))
    for i in range(2):

        def density(y, i=i):
            s = oracle.ball_told_residual(h2, t, a[i], b[i], np.linalg.norm(t), np.array([y]))
            return float(np.exp(-(s[0] ** 2) / (2 * v)) / np.sqrt(2 * np.pi * v))

        fit = float(a[i] @ t)
        edges = fit + np.array([0, 0.01, 0.1, 0.3, 1, 2, 4, 8, 16, 32])
        half = sum(
            quad(density, low, high, epsrel=1e-9)[0]
            for low, high in zip(edges[:-1], edges[1:], strict=True)
        )
        assert found[i, 0] == pytest.approx(np.log(2 * half), abs=1e-5)


def test_fair_genies_are_refits_within_the_ball(rng):
    split = some_split(rng)
    family = uci_min_norm._fair_family(split.train, 3)
    told, rows = family.genies(split.test), split.train.first(3)
    radius = oracle.min_norm_radius(rows.X, rows.y, intercept=True)
    for i in range(2):
        x, y = split.test.X[i], float(split.test.y[i])
        s = oracle.ball_refit_residual(rows.X, rows.y, x, y, radius, intercept=True)
        assert told.squared[i] == pytest.approx(s**2, rel=1e-5, abs=1e-8)

    def density(label):
        s = oracle.ball_refit_residual(rows.X, rows.y, x, label, radius, intercept=True)
        return np.exp(-(s**2) / 2) / np.sqrt(2 * np.pi)

    labels = y - told.error[i] + np.linspace(-16, 16, 257)
    total = np.trapezoid([density(label) for label in labels], labels)
    assert told.regrets(np.ones(1))[i, 0] == pytest.approx(np.log(total), abs=2e-3)
    assert told.bounds(1.0).proven[i] >= told.regrets(np.ones(1))[i, 0]


def test_the_printed_bound_is_the_formula_for_every_row(rng):
    split = as_printed(some_split(rng))
    X, y = split.train.X[:3], split.train.y[:3]
    inverse, v, new = np.linalg.pinv(X), 0.3, split.test.X
    near = Rows(np.vstack([new, X[:1] + 1e-3]), np.append(split.test.y, 1.0))
    found = uci_min_norm._printed_family(split.train.first(3)).genies(near).bounds(v)
    fit, outside = inverse @ y, np.sum((near.X - near.X @ inverse @ X) ** 2, axis=1)
    K = 1 + np.sum((near.X @ inverse) ** 2, axis=1)
    root = np.cbrt(outside * np.sum((inverse.T @ fit) ** 2) / (np.pi * v))
    expected = np.log(K * (1 + 2 * outside) + 3 * root)
    np.testing.assert_allclose(found.printed, expected, rtol=1e-9)
    np.testing.assert_allclose(found.printed_near[:-1], expected[:-1], rtol=1e-9)
    assert found.printed_near[-1] == pytest.approx(np.log(K[-1]))
    assert found.printed[-1] > found.printed_near[-1]


def test_with_an_intercept_the_printed_bound_is_that_of_the_centred_problem(rng):
    split = some_split(rng)
    family = uci_min_norm._fair_family(split.train, 3)
    rows = split.train.first(3)
    X, y, new = rows.X - rows.X.mean(0), rows.y - rows.y.mean(), split.test.X - rows.X.mean(0)
    inverse, omega, v = np.linalg.pinv(X, rcond=1e-9), 3 / 4, 0.3
    new = np.sqrt(omega) * new
    fit, outside = inverse @ y, np.sum((new - new @ inverse @ X) ** 2, axis=1)
    K = 1 + np.sum((new @ inverse) ** 2, axis=1)
    root = np.cbrt(outside * np.sum((inverse.T @ fit) ** 2) / (np.pi * v / omega))
    expected = np.log((K * (1 + 2 * outside) + 3 * root) / omega)
    np.testing.assert_allclose(family.genies(split.test).bounds(v).printed, expected, rtol=1e-8)


def test_with_enough_rows_both_protocols_are_least_squares_with_refitted_genies(rng):
    split = some_split(rng)
    for prepared, losses in ((as_printed(split), printed_losses), (split, fair_losses)):
        intercept, n = losses is fair_losses, 10
        X, y = prepared.train.X[:n], prepared.train.y[:n]
        A, new = oracle.design(X, intercept), oracle.design(prepared.test.X, intercept)
        fit = np.linalg.lstsq(A, y, rcond=None)[0]
        seen = oracle.design(prepared.validation.X, intercept)
        noise = np.mean((prepared.validation.y - seen @ fit) ** 2)
        found = losses(prepared, n)
        expected = np.log(2 * np.pi * noise) + (prepared.test.y - new @ fit) ** 2 / noise
        np.testing.assert_allclose(found.min_norm, expected / 2, rtol=1e-6)
        K = 1 + np.einsum("nd,de,ne->n", new, np.linalg.inv(A.T @ A), new)
        np.testing.assert_allclose(found.regret, np.log(K), rtol=1e-6)
        # told its label, a row has a residual K times smaller, and the noise is the same for all
        less = found.pnml - np.log(K)
        squares = ((prepared.test.y - new @ fit) / K) ** 2
        slope = np.diff(less)[0] / np.diff(squares)[0]
        v = 1 / (2 * slope)
        np.testing.assert_allclose(less, np.log(2 * np.pi * v) / 2 + squares / (2 * v), rtol=1e-6)


def test_the_printed_noise_is_the_mean_of_what_is_best_row_by_row(rng):
    split = as_printed(some_split(rng))
    family = uci_min_norm._printed_family(split.train.first(3))
    tried, grid = family.genies(split.validation), uci_min_norm._NOISE
    best = [grid[np.argmin(tried.log_losses(grid)[i])] for i in range(9)]
    told = family.genies(split.test).log_losses(np.array([np.mean(best)]))[:, 0]
    np.testing.assert_allclose(printed_losses(split, 3).pnml, told, rtol=1e-9)


def test_sizes_go_through_all_numbers_of_columns_and_end_at_all_rows(rng):
    split = some_split(rng, rows=(200, 3, 3), columns=6)
    sizes = uci_min_norm.sizes_of(split)
    assert sizes[:6] == [2, 3, 4, 5, 6, 7]
    assert sizes[-1] == 200
    assert len(sizes) == 15


def test_shares_are_those_of_least_regret(rng):
    losses = [
        uci_min_norm.Losses(*rng.normal(size=(6, 30)), rng.random(30) < 0.9) for _ in range(2)
    ]
    found = uci_double_descent.summary(4, dict(zip((5, 9), losses, strict=True)))
    regrets = np.concatenate([one.regret[one.kept] for one in losses])
    fit = np.concatenate([one.min_norm[one.kept] for one in losses])
    place = uci_double_descent.SHARES.index(0.8)
    low = np.argsort(regrets)[: round(0.8 * len(regrets))]
    assert found["below"]["min_norm"][place] == pytest.approx(fit[low].mean())
    assert found["below"]["regret"][-1] == pytest.approx(regrets.max())
    assert found["by rows"]["pnml"][1] == pytest.approx(losses[1].pnml[losses[1].kept].mean())
    assert found["dropped"] == pytest.approx(1 - len(regrets) / 60)


@pytest.fixture
def tiny(tmp_path, monkeypatch, rng):
    """One tiny set of two that are asked for."""
    (tmp_path / "uci").mkdir()
    X = rng.normal(size=(90, 3))
    stored = {"X": X, "y": X @ [1, 2, 3] + rng.normal(size=90)}
    for k in range(3):
        order = rng.permutation(90)
        stored |= {f"train_{k}": order[:70], f"test_{k}": order[70:]}
    np.savez(tmp_path / "uci" / "yacht.npz", **stored)
    monkeypatch.setenv("PNML_DATA", str(tmp_path))
    sizes = {"small": uci_double_descent.Sizes(("yacht", "energy"), 2)}
    monkeypatch.setattr(uci_double_descent, "SIZES", sizes)
    told = []

    def run():
        out = Output(tmp_path / "here", tmp_path / "cache", "stamp")
        return find("uci-double-descent").run("small", out, lambda *done: told.append(done))

    return run, told, stored


def test_a_tiny_run_has_the_means_of_its_splits_and_is_taken_up(tiny, monkeypatch):
    run, told, stored = tiny
    result = run()
    assert told[-1] == (4, 4)
    losses = {tuple(row.labels.values()): row for row in result.tables[1].rows}
    row = losses["yacht", "min-norm", "all"]
    means = []
    for k in range(2):
        split = uci_min_norm.read_split(stored, k)
        found = [fair_losses(split, n) for n in uci_min_norm.sizes_of(split)]
        means.append(np.mean([one.min_norm.mean() for one in found]))
    assert row.fair.value == pytest.approx(np.mean(means))
    assert row.printed == 1.551
    thresholds = {tuple(each.labels.values()): each for each in result.tables[-1].rows}
    assert thresholds["yacht", "min-norm", "all"].fair == row.fair
    assert len(thresholds) == 2 * len(uci_double_descent.SHARES)
    descent = {each.labels["number"] for each in result.tables[2].rows}
    assert {"rows at the largest printed bound", "rows at the largest bound"} <= descent
    for figure in result.figures:
        figure.draw().draw_without_rendering()
    monkeypatch.setattr(uci_double_descent, "_one", pytest.fail)
    assert run().tables == result.tables


@pytest.fixture
def yacht(data_dir):
    with np.load(data_dir / "uci" / "yacht.npz") as stored:
        return dict(stored)


@pytest.mark.data
def test_min_norm_is_that_of_a_pseudo_inverse(yacht):
    split = as_printed(uci_min_norm.read_split(yacht, 0))
    for n in uci_min_norm.sizes_of(split):
        X, y = split.train.X[:n], split.train.y[:n]
        fit = np.linalg.pinv(X.T @ X) @ X.T @ y
        v = np.mean((split.validation.y - split.validation.X @ fit) ** 2)
        error = split.test.y - split.test.X @ fit
        p = np.exp(-(error**2) / (2 * v)) / np.sqrt(2 * np.pi * v)
        expected = -np.log(p + np.finfo(float).eps)
        assert printed_losses(split, n).min_norm.mean() == pytest.approx(expected.mean(), abs=1e-4)


@pytest.mark.data
@pytest.mark.slow
def test_print_is_met_on_yacht(yacht):
    pieces = []
    for k in range(20):
        split = as_printed(uci_min_norm.read_split(yacht, k))
        found = {n: printed_losses(split, n) for n in uci_min_norm.sizes_of(split)}
        pieces.append(uci_double_descent.summary(7, found)["below"])
    for (name, learner, rows), value in uci_double_descent.printed().items():
        if name == "yacht":
            place = uci_double_descent.SHARES.index({"80 %": 0.8, "all": 1.0}[rows])
            key = uci_double_descent.LEARNERS[learner]
            assert np.mean([one[key][place] for one in pieces]) == pytest.approx(value, abs=0.05)
