"""The bounds of a norm ball are the integrals and closed forms that were proven."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import gamma

from pnml.core.norm_ball.ball import Ball, newton_step
from pnml.core.norm_ball.bound import min_norm_bound, regret_bound
from pnml.core.norm_ball.genie import _unconstrained, genie_residual
from pnml.core.norm_ball.regret import regret
from pnml.estimators.norm_ball import NormBallRegressor

PAIRS = [(0.5, 1.0), (0.0, 1e-6), (1e8, 1e-3), (3.0, 1e9), (1e-9, 0.3), (1e4, 1e4)]


@pytest.mark.parametrize(("kappa", "ell"), PAIRS)
def test_min_norm_bound_is_its_integral_over_residuals(kappa, ell):
    def room(s):
        """The largest b²/λ that a residual of s allows."""

        def f(v):
            return np.log(ell * (np.sqrt(kappa) + np.sqrt(kappa + 2 * np.exp(v))) / s) - 2 * v

        return np.exp(brentq(f, -200, 200, xtol=1e-14))

    def integrand(u):
        s, q = np.exp(u), room(np.exp(u))
        r = s * (1 + q + kappa / 2 + 0.5 * np.sqrt(kappa**2 + 2 * kappa * q))
        return 2 * r * s * s * np.exp(-s * s / 2) / np.sqrt(2 * np.pi)

    total = sum(quad(integrand, u, u + 1, epsrel=1e-12, epsabs=0)[0] for u in range(-22, 3))
    found = 1 + min_norm_bound(np.array([kappa]), np.array([ell]))[0]
    assert found == pytest.approx(total, rel=1e-9)


@pytest.mark.parametrize(("kappa", "ell"), PAIRS)
def test_min_norm_bound_is_below_its_closed_form(kappa, ell):
    c1 = 3 * 2 ** (2 / 3) * gamma(7 / 6) / np.sqrt(np.pi)
    c2 = 3 * 2 ** (3 / 4) * gamma(5 / 4) / np.sqrt(np.pi)
    closed = kappa + c1 * ell ** (2 / 3) + c2 * kappa**0.25 * ell**0.5
    assert min_norm_bound(np.array([kappa]), np.array([ell]))[0] <= closed * (1 + 1e-12)


def test_bound_of_rows_in_the_span_is_that_of_least_squares():
    ball = Ball.min_norm(np.array([4.0, 1.0]), np.array([100.0, 100.0]))
    bound = regret_bound(ball, [[1.0, 2.0]], [0.0], noise_variance=1e-4)
    assert bound[0] == pytest.approx(np.log(1 + 1 / 4 + 4))


def test_bound_of_a_vast_noise_is_that_of_the_range():
    ball = Ball(np.array([4.0]), np.array([0.5]), radius=2.0)
    bound = regret_bound(ball, [[3.0]], [4.0], noise_variance=1e6)
    assert bound[0] == pytest.approx(np.sqrt(2 / np.pi) * 2 * 5 / 1e3, rel=1e-2)


@pytest.mark.parametrize("seed", range(4))
def test_bound_of_little_noise_outside_the_span_is_that_of_the_min_norm_ball(seed):
    X, y, x, _, P, b2, D = _wide(seed)
    ball, row = _in_the_ball(X, y, x)
    bound = regret_bound(ball, row[:, :-1], row[:, -1], noise_variance=1e-6)
    psi = min_norm_bound(np.array([x @ P @ x]), np.array([b2 * np.sqrt(D) / 1e-3]))
    assert bound[0] == pytest.approx(np.log1p(psi[0]), rel=1e-9)


def test_bound_counts_the_intercept():
    h2, t, a, b = np.array([4.0, 1.0]), np.array([0.5, 1.0]), [[1.0, 2.0]], [0.7]
    plain = Ball.min_norm(h2, t)
    centred = Ball.min_norm(h2, t, omega=0.8)
    scaled = np.sqrt(0.8) * np.array(a), np.sqrt(0.8) * np.array(b)
    found = regret_bound(centred, a, b, 0.1)
    assert found == pytest.approx(regret_bound(plain, *scaled, 0.1 / 0.8) - np.log(0.8))
    assert np.all(regret(centred, a, b, 0.1) <= found)


def _wide(seed):
    """Rows, labels, a new row, the min-norm fit, P, b² and D of Eqs. (N22) and (N23)."""
    rng = np.random.default_rng(seed)
    X, y, x = rng.normal(size=(6, 9)), rng.normal(size=6), rng.normal(size=9)
    inverse = np.linalg.pinv(X)
    fit, P = inverse @ y, np.linalg.pinv(X.T @ X)
    return X, y, x, fit, P, float(np.sum((x - inverse @ (X @ x)) ** 2)), float(fit @ P @ fit)


@pytest.mark.parametrize("seed", range(4))
def test_with_little_noise_the_normaliser_grows_like_its_power_minus_two_thirds(seed):
    X, y, x, _, _, b2, D = _wide(seed)
    far = []
    for std in (1e-3, 1e-5):
        model = NormBallRegressor(fit_intercept=False, noise_variance=std**2).fit(X, y)
        law = gamma(1 / 6) / (3 * np.sqrt(np.pi)) * (b2 * np.sqrt(D) / std) ** (2 / 3)
        far.append(abs(np.exp(model.regret(x[None])[0]) / law - 1))
    assert far[1] < 0.01
    assert far[1] < far[0] / 5


def _multiplier(X, y, x, fit, r):
    """Ridge penalty at which the fit to the rows and to the label xᵀθ* + r has the norm of θ*."""
    A, labels = np.vstack([X, x]), np.append(y, x @ fit + r)

    def excess(log_multiplier):
        ridge = A.T @ A + np.exp(log_multiplier) * np.eye(A.shape[1])
        return float(np.sum(np.linalg.solve(ridge, A.T @ labels) ** 2)) - float(fit @ fit)

    return np.exp(brentq(excess, -25, 25, xtol=1e-13))


def _in_the_ball(X, y, x):
    """The min-norm ball of the rows, and the new row in its coordinates."""
    U, h, Vt = np.linalg.svd(X, full_matrices=False)
    ball, a = Ball.min_norm(h**2, U.T @ y / h), Vt @ x
    return ball, ball.coordinates(a[None], [np.linalg.norm(x - Vt.T @ a)])


RESIDUALS = [-30.0, -1.0, -0.01, 0.02, 2.0, 100.0]


@pytest.mark.parametrize("r", RESIDUALS)
@pytest.mark.parametrize("seed", range(4))
def test_the_multiplier_of_the_ball_is_not_small(seed, r):
    """The first step from the fit to all rows, whose norm and slope come from refits here."""
    X, y, x, fit, P, b2, D = _wide(seed)
    A, labels, R2 = np.vstack([X, x]), np.append(y, x @ fit + r), float(fit @ fit)
    whole = np.linalg.pinv(A) @ labels
    squared, half_slope = float(whole @ whole), float(whole @ np.linalg.pinv(A.T @ A) @ whole)
    assert squared == pytest.approx(R2 + r**2 / b2, rel=1e-9)
    closed = D - 2 * r * float(fit @ P @ x) / b2 + r**2 * (1 + float(x @ P @ x)) / b2**2
    assert half_slope == pytest.approx(closed, rel=1e-8)
    ball, row = _in_the_ball(X, y, x)
    _, above, slope = _unconstrained(ball, row, np.array([[r]]))
    least = newton_step(above, slope, ball.radius)[0, 0]
    assert least == pytest.approx(
        squared / half_slope * (np.sqrt(1 + r**2 / (b2 * R2)) - 1), rel=1e-7
    )
    assert _multiplier(X, y, x, fit, r) >= least * (1 - 1e-6)
    assert least >= r**2 / (2 * b2 * half_slope) * (1 - 1e-7)


@pytest.mark.parametrize("seed", range(12))
def test_a_label_is_no_farther_from_either_fit_than_the_genies_residual_allows(seed):
    """From the ridge fit at the genie's multiplier λ as printed, from the min-norm fit by 3/2."""
    X, y, x, fit, P, b2, _ = _wide(seed)
    ball, row = _in_the_ball(X, y, x)
    kappa = float(x @ P @ x)
    for r in RESIDUALS:
        s = abs(genie_residual(ball, row, np.array([[r]]))[0, 0])
        multiplier = _multiplier(X, y, x, fit, r)
        inverse = np.linalg.inv(X.T @ X + multiplier * np.eye(9))
        q, from_ridge = b2 / multiplier, abs(x @ fit + r - x @ inverse @ X.T @ y)
        assert from_ridge == pytest.approx(s * (1 + x @ inverse @ x), rel=1e-5)
        assert from_ridge <= s * (1 + kappa + q) * (1 + 1e-5)
        most = s * (1 + q + kappa / 2 + 0.5 * np.sqrt(kappa**2 + 2 * kappa * q))
        assert abs(r) <= most * (1 + 1e-5)
        assert most <= s * (1 + kappa + 1.5 * q)


def test_from_the_min_norm_fit_the_printed_constant_is_too_small():
    """So Eq. (N16) has 3/2 where the bound on the distance from the ridge fit has 1."""
    exceeded = 0
    for seed in range(12):
        X, y, x, fit, P, b2, _ = _wide(seed)
        ball, row = _in_the_ball(X, y, x)
        for r in RESIDUALS:
            s = abs(genie_residual(ball, row, np.array([[r]]))[0, 0])
            q = b2 / _multiplier(X, y, x, fit, r)
            exceeded += abs(r) > s * (1 + float(x @ P @ x) + q) * (1 + 1e-4)
    assert exceeded > 10
