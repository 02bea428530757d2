"""Log-losses of left-out rows are those of a slow loop over the definition."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pnml.learners.cross_fitted import CrossFitted, value_log_losses


def density(scores, u):
    """Density of Eq. (C3) at the score u, by its sentence in the maths."""
    scores, m = sorted(scores), len(scores)
    ranks = [*range(m, 0, -max(1, math.isqrt(m))), 0][::-1]
    knots = [0.0, *scores]
    for low, high in zip(ranks, ranks[1:], strict=False):
        share = (high - low) / (m + 1) / 2  # of either sign
        level = share / (knots[high] - knots[low])
        if u < knots[high]:
            return level
    rate = level / (1 / (m + 1) / 2)  # so that the density goes on as it was
    return level * math.exp(-rate * (u - knots[-1]))


@pytest.mark.parametrize("n", [6, 23, 200])
@pytest.mark.parametrize("weighted", [False, True])
def test_each_part_is_scored_by_the_table_of_the_others(n, weighted, rng):
    expected = rng.uniform(0.5, 2.0, size=n)
    errors = np.abs(rng.normal(size=n)) * expected
    weights = np.ones(n)
    if weighted:
        weights[::7] = 0.0
    truth = []
    for i in range(n):
        others = [j for j in range(n) if j % 5 != i % 5 and weights[j] > 0]
        table = [errors[j] / expected[j] for j in others]
        level = density(table, errors[i] / expected[i]) / expected[i]
        truth.append(max(-math.log(level), math.log(1e-3)))  # of the spread, 1
    found = value_log_losses(errors, expected, 1.0, weights)
    # knots are moved by 1e-12 of the largest so that no two are equal
    np.testing.assert_allclose(found, truth, rtol=1e-8, atol=1e-8)
    fitted = CrossFitted(errors, found, weights)
    there = weights > 0
    assert fitted.log_loss == pytest.approx(np.mean(np.array(truth)[there]), rel=1e-8)
    assert fitted.mean_error == pytest.approx(errors[there].mean(), rel=1e-12)
    assert fitted.mean_squared_error == pytest.approx((errors[there] ** 2).mean(), rel=1e-12)


def test_a_fit_without_errors_has_the_loss_of_the_least_noise_that_counts():
    found = value_log_losses(np.zeros(20), np.zeros(20), 5.0, np.ones(20))
    np.testing.assert_allclose(found, math.log(5e-3), rtol=1e-12)
