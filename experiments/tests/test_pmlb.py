"""Learners on PMLB sets have the penalties and say what refits say; tables are means of draws."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

import oracle

pytest.importorskip("matplotlib")

from pnml import InputError
from pnml_experiments.ch4_luckiness import pmlb, pmlb_rows
from pnml_experiments.ch4_luckiness.averaged_rule import averaged
from pnml_experiments.ch4_luckiness.linear_learners import METHODS, Chosen, Trained, mean_losses
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.registry import find


@pytest.fixture
def trained(rng):
    X = rng.normal(size=(14, 3))
    return Trained(X, X @ [1.0, -1.0, 0.5] + 0.5 * rng.normal(size=14))


def left_out(trained, alpha):
    """Of every row without it: residual, K, λB and λC."""
    folds = [
        oracle.ridge_left_out(trained.X, trained.y, i, alpha, intercept=True)
        for i in range(len(trained.y))
    ]
    fit, K, B, C = np.array(folds).T
    return trained.y - fit, K, alpha * B, alpha * C


# residual and variance over noise of each learner, from the scalars of a fold
SAID = {
    "ridge": lambda r, K, B, C: (r, np.ones_like(K)),
    "Bayes": lambda r, K, B, C: (r, K),
    "pNML": lambda r, K, B, C: (r, K**2),
    "luckiness": lambda r, K, B, C: (r + K * B / (1 + C), K**2 / (1 + C)),
}


@pytest.mark.parametrize("name", list(METHODS))
def test_penalty_and_noise_are_best_over_refits(name, trained):
    losses, noises = [], []
    for alpha in trained.alphas:
        residual, ratio = SAID[name](*left_out(trained, alpha))
        noise = np.mean(residual**2 / ratio)
        noises.append(noise)
        losses.append(0.5 * np.mean(np.log(2 * np.pi * noise * ratio) + 1))
    best = int(np.argmin(losses))
    found = trained.chosen(METHODS[name])
    assert found.alpha == pytest.approx(trained.alphas[best])
    assert found.noise_variance == pytest.approx(noises[best], rel=1e-8)


def test_what_learners_say_is_what_refits_and_integrals_say(trained, rng):
    x, at = rng.normal(size=3), Chosen(0.7, 0.3)
    fit = oracle.design(x[None], True)[0] @ oracle.ridge_fit(trained.X, trained.y, 0.7, True)
    K = oracle.ridge_normaliser(trained.X, trained.y, x, 0.7, 0.3, intercept=True)
    for name, std in (("ridge", 0.3), ("Bayes", 0.3 * K), ("pNML", 0.3 * K**2)):
        told = trained.says(METHODS[name], at)(x[None])
        np.testing.assert_allclose([told.mean[0], told.std[0] ** 2], [fit, std], rtol=1e-8)
    _, mean, std = oracle.ridge_luckiness(trained.X, trained.y, x, 0.7, 0.3, intercept=True)
    told = trained.says(METHODS["luckiness"], at)(x[None])
    np.testing.assert_allclose([told.mean[0], told.std[0]], [mean, std], rtol=1e-7)


@pytest.mark.parametrize(("rows", "columns"), [(5, 9), (6, 6), (20, 3)])
def test_least_squares_is_judged_by_min_norm_refits(rows, columns, rng):
    trained = Trained(rng.normal(size=(rows, columns)), rng.normal(size=rows))
    squares = []
    for i in range(rows):
        others = np.arange(rows) != i
        X, y = trained.X[others], trained.y[others]
        slopes = np.linalg.pinv(X - X.mean(axis=0)) @ (y - y.mean())
        squares.append((trained.y[i] - y.mean() - (trained.X[i] - X.mean(axis=0)) @ slopes) ** 2)
    found = trained.least_squares()
    assert found.alpha == 0
    assert found.noise_variance == pytest.approx(np.mean(squares), rel=1e-6)


def test_losses_are_those_of_the_normal_density(trained, rng):
    told = trained.says(METHODS["pNML"], Chosen(0.5, 2.0))(trained.X)
    mse, log_loss = mean_losses(told, trained.y)
    z = (trained.y - told.mean) / told.std
    assert mse == pytest.approx(np.mean((trained.y - told.mean) ** 2))
    assert log_loss == pytest.approx(np.mean(z**2 / 2 + np.log(told.std * np.sqrt(2 * np.pi))))


def test_a_noise_never_collapses_where_rows_are_met_exactly():
    X = np.arange(8.0).reshape(4, 2)
    trained = Trained(X, X.sum(axis=1))
    for method in METHODS.values():
        assert trained.chosen(method).noise_variance >= 1e-6 * np.var(trained.y)


def written(folder, name, rng, rows=60, columns=3):
    (folder / "pmlb").mkdir(exist_ok=True)
    X = rng.normal(size=(rows, columns))
    table = np.column_stack([X, X @ np.ones(columns) + rng.normal(size=rows)])
    with gzip.open(folder / pmlb_rows.pmlb_path(name), "wt") as file:
        head = "\t".join([*(f"x{j}" for j in range(columns)), "target"])
        np.savetxt(file, table, delimiter="\t", header=head, comments="")
    return table


@pytest.fixture
def folder(tmp_path, monkeypatch, rng):
    for name in ("195_auto_price", "banana"):
        written(tmp_path, name, rng)
    monkeypatch.setenv("PNML_DATA", str(tmp_path))
    return tmp_path


def test_rows_are_drawn_without_return_and_never_with_one_target(folder):
    X, y = pmlb_rows.read("banana")
    np.testing.assert_allclose([X.mean(), X.std(), y.std()], [0, 1, 1], atol=1e-12)
    trained, new, _ = pmlb_rows.drawn(X, y, 3.0, 0)
    assert len(trained.y) == 9
    assert len(np.unique(np.vstack([trained.X, new]), axis=0)) == 60
    rare = np.zeros(50)
    rare[:3] = 1.0
    for seed in range(5):
        assert np.ptp(rare[pmlb_rows.shuffled(rare, 3, seed)[:3]]) > 0


def test_a_tiny_run_has_the_means_of_its_draws_and_is_taken_up(folder, monkeypatch):
    monkeypatch.setattr(pmlb, "sizes_of", lambda scale: pmlb.Sizes(tuple(pmlb_rows.sets()), 3))
    told = []

    def run():
        out = Output(folder / "here", folder / "cache", "stamp")
        return find("pmlb").run("small", out, lambda *done: told.append(done))

    result = run()
    assert told[-1] == (2, 2)
    by_title = {table.title: table for table in result.tables}
    rows = {tuple(r.labels.values()): r for r in by_title["3 training rows per column"].rows}
    X, y = pmlb_rows.read("banana")
    expected = []
    for seed in range(3):
        trained, new, labels = pmlb_rows.drawn(X, y, 3.0, seed)
        at = trained.chosen(METHODS["ridge"])
        theta = oracle.ridge_fit(trained.X, trained.y, at.alpha, intercept=True)
        expected.append(np.mean((labels - oracle.design(new, True) @ theta) ** 2))
    row = rows["banana", "MSE", "ridge"]
    assert row.ours.value == pytest.approx(np.mean(expected))
    assert row.printed == 2.84
    counts = {
        tuple(r.labels.values()): r for r in by_title["Luckiness against others, 2 sets"].rows
    }
    better = counts["3", "ridge", "MSE", "sets where luckiness is better, percent"].ours.value
    wins = [
        rows[name, "MSE", "luckiness"].ours.value < rows[name, "MSE", "ridge"].ours.value
        for name in ("195_auto_price", "banana")
    ]
    assert better == pytest.approx(100 * np.mean(wins))
    by_end = by_title["Averaged penalties by the end of the grid"].rows
    assert len(by_end) == 5 * 5 * 4
    gains = []
    for name in ("195_auto_price", "banana"):
        X, y = pmlb_rows.read(name)
        losses = []
        for seed in range(3):
            trained, new, labels = pmlb_rows.drawn(X, y, 3.0, seed)
            both = (
                trained.says(method, averaged(trained, method, np.geomspace(1e-6, 10, 60)).chosen)
                for method in (METHODS["Bayes"], METHODS["luckiness"])
            )
            losses.append([mean_losses(says(new), labels)[1] for says in both])
        gains.append(-np.diff(np.mean(losses, axis=0))[0])
    wanted = {"rows per column": "3", "largest penalty of the grid": "10", "in": "log-loss"}
    found = [row.ours.value for row in by_end if wanted.items() <= row.labels.items()]
    assert found == pytest.approx([100 * np.mean(np.array(gains) > 0), np.median(gains)])
    result.figures[0].draw().draw_without_rendering()
    monkeypatch.setattr(pmlb, "one_set", pytest.fail)
    assert run().tables == result.tables


def test_a_broken_file_is_one_sentence(folder):
    (folder / "pmlb" / "banana.tsv.gz").write_bytes(b"not a table")
    with pytest.raises(InputError, match="cannot be read"):
        pmlb_rows.read("banana")


def test_all_sets_of_the_printed_table_are_known():
    names = {key[0] for key in pmlb_rows.printed()}
    assert len(names) == 50
    assert pmlb_rows.printed()["201_pol", "luckiness", "log-loss"] == 1.45
