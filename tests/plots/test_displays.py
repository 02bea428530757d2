"""What is drawn is what was computed: curves are read back from the artists."""

from __future__ import annotations

import io
import subprocess
import sys

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pnml import (
    ConformalRegressor,
    InputError,
    KernelPNMLRegressor,
    LpNMLRegressor,
    NormBallRegressor,
    PNMLRegressor,
    UniversalRegressor,
)
from pnml.plots import RegretDisplay, RiskCoverageDisplay, SpectrumDisplay

DISPLAYS = [RegretDisplay, RiskCoverageDisplay, SpectrumDisplay]
ESTIMATORS = {
    "ordinary": PNMLRegressor(),
    "ridge": PNMLRegressor(alpha="loo"),
    "luckiness": LpNMLRegressor(),
    "lasso": LpNMLRegressor(penalty="l1", alpha=2.0),
    "ball": NormBallRegressor(radius=0.5, fit_intercept=True),
    "kernel": KernelPNMLRegressor(),
    "universal": UniversalRegressor(),
    "conformal": ConformalRegressor(random_state=0),
}


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    plt.close("all")


@pytest.fixture
def ax():
    return plt.subplots()[1]


@pytest.fixture
def data(rng):
    X = rng.normal(size=(60, 4)) * [3.0, 1.0, 0.3, 0.1]
    return X, X[:, 0] ** 2 + 0.1 * rng.normal(size=60)


def share_up_to(regrets, t, weights=None):
    weights = np.ones(len(regrets)) if weights is None else weights
    return sum(w for r, w in zip(regrets, weights, strict=True) if r <= t) / sum(weights)


def curve(line):
    return np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)


def png(figure):
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    buffer.seek(0)
    return plt.imread(buffer)


class Threshold(ClassifierMixin, BaseEstimator):
    """A classifier with a regret, as small as can be."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.where(X[:, 0] > 0, "up", "down")

    def regret(self, X):
        return 1 / np.abs(X[:, 0])


# RegretDisplay


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


# SpectrumDisplay


def test_singular_values_are_those_of_the_centred_rows(data, ax):
    X, y = data
    display = SpectrumDisplay.from_estimator(PNMLRegressor(alpha=2.0).fit(X, y), ax=ax)
    index, values = curve(display.line_)
    truth = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)
    np.testing.assert_allclose(values, truth, rtol=1e-10)
    assert index.tolist() == [1, 2, 3, 4]
    assert curve(display.penalty_line_)[1] == pytest.approx(np.sqrt(2.0))
    assert display.energy_line_ is None
    assert ax.get_yscale() == "log"


def fit_matrix_trace(fit, n):
    """Trace of the linear map from training targets to their fit, column by column."""
    zero = fit(np.zeros(n))
    return sum((fit(np.eye(n)[i]) - zero)[i] for i in range(n))


@pytest.mark.parametrize("alpha", [0.0, 2.0])
@pytest.mark.parametrize("intercept", [True, False])
def test_degrees_of_freedom_are_the_trace_of_the_fit(alpha, intercept, data, ax):
    X, y = data
    model = PNMLRegressor(alpha=alpha, fit_intercept=intercept, noise_variance=1.0)
    display = SpectrumDisplay.from_estimator(clone(model).fit(X, y), ax=ax)
    truth = fit_matrix_trace(lambda targets: clone(model).fit(X, targets).predict(X), len(X))
    assert display.degrees_of_freedom == pytest.approx(truth, rel=1e-9)
    assert f"({truth:.1f} degrees of freedom)" in display.line_.get_label()
    assert (display.penalty_line_ is None) == (alpha == 0)


def test_the_penalty_of_a_ball_is_the_ridge_that_has_its_norm(rng, ax):
    X, y = rng.normal(size=(10, 20)), rng.normal(size=10)
    model = NormBallRegressor(radius=0.2, noise_variance=1.0).fit(X, y)
    display = SpectrumDisplay.from_estimator(model, ax=ax)
    ridge = np.linalg.solve(X.T @ X + display.penalty * np.eye(20), X.T @ y)
    assert np.linalg.norm(ridge) == pytest.approx(0.2, rel=1e-9)
    widest = SpectrumDisplay.from_estimator(NormBallRegressor().fit(X, y), ax=ax)
    assert widest.penalty_line_ is None
    assert widest.degrees_of_freedom == pytest.approx(10)


def test_the_lasso_spends_its_slopes_and_has_no_ridge_penalty(data, ax):
    X, y = data
    model = LpNMLRegressor(penalty="l1", alpha=30.0, noise_variance=1.0).fit(X, y)
    display = SpectrumDisplay.from_estimator(model, ax=ax)
    assert display.penalty_line_ is None
    assert display.degrees_of_freedom == 1 + np.count_nonzero(model.coef_) < 5


@pytest.mark.parametrize("alpha", [0.0, 2.0])
def test_training_rows_have_the_energy_that_makes_their_own_spectrum(alpha, data, ax):
    X, y = data
    display = SpectrumDisplay.from_estimator(PNMLRegressor(alpha=alpha).fit(X, y), X, ax=ax)
    np.testing.assert_allclose(curve(display.energy_line_)[1], display.singular_values)
    assert display.outside == 0


def test_energy_of_new_rows_is_their_mean_squared_coordinate(data, rng, ax):
    X, y = data
    seen = np.column_stack([X, X @ np.ones(4)])  # five columns, four directions
    new = rng.normal(size=(700, 5))
    model = PNMLRegressor(alpha=0.5).fit(seen, y)
    display = SpectrumDisplay.from_estimator(model, new, ax=ax)
    centre = seen.mean(axis=0)
    V = np.linalg.svd(seen - centre)[2]
    energy = np.mean(((new - centre) @ V.T) ** 2, axis=0)
    np.testing.assert_allclose(display.energy, energy[:4], rtol=1e-8)
    assert display.outside == pytest.approx(energy[4] / energy.sum())
    drawn = curve(display.energy_line_)[1]
    np.testing.assert_allclose(drawn, np.sqrt(60 * energy[:4]), rtol=1e-8)
    assert "% of energy outside" in display.energy_line_.get_label()


def test_rows_without_any_direction_draw_an_empty_spectrum(ax):
    model = PNMLRegressor(noise_variance=1.0).fit(np.ones((5, 2)), np.arange(5.0))
    display = SpectrumDisplay.from_estimator(model, np.ones((3, 2)), ax=ax)
    png(display.figure_)
    assert display.degrees_of_freedom == 1
    assert len(curve(display.line_)[0]) == 0


@pytest.mark.parametrize("name", ["kernel", "universal", "conformal"])
def test_models_without_a_spectrum_say_so(name, data):
    model = clone(ESTIMATORS[name]).fit(*data)
    with pytest.raises(InputError, match=f"{type(model).__name__}, which keeps no spectrum"):
        SpectrumDisplay.from_estimator(model)
    assert not plt.get_fignums()


def test_the_spectrum_of_a_classifier_is_drawn_without_new_rows(data, ax):
    X, y = data
    model = Threshold().fit(X, y > 1)
    model.spectrum_, model.alpha_ = PNMLRegressor(alpha=2.0).fit(X, y).spectrum_, 2.0
    display = SpectrumDisplay.from_estimator(model, ax=ax)
    truth = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)
    np.testing.assert_allclose(curve(display.line_)[1], truth, rtol=1e-10)
    with pytest.raises(InputError, match="leave X out"):
        SpectrumDisplay.from_estimator(model, X)


# RiskCoverageDisplay


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


# All displays


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
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == 4
    assert all(
        line.endswith('which is not installed; run pip install "pnml[plots]".') for line in lines
    )


def test_importing_the_displays_does_not_load_matplotlib():
    code = "import sys, pnml.plots; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
