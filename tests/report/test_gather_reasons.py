"""Reasons, expected errors and quality are those of the whole table, however it is cut."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa

from made_tables import classes, in_batches, mixed, one_batch, replaced
from pnml.report.findings import Gatherer
from pnml.report.page import render
from pnml.report.reasons import OTHER
from pnml.tables.fitting import fit_table
from pnml.tables.roles import Request

CUTS = [(), (1, 50, 399), tuple(range(20, 400, 20))]


@pytest.fixture(scope="module")
def model():
    return fit_table(mixed(150).to_batches(), Request(target="y"), "pnml", "t.csv")


def odd_table():
    """400 rows, some far off and some with a word never seen."""
    table = mixed(400, seed=3)
    size = table["size"].to_numpy().copy()
    size[::9] += np.linspace(10, 30, len(size[::9]))
    city = np.array(table["city"].to_pylist(), dtype=object)
    city[::31] = "Atlantis"
    return replaced(replaced(table, "size", size), "city", city.tolist())


def findings(model, table, cuts=(), change=lambda scores: scores):
    gatherer = Gatherer(model, "a title", 0.9, 0.99)
    for batch in in_batches(table, cuts):
        gatherer.add(batch, change(model.score(batch, 0.9, 0.99)))
    return gatherer.findings()


@pytest.mark.parametrize("cuts", CUTS)
def test_every_untrusted_row_has_one_reason(model, cuts):
    found = findings(model, odd_table(), cuts)
    assert sum(reason.rows for reason in found.reasons) == found.rows - found.trusted > 0
    counts = [reason.rows for reason in found.reasons]
    assert counts == sorted(counts, reverse=True)
    for reason in found.reasons:
        assert reason.share == pytest.approx(reason.rows / 400)
        assert len(reason.examples) == min(reason.rows, 10)
        assert all(row.reason == reason.text and not row.trusted for row in reason.examples)
    assert any(reason.text == "city never seen in training" for reason in found.reasons)


@pytest.mark.parametrize("cuts", CUTS)
def test_reasons_that_the_model_gives_are_grouped_by_their_text(model, cuts):
    def told(scores):
        texts = [
            None if t else f"reason {b.as_py()[:4]}"
            for t, b in zip(scores.trusted, scores.because, strict=True)
        ]
        return replace(scores, reason=pa.array(texts, type=pa.string()))

    table = odd_table()
    found = findings(model, table, cuts, told)
    scores = told(model.score(one_batch(table), 0.9, 0.99))
    truth = Counter(text for text in scores.reason.to_pylist() if text)
    assert {reason.text: reason.rows for reason in found.reasons} == truth
    for reason in found.reasons:
        places = [i + 1 for i, t in enumerate(scores.reason.to_pylist()) if t == reason.text]
        assert [row.number for row in reason.examples] == places[:10]
    untrusted = [row for row in found.least_trusted if not row.trusted]
    assert [row.reason for row in untrusted] == [
        scores.reason[row.number - 1].as_py() for row in untrusted
    ]


def test_after_twenty_reasons_the_rest_is_summed_up(model):
    rows = iter(range(400))

    def told(scores):
        texts = [f"reason {next(rows) % 57:02d}" for _ in scores.trusted]
        return replace(scores, trusted=np.zeros(len(texts), dtype=bool), reason=pa.array(texts))

    found = findings(model, odd_table(), (100,), told)
    assert len(found.reasons) == 21
    assert found.reasons[-1].text == OTHER
    assert found.reasons[-1].rows == 400 - sum(reason.rows for reason in found.reasons[:-1])
    assert len({row.reason for row in found.reasons[-1].examples}) == 10
    assert "other reasons" in render(found)


@pytest.mark.parametrize("copies", [1, 30])
def test_expected_errors_of_the_sample_belong_to_its_rows(model, copies):
    def told(scores):
        return replace(
            scores, answer=replace(scores.answer, expected_error=3 * scores.answer.regret)
        )

    long = pa.concat_tables([odd_table()] * copies)
    found = findings(model, long, range(300, 400 * copies, 300), told)
    np.testing.assert_array_equal(found.expected_error, 3 * found.regret)


@pytest.mark.parametrize("cuts", CUTS)
def test_quality_is_held_against_the_mean_of_the_labels(model, cuts):
    table = odd_table()
    y = table["y"].to_numpy().copy()
    y[::5] = np.nan
    found = findings(model, replaced(table, "y", y), cuts)
    there = ~np.isnan(y)
    scores = model.score(one_batch(table), 0.9, 0.99)
    error = np.mean((scores.answer.prediction - y)[there] ** 2)
    rmse, r2 = found.quality
    assert float(rmse.value) == pytest.approx(np.sqrt(error), rel=0.01)  # three digits are shown
    assert float(rmse.baseline) == pytest.approx(y[there].std(), rel=0.01)
    assert float(r2.value) == pytest.approx(1 - error / y[there].var(), abs=1e-3)
    shares = {}
    for coverage in (0.5, 0.8, 0.9, 0.95):
        low, high = model.score(one_batch(table), coverage, 0.99).answer.interval.T
        shares[coverage] = pytest.approx(np.mean(((low <= y) & (y <= high))[there]))
    assert dict(found.calibration) == shares
    assert (found.verdict_on_model == "") == (error < y[there].var())


def test_labels_without_any_relation_make_the_model_of_no_use(model, rng):
    noise = rng.permutation(mixed(400, seed=3)["y"].to_numpy()) * 0.01
    found = findings(model, replaced(mixed(400, seed=3), "y", noise))
    assert "no better than naming the mean" in found.verdict_on_model
    assert found.verdict_on_model in render(found)


def test_accuracy_is_held_against_the_most_frequent_class():
    model = fit_table(classes(150).to_batches(), Request(target="kind"), "auto", "t.csv")
    table = classes(80, seed=2)
    (accuracy,) = findings(model, table, (40,)).quality
    scores = model.score(one_batch(table), 0.9, 0.99)
    kinds = table["kind"].to_pylist()
    right = np.mean(np.array(scores.prediction.to_pylist()) == np.array(kinds))
    most = Counter(kinds).most_common(1)[0][1] / len(kinds)
    assert accuracy.value == f"{100 * right:.1f}".removesuffix(".0") + " %"
    assert accuracy.baseline == f"{100 * most:.1f}".removesuffix(".0") + " %"


def test_without_labels_nothing_is_said_of_quality(model):
    found = findings(model, mixed(30, seed=2).drop_columns("y"))
    assert found.quality == found.calibration == ()
    assert found.verdict_on_model == ""


def test_driving_cells_stand_beside_what_training_had(model):
    found = findings(model, odd_table())
    shown = {cell.column: cell.training for row in found.least_trusted for cell in row.cells}
    for column in model.encoder.columns:
        if column.name in shown and hasattr(column, "scale") and not column.is_date:
            low, high = re.split("–| to ", shown[column.name])
            assert float(low) == pytest.approx(column.low, rel=1e-5)  # of six digits
            assert float(high) == pytest.approx(column.high, rel=1e-5)
    assert shown["city"]


def test_a_cell_that_cannot_be_read_is_shown_as_it_stands(model):
    table = mixed(30, seed=2).drop_columns("y")
    size = pa.array([None, *table["size"].to_pylist()[1:]], pa.float64())
    table = replaced(table, "size", size)
    unread = pa.array(["12 cm", *[None] * 29], pa.string())
    found = findings(model, table.append_column("\0unreadable:size", unread))
    (row,) = (row for row in found.least_trusted if row.number == 1)
    assert row.reason == "size is not a number"
    assert "'12 cm'" in [cell.value for cell in row.cells]
