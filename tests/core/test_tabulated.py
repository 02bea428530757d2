"""The distribution of held-back residuals is a distribution, near the truth it was drawn from."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import laplace, norm

from pnml.core.distributions.tabulated import Tabulated


def of(scores, scale=1.0, mean=0.0):
    return Tabulated(np.array([mean]), np.array([scale]), np.zeros(1), np.sort(scores))


@pytest.mark.parametrize("m", [1, 2, 5, 100, 1000])
def test_the_density_is_the_derivative_of_the_cdf_and_integrates_to_1(m):
    scores = np.abs(np.random.default_rng(m).normal(size=m))
    dist = of(scores, scale=2.0, mean=3.0)
    y = np.linspace(3 - 80, 3 + 80, 2_000_001)
    density = np.exp(dist.log_prob(y))
    step = y[1] - y[0]
    mass = np.append(0, np.cumsum((density[1:] + density[:-1]) / 2) * step) + dist.cdf(y[:1])
    # the trapezoid rule errs by half a step times each jump of the density
    jumps = np.abs(np.diff(density)).sum() * step
    np.testing.assert_allclose(mass, dist.cdf(y), atol=2 * jumps + 1e-9)
    assert np.all(np.diff(dist.cdf(y)) >= 0)
    if m > 1:  # one score alone leaves half of the mass to a tail as long as the score
        assert mass[-1] == pytest.approx(1, abs=2 * jumps + 1e-4)


@pytest.mark.parametrize("truth", [norm, laplace])
@pytest.mark.parametrize("seed", range(3))
def test_labels_lose_less_than_a_tenth_of_a_nat_by_a_thousand_scores(truth, seed):
    scores = np.abs(truth.rvs(size=1000, random_state=seed))
    fresh = truth.rvs(size=50_000, random_state=seed + 100)
    lost = truth.logpdf(fresh).mean() - of(scores).log_prob(fresh).mean()
    assert -0.01 < lost < 0.1  # below 0 by the chance of 50,000 labels alone


def test_intervals_hold_as_many_scores_as_asked():
    dist = of(np.arange(1.0, 100.0))
    for share in (0.1, 0.5, 0.9):
        low, high = dist.interval(share)[0]
        assert (low, high) == (-100 * share, 100 * share)
        # the rank k of n + 1 = 100, up to what is between knots
        assert float(dist.cdf(high)[0] - dist.cdf(low)[0]) == pytest.approx(share, abs=1e-9)


def test_an_infinite_scale_leaves_no_density_and_no_ends():
    dist = of(np.arange(1.0, 20.0), scale=np.inf)
    assert dist.interval(0.5).tolist() == [[-np.inf, np.inf]]
    assert dist.log_prob(0.0).tolist() == [-np.inf]
