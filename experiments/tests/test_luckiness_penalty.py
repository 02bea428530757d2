"""The averaged rule is what its definition says, and counts are of paired means."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

import oracle

pytest.importorskip("matplotlib")

from pnml_experiments.ch4_luckiness import pmlb_rows
from pnml_experiments.ch4_luckiness.averaged_rule import averaged
from pnml_experiments.ch4_luckiness.linear_learners import METHODS, Trained
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.registry import find
from pnml_experiments.framework.stored_files import shift_path
from pnml_experiments.studies import luckiness_penalty
from pnml_experiments.studies.luckiness_penalty_findings import values
from pnml_experiments.studies.luckiness_penalty_gains import claimed_of
from pnml_experiments.studies.luckiness_penalty_numbers import one_set
from pnml_experiments.studies.luckiness_penalty_tables import WON, means_of


@pytest.fixture
def trained(rng):
    X = rng.normal(size=(9, 3))
    return Trained(X, X @ [1.0, -1.0, 0.5] + rng.normal(size=9))


@pytest.mark.parametrize("name", ["ridge", "Bayes", "luckiness"])
def test_the_averaged_rule_is_the_mean_of_what_is_best_for_each_row(name, trained):
    alphas = np.geomspace(1e-3, 10.0, 12)
    best, noises, ends = [], [], 0
    for i in range(9):
        losses, squares = [], []
        for alpha in alphas:
            fit, K, B, C = oracle.ridge_left_out(trained.X, trained.y, i, alpha, intercept=True)
            residual, B, C = trained.y[i] - fit, alpha * B, alpha * C
            if name == "luckiness":
                residual, ratio = residual + K * B / (1 + C), K**2 / (1 + C)
            else:
                ratio = K if name == "Bayes" else 1.0
            noise = residual**2 / ratio  # best for this row
            losses.append(0.5 * np.log(2 * np.pi * np.e * noise * ratio))
            squares.append(noise)
        at = int(np.argmin(losses))
        best.append(alphas[at])
        noises.append(squares[at])
        ends += at in (0, 11)
    found = averaged(trained, METHODS[name], alphas)
    assert found.chosen.alpha == pytest.approx(np.mean(best))
    assert found.chosen.noise_variance == pytest.approx(np.mean(noises))
    assert found.at_ends == pytest.approx(ends / 9)


def test_claimed_numbers_are_over_sets_and_name_the_sets_behind_them():
    # MSE of ridge and luckiness, then log-loss of ridge, Bayes and luckiness
    errors = {
        "1199_BNG_echoMonths": (2.0, 1.8, 9.0, 3.0, 2.0),  # wins
        "a": (1.0, 0.6, 1.0, 4.0, 1.5),  # loses to ridge alone
        "b": (1.0, 1.1, 2.0, 1.0, 1.5),  # loses to Bayes
        "c": (1.0, 1.0, 2.0, 1.0, 1.001),  # loses by less than print has digits for
    }
    parts = (
        ("ridge", "MSE"),
        ("luckiness", "MSE"),
        *((who, "log-loss") for who in ("ridge", "Bayes", "luckiness")),
    )
    each = {
        name: {f"{who}, rule, {part}": v for (who, part), v in zip(parts, row, strict=True)}
        for name, row in errors.items()
    }
    found = {one.number: one for one in claimed_of(each, "rule")}
    assert {name: pytest.approx(one.ours) for name, one in found.items()} == {
        "sets that lose to Bayes in log-loss": 1,
        "sets won against ridge and Bayes in log-loss": 1,
        "mean gain over Bayes, nats": (1.0 + 2.5 - 0.5 - 0.001) / 4,
        "median gain over Bayes, nats": (1.0 - 0.001) / 2,
        "mean gain, percent of MSE": (10 + 40 - 10) / 4,
        "largest gain, percent of MSE": 40,
        "gain on 1199_BNG_echoMonths, percent of MSE": 10,
    }
    assert found["sets that lose to Bayes in log-loss"].note == "b"
    assert found["largest gain, percent of MSE"].note == "a"


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
    monkeypatch.setattr(luckiness_penalty, "_DRAWS", {"small": 2})
    return tmp_path


def test_a_tiny_run_counts_sets_by_refits_and_is_taken_up(folder, monkeypatch):
    def run():
        out = Output(folder / "here", folder / "cache", "stamp")
        return find("luckiness-penalty").run("small", out, lambda *done: None)

    result = run()
    count = 0
    for name in pmlb_rows.sets():
        X, y = pmlb_rows.read(name)
        errors = []
        for seed in range(2):
            order = pmlb_rows.shuffled(y, 7, seed)
            train, test = order[:7], order[7:]
            pair = []
            for i in test:
                rows, targets = np.vstack([X[train], X[i]]), np.append(y[train], 0.0)
                fit, K, B, C = oracle.ridge_left_out(rows, targets, 7, 0.5, intercept=True)
                pair.append([fit - K * 0.5 * B / (1 + 0.5 * C) - y[i], fit - y[i]])
            errors.append(np.mean(np.square(pair), axis=0))
        lucky, ridge = np.mean(errors, axis=0)
        count += lucky < ridge
    labels = {"training_rows": "7", "penalty_of_both": "0.5", "number": WON}
    assert values(result.tables[0], **labels) == [count]
    gains = next(one for one in result.tables if one.title == "Gains by the averaged rule")
    one_setting = {"training_rows": "7", "largest_penalty_of_the_grid": "10"}
    assert len(values(gains, number="mean gain, percent of MSE")) == 30
    assert len(values(gains, **one_setting, number="mean gain, percent of MSE")) == 1
    assert result.remarks[0].startswith("**How 48 of 50 comes out.**")
    result.figures[0].draw().draw_without_rendering()
    monkeypatch.setattr(luckiness_penalty, "one_set", pytest.fail)
    assert run().tables == result.tables


def test_mean_gains_are_of_errors_by_the_averaged_rule(folder):
    found, gains = {}, []
    for name in pmlb_rows.sets():
        found[name] = one_set(name, 2)["7"]
        X, y = pmlb_rows.read(name)
        errors = []
        for seed in range(2):
            order = pmlb_rows.shuffled(y, 7, seed)
            train, test = order[:7], order[7:]
            learnt = Trained(X[train], y[train])
            for method in (METHODS["ridge"], METHODS["luckiness"]):
                at = averaged(learnt, method, np.geomspace(1e-6, 10, 60)).chosen
                errors.append(np.mean((learnt.says(method, at)(X[test]).mean - y[test]) ** 2))
        gains.append(100 * (1 - (errors[1] + errors[3]) / (errors[0] + errors[2])))
    claimed = {one.number: one.ours for one in claimed_of(means_of(found), "averaged to 10")}
    assert claimed["mean gain, percent of MSE"] == pytest.approx(np.mean(gains))
