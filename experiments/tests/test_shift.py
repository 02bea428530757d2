"""The shift table is that of refits, its rules those of their definitions."""

from __future__ import annotations

import numpy as np
import pytest

import oracle

pytest.importorskip("matplotlib")

from pnml_experiments.ch4_luckiness import shift
from pnml_experiments.ch4_luckiness.averaged_rule import averaged_errors, errors_by_end
from pnml_experiments.ch4_luckiness.linear_learners import METHODS, Chosen, Trained
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.registry import find

BY_END = "Averaged penalties by the end of the grid"


@pytest.fixture
def trained(rng):
    X = rng.normal(size=(15, 3)) * [1.0, 0.3, 2.0]
    return Trained(X, X @ [1.0, -1.0, 0.5] + rng.normal(size=15))


def test_the_shortest_description_is_that_of_refits(trained):
    rows = oracle.design(trained.X, True)
    residual = trained.y - rows @ np.linalg.lstsq(rows, trained.y, rcond=None)[0]
    noise = residual @ residual / (15 - 3 - 1)
    centred = trained.X - trained.X.mean(axis=0)
    lengths = []
    for alpha in trained.alphas:
        theta = oracle.ridge_fit(trained.X, trained.y, alpha, intercept=True)
        left = trained.y - rows @ theta
        inside = left @ left + alpha * theta[1:] @ theta[1:]
        volume = np.linalg.slogdet(np.eye(3) + centred.T @ centred / alpha)[1]
        lengths.append(inside / (2 * noise) + volume / 2)
    found = shift.shortest(trained)
    assert found.alpha == pytest.approx(trained.alphas[int(np.argmin(lengths))])
    assert found.noise_variance == pytest.approx(noise)


def test_the_rule_of_the_thesis_averages_what_is_best_for_each_row_left_out(trained, rng):
    residuals = np.array(
        [
            [
                trained.y[i] - oracle.ridge_left_out(trained.X, trained.y, i, alpha, True)[0]
                for alpha in trained.alphas
            ]
            for i in range(15)
        ]
    )
    best = np.argmin(residuals**2, axis=1)
    new, y = rng.normal(size=(6, 3)), rng.normal(size=6)
    rmse, alpha, ends = averaged_errors(trained, METHODS["ridge"], trained.alphas, new, y)
    assert alpha == pytest.approx(trained.alphas[best].mean())
    assert ends == pytest.approx(100 * np.mean((best == 0) | (best == 99)))
    theta = oracle.ridge_fit(trained.X, trained.y, alpha, intercept=True)
    expected = np.sqrt(np.mean((y - oracle.design(new, True) @ theta) ** 2))
    assert rmse == pytest.approx(expected, rel=1e-8)


def test_the_end_of_the_grid_bounds_the_averaged_penalty(trained, rng):
    new, y = rng.normal(size=(6, 3)), rng.normal(size=6)
    found = errors_by_end(trained, METHODS["luckiness"], new, y)
    for end, (rmse, alpha, _) in found.items():
        assert 1e-3 <= alpha <= float(end)
        told = trained.says(METHODS["luckiness"], Chosen(alpha, 1.0))(new)
        assert rmse == pytest.approx(np.sqrt(np.mean((told.mean - y) ** 2)))
    assert list(found) == ["0.1", "1", "10", "100", "1000", "10000", "100000"]


@pytest.fixture
def folder(tmp_path, monkeypatch, rng):
    """Two tiny sets; of the second, test rows are far away."""
    (tmp_path / "shift").mkdir()
    for name, far in (("fertility", 0.0), ("wine", 6.0)):
        X, new = rng.normal(size=(40, 4)), far + rng.normal(size=(25, 4))
        stored = {"X_train": 3 * X + 1, "X_test": 3 * new + 1}
        stored |= {"y_train": X.sum(axis=1) + rng.normal(size=40)}
        stored |= {"y_test": new.sum(axis=1) + rng.normal(size=25)}
        np.savez(tmp_path / "shift" / f"{name}.npz", **stored)
    monkeypatch.setenv("PNML_DATA", str(tmp_path))
    return tmp_path


def test_a_tiny_run_has_errors_of_refits_and_areas_of_pairs_and_is_taken_up(folder, monkeypatch):
    def run():
        out = Output(folder / "here", folder / "cache", "stamp")
        return find("shift").run("small", out, lambda *done: None)

    result = run()
    tables = {table.title: table for table in result.tables}
    errors = {tuple(r.labels.values()): r for r in tables["Distribution shift, RMSE"].rows}
    with np.load(folder / "shift" / "wine.npz") as stored:
        rows, y = oracle.design(stored["X_train"], True), stored["y_train"]
        fit = np.linalg.lstsq(rows, y, rcond=None)[0]
        error = stored["y_test"] - oracle.design(stored["X_test"], True) @ fit
        new = oracle.design(stored["X_test"], True)
    found = errors["wine", "OLS"]
    assert found.ours.value == pytest.approx(np.sqrt(np.mean(error**2)))
    assert found.printed == 1.012
    assert found.ours.low < found.ours.value < found.ours.high
    assert all(row.ours is not None for row in errors.values())
    plain = {tuple(r.labels.values()): r for r in tables["What print compares with"].rows}
    said = plain["wine", "Chapelle et al. 2000", "mean of the training labels"]
    truth = np.load(folder / "shift" / "wine.npz")["y_test"]
    assert said.ours.value == pytest.approx(np.sqrt(np.mean((truth - y.mean()) ** 2)))
    shares = [r for r in tables["Moments along a test row"].rows if "percent" in r.labels["number"]]
    assert all(0 <= row.ours.value <= 100 for row in shares)
    told = {tuple(r.labels.values()): r for r in tables["Regrets of shifted rows"].rows}
    P = np.linalg.inv(rows.T @ rows)
    hat = np.einsum("nd,de,ne->n", rows, P, rows)
    usual, strange = hat / (1 - hat), np.einsum("nd,de,ne->n", new, P, new)
    area = np.mean(strange[:, None] > usual)
    assert told["wine", "pNML", "AUROC"].ours.value == pytest.approx(area)
    ends = {tuple(r.labels.values()): r for r in tables[BY_END].rows}
    assert ends["wine", "10", "ridge", "RMSE"].printed == 0.994
    assert len(ends) == 2 * 7 * 2 * 3  # sets, ends, methods, numbers
    for figure in result.figures:
        assert len(figure.draw().axes) == 2
    monkeypatch.setattr(shift, "one_set", pytest.fail)
    assert run().tables == result.tables


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "rmse"),
    [("wine", 1.012), ("parkinson", 12.792), ("fire", 82.715), ("fertility", 0.399)],
)
def test_the_row_of_least_squares_is_the_printed_one(name, rmse, data_dir, monkeypatch):
    monkeypatch.setenv("PNML_DATA", str(data_dir))
    trained, new, y = shift.read(name)
    told = trained.says(METHODS["ridge"], trained.least_squares())(new)
    assert round(float(np.sqrt(np.mean((told.mean - y) ** 2))), 3) == rmse
    assert shift.printed()[name, "OLS"] == rmse


@pytest.mark.data
def test_the_printed_triazines_are_the_last_38_rows(data_dir, monkeypatch):
    monkeypatch.setenv("PNML_DATA", str(data_dir))
    trained, new, y = shift.read_last()
    assert len(y) == 38
    told = trained.says(METHODS["ridge"], trained.least_squares())(new)
    assert round(float(np.sqrt(np.mean((told.mean - y) ** 2))), 3) == 0.172
    assert shift.printed()[shift.LAST_ROWS, "OLS"] == 0.172


@pytest.mark.data
@pytest.mark.parametrize("name", ["wine", "parkinson", "fire", "fertility"])
def test_the_printed_ridge_has_the_penalty_10(name, data_dir, monkeypatch):
    monkeypatch.setenv("PNML_DATA", str(data_dir))
    trained, new, y = shift.read(name)
    theta = oracle.ridge_fit(trained.X, trained.y, 10.0, intercept=True)
    error = y - oracle.design(new, True) @ theta
    assert round(float(np.sqrt(np.mean(error**2))), 3) == shift.printed()[name, "ridge"]


@pytest.mark.data
@pytest.mark.parametrize("name", ["parkinson", "fire", "fertility"])
def test_a_printed_lasso_is_the_mean_of_the_training_labels(name, data_dir, monkeypatch):
    monkeypatch.setenv("PNML_DATA", str(data_dir))
    trained, _, y = shift.read(name)
    rmse = np.sqrt(np.mean((y - trained.y.mean()) ** 2))
    # Print cuts 12.2535 off after three digits.
    assert shift.printed()[name, "Alquier and Hebiri 2012"] == pytest.approx(rmse, abs=6e-4)
