"""The lasso and its path over a label: stationarity, ties, and refits by another method."""

from __future__ import annotations

import numpy as np
import pytest

import oracle
from pnml.core.lasso.path import Horizon, Start, genie_path, lasso
from pnml.errors import InputError

KINDS = ["gauss", "wide", "integer", "binary", "copies", "sums", "zeros", "onehot", "scales"]


def problem(kind, seed):
    """Rows X, labels y, a row x, and a penalty."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    n, m = int(rng.integers(2, 70)), int(rng.integers(1, 61))
    n = int(rng.integers(2, 20)) if kind == "wide" else n
    X, x, y = rng.normal(size=(n, m)), rng.normal(size=m), 2 * rng.normal(size=n)
    penalty = float(rng.choice([0.05, 0.3, 1.0, 3.0]))
    if kind in ("integer", "binary"):
        low, high = (-2, 3) if kind == "integer" else (0, 2)
        X, x = (rng.integers(low, high, size=v.shape).astype(float) for v in (X, x))
        y = rng.integers(-3, 4, size=n).astype(float)
    if kind == "copies":
        source = rng.integers(0, m, size=m)
        X = X[:, source] * rng.choice([-1, 1], m)
        x = x[source] if seed % 2 else x
    if kind == "sums" and m > 1:
        X[:, m // 2 :] = X[:, : m // 2] @ rng.integers(-1, 2, size=(m // 2, m - m // 2))
    if kind == "zeros":
        X[:, rng.random(m) < 0.4] = 0.0
    if kind == "onehot":
        X, x = np.eye(m)[rng.integers(0, m, size=n)], np.eye(m)[rng.integers(0, m)]
    if kind == "scales":
        units = 10.0 ** rng.uniform(-3, 3, size=m)
        X, x, penalty = X * units, x * units, penalty * float(np.median(units))
    return X, y, x, penalty


def fit(gram, moment, penalty):
    return lasso(gram, moment, np.array([penalty]))[0]


def violation(gram, linear, penalty, theta):
    """How far θ (L, M) is from stationary, relative to the terms that cancel."""
    c = linear - theta @ gram
    size = np.abs(linear) + np.abs(theta) @ np.abs(gram) + penalty
    above = np.max(np.maximum(np.abs(c) - penalty, 0.0) / size)
    slack = np.abs(penalty * np.abs(theta) - c * theta).sum(axis=1)
    return max(above, np.max(slack / ((size * np.abs(theta)).sum(axis=1) + 1e-3 * penalty)))


def labels_of(path):
    """Every kink, the middle of every segment, and a point far beyond each end."""
    kinks = path.edges[1:-1]
    far = 1.0 + np.abs(kinks).max()
    return np.concatenate([kinks, (kinks[1:] + kinks[:-1]) / 2, [kinks[0] - far, kinks[-1] + far]])


def residual_at(path, labels):
    j = np.clip(np.searchsorted(path.edges, labels) - 1, 0, len(path.origin) - 1)
    return path.residual[j] + (labels - path.origin[j]) * path.residual_slope[j]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_every_penalty_of_the_grid_gives_a_stationary_point(kind, seed):
    X, y, _, penalty = problem(kind, seed)
    gram, moment = X.T @ X, X.T @ y
    for tau in penalty * np.array([30.0, 5.0, 1.0, 0.3]):
        theta = lasso(gram, moment, np.array([tau]))
        assert violation(gram, moment, tau, theta) < 1e-10


@pytest.mark.parametrize("kind", KINDS)
def test_the_lasso_fits_as_the_projection_on_its_polytope(kind):
    X, y, _, penalty = problem(kind, 1)
    theta = lasso(X.T @ X, X.T @ y, np.array([penalty]))[0]
    truth = oracle.lasso_residuals(X, y, penalty, intercept=False)
    np.testing.assert_allclose(y - X @ theta, truth, atol=1e-9 * np.linalg.norm(y))


def test_a_grid_in_any_order_gives_what_each_penalty_gives_alone():
    X, y, _, _ = problem("gauss", 3)
    gram, moment = X.T @ X, X.T @ y
    taus = np.array([0.7, 9.0, 0.01, 1e9, 3.0])
    alone = np.vstack([lasso(gram, moment, taus[k : k + 1]) for k in range(len(taus))])
    np.testing.assert_allclose(lasso(gram, moment, taus), alone, atol=1e-13)


def test_from_the_largest_correlation_on_nothing_is_used():
    X, y, _, _ = problem("gauss", 4)
    top = np.abs(X.T @ y).max()
    assert not np.any(lasso(X.T @ X, X.T @ y, np.array([top, 2 * top])))
    assert np.any(lasso(X.T @ X, X.T @ y, np.array([0.999 * top])))


@pytest.mark.parametrize("penalties", [[0.0], [1.0, -1.0], [np.nan], []])
def test_a_penalty_that_is_not_positive_is_refused(penalties):
    with pytest.raises(InputError, match="above 0"):
        lasso(np.eye(2), np.ones(2), np.array(penalties))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_the_genie_is_stationary_at_every_label(kind, seed):
    X, y, x, penalty = problem(kind, seed)
    gram, moment = X.T @ X, X.T @ y
    path = genie_path(Start.of(gram, moment, penalty, fit(gram, moment, penalty)), x)
    labels = labels_of(path)
    s, theta = residual_at(path, labels), path.at(labels)
    assert violation(gram, moment + s[:, None] * x, penalty, theta) < 1e-9
    size = np.abs(labels) + np.abs(theta) @ np.abs(x) + np.abs(s) + 1e-300
    assert np.max(np.abs(labels - theta @ x - s) / size) < 1e-11


@pytest.mark.parametrize("kind", KINDS)
def test_the_genie_is_the_refit(kind):
    X, y, x, penalty = problem(kind, 2)
    gram, moment = X.T @ X, X.T @ y
    path = genie_path(Start.of(gram, moment, penalty, fit(gram, moment, penalty)), x)
    labels = np.linspace(-8, 8, 33)
    residual, norm = oracle.l1_genie(X, y, x, labels, penalty, intercept=False)
    np.testing.assert_allclose(residual_at(path, labels), residual, atol=1e-9)
    np.testing.assert_allclose(np.abs(path.at(labels)).sum(axis=1), norm, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_the_path_is_the_same_from_wherever_it_starts(kind, seed):
    X, y, x, penalty = problem(kind, seed)
    gram, moment = X.T @ X, X.T @ y
    whole = genie_path(Start.of(gram, moment, penalty, fit(gram, moment, penalty)), x)
    told = 3.0
    theta = fit(gram + np.outer(x, x), moment + told * x, penalty)
    start = Start.of(gram, moment, penalty, theta, told - x @ theta, gram.diagonal() + x * x)
    other, labels = genie_path(start, x), np.linspace(-12, 12, 49)
    np.testing.assert_allclose(residual_at(whole, labels), residual_at(other, labels), atol=1e-9)
    norms = [np.abs(path.at(labels)).sum(axis=1) for path in (whole, other)]
    np.testing.assert_allclose(*norms, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("size", [1e3, 1e6, 1e8])
def test_a_row_of_any_size_keeps_all_digits(size):
    X, y, x, penalty = problem("gauss", 5)
    gram, moment = X.T @ X, X.T @ y
    path = genie_path(Start.of(gram, moment, penalty, fit(gram, moment, penalty)), size * x)
    labels = labels_of(path)
    linear = moment + residual_at(path, labels)[:, None] * size * x
    assert violation(gram, linear, penalty, path.at(labels)) < 1e-10


def test_a_row_of_zeros_moves_nothing():
    X, y, x, penalty = problem("gauss", 6)
    theta = fit(X.T @ X, X.T @ y, penalty)
    path = genie_path(Start.of(X.T @ X, X.T @ y, penalty, theta), 0 * x)
    np.testing.assert_allclose(path.at(np.array([-1e9, 0.0, 5.0])), [theta] * 3, atol=1e-14)
    np.testing.assert_array_equal(path.residual_slope, 1.0)


def test_a_column_never_seen_follows_the_label_once_it_is_worth_its_penalty():
    X = np.column_stack([np.arange(1.0, 6.0), np.zeros(5)])
    gram, moment = X.T @ X, X.T @ np.ones(5)
    theta = fit(gram, moment, 0.5)
    path = genie_path(Start.of(gram, moment, 0.5, theta), np.array([0.0, 2.0]))
    np.testing.assert_allclose(path.edges, [-np.inf, -0.25, 0.0, 0.25, np.inf])
    np.testing.assert_allclose(path.residual_slope, [0.0, 1.0, 1.0, 0.0])
    np.testing.assert_allclose(path.at(np.array([10.25]))[0], [theta[0], 5.0])


def test_a_column_that_explains_nothing_is_never_used():
    X, y, x, penalty = problem("gauss", 7)
    X, x = np.column_stack([X, np.zeros(len(X))]), np.append(x, 0.0)
    gram, moment = X.T @ X, X.T @ y
    path = genie_path(Start.of(gram, moment, penalty, fit(gram, moment, penalty)), x)
    assert not np.any(path.coef[:, -1])


def test_a_large_penalty_leaves_the_row_to_itself():
    X, y, x, _ = problem("gauss", 8)
    top = 2 * np.abs(X.T @ y).max()
    path = genie_path(Start.of(X.T @ X, X.T @ y, top, np.zeros(len(x))), x)
    kinks = path.edges[1:-1]
    assert np.isin(0.0, kinks)
    below, above = kinks[kinks < 0].max(), kinks[kinks > 0].min()
    first = np.min((top - np.sign(x) * (X.T @ y)) / np.abs(x))
    assert above == pytest.approx(first)
    assert below < 0


def test_a_fit_may_start_spread_over_copies_of_a_column():
    X, x = np.column_stack([np.arange(1.0, 6.0)] * 3), np.array([1.0, 1.0, 1.0])
    gram, moment = X.T @ X, X.T @ np.ones(5)
    alone = fit(gram, moment, 0.5)
    paths = [
        genie_path(Start.of(gram, moment, 0.5, theta), x)
        for theta in (alone, np.full(3, alone.sum() / 3))
    ]
    np.testing.assert_allclose(paths[0].edges, paths[1].edges)
    np.testing.assert_allclose(paths[0].residual_slope, paths[1].residual_slope)


@pytest.mark.parametrize("depth", [20.0, 45.0])
@pytest.mark.parametrize("kind", ["gauss", "wide", "integer", "copies"])
def test_beyond_the_horizon_lies_less_than_it_says(kind, depth):
    for seed in range(5):
        X, y, x, penalty = problem(kind, seed)
        start = Start.of(X.T @ X, X.T @ y, penalty, fit(X.T @ X, X.T @ y, penalty))
        whole = genie_path(start, x)
        for variance in (0.1, 1.0):
            cut = genie_path(start, x, Horizon(1.0, depth))
            share = log_mass(cut, penalty, variance) - log_mass(whole, penalty, variance)
            assert abs(share) <= 3 * np.exp(-depth) + 1e-13
        assert len(cut.origin) <= len(whole.origin)


def log_mass(path, penalty, variance):
    """log ∫ exp(−(½s² + τ‖θ‖₁)/σ²) dy by dense quadrature between the kinks."""
    nodes, weights = np.polynomial.legendre.leggauss(20)
    kinks = path.edges[1:-1]
    outside = 40 * np.sqrt(variance) * 1.3 ** np.arange(-30, 45)
    grid = np.unique(np.concatenate([kinks, kinks[0] - outside, kinks[-1] + outside]))
    grid = np.unique(
        np.concatenate([grid, *(grid[:-1] + np.diff(grid) * f for f in (0.25, 0.5, 0.75))])
    )
    half, middle = np.diff(grid) / 2, (grid[1:] + grid[:-1]) / 2
    y = (middle[:, None] + half[:, None] * nodes).ravel()
    j = np.clip(np.searchsorted(path.edges, y) - 1, 0, len(path.origin) - 1)
    u = y - path.origin[j]
    s, norm = path.residual[j] + u * path.residual_slope[j], path.norm[j] + u * path.norm_slope[j]
    logs = -(0.5 * s * s + penalty * norm) / variance + np.log((half[:, None] * weights).ravel())
    return np.logaddexp.reduce(logs)
