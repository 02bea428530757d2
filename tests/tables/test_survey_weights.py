"""Weights of a survey say how much rows count beside each other, not how many rows there are."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from made_tables import in_batches, mixed, one_batch
from pnml import PNMLRegressor
from pnml.core.statistic.gram import Gram
from pnml.errors import InputError
from pnml.tables.fitting import fit_table
from pnml.tables.merging import merge_tables
from pnml.tables.roles import Request


def fitted(table, learner="pnml", kind="survey", cuts=()):
    request = Request(target="y", weight="w", weight_kind=kind)
    return fit_table(in_batches(table, cuts), request, learner, "t.csv")


def weighted(w, n=120):
    return mixed(n).append_column("w", pa.array(w, pa.float64()))


def regrets(model):
    return model.score(one_batch(mixed(40, seed=3)), 0.9, 0.99).answer.regret


@pytest.fixture(params=[False, True], ids=["in memory", "streamed"])
def cuts(request, monkeypatch):
    if not request.param:
        return ()
    monkeypatch.setattr("pnml.tables.fitting.MOST_ROWS", 50)
    return (50, 90)


@pytest.mark.parametrize("learner", ["pnml", "lpnml", "ols"])
def test_the_unit_of_the_weights_does_not_matter(learner, cuts, rng):
    w = rng.uniform(0.5, 3.0, size=120)
    one, other = (fitted(weighted(c * w), learner, cuts=cuts) for c in (1.0, 1e4))
    # the same weights but for the last digit, at a penalty found to about 1e-6
    np.testing.assert_allclose(regrets(one), regrets(other), rtol=1e-5)


@pytest.mark.parametrize("learner", ["pnml", "lpnml", "ols"])
def test_equal_weights_are_no_weights(learner, cuts):
    request = Request(target="y", drop=("w",))
    table = weighted(np.full(120, 0.1))
    plain = fit_table(in_batches(table, cuts), request, learner, "t.csv")
    same = fitted(table, learner, cuts=cuts)
    np.testing.assert_allclose(regrets(same), regrets(plain), rtol=1e-6)


def test_weights_are_copies_scaled_to_the_number_of_rows(cuts, rng):
    """The truth is the estimator with the scaled weights, rows of weight 0 not counted."""
    w = rng.integers(0, 4, size=120).astype(float)
    table = weighted(w)
    scaled = w * np.sum(w > 0) / w.sum()
    survey = fitted(table, "pnml", cuts=cuts)
    copies = fitted(weighted(scaled), "pnml", "copies", cuts=cuts)
    np.testing.assert_allclose(regrets(survey), regrets(copies), rtol=1e-5)
    used = table.filter(pa.array(w > 0))
    X = survey.encoder.encode(one_batch(used)).X
    truth = PNMLRegressor(alpha="loo").fit(X, used["y"].to_numpy(), sample_weight=scaled[w > 0])
    new = survey.encoder.encode(one_batch(mixed(40, seed=3))).X
    np.testing.assert_allclose(survey.estimator.regret(new), truth.regret(new), rtol=1e-3)


def test_the_mean_of_a_column_is_that_of_all_rows(cuts, rng):
    w = rng.uniform(0.5, 3.0, size=120)
    table = weighted(w)
    column = fitted(table, cuts=cuts).encoder.columns[0]
    size = table["size"].to_numpy()
    mean = np.average(size, weights=w)
    assert column.fill == pytest.approx(mean, rel=1e-12)
    assert column.scale == pytest.approx(np.sqrt(np.average((size - mean) ** 2, weights=w)))
    assert (column.low, column.high) == (size.min(), size.max())


def test_a_reweighted_gram_is_that_of_the_scaled_weights(rng):
    X, y, w = rng.normal(size=(30, 3)), rng.normal(size=30), rng.uniform(1, 2, size=30)
    ours, truth = Gram.of(X, y, w).reweighted(2.5, whole=True), Gram.of(X, y, 2.5 * w)
    for name in ("weight", "x_mean", "y_mean", "xx", "xy", "yy"):
        # each is a sum of 30 products
        np.testing.assert_allclose(
            getattr(ours, name), getattr(truth, name), rtol=1e-12, atol=1e-12
        )
    np.testing.assert_allclose(ours.sample.rows, truth.sample.rows, rtol=1e-15)


@pytest.mark.parametrize("equal", [False, True])
@pytest.mark.parametrize("learner", ["pnml", "lpnml", "ols"])
def test_merged_models_weigh_rows_as_one_model_of_all_rows_does(learner, equal, cuts, rng):
    """Rows of one part weigh ten times as much as those of the other."""
    w = np.ones(240) if equal else rng.uniform(0.5, 3.0, size=240)
    w[:120] *= 1.0 if equal else 10.0
    table = weighted(w, 240)
    parts = [fitted(table.slice(k, 120), learner, cuts=cuts) for k in (0, 120)]
    assert parts[0].mean_weight == pytest.approx(w[:120].mean())
    whole, both = fitted(table, learner), merge_tables(parts, ["a", "b"])
    # moments keep half the digits, and the penalty is found to about 1e-6
    np.testing.assert_allclose(regrets(both), regrets(whole), rtol=1e-5)
    assert both.estimator.predict_dist(np.zeros((1, both.encoder.width))).std == pytest.approx(
        whole.estimator.predict_dist(np.zeros((1, whole.encoder.width))).std, rel=1e-5
    )
    thrice = merge_tables([both, parts[0]], ["both", "a"])  # and merged models merge again
    again = fitted(pa.concat_tables([table, table.slice(0, 120)]), learner)
    np.testing.assert_allclose(regrets(thrice), regrets(again), rtol=1e-5)


def test_weights_of_a_survey_are_not_merged_with_none_or_with_copies():
    table = weighted(np.linspace(1, 2, 120))
    plain = fit_table(in_batches(table, ()), Request(target="y", drop=("w",)), "pnml", "t.csv")
    for other in (plain, fitted(table, kind="copies")):
        for pair in ([fitted(table), other], [other, fitted(table)]):
            with pytest.raises(InputError, match="One of a and b has weights of a survey"):
                merge_tables(pair, ["a", "b"])
    assert merge_tables([plain, fitted(table, kind="copies")], ["a", "b"]).rows == 240


def test_another_kind_of_weight_is_refused():
    with pytest.raises(InputError, match="--weight-kind is 'thing'"):
        fitted(weighted(np.ones(120)), kind="thing")
