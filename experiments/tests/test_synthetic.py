"""The figures on made points agree with refits, quadrature and arithmetic of many digits."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy import integrate

import oracle
from pnml_experiments.ch2_least_squares import polynomial
from pnml_experiments.ch3_overparameterized import trigonometric
from pnml_experiments.ch4_luckiness import luckiness_polynomials, null_space_histograms
from pnml_experiments.framework.registry import find

pytest.importorskip("matplotlib")
MADE = ("polynomial", "trigonometric", "luckiness-polynomials", "null-space-histograms")


def quiet(done, total):
    pass


def numbers(table):
    """Labels → number of a table."""
    return {tuple(row.labels.values()): row.ours.value for row in table.rows}


@pytest.mark.parametrize("name", MADE)
def test_each_entry_runs_small_and_draws(name, out):
    result = find(name).run("small", out, quiet)
    assert all(np.isfinite(row.ours.value) for table in result.tables for row in table.rows)
    for figure in result.figures:
        assert figure.draw().axes


# polynomials


@pytest.mark.parametrize("degree", polynomial.DEGREES)
def test_regret_of_a_polynomial_is_the_integral_over_refits(degree):
    t, y = polynomial.TEN
    curve = polynomial.curve("one", t, y, degree, polynomial.PENALTY, 8)
    X = np.vander(t, degree + 1, increasing=True)
    for at in (3, 5):
        x = np.vander(curve.t[[at]], degree + 1, increasing=True)[0]
        fit = oracle.ridge_fit(X, y, polynomial.PENALTY, False)
        K = oracle.ridge_normaliser(X, y, x, polynomial.PENALTY, 0.01, False)
        assert curve.regret[at] == pytest.approx(np.log(K), rel=1e-5)
        assert curve.fit[at] == pytest.approx(x @ np.ravel(fit)[-len(x) :], abs=1e-6)


def test_a_larger_penalty_means_a_smaller_regret_everywhere_and_none_an_exact_fit():
    t, y = polynomial.three_points()
    curves = [polynomial.curve("one", t, y, 2, one, 50) for one in polynomial.PENALTIES]
    for lower, higher in zip(curves, curves[1:], strict=False):
        assert (higher.regret < lower.regret).all()
    np.testing.assert_allclose(curves[0].at_points, y, atol=1e-9)
    np.testing.assert_allclose(curves[0].point_regret, np.log(2), atol=1e-9)


def test_the_printed_density_has_the_mass_that_the_table_says(out):
    *_, masses = find("polynomial").run("small", out, quiet).tables
    t, _ = polynomial.three_points()
    X, penalty = np.vander(t, 3, increasing=True), 0.1
    x = np.array([1.0, -1.0, 1.0])
    inverse = np.linalg.inv(X.T @ X + penalty * np.eye(3))
    p = x @ inverse @ x / (1 + x @ inverse @ x)
    mass = integrate.quad(
        lambda y: (1 + p) / np.sqrt(2 * np.pi) * np.exp(-((1 - p) ** 2) * y * y / 2), -200, 200
    )[0]
    assert numbers(masses)["λ = 0.1", "-1"] == pytest.approx(mass, rel=1e-6)


# cosines


def geometry(features, t):
    """h², t, a and b of one test point, by an SVD."""
    X = np.cos(np.pi * np.arange(features) * (trigonometric.T[:, None] + 0.5))
    x = np.cos(np.pi * np.arange(features) * (t + 0.5))
    U, h, Vt = np.linalg.svd(X, full_matrices=False)
    a = Vt @ x
    return h**2, U.T @ trigonometric.Y / h, a, np.linalg.norm(x - a @ Vt)


@pytest.mark.parametrize(
    ("features", "squared"), [(10, 295552.281), (20, 0.1513885), (50, 0.0426976)]
)
def test_norms_of_the_minimum_norm_fits(features, squared):
    found = trigonometric.curves(features, np.array([0.5]))
    assert found.squared_norm == pytest.approx(squared, rel=1e-6)
    X = trigonometric.cosines(trigonometric.T, features)
    theta = np.linalg.lstsq(X, trigonometric.Y, rcond=None)[0]
    assert found.squared_norm == pytest.approx(theta @ theta, rel=1e-6)


@pytest.mark.parametrize(
    ("features", "t", "regret"),
    [(10, 0.995, 7.545), (20, 0.35, 2.876), (20, 0.1, 0.963), (50, 0.35, 2.4413)],
)
def test_two_sided_regrets(features, t, regret):
    found = trigonometric.curves(features, np.array([t])).regrets
    assert found["exact"][0] == pytest.approx(regret, abs=1e-3)
    h2, theta, a, b = geometry(features, t)
    radius = float(np.linalg.norm(theta))
    K = oracle.ball_normaliser(h2, theta, a, b, radius, trigonometric.NOISE)
    assert found["exact"][0] == pytest.approx(np.log(K), abs=1e-5)
    assert found["exact"][0] <= found["bound"][0] + 1e-9


def test_one_side_doubled_is_the_upper_half_of_the_integral_twice():
    features, t = 20, 0.35
    h2, theta, a, b = geometry(features, t)
    radius, fit = float(np.linalg.norm(theta)), float(a @ theta)
    sigma = np.sqrt(trigonometric.NOISE)
    labels = fit + np.concatenate([np.linspace(0, 1, 2_001), np.geomspace(1, 60, 2_001)[1:]])
    residuals = oracle.ball_told_residual(h2, theta, a, b, radius, labels)
    density = np.exp(-0.5 * (residuals / sigma) ** 2) / (sigma * np.sqrt(2 * np.pi))
    half = np.sum((density[1:] + density[:-1]) / 2 * np.diff(labels))
    found = trigonometric.curves(features, np.array([t])).regrets["one side doubled"][0]
    assert found == pytest.approx(np.log(2 * half), abs=1e-3)


def test_one_side_doubled_at_the_edge_is_what_the_research_code_finds():
    found = trigonometric.curves(10, np.array([0.995])).regrets["one side doubled"][0]
    assert found == pytest.approx(7.853, abs=1e-3)


# luckiness


@pytest.mark.parametrize("features", luckiness_polynomials.FEATURES)
def test_luckiness_is_the_integral_over_weighted_refits(features):
    t, y = luckiness_polynomials.POINTS
    grid = np.array([-0.9, 0.4])
    says = luckiness_polynomials.learners(t, y, features, grid).says
    X = np.vander(t, features, increasing=True)
    rows = np.vander(grid, features, increasing=True)
    penalty, noise = luckiness_polynomials.PENALTY, luckiness_polynomials.NOISE
    theta = X.T @ np.linalg.solve(X @ X.T + penalty * np.eye(len(t)), y)
    for i, x in enumerate(rows):
        _, mean, variance = moments(X, y, x, penalty, noise)
        assert says["luckiness"].mean[i] == pytest.approx(mean, rel=1e-4, abs=1e-6)
        assert says["luckiness"].std[i] == pytest.approx(np.sqrt(variance), rel=1e-4)
        inside = X.T @ np.linalg.solve(X @ X.T + penalty * np.eye(len(t)), X @ x)
        K = 1 + x @ (x - inside) / penalty
        assert says["ridge"].mean[i] == pytest.approx(theta @ x, rel=1e-6, abs=1e-9)
        assert says["Bayes"].std[i] == pytest.approx(np.sqrt(noise * K), rel=1e-6)
        assert says["pNML"].std[i] == pytest.approx(np.sqrt(noise) * K, rel=1e-6)


def moments(X, y, x, penalty, noise):
    """Mass, mean and variance of the weighted genies' density, by refits on a grid of labels."""
    rows = np.vstack([X, x])
    gram = rows @ rows.T + penalty * np.eye(len(rows))

    def log_density(label):
        weights = np.linalg.solve(gram, np.append(y, label))
        theta = rows.T @ weights
        return -((label - x @ theta) ** 2 + penalty * theta @ theta) / (2 * noise)

    # the exponent is quadratic in the label: three refits say all
    scale = 1.0
    low, middle, high = (log_density(label) for label in (-scale, 0.0, scale))
    second, first = (low + high - 2 * middle) / scale**2, (high - low) / (2 * scale)
    return None, -first / second, -1 / second


def test_the_widths_are_in_order_at_every_point():
    t, y = luckiness_polynomials.POINTS
    says = luckiness_polynomials.learners(t, y, 11, np.linspace(-1, 1, 101)).says
    assert (says["Bayes"].std <= says["luckiness"].std * (1 + 1e-9)).all()
    assert (says["luckiness"].std <= says["pNML"].std * (1 + 1e-9)).all()


def test_the_table_of_the_edges_has_the_widths_there(out):
    edges = numbers(find("luckiness-polynomials").run("small", out, quiet).tables[-1])
    t, _ = luckiness_polynomials.POINTS
    X, penalty = np.vander(t, 11, increasing=True), luckiness_polynomials.PENALTY
    for place in (-1.0, 1.0):
        x = np.vander([place], 11, increasing=True)[0]
        says = [
            moments(X, np.array(labels), x, penalty, luckiness_polynomials.NOISE)
            for labels in (np.zeros(6), np.ones(6))
        ]
        inside = X.T @ np.linalg.solve(X @ X.T + penalty * np.eye(len(t)), X @ x)
        bayes = luckiness_polynomials.NOISE * (1 + x @ (x - inside) / penalty)
        found = edges["11", "of the figures", f"ratio at {place:g}".replace("-", "−")]
        for _, _, variance in says:  # whatever the labels are
            assert found == pytest.approx(np.sqrt(variance / bayes), rel=1e-4)
    share = edges["11", "drawn anew", "draws with twice the width at both edges, percent"]
    assert 0 <= share <= 100


def test_expected_log_loss_is_the_mean_over_drawn_labels(rng):
    found = luckiness_polynomials.many_draws(5, 1)
    draw, grid = np.random.default_rng(0), np.linspace(-1, 1, 101)
    t = draw.uniform(-1, 1, 6)
    noise = luckiness_polynomials.NOISE
    y = np.sin(np.pi * t) + np.sqrt(noise) * draw.normal(size=6)
    says = luckiness_polynomials.learners(t, y, 5, grid).says["Bayes"]
    labels = np.sin(np.pi * grid) + np.sqrt(noise) * rng.normal(size=(4_000, 101))
    assert found["loss, Bayes"][0] == pytest.approx(-says.log_prob(labels).mean(), abs=0.02)


# null space


def test_in_many_digits_ridge_predicts_nothing_in_the_null_space():
    one = null_space_histograms.case(3, rows=5, features=12)
    with mpmath.workdps(60):
        X = mpmath.matrix(one.X.tolist())
        gram = X.T * X + mpmath.mpf(10) ** -9 * mpmath.eye(12)
        theta = mpmath.lu_solve(gram, X.T * mpmath.matrix(one.y.tolist()))
        v = mpmath.matrix(np.random.default_rng(1).normal(size=12).tolist())
        outside = v - X.T * mpmath.lu_solve(X * X.T, X * v)
        assert abs((theta.T * outside)[0]) < mpmath.mpf(10) ** -40
        inside = mpmath.matrix(one.tests["in the span"][0].tolist())
        exact = float((theta.T * inside)[0])
    found = null_space_histograms.predictions(one)
    for name in ("ridge, dual float64", "ridge, ours"):
        assert found["in the span", name][0] == pytest.approx(exact, abs=1e-9)
        assert np.abs(found["in the null space", name]).max() < 1e-12
    assert np.abs(found["in the null space", "luckiness, ours"]).max() < 1e-12


def test_only_the_primal_equations_lose_the_null_space():
    found = null_space_histograms.predictions(null_space_histograms.case(200))
    outside = {name: np.abs(v).max() for (where, name), v in found.items() if "null" in where}
    assert outside["ridge, primal float32"] > 1
    assert 1e-8 < outside["ridge, primal float64"] < 1e-2
    assert max(outside["ridge, dual float64"], outside["luckiness, ours"]) < 1e-12


def test_the_spread_in_the_null_space_is_its_closed_form(out):
    table = find("null-space-histograms").run("small", out, quiet).tables[-1]
    found = numbers(table)
    mean = found["in the null space", "mean"]
    assert mean == pytest.approx(found["in the null space", "mean of σ√(1 + ‖x‖²/λ)"], rel=1e-6)
