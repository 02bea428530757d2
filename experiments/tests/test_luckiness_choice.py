"""Rules for a penalty are what their definitions say, and the tables are of paired differences."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from scipy.stats import norm

import oracle

pytest.importorskip("matplotlib")

from pnml_experiments.ch4_luckiness import pmlb_rows
from pnml_experiments.ch4_luckiness.linear_learners import METHODS, Trained
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.registry import find
from pnml_experiments.framework.stored_files import shift_path
from pnml_experiments.studies import luckiness_choice, luckiness_rules
from pnml_experiments.studies.luckiness_choice import BASE


@pytest.fixture
def trained(rng):
    X = rng.normal(size=(12, 4))
    return Trained(X, X @ [1.0, -1.0, 0.5, 0.0] + rng.normal(size=12))


def left_out(trained, alpha):
    """Residuals of ridge and of luckiness, and variance over noise of luckiness, by refits."""
    folds = [
        oracle.ridge_left_out(trained.X, trained.y, i, alpha, intercept=True) for i in range(12)
    ]
    fit, K, B, C = np.array(folds).T
    residual, B, C = trained.y - fit, alpha * B, alpha * C
    return residual, residual + K * B / (1 + C), K**2 / (1 + C)


def test_by_squares_is_the_least_squared_error_over_refits(trained):
    for name, place in (("ridge", 0), ("luckiness", 1)):
        squares = [np.sum(left_out(trained, alpha)[place] ** 2) for alpha in trained.alphas]
        found = luckiness_rules.by_squares(trained, METHODS[name])
        assert found.alpha == pytest.approx(trained.alphas[int(np.argmin(squares))])


def test_gcv_is_that_of_the_hat_matrix(trained):
    rows = oracle.design(trained.X, True)
    values = []
    for alpha in trained.alphas:
        H = rows @ np.linalg.solve(rows.T @ rows + alpha * np.diag([0, 1, 1, 1, 1]), rows.T)
        left = trained.y - H @ trained.y
        values.append(12 * left @ left / (12 - np.trace(H)) ** 2)
    found = luckiness_rules.by_gcv(trained, METHODS["luckiness"])
    assert found.alpha == pytest.approx(trained.alphas[int(np.argmin(values))])


def log_losses(trained):
    """Left-out losses of luckiness (rows, penalties), each penalty with its best noise."""
    columns = []
    for alpha in trained.alphas:
        _, residual, ratio = left_out(trained, alpha)
        noise = np.mean(residual**2 / ratio)
        columns.append(-norm.logpdf(residual, scale=np.sqrt(noise * ratio)))
    return np.array(columns).T


def test_log_loss_and_one_standard_error_are_those_of_refits(trained):
    losses = log_losses(trained)
    means = losses.mean(axis=0)
    best = int(np.argmin(means))
    method = METHODS["luckiness"]
    assert luckiness_rules.by_log_loss(trained, method).alpha == trained.alphas[best]
    error = losses[:, best].std() / np.sqrt(12)
    last = np.flatnonzero(means <= means[best] + error).max()
    found = luckiness_rules.by_standard_error(trained, method)
    assert found.alpha == pytest.approx(trained.alphas[last])


@pytest.mark.parametrize("name", list(luckiness_rules.ENVELOPES))
def test_at_once_is_the_normalised_largest_density(name, trained, rng):
    method, path = METHODS["luckiness"], trained.path(METHODS["luckiness"])
    x = rng.normal(size=(1, 4))
    said = luckiness_rules.ENVELOPES[name](trained, method)(x)
    places = np.arange(100)
    if name != "all penalties at once":
        losses = log_losses(trained)
        best = int(np.argmin(losses.mean(axis=0)))
        limit = losses[:, best].mean() + losses[:, best].std() / np.sqrt(12)
        places = np.flatnonzero(losses.mean(axis=0) <= limit)
    picked = places[np.linspace(0, len(places) - 1, 8).round().astype(int)]
    rows, targets = np.vstack([trained.X, x]), np.append(trained.y, 0.0)
    labels, densities = np.linspace(-80, 80, 320_001), []
    for i in picked:
        alpha, noise = float(path.alphas[i]), float(path.noise_variance[i])
        fit, K, B, C = oracle.ridge_left_out(rows, targets, 12, alpha, intercept=True)
        mean, thin = fit - K * alpha * B / (1 + alpha * C), 1 + alpha * C
        densities.append(norm(mean, K * np.sqrt(noise / thin)).pdf)
    mass = np.trapezoid(np.max([density(labels) for density in densities], axis=0), labels)
    for label in (-1.0, 0.3, 4.0):
        expected = np.log(max(density(label) for density in densities) / mass)
        assert said.log_prob(np.array([label]))[0] == pytest.approx(expected, abs=1e-5)


def test_measures_are_of_paired_differences(rng):
    each = {
        f"set {k}": {
            learner: {
                "MSE": rng.uniform(1, 2, 6).tolist(),
                "log-loss": rng.uniform(0, 20, 6).tolist(),
            }
            for learner in ("a", "b")
        }
        for k in range(5)
    }
    found = luckiness_choice.measures(luckiness_choice.differences(each, "a", "b"))
    logs = [np.log(np.divide(one["a"]["MSE"], one["b"]["MSE"])) for one in each.values()]
    assert found["MSE, percent"].value == pytest.approx(100 * np.expm1(np.mean(logs)))
    losses = [[one[k]["log-loss"] for k in "ab"] for one in each.values()]
    capped = [np.mean(np.minimum(a, 10)) - np.mean(np.minimum(b, 10)) for a, b in losses]
    assert found["log-loss, mean, nats"].value == pytest.approx(np.mean(capped))
    medians = [np.median(np.subtract(a, b)) for a, b in losses]
    assert found["log-loss, median, nats"].value == pytest.approx(np.median(medians))
    low, high = found["MSE, percent"][1:]
    assert low < found["MSE, percent"].value < high


@pytest.fixture
def folder(tmp_path, monkeypatch, rng):
    """Two tiny sets of either kind."""
    for name in ("pmlb", "shift"):
        (tmp_path / name).mkdir()
    for name in ("195_auto_price", "192_vineyard"):
        X = rng.normal(size=(40, 3))
        with gzip.open(tmp_path / pmlb_rows.pmlb_path(name), "wt") as file:
            table = np.column_stack([X, X.sum(axis=1) + rng.normal(size=40)])
            np.savetxt(file, table, delimiter="\t", header="a\tb\tc\ttarget", comments="")
    X, new = rng.normal(size=(30, 3)), 2 + rng.normal(size=(20, 3))
    targets = {"y_train": X.sum(axis=1) + rng.normal(size=30), "y_test": new.sum(axis=1)}
    np.savez(tmp_path / shift_path("wine"), X_train=X, X_test=new, **targets)
    monkeypatch.setenv("PNML_DATA", str(tmp_path))
    monkeypatch.setattr(luckiness_choice, "_DRAWS", {"small": 3})
    return tmp_path


def test_a_tiny_run_compares_with_the_default_and_is_taken_up(folder, monkeypatch):
    def run():
        out = Output(folder / "here", folder / "cache", "stamp")
        return find("luckiness-choice").run("small", out, lambda *done: None)

    result = run()
    table = result.tables[3]
    assert table.title == "Less luckiness by default: 3 training rows per column, 2 sets"
    rows = {tuple(row.labels.values()): row.ours.value for row in table.rows}
    changes = []
    for name in pmlb_rows.sets():
        for seed in range(3):
            trained, new, y = pmlb_rows.drawn(*pmlb_rows.read(name), 3.0, seed)
            at = luckiness_rules.by_squares(trained, METHODS["ridge"]).alpha
            fit = oracle.design(new, True) @ oracle.ridge_fit(trained.X, trained.y, at, True)
            base = luckiness_rules.all_learners(trained)[BASE](new).mean
            changes.append(np.log(np.mean((fit - y) ** 2) / np.mean((base - y) ** 2)))
    expected = 100 * np.expm1(np.mean(changes))
    assert rows["ridge, squared error", "MSE, percent"] == pytest.approx(expected, rel=1e-6)
    assert {"Shifted sets, all rows", "Luckiness against rivals"} < {t.title for t in result.tables}
    result.figures[0].draw().draw_without_rendering()
    monkeypatch.setattr(luckiness_choice, "one_set", pytest.fail)
    monkeypatch.setattr(luckiness_choice, "one_shift", pytest.fail)
    assert run().tables == result.tables


def test_only_a_rule_clearly_better_in_both_is_called_so():
    def draws(shift):
        rng = np.random.default_rng(0)
        noise = 0.01 * rng.normal(size=6)
        return {"MSE": list(np.exp(shift + noise)), "log-loss": list(1 + shift + noise)}

    one = {
        "luckiness, default": draws(0.0),
        "luckiness, good": draws(-0.5),
        "luckiness, bad": draws(0.5),
        "luckiness, half": {"MSE": draws(-0.5)["MSE"], "log-loss": draws(0.5)["log-loss"]},
        **{rival: draws(0.1) for rival in luckiness_choice.RIVALS},
    }
    first, second, _ = luckiness_choice.findings({"1": {"a": one, "b": one}})
    assert first.endswith("Clearly better than the default in both: good.")
    assert "half: MSE -39.3 %, log-loss 0.500 nats" in first
    assert "Bayes, default: MSE -9.5 %, log-loss -0.100 nats" in second
