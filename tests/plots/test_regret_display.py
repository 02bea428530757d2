"""Curves of regrets are shares of rows, read back from the artists."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.base import clone

from drawing import ESTIMATORS, curve, png
from pnml import InputError, PNMLRegressor
from pnml.plots import RegretDisplay


def share_up_to(regrets, t, weights=None):
    weights = np.ones(len(regrets)) if weights is None else weights
    return sum(w for r, w in zip(regrets, weights, strict=True) if r <= t) / sum(weights)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_regret_curves_are_the_share_of_rows_up_to_each_regret(name, data, ax):
    X, y = data
    model = clone(ESTIMATORS[name]).fit(X, y)
    display = RegretDisplay.from_estimator(model, 2 * X[:20], level=0.9, ax=ax)
    for line, regrets in [
        (display.line_, model.regret(2 * X[:20])),
        (display.training_line_, model.loo_.regrets),
    ]:
        t, share = curve(line)
        assert line.get_drawstyle() == "steps-post"
        assert share[0] == 0
        assert np.array_equal(t[1:], np.unique(regrets[np.isfinite(regrets)]))
        np.testing.assert_allclose(share[1:], [share_up_to(regrets, s) for s in t[1:]])
    at = display.threshold_line_.get_xdata()[0]
    assert np.array_equal(model.regret(2 * X[:20]) <= at, model.trusted(2 * X[:20], level=0.9))
    assert at in model.loo_.regrets


def test_training_rows_count_as_often_as_they_weigh(data, rng, ax):
    X, y = data
    weights = rng.integers(0, 4, size=len(X)).astype(float)
    model = PNMLRegressor().fit(X, y, sample_weight=weights)
    display = RegretDisplay.from_estimator(model, X, level=0.8, ax=ax)
    t, share = curve(display.training_line_)
    regrets = model.loo_.regrets
    np.testing.assert_allclose(share[1:], [share_up_to(regrets, s, weights) for s in t[1:]])
    assert share[t <= display.threshold].max() >= 0.8 > share[t < display.threshold].max()
    assert f"n = {int((weights > 0).sum())}" in display.training_line_.get_label()


def test_a_curve_with_infinite_regrets_ends_at_the_share_of_finite_ones(ax):
    display = RegretDisplay.from_regrets([0.1, 0.2], [0.3, np.inf, 0.1, np.inf], 0.2, ax=ax)
    t, share = curve(display.line_)
    assert (t.tolist(), share.tolist()) == ([0.1, 0.1, 0.3], [0.0, 0.25, 0.5])
    (mark,) = display.infinity_
    assert mark.get_text() == "∞"
    assert mark.xy == (0.3, 0.5)
    assert mark.get_position()[1] == 0.5
    assert "2 infinite" in display.line_.get_label()
    assert "infinite" not in display.training_line_.get_label()


@pytest.mark.parametrize(
    ("training", "new", "threshold"),
    [
        ([np.inf] * 3, [np.inf] * 2, -np.inf),
        ([0.1, 0.2], [np.inf], 0.2),
        ([0.0, 0.0], [0.0], 0.0),
        ([0.0, 1e-17, 0.3], [0.0, 1e-300, np.inf], 0.3),
        ([], [0.5], None),
        ([0.5], [0.5], 0.5),
        ([1e-3, 1e6], [700.0], np.inf),
    ],
)
def test_extreme_regrets_still_draw(training, new, threshold, ax):
    display = RegretDisplay.from_regrets(training, new, threshold, ax=ax)
    blank = png(plt.subplots()[0])
    assert not np.array_equal(png(display.figure_), blank)
    low, high = ax.get_xlim()
    shown = np.concatenate([curve(line)[0] for line in (display.line_, display.training_line_)])
    assert np.isfinite([low, high]).all()
    assert low < high
    assert ((low <= shown) & (shown <= high)).all()
    assert (display.threshold_line_ is None) == (threshold is None or np.isinf(threshold))


def test_zero_regrets_make_the_axis_begin_at_zero_and_others_leave_it_logarithmic(ax):
    RegretDisplay.from_regrets([0.1, 0.2], [0.3], ax=ax)
    assert ax.get_xscale() == "log"
    RegretDisplay.from_regrets([0.1, 0.2], [0.0, 50.0], ax=ax)
    assert ax.get_xscale() == "symlog"
    assert ax.get_xlim()[0] == 0
    RegretDisplay.from_regrets([0.1, 0.2], [0.03, 7e4], ax=ax)
    assert ax.get_xscale() == "symlog"
    assert ax.get_xlim()[1] > 7e4
    assert ax.xaxis.get_transform().linthresh == pytest.approx(0.01)


def test_training_curve_can_be_left_out(ax):
    display = RegretDisplay.from_regrets([0.1, 0.2], [0.3], 0.2, ax=ax, plot_training=False)
    assert display.training_line_ is None
    assert len(ax.lines) == 2


@pytest.mark.parametrize("bad", [[0.1, -0.2], [0.1, np.nan], [[0.1]], []])
def test_new_regrets_that_are_none_are_refused(bad):
    with pytest.raises(InputError, match="new h"):
        RegretDisplay.from_regrets([0.1], bad)


def test_training_weights_must_fit_the_training_regrets():
    for weights in ([1.0], [1.0, -1.0], [1.0, np.nan]):
        display = RegretDisplay(training=[0.1, 0.2], new=[0.1], training_weights=weights)
        with pytest.raises(InputError, match="training_weights"):
            display.plot()
    assert not plt.get_fignums()


@pytest.mark.parametrize("level", [0, 1.5, "0.9", True, np.nan])
def test_a_level_that_is_no_quantile_is_refused(level, data):
    model = PNMLRegressor().fit(*data)
    with pytest.raises(InputError, match="level is"):
        RegretDisplay.from_estimator(model, data[0], level=level)


def test_a_threshold_that_two_displays_share_is_drawn_and_listed_once(data, ax):
    X, y = data
    model = PNMLRegressor().fit(X, y)
    one = RegretDisplay.from_estimator(model, X, name="first", ax=ax)
    two = RegretDisplay.from_estimator(model, 2 * X, name="new", ax=ax)
    assert two.threshold_line_ is one.threshold_line_
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert [text for text in texts if "threshold" in text] == [one.threshold_line_.get_label()]
    assert "first" not in one.threshold_line_.get_label()


def test_thresholds_that_differ_are_both_listed(data, ax):
    X, y = data
    model = PNMLRegressor().fit(X, y)
    RegretDisplay.from_estimator(model, X, name="first", level=0.9, ax=ax)
    RegretDisplay.from_estimator(model, X, name="new", level=0.5, ax=ax)
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert sum("threshold" in text for text in texts) == 2
