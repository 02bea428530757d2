"""Ranks are uniform and independent, bets are fair, and the sums are what loops make of them."""

import numpy as np
import pytest
from scipy import integrate, stats

from pnml.core.martingale import _EXPONENTS, Ranking, Wealth


def ranks_of(seed, reference, rows, size, draw):
    random = np.random.default_rng(seed)
    return Ranking(draw(random, reference), size, random).of(draw(random, rows))


def exponential(random, n):
    return random.exponential(size=n)


def few_values(random, n):
    return random.integers(0, 3, n).astype(float)


@pytest.mark.parametrize("draw", [exponential, few_values])
@pytest.mark.parametrize("size", [10, 1000])
def test_ranks_of_exchangeable_scores_are_uniform_and_independent(draw, size):
    ranks = np.array([ranks_of(seed, 10, 12, size, draw) for seed in range(3000)])
    assert stats.kstest(ranks.ravel(), "uniform").pvalue > 1e-4
    # With 66 pairs, the largest correlation of independent columns stays below 0.08 or so.
    correlation = np.corrcoef(ranks.T) - np.eye(12)
    assert np.abs(correlation).max() < 0.09
    # What a fixed reference would get wrong: sums of ranks would be spread wider.
    spread = ranks.sum(axis=1).var() / (12 / 12)
    assert 0.9 < spread < 1.1


def test_a_rank_is_the_share_of_the_pool_above():
    random = np.random.default_rng(0)
    ranking = Ranking(np.arange(9.0), 100, random)
    for score, above in ((4.5, 4), (100.0, 0), (-1.0, 9 + 2)):
        n = len(ranking.pool)
        (rank,) = ranking.of(np.array([score]))
        assert above / (n + 1) < rank <= (above + 1) / (n + 1)


def test_a_full_pool_does_not_grow_and_stays_sorted():
    random = np.random.default_rng(3)
    ranking = Ranking(random.normal(size=20), 20, random)
    ranking.of(random.normal(size=500))
    assert len(ranking.pool) == 20
    assert ranking.pool == sorted(ranking.pool)


@pytest.mark.parametrize("exponent", _EXPONENTS)
def test_bets_are_fair(exponent):
    # p = u^k removes the singularity at 0.
    k = 40
    mean, _ = integrate.quad(
        lambda u: exponent * u ** (k * (exponent - 1)) * k * u ** (k - 1), 0, 1
    )
    assert mean == pytest.approx(1, abs=1e-9)


def literal(ranks):
    """Both kinds of wealth, row by row, from their definitions."""
    martingale, detector = [], []
    product, total = np.ones(len(_EXPONENTS)), np.zeros(len(_EXPONENTS))
    for p in ranks:
        e = _EXPONENTS * p ** (_EXPONENTS - 1)
        product, total = product * e, (1 + total) * e
        martingale.append(product.mean())
        detector.append(total.mean())
    return np.array(martingale), np.array(detector)


@pytest.mark.parametrize("cuts", [[], [1], [7, 8, 30]])
def test_wealth_is_what_the_recursion_makes_of_it_in_any_blocks(cuts):
    ranks = 1 - np.random.default_rng(5).random(60)
    found, at = [], Wealth.at_start()
    for block in np.split(ranks, cuts):
        at = at.after(block)
        found.append((at.log_martingale, at.log_detector))
    martingale, detector = (np.exp(np.concatenate(parts)) for parts in zip(*found, strict=True))
    expected = literal(ranks)
    np.testing.assert_allclose(martingale, expected[0], rtol=1e-10)
    np.testing.assert_allclose(detector, expected[1], rtol=1e-10)


def test_the_change_is_put_where_the_bets_begin_to_win():
    random = np.random.default_rng(1)
    ranks = np.concatenate([1 - random.random(200), 0.05 * (1 - random.random(50))])
    whole = Wealth.at_start().after(ranks)
    parts = Wealth.at_start().after(ranks[:150]).after(ranks[150:])
    assert whole.since == parts.since
    assert abs(whole.since - 200) <= 3
    gains = np.log(_EXPONENTS) + (_EXPONENTS - 1) * np.log(ranks)[:, None]
    tails = np.cumsum(gains[::-1], axis=0)[::-1]  # from each row to the last
    np.testing.assert_allclose(whole.log_best, tails.max(axis=0), rtol=1e-10)
