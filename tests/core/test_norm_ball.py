"""The regret of a norm ball is what its definition says, for every radius and every row."""

from __future__ import annotations

import numpy as np
import pytest

import oracle
from examples import cases
from pnml.core.norm_ball.ball import Ball, constrained_multiplier
from pnml.core.norm_ball.genie import genie_residual
from pnml.core.norm_ball.regret import regret, regret_path
from pnml.errors import InputError


def one(h2, t, a, b, radius, noise_variance):
    return regret(Ball(h2, t, radius), a[None], np.array([b]), noise_variance)[0]


def spectral(X, y, x, intercept=False):
    """Ball of the min-norm fit of rows, and coordinates of new rows x."""
    center, mean = (X.mean(axis=0), y.mean()) if intercept else (0.0, 0.0)
    U, h, Vt = np.linalg.svd(X - center, full_matrices=False)
    U, h, Vt = (part[..., h > 1e-12 * h[0]] for part in (U, h, Vt.T))
    omega = len(X) / (len(X) + 1) if intercept else 1.0
    ball = Ball.min_norm(h**2, U.T @ (y - mean) / h, omega, float(mean))
    a = (x - center) @ Vt
    b = np.linalg.norm(x - center - a @ Vt.T, axis=1)
    return ball, a, np.where(b > 1e-12, b, 0.0)


@pytest.mark.parametrize("seed", range(10))
def test_regret_is_the_integral_over_labels_of_the_refitted_density(seed):
    rng = np.random.default_rng(seed)
    for _ in range(cases(20)):
        instance = oracle.ball_instance(rng)
        truth = np.log(oracle.ball_normaliser(*instance))
        assert one(*instance) == pytest.approx(truth, abs=1e-8), instance


@pytest.mark.parametrize(
    ("seed", "b", "noise_variance", "per_unit"),
    [(0, 1e-6, 1e-4, 16), (1, 0.1, 1e-2, 8), (2, 1e-3, 1.0, 8), (3, 0.0, 0.1, 8)],
)
def test_regret_of_wide_spectra_agrees_with_many_digits(seed, b, noise_variance, per_unit):
    """The rule with half the labels is wrong by 3e-7 in the first case, by 1e-9 in the others."""
    rng = np.random.default_rng(seed)
    h2 = 10 ** rng.uniform(-8, 4, 3)
    t, a = rng.normal(size=3), rng.normal(size=3) * np.sqrt(h2)
    truth = np.log(
        oracle.min_norm_normaliser_in_digits(h2, t, a, b, noise_variance, per_unit=per_unit)
    )
    assert one(h2, t, a, b, np.linalg.norm(t), noise_variance) == pytest.approx(truth, abs=1e-8)


def test_genie_told_a_label_agrees_with_fifty_digits(rng):
    for _ in range(12):
        h2, t, a, b, radius, _ = oracle.ball_instance(rng)
        ball = Ball(h2, t, radius)
        x = ball.coordinates(a[None], [b])
        size = radius * np.linalg.norm(x)
        for deviation in size * np.array([-0.5, -1e-4, 1e-7, 1e-2, 1.0]):
            label = float(a @ ball.fit) + deviation
            truth = oracle.ball_told_residual_in_digits(h2, t, a, b, radius, label)
            deviation = np.array([[label - a @ ball.fit]])
            assert genie_residual(ball, x, deviation)[0, 0] == pytest.approx(
                float(truth), rel=1e-9, abs=1e-13 * size
            )


def test_genie_told_a_label_is_a_refit(rng):
    for intercept in (False, True):
        X, y = rng.normal(size=(4, 6)), rng.normal(size=4)
        x = rng.normal(size=(1, 6))
        ball, a, b = spectral(X, y, x, intercept)
        for label in (-1.0, 0.3, 2.0):
            refit = oracle.ball_refit_residual(X, y, x[0], label, ball.radius, intercept)
            scale = np.sqrt(ball.omega)
            deviation = scale * (label - ball.target_mean - a @ ball.fit)
            ours = scale * genie_residual(ball, ball.coordinates(a, b), deviation[:, None])
            assert ours[0, 0] == pytest.approx(refit, abs=1e-7)


@pytest.mark.parametrize("shape", [(4, 6), (8, 3)])
@pytest.mark.parametrize("factor", [0.6, 1.0, 1.7])
def test_an_intercept_outside_the_norm_is_the_reduced_ball(shape, factor, rng):
    X, y, x = (
        rng.normal(size=shape) + 3.0,
        rng.normal(size=shape[0]) - 2.0,
        rng.normal(size=shape[1]),
    )
    fit, a, b = spectral(X, y, x[None], intercept=True)
    ball = Ball(fit.h2, fit.t, factor * fit.norm, fit.omega, fit.target_mean)
    labels = np.linspace(-40, 40, 161)  # fine enough for an error of 1e-6; none lies beyond ±26
    s = np.array([oracle.ball_refit_residual(X, y, x, v, ball.radius, True) for v in labels])
    truth = np.log(np.trapezoid(np.exp(-s * s / 2) / np.sqrt(2 * np.pi), labels))
    assert regret(ball, a, b, noise_variance=1.0)[0] == pytest.approx(truth, abs=1e-4)


def test_published_counterexample_to_the_printed_bound():
    # X = [[2, 0, 0]], y = 1, x = (0, 10, 0): one direction of h² = 4, fit ½
    ball = Ball.min_norm(np.array([4.0]), np.array([0.5]))
    found = np.exp(regret(ball, [[0.0]], [10.0], noise_variance=1e-6)[0])
    assert found == pytest.approx(883.6, abs=0.05)


TRIGONOMETRIC = np.array(
    [[0.055, 0.4], [0.105, 0.2], [0.212, 0.6], [0.271, 0.55]]
    + [[0.485, 0.18], [0.523, 0.2], [0.755, 0.3], [0.88, 0.2]]
)


def cosines(t, count):
    m = np.arange(count)
    rows = np.cos(np.pi * m * np.asarray(t)[:, None] + np.pi * m / 2)
    rows[:, 0] = 1.0
    return rows


@pytest.mark.parametrize(
    ("count", "squared_norm", "points"),
    [
        (10, 295552.281, {0.995: 7.545}),
        (20, 0.1513885, {0.35: 2.876, 0.1: 0.963}),
        (50, 0.0426976, {0.35: 2.4413}),
    ],
)
def test_trigonometric_set_gives_the_published_figures(count, squared_norm, points):
    t, y = TRIGONOMETRIC.T
    ball, a, b = spectral(cosines(t, count), y, cosines(list(points), count))
    assert ball.norm**2 == pytest.approx(squared_norm, rel=1e-6)
    found = regret(ball, a, b, noise_variance=1e-3)
    np.testing.assert_allclose(found, list(points.values()), atol=6e-4)


def test_a_row_of_zeros_and_a_ball_of_one_model_have_no_regret():
    h2, t = np.array([4.0, 1.0]), np.array([0.5, -1.0])
    rows, b = np.array([[0.0, 0.0], [1.0, 2.0]]), np.array([0.0, 3.0])
    still = regret(Ball.min_norm(h2, t), rows, b, 0.1)
    assert still[0] == 0.0
    assert still[1] > 0
    assert np.all(regret(Ball(h2, t, 0.0), rows, b, 0.1) == 0.0)
    assert np.all(regret(Ball.min_norm(h2, 0 * t), rows, b, 0.1) == 0.0)


def test_without_training_directions_the_range_of_the_ball_is_the_regret():
    # nothing was learned, so any label up to radius·b is met exactly
    ball = Ball(np.zeros(0), np.zeros(0), radius=2.0)
    found = regret(ball, np.zeros((1, 0)), [3.0], noise_variance=0.25)
    assert found[0] == pytest.approx(np.log1p(2 * 6.0 / np.sqrt(2 * np.pi * 0.25)), abs=1e-9)


@pytest.mark.parametrize("factor", [0.5, 1.0, 2.0])
def test_one_pass_over_noise_variances_equals_one_pass_each(factor, rng):
    h2, t = rng.uniform(0.1, 3, 4), rng.normal(size=4)
    ball = Ball(h2, t, factor * np.linalg.norm(t))
    a, b = rng.normal(size=(5, 4)), np.array([0.0, 1e-6, 0.1, 1.0, 5.0])
    noise = np.array([1e-8, 1e-3, 1.0, 1e4])
    path = regret_path(ball, a, b, noise)
    for k, variance in enumerate(noise):
        np.testing.assert_allclose(path[:, k], regret(ball, a, b, variance), atol=1e-9)


def test_constrained_multiplier_gives_the_wanted_norms(rng):
    h2, t = 10 ** rng.uniform(-10, 6, 7), rng.normal(size=7)
    wanted = np.linalg.norm(t) * np.array([1e-3, 0.5, 0.999999, 1.0, 2.0])
    lam = constrained_multiplier(h2, t, wanted)
    norms = np.linalg.norm(h2 * t / (h2 + lam[:, None]), axis=1)
    np.testing.assert_allclose(norms[:4], wanted[:4], rtol=1e-12)
    assert lam[3] == lam[4] == 0.0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((np.ones(2), np.ones(3), 1.0), "one length"),
        ((np.array([1.0, 0.0]), np.ones(2), 1.0), "h2 = 0"),
        ((np.ones(2), np.ones(2), -1.0), "finite radius"),
        ((np.ones(2), np.ones(2), 1.0, 1.5), "omega"),
    ],
)
def test_a_ball_refuses_what_no_training_set_gives(arguments, words):
    with pytest.raises(InputError, match=words):
        Ball(*arguments)


@pytest.mark.parametrize("noise_variance", [0.0, -1.0, np.inf, np.nan])
def test_a_noise_without_a_density_is_refused(noise_variance):
    with pytest.raises(InputError, match="finite one above 0"):
        regret(Ball.min_norm(np.ones(2), np.ones(2)), np.ones((1, 2)), np.ones(1), noise_variance)


def test_rows_of_another_width_are_refused():
    with pytest.raises(InputError, match=r"pass a of shape \(T, 2\)"):
        regret(Ball.min_norm(np.ones(2), np.ones(2)), np.ones((1, 3)), np.ones(1), 1.0)


@pytest.mark.parametrize("seed", range(5))
def test_the_fit_is_the_interpolating_solution_of_smallest_norm(seed):
    """It is X⁺y; every other solution of Xθ = y adds a part that no row sees, orthogonal to it.

    The singular values of X are 1 to 4, so errors are some ten units of round-off, about 2e-15.
    """
    from pnml import NormBallRegressor

    rng = np.random.default_rng(seed)
    U, V = (np.linalg.qr(rng.normal(size=(size, size)))[0] for size in (4, 9))
    X, y = U * np.arange(1.0, 5.0) @ V[:, :4].T, rng.normal(size=4)
    model = NormBallRegressor(fit_intercept=False, noise_variance=1.0).fit(X, y)
    fit, unseen = model.coef_, V[:, 4:]
    np.testing.assert_allclose(fit, np.linalg.pinv(X) @ y, atol=1e-12)
    np.testing.assert_allclose(X @ fit, y, atol=1e-12)
    assert model.radius_ == pytest.approx(np.linalg.norm(fit), abs=1e-12)
    np.testing.assert_allclose(fit @ unseen, 0.0, atol=1e-12)
    for weights in rng.normal(size=(20, 5)):
        other = fit + unseen @ weights
        np.testing.assert_allclose(X @ other, y, atol=1e-12)
        assert other @ other == pytest.approx(fit @ fit + weights @ weights, abs=1e-12)
        assert np.linalg.norm(other) > model.radius_


@pytest.mark.parametrize("seed", range(5))
def test_one_more_row_adds_its_residual_outside_the_span_to_the_squared_norm(seed):
    from pnml import NormBallRegressor

    rng = np.random.default_rng(seed)
    X, y, x, label = rng.normal(size=(4, 9)), rng.normal(size=4), rng.normal(size=9), 1.7
    fit, more = (
        NormBallRegressor(fit_intercept=False, noise_variance=1.0).fit(rows, labels).coef_
        for rows, labels in ((X, y), (np.vstack([X, x]), np.append(y, label)))
    )
    outside = x - np.linalg.pinv(X) @ (X @ x)
    grown = fit @ fit + (label - x @ fit) ** 2 / (outside @ outside)
    assert more @ more == pytest.approx(grown, rel=1e-9)


@pytest.mark.parametrize("label", [-3.0, 0.2, 1.7])
@pytest.mark.parametrize("seed", range(5))
def test_a_ball_meets_a_label_once_it_holds_the_min_norm_fit_of_all_rows(seed, label):
    rng = np.random.default_rng(seed)
    X, y, x = rng.normal(size=(4, 9)), rng.normal(size=4), rng.normal(size=(1, 9))
    fit, a, b = spectral(X, y, x)
    needed = np.linalg.norm(np.linalg.pinv(np.vstack([X, x])) @ np.append(y, label))
    for factor in (1 - 1e-6, 1 + 1e-6):
        ball = Ball(fit.h2, fit.t, factor * needed)
        deviation = (label - a @ ball.fit)[:, None]
        residual = genie_residual(ball, ball.coordinates(a, b), deviation)[0, 0]
        assert (residual == 0) == (factor > 1)
