"""Laws of the norm ball that hold for every ball, row and noise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from pnml.core.norm_ball.ball import Ball
from pnml.core.norm_ball.bound import regret_bound
from pnml.core.norm_ball.predictive import NormBallPredictive
from pnml.core.norm_ball.regret import regret

FACTORS = [1e-3, 0.3, 0.7, 0.95, 1.0, 1.0, 1.0, 1.5, 3.0, 1e3]


def random_rows(seed, rows=50):
    """One ball with many rows: spectra narrow and wide, rows in, near and out of the span."""
    rng = np.random.default_rng(seed)
    r = int(rng.integers(1, 6))
    h = 10 ** rng.uniform(-3, 3, r) if rng.random() < 0.5 else np.abs(rng.normal(size=r)) + 0.05
    t = rng.normal(size=r) * 10 ** rng.uniform(-2, 2)
    t = t / h * np.median(h) if rng.random() < 0.3 else t
    a = rng.normal(size=(rows, r)) * 10 ** rng.uniform(-3, 2, (rows, 1))
    a[rng.random(rows) < 0.1] = 0.0
    b = 10 ** rng.uniform(-3, 2, rows) * rng.choice([0.0, 1e-6, 1.0, 1.0], rows)
    omega = rng.choice([1.0, 0.5, 0.98])
    radius = float(rng.choice(FACTORS) * np.linalg.norm(t))
    return Ball(h**2, t, radius, omega), a, b, 10 ** rng.uniform(-8, 4)


seeds = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("batch", range(10))
def test_no_regret_exceeds_its_bound(batch):
    # 10 · 20 balls · 50 rows
    for seed in range(20 * batch, 20 * batch + 20):
        ball, a, b, noise_variance = random_rows(seed)
        slack = regret_bound(ball, a, b, noise_variance) - regret(ball, a, b, noise_variance)
        assert np.min(slack) > -1e-9, seed


@given(seed=seeds)
def test_regret_is_never_negative(seed):
    ball, a, b, noise_variance = random_rows(seed, rows=6)
    assert np.all(regret(ball, a, b, noise_variance) >= 0)


@given(seed=seeds, c=st.floats(1e-3, 1e3), k=st.floats(1e-3, 1e3))
def test_units_of_rows_and_labels_do_not_matter(seed, c, k):
    ball, a, b, noise_variance = random_rows(seed, rows=6)
    scaled = Ball(c**2 * ball.h2, k / c * ball.t, k / c * ball.radius, ball.omega)
    found = regret(scaled, c * a, c * b, k**2 * noise_variance)
    np.testing.assert_allclose(found, regret(ball, a, b, noise_variance), rtol=1e-7, atol=1e-9)


@given(seed=seeds)
def test_mirrored_targets_mirror_the_prediction(seed):
    ball, a, b, noise_variance = random_rows(seed, rows=4)
    mirrored = Ball(ball.h2, -ball.t, ball.radius, ball.omega)
    one = NormBallPredictive(ball, a, b, noise_variance)
    other = NormBallPredictive(mirrored, a, b, noise_variance)
    np.testing.assert_allclose(one.regret, other.regret, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(one.mean, -other.mean, atol=1e-6 * np.max(one.std))


@given(seed=seeds)
def test_rows_do_not_disturb_each_other(seed):
    ball, a, b, noise_variance = random_rows(seed, rows=8)
    together = regret(ball, a, b, noise_variance)
    alone = [regret(ball, a[i : i + 1], b[i : i + 1], noise_variance)[0] for i in range(8)]
    np.testing.assert_allclose(together, alone, rtol=1e-7, atol=1e-9)


@given(seed=seeds)
def test_a_vast_ball_is_least_squares_inside_the_span(seed):
    ball, a, b, noise_variance = random_rows(seed, rows=4)
    vast = Ball(ball.h2, ball.t, 1e9 * (1 + ball.norm) * np.sqrt(noise_variance), ball.omega)
    a = a * np.sqrt(np.min(ball.h2)) / (1 + np.linalg.norm(a, axis=1, keepdims=True))
    truth = np.log1p(ball.omega * (a**2) @ (1 / ball.h2)) - np.log(ball.omega)
    np.testing.assert_allclose(regret(vast, a, 0 * b, noise_variance), truth, atol=1e-7)


@given(seed=seeds, step=st.sampled_from([-1e-9, 1e-9]))
def test_regret_is_continuous_where_the_ball_meets_the_fit(seed, step):
    ball, a, b, _ = random_rows(seed, rows=4)
    noise_variance = (0.1 * ball.norm) ** 2 * float(np.max(ball.h2))
    fit = Ball.min_norm(ball.h2, ball.t, ball.omega)
    near = Ball(ball.h2, ball.t, (1 + step) * fit.radius, ball.omega)
    b = np.minimum(b, np.sqrt(ball.h2[0]))
    a = a * np.sqrt(ball.h2) / (1 + np.linalg.norm(a, axis=1, keepdims=True))
    difference = regret(near, a, b, noise_variance) - regret(fit, a, b, noise_variance)
    assert np.max(np.abs(difference)) < 1e-2


@settings(max_examples=examples(60))
@given(seed=seeds, low=st.floats(0.01, 0.98), gap=st.floats(1e-3, 0.5))
def test_intervals_nest(seed, low, gap):
    ball, a, b, noise_variance = random_rows(seed, rows=4)
    dist = NormBallPredictive(ball, a, b, noise_variance)
    inner, outer = dist.interval(low), dist.interval(min(low + gap, 0.999))
    assert np.all(outer[:, 0] <= inner[:, 0])
    assert np.all(inner[:, 0] < inner[:, 1])
    assert np.all(inner[:, 1] <= outer[:, 1])


@settings(max_examples=examples(60))
@given(seed=seeds, q=st.floats(1e-6, 1 - 1e-6))
def test_cdf_and_ppf_are_inverse(seed, q):
    ball, a, b, noise_variance = random_rows(seed, rows=4)
    dist = NormBallPredictive(ball, a, b, noise_variance)
    # a label of 10⁹ noises keeps only seven digits of its deviation
    digits = 1e-9 + 1e-15 * np.abs(dist.mode) / np.sqrt(noise_variance)
    assert np.all(np.abs(dist.cdf(dist.ppf(q)) - q) <= digits)
