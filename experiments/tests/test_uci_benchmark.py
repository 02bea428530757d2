"""Learners of the benchmark say what refits and integrals say, and its numbers are of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm
from sklearn.metrics import roc_auc_score
from sklearn.neural_network import MLPRegressor
from sklearn.tree import DecisionTreeRegressor

pytest.importorskip("matplotlib")

from pnml.core.geometry.spectrum import Spectrum
from pnml.core.selection import penalties
from pnml.core.statistic.factor import Factor
from pnml.estimators.regressor import PNMLRegressor
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.registry import find
from pnml_experiments.studies import (
    uci_benchmark,
    uci_crossover,
    uci_draws,
    uci_findings,
    uci_networks,
    uci_rivals,
    uci_shift,
)
from pnml_experiments.studies.uci_draws import Draw, drawn, over_splits, standardised
from pnml_experiments.studies.uci_learners import COVERAGE, Told, least_squares
from pnml_experiments.studies.uci_rivals import BAYESIAN_RIDGE, LEARNERS, NETWORK, PNML, Entry


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


@pytest.mark.parametrize(
    "name", [*(name for name in LEARNERS if name != "kernel pNML"), uci_shift.NEAR_BEST]
)
def test_densities_sum_to_one_and_intervals_hold_their_share(name, rows):
    entry = (LEARNERS | {uci_shift.NEAR_BEST: Entry(uci_shift.near_best)})[name]
    if not entry.installed:
        pytest.skip(f"{entry.package} is not installed")
    X, y, new = rows
    told = entry.told(X, y, new)
    low, high = told.interval.T
    assert (low < told.mean).all()
    assert (told.mean < high).all()
    if told.log_prob is not None:
        for ends, share in (((-400, 400), 1.0), ((low[0], high[0]), COVERAGE)):
            grid = {"points": [told.mean[0]], "limit": 200}
            mass = quad(lambda y: np.exp(told.log_prob(np.full(6, y))[0]), *ends, **grid)[0]
            assert mass == pytest.approx(share, abs=1e-6)


def test_network_features_are_tuned_on_rows_kept_from_the_network(rows, monkeypatch):
    """Both the network and the last layer are fitted again without each fold."""
    X, y, new = rows
    monkeypatch.setattr(uci_networks, "UNITS", 4)
    parts = np.array_split(np.arange(25), 5)

    def units(X, y):
        network = MLPRegressor(
            hidden_layer_sizes=(4,),
            activation="tanh",
            solver="lbfgs",
            alpha=0.1,
            random_state=0,
        ).fit(X, y)
        W, b = network.coefs_[0], network.intercepts_[0]
        return lambda rows: np.column_stack([rows, np.tanh(rows @ W + b)])

    maps = [units(np.delete(X, held, 0), np.delete(y, held)) for held in parts]
    best = (np.inf, 0.0, 0.0)
    for alpha in uci_networks.PENALTIES:
        found = []
        for held, features in zip(parts, maps, strict=True):
            A, labels = features(np.delete(X, held, 0)), np.delete(y, held)
            P, B = inverse(A, alpha), design(features(X[held]))
            error = y[held] - B @ P @ design(A).T @ labels
            found.append((error, 1 + np.einsum("nd,de,ne->n", B, P, B)))
        error, K = np.hstack(found)
        noise = np.mean((error / K) ** 2)
        best = min(best, (-norm.logpdf(error, 0, np.sqrt(noise) * K).mean(), alpha, noise))
    _, alpha, noise = best
    features = units(X, y)
    P, B = inverse(features(X), alpha), design(features(new))
    mean, K = B @ P @ design(features(X)).T @ y, 1 + np.einsum("nd,de,ne->n", B, P, B)
    told = LEARNERS[NETWORK].told(X, y, new)
    np.testing.assert_allclose(told.mean, mean, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(told.regret, np.log(K), rtol=1e-6)
    end = norm.ppf(0.95, mean, np.sqrt(noise) * K)
    np.testing.assert_allclose(told.interval[:, 1], end, rtol=1e-5)


def test_boosting_is_silent_and_stops_where_held_back_rows_want_no_more_trees(rows, capsys):
    ngboost = pytest.importorskip("ngboost")
    tree = DecisionTreeRegressor(max_depth=3, random_state=0)
    settings = {"Base": tree, "learning_rate": 0.1, "verbose": False}
    X, y, new = rows
    told = LEARNERS["NGBoost"].told(X, y, new)
    assert capsys.readouterr() == ("", "")
    model = ngboost.NGBRegressor(n_estimators=150, **settings).fit(X[10:], y[10:])
    losses = [-one.logpdf(y[:10]).mean() for one in model.staged_pred_dist(X[:10])]
    last = next(k for k in range(10, 150) if np.argmin(losses[: k + 1]) <= k - 10)
    trees = 1 + int(np.argmin(losses[: last + 1]))
    model = ngboost.NGBRegressor(n_estimators=trees, **settings).fit(X, y)
    np.testing.assert_allclose(told.mean, model.predict(new))


@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner_says_the_same_again(name, rows):
    """No number depends on the state of numpy's own generator."""
    if not LEARNERS[name].installed:
        pytest.skip(f"{LEARNERS[name].package} is not installed")
    first, again = (LEARNERS[name].told(*rows) for _ in range(2))
    np.testing.assert_array_equal(first.interval, again.interval)


def test_numbers_of_shifted_rows_are_those_of_their_definitions(rng):
    n, d = 30, 40
    X, slopes = rng.normal(size=(n, d)), rng.normal(size=d) / np.sqrt(d)
    new = np.vstack([3 * rng.normal(size=(300, d)), rng.normal(size=(300, d))])
    y, labels = X @ slopes + rng.normal(size=n), new @ slopes + rng.normal(size=600)
    told = LEARNERS[PNML].told(X, y, new)
    found = uci_shift.judged(told, labels)
    assert list(found) == list(uci_shift.NUMBERS)
    inside = (told.interval[:, 0] <= labels) & (labels <= told.interval[:, 1])
    assert found["coverage"] == pytest.approx(inside[:300].mean())
    assert found["width"] == pytest.approx(np.ptp(told.interval[:300], axis=1).mean())
    assert found["log-loss, nats"] == pytest.approx(-told.log_prob(labels)[:300].mean())
    area = roc_auc_score(np.arange(600) < 300, told.regret)
    assert found["AUROC of the regret"] == pytest.approx(area)
    # trusted: no stranger than 99 % of the training rows are to the others
    alpha = PNMLRegressor(alpha="loo").fit(X, y).alpha_
    left_out = np.quantile(np.log(folds(X, y, alpha)[1]), 0.99, method="inverted_cdf")
    assert found["trusted"] == pytest.approx(np.mean(told.regret[:300] <= left_out))
    assert found["trusted, same kind"] == pytest.approx(np.mean(told.regret[300:] <= left_out))


def test_a_wide_interval_is_said_to_be_of_one_row_where_it_is():
    usual = {"interval score": 1.0, "widest share": 0.1, "widest trusted": 1.0}
    wide = {"interval score": 99.0, "widest share": 0.97, "widest trusted": 0.0}
    splits = [{PNML: one, "GPR": {"interval score": 0.9}} for one in (usual, usual, wide)]
    (said,) = uci_findings._wide({("a", "30"): splits, ("b", "30"): splits[:2]})
    assert "pNML on a with 30 rows: 33.7 in the mean over splits, 1.0 in the median" in said
    assert "(GPR: 0.9 and 0.9)" in said
    assert "one row has 97% of the width of all intervals, and the learner does not trust" in said
    assert not [*uci_findings._wide({("b", "30"): splits[:2]})]


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
    middle = over_splits(values, np.median)
    assert middle.value == pytest.approx(np.mean([np.median(one) for one in values]))
    assert middle.low < middle.value < middle.high


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
    said = next(one for one in first.remarks if one.startswith("**Few rows.**"))
    assert f"{abs(gaps['20', 'all', PNML]):.3f} " in said
    assert f"{loss['yacht', '20', PNML].value:.2f} nats" in said
    for table in first.tables:
        for row in table.rows:
            assert row.ours is None or row.ours.low <= row.ours.value <= row.ours.high
    for figure in first.figures:
        assert figure.draw().axes
    for module, name in ((uci_benchmark, "_judged"), (uci_crossover, "losses")):
        monkeypatch.setattr(module, name, pytest.fail)
    assert run().tables == first.tables
