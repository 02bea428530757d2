"""Leave-one-out of the norm ball is what refitting without each row gives."""

from __future__ import annotations

import numpy as np
import pytest

import oracle
from pnml.core.geometry.spectrum import Spectrum
from pnml.core.norm_ball.leave_one_out import Folds
from pnml.core.statistic.factor import Factor

SHAPES = [(5, 8), (8, 5), (6, 6)]


def problem(shape, intercept, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=shape) + 1.0
    y = X[:, 0] + rng.normal(size=shape[0])
    spectrum = Spectrum.of_factor(Factor.of(X, y), intercept=intercept, unit_columns=False)
    return X, y, spectrum


def left_out(X, y, i, intercept):
    """Spectrum of the other rows, the row left out in it, and how much the intercept shrinks it."""
    others = np.arange(len(X)) != i
    n = len(X) - 1
    center, mean = (X[others].mean(axis=0), y[others].mean()) if intercept else (0.0, 0.0)
    U, h, Vt = np.linalg.svd(X[others] - center, full_matrices=False)
    keep = h > 1e-10
    U, h, Vt = U[:, keep], h[keep], Vt[keep]
    omega = n / (n + 1) if intercept else 1.0
    x = np.sqrt(omega) * (X[i] - center)
    a = Vt @ x
    b = np.linalg.norm(x - Vt.T @ a)
    return h**2, U.T @ (y[others] - mean) / h, a, b if b > 1e-10 else 0.0, omega


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("radius", [None, 0.5, 2.0])
def test_genie_told_the_left_out_label_is_a_fit_to_all_rows(shape, intercept, radius):
    X, y, spectrum = problem(shape, intercept)
    found = Folds.of(spectrum, X, y, radius).residual
    for i in range(len(X)):
        others = np.arange(len(X)) != i
        R = oracle.min_norm_radius(X[others], y[others], intercept) if radius is None else radius
        fitted = oracle.design(X[i : i + 1], intercept)[0] @ oracle.ball_fit(X, y, R, intercept)
        assert found[i] == pytest.approx(y[i] - fitted, abs=1e-8)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("radius", [None, 0.5])
def test_regret_of_a_fold_is_that_of_the_ball_without_the_row(shape, intercept, radius):
    X, y, spectrum = problem(shape, intercept, seed=1)
    noise = np.array([0.01, 1.0])
    found = Folds.of(spectrum, X[:2], y[:2], radius).regrets(noise)
    for i in range(2):
        h2, t, a, b, omega = left_out(X, y, i, intercept)
        R = np.linalg.norm(t) if radius is None else radius
        K = oracle.ball_normaliser(h2, t, a, b, R, noise[i] / omega) / omega
        assert found[i, i] == pytest.approx(
            np.log(K), abs=1e-8
        )  # each fold with a noise of its own


def test_log_loss_of_a_fold_is_minus_the_log_density_of_its_label():
    X, y, spectrum = problem((5, 8), intercept=True, seed=2)
    folds = Folds.of(spectrum, X, y, None)
    loss = folds.log_losses(np.array([0.1]))[:, 0]
    for i in range(len(X)):
        h2, t, a, b, omega = left_out(X, y, i, intercept=True)
        others = np.arange(len(X)) != i
        R = oracle.min_norm_radius(X[others], y[others], True)
        s = oracle.ball_refit_residual(X[others], y[others], X[i], y[i], R, True)
        K = oracle.ball_normaliser(h2, t, a, b, R, 0.1 / omega) / omega
        truth = 0.5 * s**2 / 0.1 + 0.5 * np.log(2 * np.pi * 0.1) + np.log(K)
        assert loss[i] == pytest.approx(truth, abs=1e-7)
