"""Numbers of the trust study are those of their definitions, and its pieces are stored apart."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

pytest.importorskip("matplotlib")
pytest.importorskip("lightgbm")

from pnml_experiments.framework.output import Output
from pnml_experiments.framework.registry import find
from pnml_experiments.studies import trust_answers, trust_means, trust_ours, trust_tables
from pnml_experiments.studies.trust_answers import answers, rival_answers
from pnml_experiments.studies.trust_files import DEVELOPMENT, ORDINARY, RowSet, ShiftedTable
from pnml_experiments.studies.trust_means import FileNumbers, Files, mean_over_tables
from pnml_experiments.studies.trust_measures import (
    AURC,
    AUROC,
    COVERED,
    REJECTED,
    normalised_aurc,
    numbers,
    told_apart,
)
from pnml_experiments.studies.trust_ours import EXPECTED, OURS, PARTS, REGRET, TRUSTED
from pnml_experiments.studies.trust_rivals import BAGGED_LOF, CQR, KNN, LOF, MODEL, RIVALS, SPLIT
from pnml_experiments.studies.trust_scorers import COVERAGE, lightgbm


def made(rng, name="one_nat", n=120):
    """A table of smooth labels whose shifted rows lie far away."""

    def rows(count, away=0.0):
        X = rng.normal(size=(count, 3)) + away
        return RowSet(X, np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=count))

    sets = {ORDINARY: rows(60), "nat": rows(40, 4.0), "unit": rows(40, 8.0)}
    return ShiftedTable(name, DEVELOPMENT, rows(n), sets)


@pytest.fixture
def table(rng):
    return made(rng)


def test_a_normalised_area_is_0_in_the_best_order_and_1_in_the_mean_over_all_orders(rng):
    loss = rng.exponential(size=5)
    assert normalised_aurc(loss, 3 * loss) == pytest.approx(0, abs=1e-12)  # a few sums
    every = [normalised_aurc(loss, order) for order in permutations(range(5))]
    assert np.mean(every) == pytest.approx(1)
    assert normalised_aurc(np.ones(4), np.arange(4)) == 0.0


def test_an_infinite_score_is_the_largest(rng):
    ordinary, shifted = rng.normal(size=20), np.append(rng.normal(size=9), np.inf)
    truth = np.repeat([0, 1], [20, 10])
    finite = np.append(ordinary, np.where(np.isinf(shifted), 1e6, shifted))
    assert told_apart(ordinary, shifted) == pytest.approx(roc_auc_score(truth, finite))


def test_cells_and_leaf_noise_are_those_of_every_tree(table):
    X, y = table.train.X, table.train.y
    new = table.sets["nat"].X[:5]
    found = OURS[PARTS].fit(X, y)(new)
    model = lightgbm().fit(X, y)
    own, there = (np.asarray(model.predict(rows, pred_leaf=True)) for rows in (X, new))
    errors = np.abs(trust_ours._out_of_fold(X, y))
    for i, row in enumerate(new):
        outside, noise = [], []
        for tree in range(own.shape[1]):
            mates = own[:, tree] == there[i, tree]
            outside.append(bool(((row < X[mates].min(0)) | (row > X[mates].max(0))).any()))
            noise.append((errors[mates].sum() + 5 * errors.mean()) / (mates.sum() + 5))
        assert found["cells"][i] == pytest.approx(np.mean(outside))
        assert found["noise"][i] == pytest.approx(np.mean(noise))


@pytest.mark.parametrize("name", [CQR, SPLIT])
def test_conformal_intervals_cover_their_share_of_rows_held_back(name, table):
    X, y = table.train.X, table.train.y
    held = np.random.default_rng(0).permutation(len(X))[: len(X) // 3]
    low, high = RIVALS[name].fit(X, y)(X[held])["interval"].T
    covered = np.sum((low <= y[held]) & (y[held] <= high))
    assert covered >= np.ceil((len(held) + 1) * COVERAGE)


@pytest.mark.parametrize("name", RIVALS)
def test_a_rival_says_the_same_again(name, table):
    if not RIVALS[name].installed:
        pytest.skip(f"{RIVALS[name].package} is not installed")
    new = table.sets["nat"].X
    first, again = (RIVALS[name].fit(table.train.X, table.train.y)(new) for _ in range(2))
    for key, values in first.items():
        np.testing.assert_array_equal(values, again[key])


@pytest.fixture
def few(monkeypatch):
    """Only methods that take no time."""
    kept = {name: RIVALS[name] for name in (MODEL, KNN, LOF, CQR, "bagged boosting × 20")}
    monkeypatch.setattr(trust_answers, "RIVALS", kept)
    monkeypatch.setattr(trust_answers, "OURS", {TRUSTED: OURS[TRUSTED]})


def test_rivals_are_stored_apart_from_ours(table, out, few, monkeypatch):
    rivals = rival_answers(table, out, lambda steps: None)
    counted = []
    answers(table, out, counted.append)
    assert len(counted) == 6
    monkeypatch.setattr(trust_answers, "own_code", lambda: "another release")
    seen = set(out.cache.iterdir())
    answers(table, out, lambda steps: None)
    new = set(out.cache.iterdir()) - seen
    assert len(new) == 1  # ours alone
    again = rival_answers(table, out, lambda steps: None)
    for name, arrays in rivals.items():
        for key, values in arrays.items():
            np.testing.assert_array_equal(values, again[name][key])


def test_numbers_are_of_the_models_errors_and_the_stored_answers(table, out, few):
    found = answers(table, out, lambda steps: None)
    model = lightgbm().fit(table.train.X, table.train.y)
    both = [table.sets[kind] for kind in (ORDINARY, "nat")]
    losses = np.concatenate([np.abs(part.y - model.predict(part.X)) for part in both])
    product = found.scores[BAGGED_LOF]
    bagged, factor = found.scores["bagged boosting × 20"], found.scores[LOF]
    np.testing.assert_allclose(product["nat"], bagged["nat"] * factor["nat"])
    computed = numbers(found)
    score = np.concatenate([found.scores[EXPECTED][kind] for kind in (ORDINARY, "nat")])
    assert computed["nat", EXPECTED, AURC] == pytest.approx(normalised_aurc(losses, score))
    assert computed["unit", KNN, AUROC] == 1.0  # eight units away in every column
    rejected = found.rejected[TRUSTED][ORDINARY]
    assert computed[ORDINARY, TRUSTED, REJECTED] == pytest.approx(rejected.mean())
    low, high = found.intervals[CQR]["nat"].T
    inside = (low <= both[1].y) & (both[1].y <= high)
    assert computed["nat", CQR, COVERED] == pytest.approx(inside.mean())


def test_a_mean_is_over_sets_then_tables_and_gaps_are_paired():
    def file(name, **values):
        found = {(kind, method, AUROC): value for (kind, method), value in values["of"].items()}
        return FileNumbers(name, name.rpartition("_")[0], DEVELOPMENT, False, found)

    first = {("nat", "a"): 0.6, ("nat", "b"): 0.5, ("unit", "a"): 0.8, ("unit", "b"): 0.7}
    files = Files(
        (
            file("one_nat", of=first),
            file("one_cov", of={("cov", "a"): 1.0, ("cov", "b"): 0.6}),
            file("two_nat", of={("nat", "a"): 0.4, ("nat", "b"): 0.3}),
        )
    )
    mean = files.mean("a", AUROC)
    assert mean.value == pytest.approx((0.8 + 0.4) / 2)
    assert (mean.low, mean.high) == pytest.approx((0.4, 0.8))
    gap = files.gap(("a", "b"), AUROC)
    assert gap.value == pytest.approx((0.2 + 0.1) / 2)
    assert (gap.low, gap.high) == pytest.approx((0.1, 0.2))
    assert files.mean("a", AUROC, ["cov"]).value == pytest.approx(1.0)
    assert files.mean("c", AUROC) is None


def test_intervals_over_tables_come_from_tables_drawn_again(rng):
    values = list(rng.normal(size=30))
    found = mean_over_tables(values)
    error = np.std(values) / np.sqrt(30)
    # 2,000 draws put a quantile to within a few percent of the normal one
    assert found.high - found.low == pytest.approx(2 * 1.96 * error, rel=0.1)


def test_the_study_runs_draws_and_goes_on(tmp_path, monkeypatch, rng, few):
    folder = tmp_path / "trust"
    folder.mkdir()
    for name in ("quakes_nat", "quakes_cov"):
        table = made(rng, name, 60)
        sets = {f"{c}_{kind}": getattr(part, c) for kind, part in table.sets.items() for c in "Xy"}
        np.savez(
            folder / f"{name}.npz",
            Xtr=table.train.X,
            ytr=table.train.y,
            sets=np.array(list(table.sets)),
            **sets,
        )
    monkeypatch.setenv("PNML_DATA", str(tmp_path))
    sizes = trust_tables.Sizes(("quakes",), (), {40: 2})
    monkeypatch.setattr(trust_tables, "SIZES", {"small": sizes})
    monkeypatch.setattr(trust_means, "RESAMPLES", 50)
    told = []

    def run():
        out = Output(tmp_path / "here", tmp_path / "cache", "stamp")
        return find("trust-tables").run("small", out, lambda *done: told.append(done))

    first = run()
    assert told[-1][0] == told[-1][1]
    titles = [table.title for table in first.tables]
    assert "Scores, development tables" in titles
    assert "Few and many training rows" in titles
    for table in first.tables:
        for row in table.rows:
            assert row.ours.low <= row.ours.value <= row.ours.high
    scores = {tuple(row.labels.values()): row.ours.value for row in first.tables[0].rows}
    said = next(one for one in first.remarks if one.startswith("**Shifted rows"))
    assert f"regret {scores[REGRET, AUROC]:.3f}" in said
    for figure in first.figures:
        assert figure.draw().axes
    seen = sorted(tmp_path.glob("cache/*"))
    assert run().tables == first.tables
    assert sorted(tmp_path.glob("cache/*")) == seen
