"""What is drawn is what was computed: bins are read back from the artists."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pnml import InputError, PNMLClassifier, metrics
from pnml.plots import ReliabilityDisplay


@pytest.fixture
def data(rng):
    X = rng.normal(size=(300, 3))
    return X, np.array(["low", "high"])[(X[:, 0] + rng.normal(size=300) > 0).astype(int)]


def test_the_curve_is_that_of_the_bins(rng):
    p = rng.dirichlet(np.ones(4), size=200)
    y = rng.integers(4, size=200)
    display = ReliabilityDisplay.from_predictions(p, y, bins=7, name="guess")
    curve = metrics.reliability_curve(p, y, bins=7)
    x_drawn, y_drawn = display.line_.get_data()
    np.testing.assert_array_equal(x_drawn, curve.confidence)
    np.testing.assert_array_equal(y_drawn, curve.accuracy)
    np.testing.assert_array_equal(display.points_.get_offsets()[:, 1], curve.accuracy)
    sizes = display.points_.get_sizes()
    assert np.argmax(sizes) == np.argmax(curve.rows)
    assert display.line_.get_label() == f"guess: ECE = {curve.error:.3g} (7 bins)"
    np.testing.assert_array_equal(*display.diagonal_.get_data())


@pytest.mark.parametrize("model", [PNMLClassifier(), LogisticRegression()])
def test_classes_may_have_any_names(model, data):
    X, y = data
    fitted = make_pipeline(StandardScaler(), model).fit(X, y)
    display = ReliabilityDisplay.from_estimator(fitted, X, y, bins=5)
    right = fitted.predict(X) == y
    total = display.rows @ display.accuracy
    assert total == pytest.approx(right.sum())
    assert display.line_.get_label().startswith(type(model).__name__)


def test_it_draws_on_axes_that_are_given_without_diagonal():
    ax = plt.subplots()[1]
    display = ReliabilityDisplay(confidence=np.array([0.7]), accuracy=np.array([0.6]))
    display.plot(ax, plot_diagonal=False, line_kw={"c": "red"})
    assert display.ax_ is ax
    assert display.diagonal_ is None
    assert display.line_.get_color() == "red"
    assert display.line_.get_label() == "1 bins"


def test_what_cannot_be_drawn_is_refused(data):
    X, y = data
    with pytest.raises(InputError, match="Perceptron, which has no probabilities"):
        ReliabilityDisplay.from_estimator(Perceptron().fit(X, y), X, y)
    with pytest.raises(InputError, match="the label 'else'"):
        ReliabilityDisplay.from_estimator(
            LogisticRegression().fit(X, y), X, np.full(len(y), "else")
        )
