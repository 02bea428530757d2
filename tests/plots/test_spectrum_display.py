"""Spectra are those of the rows, read back from the artists."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.base import clone

from drawing import ESTIMATORS, Threshold, curve, png
from pnml import InputError, LpNMLRegressor, NormBallRegressor, PNMLRegressor
from pnml.plots import SpectrumDisplay


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
