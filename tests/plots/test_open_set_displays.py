"""What is drawn is what was computed: curves and histograms are read back from the artists."""

from __future__ import annotations

import numpy as np
import pytest

from pnml import InputError, metrics
from pnml.plots.confidence import ConfidenceDisplay
from pnml.plots.oscr import OSCRDisplay


@pytest.fixture
def rows(rng):
    return rng.normal(1, 1, 60), rng.random(60) < 0.8, rng.normal(0, 1, 40)


def test_the_curve_is_that_of_the_metrics(rows):
    display = OSCRDisplay.from_predictions(*rows, name="regret")
    curve = metrics.oscr_curve(*rows)
    x, y = display.line_.get_data()
    np.testing.assert_array_equal(x, curve.fpr)
    np.testing.assert_array_equal(y, curve.ccr)
    assert display.area == metrics.oscr_area(*rows)
    assert display.line_.get_label().startswith("regret: area = ")
    assert set(display.accuracy_line_.get_ydata()) == {np.mean(rows[1])}


def test_curves_share_axes_and_styles_are_the_callers(rows):
    first = OSCRDisplay.from_predictions(*rows)
    second = OSCRDisplay.from_predictions(
        *rows, ax=first.ax_, plot_accuracy=False, line_kw={"c": "red"}
    )
    assert second.ax_ is first.ax_
    assert second.accuracy_line_ is None
    assert second.line_.get_color() == "red"
    assert len(first.ax_.lines) == 3


def test_histograms_are_shares_of_all_rows(rng):
    known, odd = rng.normal(1, 1, 500), np.append(rng.normal(-1, 1, 299), -np.inf)
    display = ConfidenceDisplay.from_scores(known, {"odd": odd}, bins=12, name="minus regret")
    drawn = display.known_.get_data()
    assert len(drawn.values) == 12
    assert drawn.values.sum() == pytest.approx(1)
    assert display.unknown_["odd"].get_data().values.sum() == pytest.approx(1)
    inner = slice(1, -1)
    for scores, shares in ((known, display.known), (odd, display.unknown["odd"])):
        e = display.edges
        expected = [
            np.mean((scores >= a) & (scores < b)) for a, b in zip(e[:-1], e[1:], strict=True)
        ]
        np.testing.assert_allclose(shares[inner], expected[inner])
    assert display.ax_.get_xlabel() == "minus regret"


@pytest.mark.parametrize("value", [0.0, 1.0, -1e9, 1e-30, np.inf])
def test_a_score_that_never_varies_is_drawn(value):
    display = ConfidenceDisplay.from_scores([value] * 3, {"x": [value]})
    assert display.known.sum() == pytest.approx(1)
    assert np.all(np.diff(display.edges) > 0)


@pytest.mark.parametrize("bad", [[], [np.nan], [[1.0]]])
def test_scores_that_cannot_be_drawn_are_refused(bad):
    with pytest.raises(InputError, match="'known'"):
        ConfidenceDisplay.counted(bad, {"x": [0.0]})
    with pytest.raises(InputError, match="'x'"):
        ConfidenceDisplay.counted([0.0], {"x": bad})
