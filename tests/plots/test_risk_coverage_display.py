"""Curves of risk are means over rows, read back from the artists."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.base import clone

from drawing import ESTIMATORS, Threshold, curve, png
from pnml import InputError, PNMLRegressor
from pnml.plots import RiskCoverageDisplay


def risk_by_definition(loss, regret):
    """Mean loss of the k rows of smallest regret, for every k, where no two regrets tie."""
    order = sorted(range(len(loss)), key=lambda i: regret[i])
    return [np.mean([loss[i] for i in order[: k + 1]]) for k in range(len(loss))]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_risk_is_the_mean_squared_error_of_the_rows_of_smallest_regret(name, data, ax):
    X, y = data
    model = clone(ESTIMATORS[name]).fit(X[:40], y[:40])
    display = RiskCoverageDisplay.from_estimator(model, X[40:], y[40:], ax=ax)
    coverage, risk = curve(display.line_)
    truth = risk_by_definition((model.predict(X[40:]) - y[40:]) ** 2, model.regret(X[40:]))
    np.testing.assert_allclose(coverage, np.arange(1, 21) / 20)
    np.testing.assert_allclose(risk, truth)
    assert display.aurc == pytest.approx(np.mean(truth))
    assert f"AURC = {np.mean(truth):.3g}" in display.line_.get_label()
    np.testing.assert_allclose(curve(display.random_line_), [[0, 1], [truth[-1], truth[-1]]])
    assert ax.get_ylabel() == "Risk (mean squared error)"


def test_a_random_order_has_on_average_the_risk_of_its_line(rng, ax):
    loss = rng.exponential(size=12)
    display = RiskCoverageDisplay.from_predictions(loss, rng.normal(size=12), ax=ax)
    level = curve(display.random_line_)[1][0]
    orders = [risk_by_definition(loss, rng.permutation(12)) for _ in range(4000)]
    np.testing.assert_allclose(np.mean(orders, axis=0), level, atol=0.08)


def test_risk_of_a_classifier_is_its_error_rate(ax):
    X, y = np.array([[3.0], [-2.0], [1.0], [-0.5]]), ["up", "down", "down", "down"]
    display = RiskCoverageDisplay.from_estimator(Threshold().fit(X, y), X, y, ax=ax)
    assert curve(display.line_)[1] == pytest.approx([0, 0, 1 / 3, 1 / 4])
    assert ax.get_ylabel() == "Risk (error rate)"


def test_rows_that_tie_at_infinity_still_draw(ax):
    display = RiskCoverageDisplay.from_predictions([1.0, 3.0], [-np.inf, -np.inf], ax=ax)
    assert curve(display.line_) == (pytest.approx([1.0]), pytest.approx([2.0]))
    assert display.line_.get_marker() == "o"
    assert not np.array_equal(png(display.figure_), png(plt.subplots()[0]))


@pytest.mark.parametrize(
    ("y", "match"),
    [
        (np.zeros(59), r"y has shape \(59,\) but X has 60 rows"),
        (np.zeros((60, 2)), r"y has shape \(60, 2\)"),
        (["a"] * 60, "not numbers"),
        ([np.nan] * 60, "NaN"),
    ],
)
def test_targets_that_do_not_fit_the_rows_are_refused(y, match, data):
    model = PNMLRegressor().fit(*data)
    with pytest.raises(InputError, match=match):
        RiskCoverageDisplay.from_estimator(model, data[0], y)
    assert not plt.get_fignums()


def test_a_column_of_targets_is_read_as_a_vector(data, ax):
    X, y = data
    model = PNMLRegressor().fit(X, y)
    column = RiskCoverageDisplay.from_estimator(model, X, y[:, None], ax=ax)
    assert column.aurc == RiskCoverageDisplay.from_estimator(model, X, y, ax=ax).aurc
