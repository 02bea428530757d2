"""The envelope of several normals against quadrature, and its edge cases."""

from __future__ import annotations

import time

import numpy as np
import pytest
from scipy import stats

import oracle
from pnml.core.universality import class_shares, crossings, envelope
from pnml.errors import InputError


def classes(seed):
    """Means, stds and regrets of one row: scales far apart, equal, nearly equal."""
    rng = np.random.default_rng(seed)
    m, scale = int(rng.integers(1, 8)), 10.0 ** rng.uniform(-8, 8)
    means = scale * rng.normal(size=m) * 10.0 ** rng.uniform(-2, 2)
    stds = scale * 10.0 ** rng.uniform(-2, 2, size=m)
    if seed % 4 == 1:
        stds[:] = stds[0]
    if seed % 4 == 2:
        means[:] = means[0]
    if seed % 8 == 3:
        stds = stds[0] * (1 + 1e-12 * rng.normal(size=m))
        means = means[0] + 1e-12 * stds * rng.normal(size=m)
    return means[None], stds[None], rng.random((1, m))


def log_densities(y, means, stds):
    """(Y, m) log-densities of labels y (Y,) under the classes of one row."""
    return stats.norm(means[0], stds[0]).logpdf(y[:, None])


@pytest.mark.parametrize("seed", range(60))
def test_the_normaliser_is_the_integral_of_the_largest_density(seed):
    means, stds, regrets = classes(seed)
    value = envelope(means, stds, regrets)
    truth = oracle.envelope_log_mass(means[0], stds[0], crossings(means, stds)[0])
    assert value.log_mass[0] == pytest.approx(truth, abs=1e-10)


@pytest.mark.parametrize("seed", range(20))
def test_the_density_is_the_largest_over_the_normaliser(seed):
    means, stds, regrets = classes(seed)
    value = envelope(means, stds, regrets)
    y = np.concatenate([means[0] + z * stds[0] for z in (-30.0, -3.0, -0.5, 0.0, 1.0, 8.0)])
    truth = log_densities(y, means, stds).max(axis=1) - value.log_mass
    np.testing.assert_allclose(value.log_prob(y[:, None])[:, 0], truth, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_the_regret_is_the_expected_one_to_the_class_that_explains_best(seed):
    means, stds, regrets = classes(seed)
    value = envelope(means, stds, regrets)
    q = (np.arange(20_000) + 0.5) / 20_000
    y = value.ppf(q[:, None])[:, 0]
    best = np.argmax(log_densities(y, means, stds), axis=1)
    if seed % 8 != 3:  # nearly equal classes: which is larger is round-off
        assert value.regret[0] - value.log_mass[0] == pytest.approx(
            regrets[0][best].mean(), abs=1e-3
        )
        shares = np.bincount(best, minlength=means.shape[1]) / len(y)
        np.testing.assert_allclose(class_shares(means, stds)[0], shares, atol=1e-3)


def test_one_class_is_left_as_it_is():
    value = envelope(np.array([[2.0]]), np.array([[3.0]]), np.array([[0.4]]))
    assert value.regret[0] == pytest.approx(0.4)
    assert value.mean[0] == pytest.approx(2.0)
    np.testing.assert_allclose(value.interval(0.9)[0], stats.norm(2, 3).interval(0.9))


def test_copies_of_a_class_cost_nothing():
    means, stds, regrets = np.full((1, 4), 1.0), np.full((1, 4), 0.5), np.full((1, 4), 0.3)
    value = envelope(means, stds, regrets)
    assert value.log_mass[0] == pytest.approx(0.0, abs=1e-14)
    assert value.regret[0] == pytest.approx(0.3)
    np.testing.assert_allclose(class_shares(means, stds), 0.25)


def test_classes_far_apart_cost_the_log_of_their_number():
    means = 1e6 * np.arange(5.0)[None]
    value = envelope(means, np.ones((1, 5)), np.zeros((1, 5)))
    assert value.log_mass[0] == pytest.approx(np.log(5), abs=1e-12)
    np.testing.assert_allclose(class_shares(means, np.ones((1, 5))), 0.2)


def test_a_class_that_knows_nothing_takes_no_part():
    means, stds = np.array([[1.0, 7.0, 2.0]]), np.array([[0.5, np.inf, 3.0]])
    value = envelope(means, stds, np.array([[0.2, np.inf, 0.9]]))
    without = envelope(means[:, [0, 2]], stds[:, [0, 2]], np.array([[0.2, 0.9]]))
    assert value.regret[0] == pytest.approx(without.regret[0])
    assert value.log_mass[0] == pytest.approx(without.log_mass[0])
    assert class_shares(means, stds)[0, 1] == 0.0


def test_where_no_class_knows_anything_nothing_is_known():
    means, unknown = np.array([[1.0, 4.0]]), np.full((1, 2), np.inf)
    value = envelope(means, unknown, unknown)
    assert (value.regret[0], value.mean[0], value.std[0]) == (np.inf, 2.5, np.inf)
    assert value.interval(0.9)[0].tolist() == [-np.inf, np.inf]
    assert value.log_prob(0.0)[0] == -np.inf
    np.testing.assert_allclose(class_shares(means, unknown), 0.5)


def test_rows_with_and_without_knowledge_live_together():
    means = np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 1.0]])
    stds = np.array([[1.0, 2.0], [np.inf, np.inf], [np.inf, 2.0]])
    value = envelope(means, stds, np.log(stds))
    assert np.isfinite(value.regret).tolist() == [True, False, True]
    assert value.mean[2] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("means", "stds", "regrets"),
    [
        (np.zeros((2, 3)), np.ones((2, 2)), np.zeros((2, 3))),
        (np.zeros((2, 0)), np.ones((2, 0)), np.zeros((2, 0))),
        (np.zeros((2, 3)), np.ones((2, 3)), np.zeros((2, 2))),
        (np.full((1, 2), np.nan), np.ones((1, 2)), np.zeros((1, 2))),
        (np.zeros((1, 2)), np.zeros((1, 2)), np.zeros((1, 2))),
        (np.zeros((1, 2)), np.ones((1, 2)), np.full((1, 2), -0.1)),
    ],
)
def test_what_describes_no_classes_is_refused(means, stds, regrets):
    with pytest.raises(InputError):
        envelope(means, stds, regrets)


@pytest.mark.slow
def test_ten_thousand_rows_of_five_classes_take_under_a_second(rng):
    means, stds = rng.normal(size=(10_000, 5)), np.exp(rng.normal(size=(10_000, 5)))
    begin = time.process_time()
    envelope(means, stds, np.abs(means))
    assert time.process_time() - begin < 1.0
