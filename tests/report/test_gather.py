"""What is gathered batch by batch is what the whole table says."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa

from made_tables import classes, in_batches, mixed, one_batch, replaced
from pnml.report.findings import Gatherer
from pnml.tables.fitting import fit_table
from pnml.tables.roles import Request


@pytest.fixture(scope="module")
def model():
    request = Request(target="y", id=("day",))
    return fit_table(mixed(150).to_batches(), request, "pnml", "t.csv")


def findings(model, table, cuts=()):
    gatherer = Gatherer(model, "a title", 0.9, 0.99)
    for batch in in_batches(table, cuts):
        gatherer.add(batch, model.score(batch, 0.9, 0.99))
    return gatherer.findings()


def odd_table():
    """400 rows, some far off and some with a word never seen."""
    table = mixed(400, seed=3)
    size = table["size"].to_numpy().copy()
    size[::9] += np.linspace(0, 30, len(size[::9]))
    city = np.array(table["city"].to_pylist(), dtype=object)
    city[::31] = "Atlantis"
    return replaced(replaced(table, "size", size), "city", city.tolist())


def beyond_training(table):
    """Sum (n,) of the squared distances beyond the training ranges, in widths of these."""
    total = np.zeros(table.num_rows)
    for name in ("size", "age"):
        old, new = (t[name].to_numpy(zero_copy_only=False) for t in (mixed(150), table))
        low, high = np.nanmin(old), np.nanmax(old)
        total += np.nan_to_num(np.maximum(np.maximum(low - new, new - high), 0) / (high - low)) ** 2
    return total


@pytest.mark.parametrize("cuts", [(), (1, 50, 399), tuple(range(20, 400, 20))])
def test_the_least_trusted_rows_are_those_of_the_whole_table(model, cuts):
    table = odd_table()
    found = findings(model, table, cuts)
    scores = model.score(one_batch(table), 0.9, 0.99)
    severity = scores.answer.regret + np.log(1 + beyond_training(table))
    order = np.lexsort((np.arange(400), -severity, scores.trusted))[:100]
    assert [row.number for row in found.least_trusted] == (order + 1).tolist()
    for row in found.least_trusted[:20]:
        i = row.number - 1
        assert row.regret == pytest.approx(scores.answer.regret[i])
        assert row.trusted == scores.trusted[i]
        assert row.because == scores.because[i].as_py()
        assert row.id == str(table["day"][i].as_py())
        given = {name: table[name][i].as_py() for name in table.column_names}
        assert row.cells
        for cell in row.cells:
            value = given[cell.column]
            if isinstance(value, float):
                assert float(cell.value) == pytest.approx(value, rel=1e-5)
            else:
                assert cell.value == ("missing" if value is None else str(value))


@pytest.mark.parametrize("cuts", [(), (7, 200)])
def test_counts_means_and_groups_are_those_of_the_whole_table(model, cuts):
    table = odd_table()
    y = table["y"].to_numpy().copy()
    y[::5] = np.nan
    table = replaced(table, "y", y)
    found = findings(model, table, cuts)
    scores = model.score(one_batch(table), 0.9, 0.99)
    answer, there = scores.answer, ~np.isnan(y)
    assert (found.rows, found.trusted) == (400, scores.trusted.sum())
    assert found.never_seen == scores.never_seen.sum() == len(y[::31])
    assert found.mean_regret == pytest.approx(answer.regret.mean())
    groups = {"trusted": scores.trusted, "not trusted": ~scores.trusted, "all rows": there | True}
    assert [group.name for group in found.groups] == list(groups)
    for group in found.groups:
        chosen = groups[group.name] & there
        assert group.rows == chosen.sum()
        inside = (answer.interval[:, 0] <= y) & (y <= answer.interval[:, 1])
        error = np.sqrt(np.mean((answer.prediction - y)[chosen] ** 2))
        assert group.coverage == pytest.approx(inside[chosen].mean())
        assert group.error == pytest.approx(error)
        assert group.log_loss == pytest.approx(answer.outcome.log_loss[chosen].mean())


def test_infinite_regrets_are_counted_and_left_out_of_the_mean():
    model = fit_table(mixed(150).to_batches(), Request(target="y"), "ols", "t.csv")
    found = findings(model, odd_table(), (100,))
    scores = model.score(one_batch(odd_table()), 0.9, 0.99)
    lost = np.isinf(scores.answer.regret)
    assert found.infinite == lost.sum() > 0
    assert found.mean_regret == pytest.approx(scores.answer.regret[~lost].mean())
    assert all(np.isinf(row.regret) for row in found.least_trusted[: lost.sum()])


def test_however_long_the_table_the_findings_stay_small(model):
    long = pa.concat_tables([odd_table()] * 30)
    found = findings(model, long, range(3000, 12_000, 3000))
    assert found.rows == 12_000
    assert len(found.least_trusted) == 100
    assert len(found.regret) == len(found.prediction) == len(found.loss) == 4000
    assert np.mean(found.is_trusted) == pytest.approx(found.trusted / 12_000, abs=0.03)


def test_without_labels_there_are_no_groups(model):
    found = findings(model, mixed(30, seed=2).drop_columns("y"))
    assert found.groups == ()
    assert found.loss is None
    unlabelled = findings(model, replaced(mixed(30, seed=2), "y", [None] * 30))
    assert unlabelled.groups == ()


def test_classes_are_judged_by_wrong_labels():
    model = fit_table(classes(150).to_batches(), Request(target="kind"), "auto", "t.csv")
    table = classes(80, seed=2)
    found = findings(model, table, (40,))
    scores = model.score(one_batch(table), 0.9, 0.99)
    wrong = np.array(scores.prediction.to_pylist()) != np.array(table["kind"].to_pylist())
    whole = found.groups[-1]
    assert whole.error == pytest.approx(wrong.mean())
    assert np.isnan(whole.coverage)
    assert found.least_trusted[0].interval == ""
    assert ((found.prediction > 1 / 3 - 1e-9) & (found.prediction <= 1)).all()
