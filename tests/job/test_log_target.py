"""The logarithm of a target is that of a fit on logarithms, mapped back; amounts stay amounts."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import norm

from made_tables import numbers, one_batch
from pnml import fit_table


def prices(n=120, seed=0):
    """Prices about 1, so that some logarithms are below 0."""
    table = numbers(n, 3, seed)
    log = 0.3 * table["y"].to_numpy()
    return table.drop_columns(["y"]).append_column("price", pa.array(np.exp(log)))


def logs(table):
    place = table.column_names.index("price")
    return table.set_column(place, "price", pa.array(np.log(table["price"].to_numpy())))


@pytest.fixture(scope="module", params=["pnml", "boosting"])
def both(request):
    fit = {"target": "price", "learner": request.param}
    return fit_table(prices(), **fit, log_target=True), fit_table(logs(prices()), **fit)


def test_predictions_and_intervals_are_those_of_logarithms_mapped(both):
    new = prices(40, seed=1)
    ours, theirs = (model.score(rows) for model, rows in zip(both, (new, logs(new)), strict=True))
    for name in ("prediction", "lower", "upper"):
        truth = np.exp(theirs[name].to_numpy())
        # exp of numbers that differ by round-off of the products of a batch
        np.testing.assert_allclose(ours[name].to_numpy(), truth, rtol=1e-9)
    np.testing.assert_allclose(ours["regret"].to_numpy(), theirs["regret"].to_numpy(), rtol=1e-9)
    assert ours["trusted"].equals(theirs["trusted"])
    # the mean of the errors to either side of exp(m): (exp(m + e) − exp(m − e)) / 2
    m, e = (theirs[name].to_numpy() for name in ("prediction", "expected_error"))
    mapped = (np.exp(m + e) - np.exp(m - e)) / 2
    np.testing.assert_allclose(ours["expected_error"].to_numpy(), mapped, rtol=1e-9)


def test_log_losses_are_those_of_a_density_of_amounts():
    model, new = fit_table(prices(), "price", learner="pnml", log_target=True), prices(40, seed=1)
    scores = model.fitted.score(one_batch(new), 0.9, 0.99)
    y = new["price"].to_numpy()
    dist = model.estimator.predict_dist(model.encoder.encode(one_batch(new)).X)
    truth = -(norm.logpdf(np.log(y), dist.mean, dist.std) - np.log(y))
    np.testing.assert_allclose(scores.answer.outcome.log_loss, truth, rtol=1e-9)  # round-off
    ends = scores.answer.interval
    inside = (ends[:, 0] <= y) & (y <= ends[:, 1])
    assert (scores.answer.outcome.covered == inside).all()


def test_amounts_that_were_never_negative_are_not_predicted_to_be(rng):
    x = rng.normal(size=100)
    y = np.maximum(0.0, x + 0.1 * rng.normal(size=100))
    model = fit_table(pa.table({"x": x, "y": y}), target="y", learner="pnml")
    scored = model.score(pa.table({"x": [-9.0, -3.0, 0.0, 2.0]}))
    for name in ("prediction", "lower", "upper"):
        assert min(scored[name].to_pylist()) >= 0
    assert scored["prediction"].to_pylist()[:2] == [0, 0]
    below = fit_table(pa.table({"x": x, "y": y - 1}), target="y", learner="pnml")
    assert below.score(pa.table({"x": [-9.0]}))["prediction"][0].as_py() < -1


def test_rows_without_a_logarithm_are_scored_and_count_as_without_label():
    model, new = fit_table(prices(), "price", learner="pnml", log_target=True), prices(40, seed=1)
    y = new["price"].to_pylist()
    y[3] = -2.0
    place = new.column_names.index("price")
    found = model.findings(new.set_column(place, "price", pa.array(y)))
    assert found.rows == 40
    assert found.groups[-1].rows == 39
