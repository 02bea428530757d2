"""The numerical envelope is the normalised maximum of any densities."""

from __future__ import annotations

import numpy as np
import pytest

from pnml import LpNMLRegressor, NormBallRegressor, PNMLRegressor, PNMLTreeRegressor
from pnml.core import universality
from pnml.core.distributions.normal import Normal
from pnml.core.envelope_panels import ERROR
from pnml.core.numerical_envelope import NumericalEnvelope
from pnml.errors import InputError


def gaussian(means, stds, regrets):
    columns = zip(means.T, stds.T, regrets.T, strict=True)
    return NumericalEnvelope.of([Normal(*column) for column in columns])


@pytest.fixture
def both(rng):
    """The same envelope of normals, by quadrature and in closed form."""
    means, stds = rng.normal(size=(40, 4)), np.exp(1.5 * rng.normal(size=(40, 4)))
    stds[1, 2], stds[2] = np.inf, np.inf
    means[3], stds[3] = means[3, 0], stds[3, 0]
    stds[4] = [1e-6, 1.0, 2.0, 1e3]
    regrets = rng.uniform(size=(40, 4))
    exact = universality.envelope(means, stds, regrets)
    return gaussian(means, stds, regrets), exact, universality.class_shares(means, stds)


def test_of_normals_it_is_the_closed_form(both, rng):
    ours, exact, shares = both
    # ERROR bounds the error of the mass; moments and quantiles have the spread as their unit
    size = np.where(np.isfinite(exact.std), exact.std, 1.0)
    for name in ("log_mass", "mean", "std", "mode", "regret"):
        got, expected = getattr(ours, name), getattr(exact, name)
        finite = np.isfinite(expected)
        np.testing.assert_array_equal(got[~finite], expected[~finite])
        error = np.abs(got[finite] - expected[finite]) / size[finite]
        assert error.max() < 10 * ERROR, name
    np.testing.assert_allclose(ours.shares, shares, atol=10 * ERROR)
    y = exact.mode + size * rng.normal(size=(6, 40)) * 2
    np.testing.assert_allclose(ours.cdf(y), exact.cdf(y), atol=10 * ERROR)
    np.testing.assert_allclose(ours.log_prob(y), exact.log_prob(y), atol=10 * ERROR)
    levels = np.array([[1e-6], [0.05], [0.5], [0.9], [0.999]])
    got, expected = ours.ppf(levels), exact.ppf(levels)
    known = np.isfinite(expected)
    np.testing.assert_array_equal(got[~known], expected[~known])
    back = exact.cdf(np.where(known, got, exact.mode))
    np.testing.assert_allclose(back[known], (levels + 0 * back)[known], atol=10 * ERROR)


def test_rows_without_a_density_have_unknown_labels(both):
    ours, exact, _ = both
    assert np.isneginf(ours.log_prob(0.3)[2])
    assert ours.cdf(0.3)[2] == 0.5
    assert ours.interval(0.9)[2].tolist() == [-np.inf, np.inf]
    assert ours.ppf(0.5)[2] == exact.ppf(0.5)[2]
    assert np.isnan(ours.log_prob(np.nan)[0])
    assert np.isnan(ours.cdf(np.nan)[0])


@pytest.fixture
def unlike(rng):
    """Distributions of two rows by four classes that are no normals all."""
    X = rng.normal(size=(15, 20))
    y = X[:, 0] + 0.3 * rng.normal(size=15)
    models = (
        NormBallRegressor(fit_intercept=True, noise_variance=0.05),
        LpNMLRegressor(penalty="l1", alpha=1.0, noise_variance=0.1),
        PNMLRegressor(alpha=2.0, noise_variance=0.2),
        PNMLTreeRegressor(noise_variance=0.4),
    )
    new = rng.normal(size=(2, 20))
    return [model.fit(X, y).predict_dist(new) for model in models]


def integral(function, edges):
    """Gauss–Legendre with 40 nodes on each interval: no error for what is smooth there."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    half = np.diff(edges)[:, None] / 2
    y = np.array(edges)[:-1, None] + half * (1 + nodes)
    return float(np.sum(half * weights * function(y.ravel()).reshape(y.shape)))


def crossing(gap, low, high):
    """Where a function changes sign, by bisection of the interval."""
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if gap(low) * gap(middle) > 0 else (low, middle)
    return low


def test_of_unlike_classes_it_is_quadrature_between_all_kinks(unlike):
    ours = NumericalEnvelope.of(unlike)
    for row in range(2):

        def logs(y, row=row):
            return np.array([p.log_prob(np.atleast_1d(y)[:, None] + np.zeros(2)) for p in unlike])[
                ..., row
            ]

        low, high = ours.ppf(1e-14)[row], ours.ppf(1 - 1e-14)[row]
        grid = np.linspace(low, high, 2001)
        owner = logs(grid).argmax(axis=0)
        turns = [
            crossing(lambda y, a=owner[i], b=owner[i + 1]: np.subtract(*logs(y)[[a, b], 0]), *ends)
            for i in np.flatnonzero(np.diff(owner))
            for ends in [grid[i : i + 2]]
        ]
        inner = {*turns, *unlike[1].pieces.start[row], unlike[0].mode[row], *grid[::50]}
        edges = [low, *sorted(k for k in inner if low < k < high), high]
        Z = integral(lambda y: np.exp(logs(y).max(axis=0)), edges)
        assert ours.log_mass[row] == pytest.approx(np.log(Z), abs=2 * ERROR)
        mean = integral(lambda y: y * np.exp(logs(y).max(axis=0)), edges) / Z
        assert ours.mean[row] == pytest.approx(mean, abs=1e2 * ERROR)
        expected = logs(0.4).max() - np.log(Z)
        assert ours.log_prob(0.4)[row] == pytest.approx(expected, abs=2 * ERROR)


def test_shares_regret_and_price_follow_their_definitions(unlike):
    ours = NumericalEnvelope.of(unlike)
    assert np.all((ours.log_mass >= 0) & (ours.log_mass <= np.log(4)))
    np.testing.assert_allclose(ours.shares.sum(axis=1), 1.0, rtol=1e-9)
    y = ours.ppf((np.arange(4_000)[:, None] + 0.5) / 4_000)  # equal probabilities
    logs = np.stack([part.log_prob(y) for part in unlike])
    owners = logs.argmax(axis=0)
    for k in range(4):
        # the border of a share falls between two labels: an error of one label each
        np.testing.assert_allclose(ours.shares[:, k], (owners == k).mean(axis=0), atol=2e-3)
    regrets = np.stack([part.regret for part in unlike])
    told = np.take_along_axis(regrets, owners, axis=0).mean(axis=0) + ours.log_mass
    np.testing.assert_allclose(ours.regret, told, atol=1e-2)


def test_quantiles_and_draws_invert_the_distribution_function(unlike):
    ours = NumericalEnvelope.of(unlike)
    q = np.array([[1e-10], [0.01], [0.4], [0.77], [0.9999]])
    np.testing.assert_allclose(ours.cdf(ours.ppf(q)), q + np.zeros((1, 2)), rtol=1e-6)
    assert ours.ppf(np.array([[0.0], [1.0]])).tolist() == [[-np.inf] * 2, [np.inf] * 2]
    low, high = ours.interval(0.8).T
    np.testing.assert_allclose(ours.cdf(high) - ours.cdf(low), 0.8, atol=1e-9)
    draws = ours.sample(4000, random_state=0)
    error = 5 * ours.std / np.sqrt(4000)
    assert np.all(np.abs(draws.mean(axis=1) - ours.mean) < error)


def test_what_cannot_be_integrated_is_refused_and_not_returned():
    # neighbouring labels of this size are 1e-4 apart, and the density is 1e-4 wide
    means = np.array([[1e12, 1e12 + 1e-3]])
    ours = gaussian(means, np.array([[1e-4, 2e-4]]), np.zeros((1, 2)))
    with pytest.raises(InputError, match="centre y"):
        _ = ours.log_mass
