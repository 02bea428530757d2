"""Gram, its sample and the triangular factor: statistics that add."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnml.core.statistic.factor import Factor
from pnml.core.statistic.gram import Gram, sample_rows
from pnml.core.statistic.row_sample import RowSample, row_keys, sample_size
from pnml.errors import InputError


def moments(X, y, w):
    """Weighted moments about the mean in extended precision."""
    A = np.column_stack([X, y]).astype(np.longdouble)
    w = np.asarray(w, np.longdouble)
    mean = w @ A / w.sum()
    C = A - mean
    return mean.astype(float), np.asarray(C.T @ (C * w[:, None]), float)


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("weighted", [False, True])
def test_gram_holds_the_moments_about_the_mean(rng, offset, weighted):
    X, y = rng.normal(size=(2500, 4)) + offset, rng.normal(size=2500)
    w = rng.uniform(0.5, 2, size=2500) if weighted else None
    gram = Gram.of(X, y, w)
    mean, S = moments(X, y, np.ones(2500) if w is None else w)
    np.testing.assert_allclose(gram.x_mean, mean[:4], rtol=1e-13)
    np.testing.assert_allclose(gram.xx, S[:4, :4], rtol=1e-9, atol=1e-7)
    np.testing.assert_allclose(gram.xy[:, 0], S[:4, 4], rtol=1e-9, atol=1e-7)
    np.testing.assert_allclose(gram.yy, S[4:, 4:], rtol=1e-11)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_factor_squares_to_the_gram(rng, weighted):
    X, y = rng.normal(size=(3210, 5)) + 3, rng.normal(size=3210)
    w = rng.uniform(0, 2, size=3210) if weighted else None
    factor, gram = Factor.of(X, y, w), Gram.of(X, y, w)
    rebuilt = factor.gram(gram.sample)
    np.testing.assert_allclose(rebuilt.xx, gram.xx, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(rebuilt.xy, gram.xy, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(rebuilt.yy, gram.yy, rtol=1e-12)
    assert (factor.rows, factor.weight) == (gram.rows, gram.weight)


def test_a_factor_of_fewer_rows_than_columns_keeps_its_height(rng):
    X = rng.normal(size=(3, 8))
    R = Factor.of(X).R
    assert R.shape == (3, 8)
    centred = X - X.mean(axis=0)
    np.testing.assert_allclose(R.T @ R, centred.T @ centred, atol=1e-12)


def test_subtracting_what_was_added_gives_back_the_rest(rng):
    X, y = rng.normal(size=(30, 3)) + 7, rng.normal(size=30)
    rest = Gram.of(X, y) - Gram.of(X[:12], y[:12])
    alone = Gram.of(X[12:], y[12:])
    for name in ("x_mean", "y_mean", "xx", "xy", "yy"):
        np.testing.assert_allclose(getattr(rest, name), getattr(alone, name), atol=1e-11)
    kept = {row.tobytes() for row in rest.sample.rows}
    assert kept == {row.tobytes() for row in alone.sample.rows}
    nothing = Gram.of(X, y) - Gram.of(X, y)
    assert (nothing.rows, nothing.weight, len(nothing.sample.rows)) == (0, 0.0, 0)


def test_grams_of_other_columns_are_refused_in_one_sentence(rng):
    with pytest.raises(InputError, match=r"4 features and 0 targets.*3 features and 0 targets"):
        Gram.of(rng.normal(size=(5, 3))) + Gram.of(rng.normal(size=(5, 4)))
    many = Gram.of(rng.normal(size=(9000, 3)))
    with pytest.raises(InputError, match=r"9000 rows that keeps 4096.*keep=9000"):
        many - many
    with pytest.raises(InputError, match="6 rows from a Gram of 5 rows"):
        Gram.of(rng.normal(size=(5, 3))) - Gram.of(rng.normal(size=(6, 3)))


def test_adding_rows_to_a_gram_is_adding_their_gram(rng):
    X, y = rng.normal(size=(9000, 2)), rng.normal(size=9000)
    start = Gram.of(X[:5000], y[:5000])
    quick = start.plus_rows(X[5000:], y[5000:])
    plain = start + Gram.of(X[5000:], y[5000:], seen=5000)
    np.testing.assert_array_equal(quick.xx, plain.xx)
    np.testing.assert_array_equal(quick.sample.keys, plain.sample.keys)
    np.testing.assert_array_equal(quick.sample.rows, plain.sample.rows)


def test_every_row_is_as_likely_as_any_other_to_be_in_a_merged_sample(rng):
    """Unequal parts, sizes far above the bound: inclusion counts are binomial."""
    n, size, rounds = 60, 10, 3000
    counts = np.zeros(n)
    index = np.arange(n, dtype=float)[:, None]
    for k in range(rounds):
        parts = [index[:7], index[7:30], index[30:]]
        samples = [
            RowSample.of(part, row_keys(part, block=3 * k + i), size)
            for i, part in enumerate(parts)
        ]
        merged = samples[0] + samples[1] + samples[2]
        counts[merged.rows[:, 0].astype(int)] += 1
    expected = rounds * size / n
    spread = np.sqrt(rounds * (size / n) * (1 - size / n))
    assert np.abs(counts - expected).max() < 4.5 * spread


def test_the_same_rows_always_give_the_same_sample(rng):
    X, y = rng.normal(size=(9000, 2)), rng.normal(size=(9000, 1))
    first, again = sample_rows(X, y, np.ones(9000)), sample_rows(X, y, np.ones(9000))
    np.testing.assert_array_equal(first.rows, again.rows)
    assert len(first.rows) == sample_size(2) == 4096
    assert sample_size(10**6) == 256


@given(st.lists(st.integers(1, 8999), max_size=5))
def test_the_sample_of_a_stream_does_not_depend_on_how_it_is_cut(cuts):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, size=(9000, 2)).astype(float), np.arange(9000.0)
    stream = Gram.empty(2, 1)
    for at in np.split(np.arange(9000), sorted(set(cuts))):
        stream = stream.plus_rows(X[at], y[at])
    np.testing.assert_array_equal(stream.sample.rows, Gram.of(X, y).sample.rows)


def test_keys_of_rows_are_uniform_and_those_of_equal_blocks_are_others(rng):
    """Rows of a few values: what is left of a cell after the hash must not show."""
    X = rng.integers(0, 2, size=(20_000, 3)).astype(float)
    keys = row_keys(X)
    # Kolmogorov's distance to the uniform law passes 1.95 / √n in one of 1,000 draws
    for each in (keys, keys[X[:, 0] == 0], row_keys(X, block=1), (keys - row_keys(X, block=1)) % 1):
        ranks = np.arange(1, len(each) + 1) / len(each)
        assert np.abs(np.sort(each) - ranks).max() < 1.95 / np.sqrt(len(each))


def test_subtracting_keeps_a_uniform_sample_of_what_is_left(rng):
    X = np.arange(10_000.0)[:, None]
    rest = Gram.of(X) - Gram.of(X[:7000], keep=7000)
    index = rest.sample.rows[:, 0]
    assert (index >= 7000).all()
    # 4096 of 10,000 were kept, so about 41 % of those that stay
    assert abs(len(index) - 3000 * 0.4096) < 5 * np.sqrt(3000 * 0.41 * 0.59)
    again = rest.plus_rows(X[:7000] + 20_000)
    fresh = (again.sample.rows[:, 0] >= 20_000).mean()
    assert fresh == pytest.approx(0.7, abs=0.05)


def test_equal_rows_that_come_one_by_one_are_sampled_evenly(rng):
    values = rng.integers(0, 2, size=9000).astype(float)
    gram = Gram.empty(1, 0)
    for value in values:
        gram = gram.plus_rows(np.array([[value]]))
    assert len(gram.sample.rows) == 4096
    assert gram.sample.rows[:, 0].mean() == pytest.approx(values.mean(), abs=0.05)


def test_rows_of_weight_zero_are_not_there(rng):
    X, y, w = rng.normal(size=(6, 2)), rng.normal(size=6), np.array([1.0, 1, 1, 0, 0, 0])
    whole, part = Gram.of(X, y, w), Gram.of(X[:3], y[:3])
    assert whole.rows == part.rows == Factor.of(X, y, w).rows == 3
    np.testing.assert_allclose(whole.xx, part.xx)
    assert (whole - part).rows == 0
    assert (Gram.of(X, y, 0 * w) + whole).rows == 3


@pytest.mark.parametrize("weighted", [False, True])
def test_a_widened_gram_is_that_of_rows_with_further_columns_of_zeros(rng, weighted):
    X, y = rng.normal(size=(300, 3)), rng.normal(size=300)
    w = rng.uniform(0.5, 2, size=300) if weighted else None
    wide = Gram.of(X, y, w, keep=50).widened(5)
    by_hand = Gram.of(np.column_stack([X, np.zeros((300, 2))]), y, w, keep=50)
    for name in ("rows", "weight", "x_mean", "y_mean", "xx", "xy", "yy"):
        np.testing.assert_allclose(getattr(wide, name), getattr(by_hand, name), atol=1e-12)
    assert wide.sample.rows.shape == by_hand.sample.rows.shape
    seen = {tuple(row) for row in np.column_stack([X, np.zeros((300, 2)), y])}
    assert all(tuple(row[:-1]) in seen for row in wide.sample.rows)


def test_a_stream_that_widens_as_it_goes_is_the_gram_of_all_its_rows(rng):
    narrow, wide = rng.normal(size=(40, 2)), rng.normal(size=(60, 4))
    y = rng.normal(size=100)
    gram = Gram.of(narrow, y[:40]).widened(4).plus_rows(wide, y[40:])
    whole = Gram.of(np.vstack([np.pad(narrow, ((0, 0), (0, 2))), wide]), y)
    for name in ("x_mean", "xx", "xy", "yy"):
        np.testing.assert_allclose(getattr(gram, name), getattr(whole, name), atol=1e-11)


def test_a_gram_that_is_wide_enough_stays_as_it_is(rng):
    gram = Gram.of(rng.normal(size=(20, 3)), rng.normal(size=20))
    same = gram.widened(3)
    assert (same.xx == gram.xx).all()
    assert (same.sample.rows == gram.sample.rows).all()


def test_a_scaled_gram_is_that_of_scaled_rows(rng):
    X, y = rng.normal(size=(50, 3)) + 4, rng.normal(size=50)
    factors = np.array([0.01, 1.0, 300.0])
    scaled, by_hand = Gram.of(X, y).scaled(factors), Gram.of(X * factors, y)
    for name in ("x_mean", "y_mean", "xx", "xy", "yy"):
        np.testing.assert_allclose(getattr(scaled, name), getattr(by_hand, name), rtol=1e-11)
    rows = scaled.sample.rows[np.argsort(scaled.sample.rows[:, 3])]
    truth = np.column_stack([X * factors, y, np.ones(50)])[np.argsort(y)]
    np.testing.assert_allclose(rows, truth, rtol=1e-14)
