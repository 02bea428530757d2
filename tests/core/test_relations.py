"""Relations of columns: what rows keep, what breaks them, and which count."""

from __future__ import annotations

import numpy as np
import pytest

from pnml.core.find_relations import NOISE, relations_of
from pnml.core.statistic.factor import Factor
from pnml.core.statistic.gram import Gram
from pnml.core.trust import Reference

CONSTANT, SUM = 3, 2


def rows_with_relations(n, seed=0):
    """x0, x1, x0 + x1, a constant, and one-hot columns of four words."""
    rng = np.random.default_rng(seed)
    free = rng.normal(size=(n, 2)) * [1.0, 5.0]
    words = np.eye(4)[rng.integers(0, 4, n)]
    return np.column_stack([free, free.sum(axis=1), np.full(n, 0.1), words])


def test_no_random_direction_outside_the_span_is_kept():
    """The truth is the rank: a row outside the span adds one to that of the training rows."""
    X, rng = rows_with_relations(200), np.random.default_rng(1)
    relations = relations_of(X)
    spread = np.where(X.std(axis=0) > 1e-12, X.std(axis=0), 1.0)
    for size in (1e-3, 1.0, 1e3):
        steps = rng.normal(size=(10_000, X.shape[1])) * spread * size
        assert (relations.broken(X[rng.integers(0, 200, 10_000)] + steps) == 0).all()
    inside = X[:100] + rng.normal(size=(100, 1)) * (X[100:] - X[:100])
    assert np.isinf(relations.broken(inside)).all()
    assert np.isinf(relations.broken(X)).all()


@pytest.mark.parametrize("offset", [0.0, -7.0, 1e5])
@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
def test_neither_offset_nor_unit_changes_what_is_broken(offset, unit):
    X = rows_with_relations(80)
    step = np.zeros((4, X.shape[1]))
    step[0, SUM] = step[1, CONSTANT] = step[2, 5] = 1e-3
    step[3, [0, SUM]] = 9.0  # keeps the sum
    units = np.where(np.arange(X.shape[1]) % 2, unit, 1.0)  # of every second column

    def as_written(rows):
        return (rows + offset) * units

    training = as_written(X)
    expected = [0.0, 0.0, 0.0, np.inf]
    np.testing.assert_array_equal(relations_of(training).broken(as_written(X[:4] + step)), expected)


def test_a_relation_counts_by_the_rows_that_break_it_when_they_are_refitted_without():
    X = np.hstack([rows_with_relations(100), np.zeros((100, 3))])
    X[:3, 4:] = 0.0
    X[[0, 1, 2], [8, 9, 10]] = 1.0  # three words that came once
    relations = relations_of(X)
    broken = [
        bool(np.isfinite(relations_of(np.delete(X, i, axis=0)).broken(X[i : i + 1]))[0])
        for i in range(100)
    ]
    none = X[50:51].copy()
    none[:, 4:] = 0.0
    assert relations.broken(none)[0] == np.mean(broken) == 0.03
    assert relations.broken(X[50:51] + np.eye(11)[SUM])[0] == 0.0  # the sum is another group
    reference = Reference(np.zeros(100))
    trusted = [
        reference.thresholds(level).trusts(np.zeros(1), broken=relations.broken(none))[0]
        for level in (0.9, 0.97, 0.98, 1.0)
    ]
    assert trusted == [False, False, True, True]


def test_with_as_many_columns_as_rows_only_constants_count():
    rng = np.random.default_rng(3)
    for n, d in ((40, 120), (40, 39), (40, 36)):
        X = rng.normal(size=(n, d))
        X[:, 1] = 5.0
        new = rng.normal(size=(300, d))
        new[:, 1] = 5.0
        relations = relations_of(X)
        assert np.mean(relations.broken(new) <= 0.01) < 0.01
        assert (relations.broken(new + np.eye(d)[1] * 1e-6) == 0).all()


def test_many_columns_of_few_factors_are_looked_at_in_the_space_of_the_rows():
    rng = np.random.default_rng(4)
    factors = rng.normal(size=(3, 90))
    X = rng.normal(size=(40, 3)) @ factors + 10.0
    relations = relations_of(X)
    assert relations.exact.of_rows
    assert relations.exact.basis.shape == (90, 3)
    new = rng.normal(size=(50, 3)) @ factors + 10.0
    assert np.isinf(relations.broken(new)).all()
    assert (relations.broken(new + 1e-6 * rng.normal(size=new.shape)) == 0).all()


@pytest.mark.parametrize("noise", [1e-9, 1e-5, 1e-3])
def test_a_relation_broken_within_its_own_noise_is_kept(noise):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(2_000, 4))
    X[:, 3] = X[:, 0] + X[:, 1] - X[:, 2] + noise * rng.normal(size=2_000)
    new = rng.normal(size=(500, 4))
    new[:, 3] = new[:, 0] + new[:, 1] - new[:, 2]
    relations = relations_of(X[:1_000])
    assert np.isinf(relations.broken(X[1_000:])).all()
    new[:, 3] += 100 * noise  # the tolerance is ten times the noise
    assert (relations.broken(new) == 0).all()


def test_columns_that_only_resemble_each_other_are_no_relation():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(500, 2))
    X[:, 1] = X[:, 0] + 3 * NOISE * rng.normal(size=500)
    relations = relations_of(X)
    assert relations.exact is None
    assert relations.noisy is None


def test_streams_find_the_same_as_rows_and_forget_with_them():
    X = rows_with_relations(600)
    strange = X[:50] + np.eye(8)[SUM]
    parts = Gram.of(X[:200], keep=300) + Gram.of(X[200:], keep=300)
    new = np.vstack([X[:20], X[:20] + np.eye(8)[SUM], X[:20] + np.eye(8)[CONSTANT] * 1e-6])
    for gram in (parts, (parts + Gram.of(strange, keep=50)) - Gram.of(strange, keep=50)):
        found = relations_of(gram.sample.rows[:, :8], None, gram).broken(new)
        np.testing.assert_array_equal(found, relations_of(X).broken(new))
    more = parts + Gram.of(strange, keep=50)
    known = relations_of(more.sample.rows[:, :8], None, more)
    assert np.isinf(known.broken(new[20:40])).all()  # no longer a relation


def test_rows_in_single_precision_are_compared_in_single_precision():
    X = rows_with_relations(100)
    single = X.astype(np.float32)
    for known, rows in ((X, single), (single, X), (single, single)):
        assert np.isinf(relations_of(known).broken(rows)).all()
    assert (relations_of(single).broken(single + np.eye(8, dtype=np.float32)[SUM]) == 0).all()


def test_factors_of_parts_add_up():
    X = rows_with_relations(90) + 1e3
    weights = np.linspace(0.5, 2, 90)
    parts = Factor.of(X[:30], X[:30, 0], weights[:30]) + Factor.of(X[30:], X[30:, 0], weights[30:])
    whole = Factor.of(X, X[:, 0], weights)
    np.testing.assert_allclose(parts.R.T @ parts.R, whole.R.T @ whole.R, atol=1e-9)
    np.testing.assert_allclose(parts.x_mean, whole.x_mean, rtol=1e-12)
    assert (parts.rows, parts.weight) == (90, pytest.approx(weights.sum()))


def test_rows_of_no_weight_are_not_seen():
    X = rows_with_relations(60)
    odd = X[:5] + np.eye(8)[SUM]
    weights = np.r_[np.ones(60), np.zeros(5)]
    assert (relations_of(np.vstack([X, odd]), weights).broken(odd) == 0).all()
