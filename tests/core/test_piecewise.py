"""Distributions with a log-quadratic density on each piece, against many-digit arithmetic."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

import oracle
from pnml.core.distributions import piecewise_integral as integral
from pnml.core.distributions.log_quadratics import Quadratics
from pnml.core.distributions.piecewise import PiecewiseLogQuadratic
from pnml.errors import InputError


def row_of(edges, origin, q0, q1, q2):
    """One row, from plain lists."""
    return Quadratics(*(np.atleast_2d(np.asarray(v, float)) for v in (edges, origin, q0, q1, q2)))


def normals(means, stds):
    means, stds = np.atleast_1d(means)[:, None], np.atleast_1d(stds)[:, None]
    edges = np.tile([-np.inf, np.inf], (len(means), 1))
    q0 = -np.log(stds) - 0.5 * np.log(2 * np.pi)
    quadratics = Quadratics(edges, means, q0, np.zeros_like(means), -0.5 / stds**2)
    return PiecewiseLogQuadratic.of(quadratics)


def random_row(seed):
    """Pieces of all kinds: rising, falling, flat, straight, curved, empty; at any scale."""
    rng = np.random.default_rng(seed)
    scale, n = 10.0 ** rng.uniform(-8, 8), int(rng.integers(1, 7))
    inner = np.sort(rng.normal(size=n - 1) * 10.0 ** rng.uniform(-3, 2, n - 1))
    if n > 3:
        inner[1] = inner[0]
    q1 = rng.normal(size=n) * 10.0 ** rng.uniform(-2, 2, n) * rng.choice([0, 1], n)
    q2 = -(10.0 ** rng.uniform(-4, 3, n)) * rng.choice([0, 1], n)
    q2[[0, -1]] = -(10.0 ** rng.uniform(-4, 3, 2))
    if n > 1 and rng.random() < 0.5:
        q2[[0, -1]], q1[0], q1[-1] = 0.0, 3.0, -0.2
    edges = np.concatenate([[-np.inf], inner, [np.inf]])
    origin = np.append(inner[:1] if n > 1 else 0.0, inner)
    q0 = rng.normal(size=n) * 5
    return row_of(edges * scale, origin * scale, q0, q1 / scale, q2 / scale**2)


def true_moments(row, until=np.inf):
    """Mass, and the first two moments, left of `until`, in many digits."""
    ends = np.minimum(row.edges[0], until)
    parts = (row.origin[0], row.q0[0], row.q1[0], row.q2[0])
    with mp.workdps(250):
        pieces = [
            oracle.piece_moments_in_digits(*piece)
            for piece in zip(ends[:-1], ends[1:], *parts, strict=True)
            if piece[0] < piece[1]
        ]
        return [mp.fsum(column) for column in zip(*pieces, strict=True)]


@pytest.mark.parametrize("seed", range(40))
def test_mass_mean_and_std_are_those_of_many_digits(seed):
    row = random_row(seed)
    value = PiecewiseLogQuadratic.of(row)
    with mp.workdps(250):
        mass, first, second = true_moments(row)
        mean, std = first / mass, mp.sqrt(second / mass - (first / mass) ** 2)
        assert abs(value.log_mass[0] - mp.log(mass)) <= 1e-13 * (1 + abs(mp.log(mass)))
        assert abs(value.std[0] / std - 1) <= 1e-12
        assert abs(value.mean[0] - mean) <= 1e-12 * (std + abs(mean))


@pytest.mark.parametrize("seed", range(25))
def test_quantiles_cut_off_their_share_in_many_digits(seed):
    row = random_row(seed)
    value = PiecewiseLogQuadratic.of(row)
    whole = true_moments(row)[0]
    for q in (1e-200, 1e-30, 1e-5, 0.3, 0.5, 0.8, 1 - 1e-9):
        y = value.ppf(q)
        share = true_moments(row, until=y[0])[0] / whole
        # a label is a float: its own round-off moves the share by density times spacing
        blur = 4 * np.spacing(np.abs(y[0])) * np.exp(value.log_prob(y)[0])
        assert abs(share - q) <= 1e-12 * q + blur
        assert value.cdf(y)[0] == pytest.approx(q, rel=1e-12, abs=blur)


@pytest.mark.parametrize("std", [1e-8, 1.0, 1e8])
def test_one_piece_is_a_normal(std):
    value, truth = normals(3 * std, std), stats.norm(3 * std, std)
    y = std * np.array([-40.0, -3.0, 0.0, 3.0, 3.5, 12.0])[:, None]
    np.testing.assert_allclose(value.log_prob(y), truth.logpdf(y), rtol=1e-12)
    np.testing.assert_allclose(value.cdf(y), truth.cdf(y), rtol=1e-11)
    q = np.array([1e-300, 1e-12, 0.2, 0.5, 0.99])[:, None]
    np.testing.assert_allclose(value.ppf(q), truth.ppf(q), rtol=1e-12, atol=1e-12 * std)
    np.testing.assert_allclose(value.interval(0.9)[0], truth.interval(0.9), rtol=1e-12)
    assert value.mean[0] == pytest.approx(3 * std, rel=1e-12)
    assert value.mode[0] == 3 * std
    assert value.std[0] == pytest.approx(std, rel=1e-12)
    assert value.regret[0] == pytest.approx(0.0, abs=1e-12)


def test_a_narrow_piece_far_in_a_tail_keeps_all_its_digits():
    # mass of a standard normal between 35 and 35 + 1e-9: differences of cdfs would be zero
    edges = np.array([[-np.inf, 35.0, 35.0 + 1e-9, np.inf]])
    row = row_of(edges, [0.0, 0.0, 0.0], [0.0] * 3, [0.0] * 3, [-0.5] * 3)
    with mp.workdps(400):
        ends = [mp.mpf(float(v)) / mp.sqrt(2) for v in edges[0, 1:3]]
        truth = mp.log(mp.sqrt(mp.pi / 2) * (mp.erfc(ends[0]) - mp.erfc(ends[1])))
    assert row.log_masses()[0, 1] == pytest.approx(float(truth), rel=1e-13)


@pytest.mark.parametrize("a", [0.0, 1e-30, 1e-12, 1e-3, 1.0, 1e6])
@pytest.mark.parametrize("b", [0.0, 1e-9, 1.0, 1e5])
@pytest.mark.parametrize("u", [1e-12, 0.1, 3.0, 1e4])
def test_mass_of_a_piece_is_its_integral(u, b, a):
    truth = oracle.piece_moments_in_digits(0.0, u, 0.0, 0.0, -b, -a / 2)[0]
    got = integral.mass(np.array([u]), np.array([b]), np.array([a]))[0]
    assert abs(got / truth - 1) <= 2e-14


def test_samples_follow_the_cdf():
    value = PiecewiseLogQuadratic.of(random_row(5))
    drawn = value.sample(4000, random_state=1)
    assert drawn.shape == (1, 4000)
    assert stats.kstest(value.cdf(drawn.T)[:, 0], "uniform").pvalue > 1e-3
    np.testing.assert_array_equal(drawn, value.sample(4000, np.random.default_rng(1)))


def test_rows_do_not_see_each_other():
    value = normals([0.0, 5.0, -3.0], [1.0, 1e-6, 1e6])
    for t, (mean, std) in enumerate([(0.0, 1.0), (5.0, 1e-6), (-3.0, 1e6)]):
        alone = normals(mean, std)
        assert value.interval(0.8)[t].tolist() == alone.interval(0.8)[0].tolist()
        assert value.log_prob(5.0)[t] == alone.log_prob(5.0)[0]


def test_labels_and_levels_broadcast_against_the_rows():
    value = normals([0.0, 5.0, -3.0], [1.0, 2.0, 3.0])
    assert value.log_prob(0.0).shape == value.cdf(np.zeros(3)).shape == (3,)
    assert value.ppf(np.full((4, 2, 3), 0.5)).shape == (4, 2, 3)
    assert value.cdf(np.zeros((4, 1))).shape == (4, 3)
    with pytest.raises(InputError, match="broadcast"):
        value.cdf(np.zeros(2))


def test_the_ends_of_the_line_have_no_density_and_all_the_mass():
    value = PiecewiseLogQuadratic.of(random_row(3))
    assert value.cdf(-np.inf) == 0.0
    assert value.cdf(np.inf) == 1.0
    assert value.ppf(0.0) == -np.inf
    assert value.ppf(1.0) == np.inf
    assert value.log_prob(np.array([[-np.inf], [np.inf]])).tolist() == [[-np.inf], [-np.inf]]
    assert np.isnan(value.log_prob(np.nan))[0]
    assert np.isnan(value.cdf(np.nan))[0]


def test_a_flat_line_is_the_limit_of_ever_wider_normals():
    value = PiecewiseLogQuadratic.of(row_of([-np.inf, np.inf], [2.0], [0.0], [0.0], [0.0]))
    assert (value.mean[0], value.std[0], value.regret[0]) == (2.0, np.inf, np.inf)
    assert value.log_prob(7.0)[0] == -np.inf
    assert value.cdf(7.0)[0] == 0.5
    assert value.interval(0.5)[0].tolist() == [-np.inf, np.inf]
    assert value.ppf(0.5)[0] == 2.0


@pytest.mark.parametrize("coverage", [0.0, 1.0, -0.2, 1.5, np.nan])
def test_coverage_must_be_a_proper_share(coverage):
    with pytest.raises(InputError, match="coverage"):
        normals(0.0, 1.0).interval(coverage)


@pytest.mark.parametrize("q", [-1e-9, 1.1, np.nan])
def test_levels_must_be_probabilities(q):
    with pytest.raises(InputError, match="levels"):
        normals(0.0, 1.0).ppf(q)


@pytest.mark.parametrize(
    ("edges", "q1", "q2"),
    [
        ([-np.inf, np.inf], [0.0], [0.1]),  # bends upwards
        ([-np.inf, np.inf], [np.nan], [-1.0]),
        ([-np.inf, 1.0, 0.0, np.inf], [0.0] * 3, [-1.0] * 3),  # descends
        ([0.0, np.inf], [0.0], [-1.0]),  # starts late
    ],
)
def test_pieces_that_make_no_distribution_are_refused(edges, q1, q2):
    zeros = [0.0] * len(q1)
    with pytest.raises(InputError):
        row_of(edges, zeros, zeros, q1, q2)


def test_a_density_that_grows_to_infinity_is_refused():
    with pytest.raises(InputError, match="fall outwards"):
        PiecewiseLogQuadratic.of(row_of([-np.inf, np.inf], [0.0], [0.0], [1.0], [0.0]))
