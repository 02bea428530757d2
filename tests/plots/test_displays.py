"""What holds for every display: it draws where it is told, and what was computed."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import child
from drawing import DISPLAYS, curve, png
from pnml import InputError, LpNMLRegressor, PNMLRegressor
from pnml.errors import how_to_install
from pnml.plots import SpectrumDisplay


def drawn(display, model, X, y, **kwargs):
    return display.from_estimator(model, X, y, **kwargs)


@pytest.mark.parametrize("display", DISPLAYS)
def test_from_estimator_draws_on_the_axes_given_and_labels_them(display, data, ax):
    X, y = data
    made = drawn(display, PNMLRegressor(alpha=1.0).fit(X, y), X, y, ax=ax)
    assert made.ax_ is ax
    assert made.figure_ is ax.figure
    assert ax.get_xlabel()
    assert ax.get_ylabel()
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert all(text.startswith("PNMLRegressor: ") for text in texts)
    assert plt.get_fignums() == [ax.figure.number]


@pytest.mark.parametrize("display", DISPLAYS)
def test_plot_draws_the_same_again_on_axes_of_its_own(display, data, ax):
    X, y = data
    made = drawn(display, PNMLRegressor(alpha=1.0).fit(X, y), X, y, ax=ax)
    before = [curve(line) for line in ax.lines]
    again = made.plot(name="other")
    assert again is made
    assert made.ax_ is not ax
    for (x, y_), line in zip(before, made.ax_.lines, strict=True):
        np.testing.assert_array_equal((x, y_), curve(line))
    assert made.line_.get_label().startswith("other: ")


@pytest.mark.parametrize("display", DISPLAYS)
def test_several_displays_share_axes_in_different_colours(display, data, ax):
    X, y = data
    first = drawn(display, PNMLRegressor(alpha=1.0).fit(X, y), X, y, ax=ax, name="ridge")
    second = drawn(display, LpNMLRegressor().fit(X, y), X, y, ax=ax, name="lucky")
    assert first.line_.get_color() != second.line_.get_color()
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert len(texts) == len(set(texts)) == len(ax.lines)
    assert {text.split(":")[0] for text in texts} == {"ridge", "lucky"}


@pytest.mark.parametrize("display", DISPLAYS)
def test_the_callers_style_wins_in_long_and_short_words(display, data, ax):
    X, y = data
    model = PNMLRegressor(alpha=1.0).fit(X, y)
    made = drawn(display, model, X, y, ax=ax, line_kw={"c": "red", "lw": 5, "label": "mine"})
    assert made.line_.get_color() == "red"
    assert made.line_.get_linewidth() == 5
    assert made.line_.get_label() == "mine"
    made = drawn(display, model, X, y, ax=ax, line_kw={"color": "red", "marker": "s"})
    assert made.line_.get_marker() == "s"


@pytest.mark.parametrize("display", DISPLAYS)
def test_pictures_come_out_in_subplots_and_are_not_blank(display, data):
    X, y = data
    figure, (left, right) = plt.subplots(1, 2)
    empty = png(figure)
    drawn(display, PNMLRegressor(alpha=1.0).fit(X, y), X, y, ax=right)
    filled = png(figure)
    half = empty.shape[1] // 2
    assert not np.array_equal(filled[:, half:], empty[:, half:])
    assert not left.lines
    assert len(np.unique(filled[:, half:].reshape(-1, 4), axis=0)) > 20


@pytest.mark.parametrize("display", DISPLAYS)
def test_a_pipeline_is_seen_from_its_last_step(display, data, ax):
    X, y = data
    X = pd.DataFrame(X, columns=list("abcd"))
    pipe = make_pipeline(StandardScaler(), PNMLRegressor(alpha=1.0)).fit(X, y)
    scaled = StandardScaler().fit_transform(X)
    whole = drawn(display, pipe, X, y, ax=ax)
    part = drawn(display, PNMLRegressor(alpha=1.0).fit(scaled, y), scaled, y, ax=ax)
    np.testing.assert_array_equal(curve(whole.line_), curve(part.line_))
    assert whole.line_.get_label() == part.line_.get_label()
    alone = make_pipeline(PNMLRegressor(alpha=1.0)).fit(X, y)
    drawn(display, alone, X, y, ax=ax)


@pytest.mark.parametrize("display", DISPLAYS)
def test_models_that_are_not_fitted_are_refused_before_a_figure_opens(display, data):
    for model in (PNMLRegressor(), make_pipeline(StandardScaler(), PNMLRegressor())):
        with pytest.raises(NotFittedError):
            drawn(display, model, *data)
    assert not plt.get_fignums()


@pytest.mark.parametrize("display", DISPLAYS)
def test_rows_of_the_wrong_width_get_the_estimators_own_error(display, data):
    X, y = data
    model = PNMLRegressor().fit(X, y)
    with pytest.raises(InputError, match="is expecting 4 features"):
        drawn(display, model, X[:, :3], y)
    with pytest.raises(InputError, match="contains NaN"):
        drawn(display, model, np.where(X > 5, X, np.nan), y)
    assert not plt.get_fignums()


@pytest.mark.parametrize("display", DISPLAYS)
def test_models_of_other_libraries_are_refused_in_one_sentence(display, data):
    with pytest.raises(InputError, match=r"LinearRegression, which (has no|keeps no)"):
        drawn(display, LinearRegression().fit(*data), *data)


def test_streams_draw_too(data, ax):
    X, y = data
    model = PNMLRegressor(alpha=1.0).partial_fit(X[:30], y[:30]).partial_fit(X[30:], y[30:])
    truth = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)
    np.testing.assert_allclose(
        curve(SpectrumDisplay.from_estimator(model, ax=ax).line_)[1], truth, rtol=1e-8
    )


def test_without_matplotlib_one_sentence_names_the_extra():
    code = """
import sys
sys.modules["matplotlib"] = None
from pnml.plots import RegretDisplay, RiskCoverageDisplay, SpectrumDisplay
for call in (
    lambda: RegretDisplay.from_regrets([0.1], [0.2]),
    lambda: RegretDisplay(training=[0.1], new=[0.2]).plot(),
    lambda: RiskCoverageDisplay.from_predictions([0.1], [0.2]),
    lambda: SpectrumDisplay.from_estimator(None),
):
    try:
        call()
    except ImportError as error:
        print(error)
"""
    done = child.python(code, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == 4
    assert all(
        line.endswith(f"which is not installed; {how_to_install('plots')}.") for line in lines
    )


def test_importing_the_displays_does_not_load_matplotlib():
    code = "import sys, pnml.plots; print('matplotlib' in sys.modules)"
    done = child.python(code, check=True)
    assert done.stdout.strip() == "False"
