"""Learners of the benchmark say what refits and integrals say, and its numbers are of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

pytest.importorskip("matplotlib")

from pnml.core.factor import Factor
from pnml.core.spectrum import Spectrum
from pnml.estimators.selection import penalties
from pnml.experiments import uci_benchmark, uci_crossover, uci_draws, uci_rivals, uci_shift
from pnml.experiments.output import Output
from pnml.experiments.registry import find
from pnml.experiments.uci_draws import Draw, drawn, over_splits, standardised
from pnml.experiments.uci_learners import COVERAGE, Told, least_squares
from pnml.experiments.uci_rivals import BAYESIAN_RIDGE, LEARNERS, PNML, Entry


@pytest.fixture
def rows(rng):
    X, new = rng.normal(size=(25, 3)), 2 * rng.normal(size=(6, 3))
    return X, X @ [1.0, -0.5, 0.0] + rng.normal(size=25), new


def design(X):
    return np.column_stack([np.ones(len(X)), X])


def inverse(X, alpha):
    return np.linalg.inv(design(X).T @ design(X) + alpha * np.diag([0.0] + [1.0] * X.shape[1]))


def folds(X, y, alpha):
    """Error and 1 + leverage of every row, by a refit without it."""
    out = []
    for i in range(len(X)):
        keep = np.arange(len(X)) != i
        P, row = inverse(X[keep], alpha), design(X)[i]
        theta = P @ design(X[keep]).T @ y[keep]
        out.append((y[i] - row @ theta, 1 + row @ P @ row))
    return np.array(out).T


@pytest.mark.parametrize(("name", "power"), [("ridge", 0), ("Bayes", 1), (PNML, 2)])
def test_learners_by_leave_one_out_are_those_of_refits(name, power, rows):
    """Variance σ²Kᵖ with p = 0, 1, 2; penalty and σ² of the least pooled log-loss over refits."""
    X, y, new = rows
    h2 = Spectrum.of_factor(Factor.of(X, y), intercept=True, unit_columns=False).h2
    best = (np.inf, 0.0, 0.0)
    for alpha in penalties(h2, interpolates=False):
        error, K = folds(X, y, alpha)
        noise = np.mean(error**2 / K**power)
        loss = np.mean(0.5 * np.log(2 * np.pi * noise * K**power) + 0.5)
        best = min(best, (loss, alpha, noise))
    _, alpha, noise = best
    P = inverse(X, alpha)
    mean = design(new) @ P @ design(X).T @ y
    K = 1 + np.einsum("nd,de,ne->n", design(new), P, design(new))
    told = LEARNERS[name].told(X, y, new)
    std = np.sqrt(noise * K**power)
    np.testing.assert_allclose(told.mean, mean, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(told.interval[:, 1], norm.ppf(0.95, mean, std), rtol=1e-7)
    np.testing.assert_allclose(told.log_prob(mean + 1), norm.logpdf(mean + 1, mean, std))


def test_least_squares_is_that_of_statsmodels(rows):
    sm = pytest.importorskip("statsmodels.api")
    X, y, new = rows
    told = least_squares(X, y, new)
    rival = sm.OLS(y, design(X)).fit().get_prediction(design(new))
    np.testing.assert_allclose(told.mean, rival.predicted_mean, rtol=1e-8)
    np.testing.assert_allclose(told.interval, rival.conf_int(obs=True, alpha=0.1), rtol=1e-7)


@pytest.mark.parametrize("name", [name for name in LEARNERS if name != "kernel pNML"])
def test_densities_sum_to_one_and_intervals_hold_their_share(name, rows):
    if not LEARNERS[name].installed:
        pytest.skip(f"{LEARNERS[name].package} is not installed")
    X, y, new = rows
    told = LEARNERS[name].told(X, y, new)
    low, high = told.interval.T
    assert (low < told.mean).all()
    assert (told.mean < high).all()
    if told.log_prob is not None:
        for ends, share in (((-400, 400), 1.0), ((low[0], high[0]), COVERAGE)):
            grid = {"points": [told.mean[0]], "limit": 200}
            mass = quad(lambda y: np.exp(told.log_prob(np.full(6, y))[0]), *ends, **grid)[0]
            assert mass == pytest.approx(share, abs=1e-6)


def test_a_row_that_nothing_is_said_of_names_the_package(monkeypatch, rows):
    monkeypatch.setitem(uci_rivals.LEARNERS, "NGBoost", Entry(pytest.fail, "no_such_package"))
    found = {("a", "30"): [{PNML: {"RMSE": 1.0}}]}
    row = uci_benchmark._number(found, ["a"], "30", "NGBoost", "RMSE")
    assert row.ours is None
    assert "no_such_package is not installed" in row.note


def test_no_learner_gets_more_rows_than_it_takes(rows):
    X, y, new = rows
    few = replace(LEARNERS[PNML], most=10).told(X, y, new)
    np.testing.assert_array_equal(few.mean, LEARNERS[PNML].told(X[:10], y[:10], new).mean)


def test_measures_are_those_of_their_definitions(rng):
    truth, mean, std = rng.normal(size=(3, 50))
    std = np.exp(std)
    ends = np.column_stack([mean - 1.5 * std, mean + 1.5 * std])
    told = Told(mean, ends, lambda y: norm.logpdf(y, mean, std))
    draw = Draw(ends, truth, ends, truth, 2.0, 1.0)
    found = uci_benchmark.measured(told, draw, np.arange(5))
    # in twice the unit a density is half as high
    by_hand = -np.mean(norm.logpdf(2 * truth, 2 * mean, 2 * std))
    assert found["log-loss, nats"] == pytest.approx(by_hand)
    assert found["RMSE"] == pytest.approx(2 * np.sqrt(np.mean((truth - mean) ** 2)))
    inside = np.abs(truth - mean) <= 1.5 * std
    assert found["coverage"] == pytest.approx(inside.mean())
    assert found["coverage, highest regret"] == pytest.approx(inside[:5].mean())
    assert (
        uci_benchmark.measured(replace(told, log_prob=None), draw, np.arange(5))["log-loss, nats"]
        is None
    )


def test_intervals_over_splits_come_from_splits_drawn_again(rng):
    values = [rng.normal(size=20), rng.normal(3.0, size=10)]
    found = over_splits(values)
    assert found.value == pytest.approx(np.mean([one.mean() for one in values]))
    error = 0.5 * np.sqrt(sum(one.var() / len(one) for one in values))
    assert found.high - found.low == pytest.approx(2 * 1.96 * error, rel=0.1)
    shifted = over_splits([one + 1 for one in values])
    np.testing.assert_allclose(np.subtract(shifted, found), 1.0)  # the same draws


def test_the_gap_gets_small_where_the_line_says():
    ratios, means = [1.0, 2.0, 4.0, 8.0], np.array([-0.5, -0.03, -0.01, 0.0])
    found = uci_crossover.last_large(ratios, means)
    assert found == pytest.approx(4.0)
    assert uci_crossover.last_large(ratios, means / 100) == 1.0
    assert uci_crossover.last_large(ratios, means - 1) == 8.0
    between = uci_crossover.last_large(ratios, np.array([-0.5, -0.03, 0.01 / 3, 0.0]))
    share = (0.03 - 0.01) / (0.03 - 0.01 / 3)
    assert np.log2(between) == pytest.approx(1 + share)


def test_told_apart_is_the_area_under_the_curve_of_the_leverage(tiny):
    stored = np.load(tiny / "shift" / "fire.npz")
    X, new = stored["X_train"], stored["X_test"]
    order = np.random.default_rng(1).permutation(len(X))
    held, fit = order[:12], order[12:]
    A, B = (design(standardised(rows, X[fit])) for rows in (X[fit], np.vstack([X[held], new])))
    leverage = np.einsum("nd,de,ne->n", B, np.linalg.inv(A.T @ A), B)
    area = roc_auc_score(np.arange(len(B)) >= len(held), leverage)
    assert uci_shift.told_apart("fire", 1)["pNML, no penalty"] == pytest.approx(area)
    A, B = design(X), design(new)
    hat = np.einsum("nd,de,ne->n", A, np.linalg.inv(A.T @ A), A)
    there = np.einsum("nd,de,ne->n", B, np.linalg.inv(A.T @ A), B)
    scores = np.concatenate([hat / (1 - hat), there])
    area = roc_auc_score(np.arange(len(scores)) >= len(hat), scores)
    assert uci_shift.left_out("fire")[0] == pytest.approx(area)


@pytest.fixture
def tiny(tmp_path, monkeypatch, rng):
    """A set with two splits, one that is not there, and one of shifted rows."""
    for name in ("uci", "shift"):
        (tmp_path / name).mkdir()
    X = rng.normal(size=(80, 3))
    splits = {}
    for k in range(2):
        splits[f"train_{k}"], splits[f"test_{k}"] = np.split(rng.permutation(80), [60])
    np.savez(tmp_path / "uci" / "yacht.npz", X=X, y=X[:, 0] + rng.normal(size=80), **splits)
    there = {"X_test": 3 * rng.normal(size=(30, 3)), "y_test": rng.normal(size=30)}
    y = X[:60, 0] + rng.normal(size=60)
    np.savez(tmp_path / "shift" / "fire.npz", X_train=X[:60], y_train=y, **there)
    monkeypatch.setenv("PNML_DATA", str(tmp_path))
    return tmp_path


def test_a_draw_is_standardised_on_its_own_rows(tiny):
    stored = np.load(tiny / "uci" / "yacht.npz")
    draw = drawn("yacht", 1, 20)
    assert draw.X.shape == (20, 3)
    np.testing.assert_allclose(draw.X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(draw.X.std(axis=0), 1)
    np.testing.assert_allclose([draw.y.mean(), draw.y.std()], [0, 1], atol=1e-12)
    y = stored["y"]
    assert draw.spread == pytest.approx(y[stored["train_1"]].std())
    moved = draw.truth * draw.unit * draw.spread - y[stored["test_1"]]
    np.testing.assert_allclose(moved, moved[0])  # back in its own unit, up to the mean
    whole = drawn("yacht", 1, None)
    assert whole.unit == pytest.approx(1.0)


def test_the_benchmark_runs_draws_and_goes_on(tiny, monkeypatch):
    sizes = uci_benchmark.Sizes(("yacht", "wine"), 2, 1, (20, None), 2, 1, ("fire", "wine"), 1)
    monkeypatch.setattr(uci_benchmark, "SIZES", {"small": sizes})
    monkeypatch.setattr(uci_shift, "SHAPES", ((20, 3), (20, 24)))
    monkeypatch.setattr(uci_draws, "RESAMPLES", 50)
    told = []

    def run():
        out = Output(tiny / "here", tiny / "cache", "stamp")
        return find("uci-benchmark").run("small", out, lambda *done: told.append(done))

    first = run()
    assert told[-1] == (9, 9)
    tables = {table.title: table for table in first.tables}
    loss = {
        tuple(row.labels.values()): row.ours for row in tables["Log-loss, nats, set by set"].rows
    }
    gaps = {
        tuple(row.labels.values()): row.ours.value
        for row in tables["Gap in log-loss to BayesianRidge"].rows
    }
    for size in ("20", "all"):
        gap = loss["yacht", size, PNML].value - loss["yacht", size, BAYESIAN_RIDGE].value
        assert gaps[size, "all", PNML] == pytest.approx(gap)
        assert gaps[size, "yacht", PNML] == pytest.approx(gap)
    raw = {
        tuple(row.labels.values()): row.ours.value
        for row in tables["Log-loss in the target's own unit, all rows"].rows
    }
    spread = np.log(drawn("yacht", 0, None).spread)
    assert raw["yacht", PNML] == pytest.approx(loss["yacht", "all", PNML].value + spread)
    for table in first.tables:
        for row in table.rows:
            assert row.ours is None or row.ours.low <= row.ours.value <= row.ours.high
    for figure in first.figures:
        assert figure.draw().axes
    for module, name in ((uci_benchmark, "_judged"), (uci_crossover, "losses")):
        monkeypatch.setattr(module, name, pytest.fail)
    assert run().tables == first.tables
