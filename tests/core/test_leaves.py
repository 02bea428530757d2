"""Leaves of frozen trees: their formulas against counting, integration and maximisation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import oracle
from pnml.core.leaves import regret as leaves
from pnml.core.leaves.classes import ClassLeaves, leave_labels_out
from pnml.core.leaves.partition import Partition
from pnml.core.leaves.values import ValueLeaves, leave_values_out

few = st.integers(0, 50).map(float) | st.floats(0, 1e4)
priors = st.sampled_from([0.0, 1e-6, 0.5, 1.0, 7.3])


@st.composite
def leaf_counts(draw, fewest=2):
    return draw(npst.arrays(np.float64, draw(st.integers(fewest, 6)), elements=few))


def stumps(thresholds):
    """A forest of one split each, on one feature: row x falls left of it or right."""
    T = len(thresholds)
    start = 3 * np.arange(T)
    left, right, feature = (np.full(3 * T, -1) for _ in range(3))
    left[start], right[start], feature[start] = start + 1, start + 2, 0
    cut = np.zeros(3 * T)
    cut[start] = thresholds
    return Partition(start, left, right, feature, cut, np.zeros(3 * T, bool))


@st.composite
def forests(draw):
    """Stumps, rows on one axis, their labels and weights."""
    n = draw(st.integers(2, 12))
    partition = stumps(draw(st.lists(st.floats(-1, 1), min_size=1, max_size=4)))
    X = draw(npst.arrays(np.float64, (n, 1), elements=st.floats(-2, 2)))
    labels = draw(npst.arrays(np.int64, n, elements=st.integers(0, 2)))
    weights = draw(npst.arrays(np.float64, n, elements=st.sampled_from([1.0, 0.5, 2.0, 3.7])))
    return partition, X, labels, weights


@given(leaf_counts())
def test_scores_without_a_prior_are_the_genies_of_counting(counts):
    n, C = counts.sum(), len(counts)
    np.testing.assert_allclose(leaves.class_scores(counts), (counts + 1) / (n + 1), rtol=1e-14)
    assert leaves.class_leverage(counts) == (C - 1) / (n + 1)  # to the last bit


@pytest.mark.parametrize("prior", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("counts", [[0, 0], [3, 0, 1], [12, 1, 0, 0.5], [40, 2]])
def test_scores_with_a_prior_maximise_likelihood_times_luck(counts, prior):
    truth = oracle.lucky_leaf_scores(counts, prior)
    counts = np.array(counts, float)
    np.testing.assert_allclose(leaves.class_scores(counts, prior), truth, rtol=1e-6)
    assert leaves.class_leverage(counts, prior) == pytest.approx(truth.sum() - 1, abs=1e-6)


@given(leaf_counts(), priors)
def test_the_leverage_is_what_the_scores_sum_to_beyond_one(counts, prior):
    scores = leaves.class_scores(counts, prior)
    assert leaves.class_leverage(counts, prior) == pytest.approx(scores.sum() - 1, abs=2e-12)
    assert np.all(scores > 0)
    assert np.all(scores <= 1 + 1e-12)


@given(leaf_counts(), priors)
def test_the_regret_lies_between_nothing_and_the_log_of_the_classes(counts, prior):
    regret = np.log1p(leaves.class_leverage(counts, prior))
    assert 0 <= regret <= np.log(len(counts)) + 1e-12


@pytest.mark.parametrize("prior", [1e-9, 1.0, 1e3])
def test_a_leaf_of_a_million_rows_keeps_the_digits_of_its_regret(prior):
    import mpmath as mp

    counts = np.array([1e6, 7.0, 0.0])
    with mp.workdps(60):
        a = mp.mpf(prior)
        N_c = [mp.mpf(c) + a for c in counts.tolist()]
        N = mp.fsum(N_c)
        luck = [(1 + 1 / v) ** a / (1 + 1 / N) ** (3 * a) for v in N_c]
        K = mp.fsum((v + 1) / (N + 1) * w for v, w in zip(N_c, luck, strict=True))
        truth = float(K - 1)
    assert leaves.class_leverage(counts, prior) == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize("prior", [0.0, 0.5])
def test_an_empty_leaf_knows_nothing(prior):
    empty = np.zeros(4)
    scores = leaves.class_scores(empty, prior)
    np.testing.assert_allclose(scores, scores[0])
    assert leaves.class_leverage(empty) == 3
    assert leaves.value_leverage(np.zeros((1, 3)))[0] == np.inf


@given(leaf_counts(), st.integers(0, 5), st.floats(1e-6, 100))
def test_regret_falls_when_rows_are_added_to_the_leaf(counts, where, more):
    fuller = counts.copy()
    fuller[where % len(counts)] += more
    assert leaves.class_leverage(fuller) <= leaves.class_leverage(counts)
    n = np.array([[counts.sum()], [fuller.sum()]])
    before, after = leaves.value_leverage(n)
    assert after <= before


@given(leaf_counts(), priors, st.randoms())
def test_the_order_of_the_classes_means_nothing(counts, prior, random):
    order = list(range(len(counts)))
    random.shuffle(order)
    found = leaves.class_scores(counts[order], prior)
    np.testing.assert_allclose(found, leaves.class_scores(counts, prior)[order], rtol=1e-12)
    if np.all(counts == counts.round()):  # else the sum of the counts depends on their order
        again = leaves.class_leverage(counts[order], prior)
        assert again == pytest.approx(leaves.class_leverage(counts, prior), rel=1e-12)


@given(npst.arrays(np.float64, (3, 4), elements=few))
def test_the_regret_of_a_forest_of_values_is_between_those_of_its_trees(weight):
    own = [leaves.value_leverage(weight[:, [t]]) for t in range(4)]
    found = leaves.value_leverage(weight)
    assert np.all(found >= np.min(own, axis=0) * (1 - 1e-12))
    assert np.all(found <= np.max(own, axis=0) * (1 + 1e-12))


@given(forests(), priors)
def test_probabilities_of_a_forest_sum_to_one(forest, prior):
    partition, X, labels, weights = forest
    counted = ClassLeaves.of(partition, X, labels, weights, 3, prior)
    dist = counted.predictive(partition.leaves(X))
    np.testing.assert_allclose(dist.prob.sum(axis=1), 1, rtol=1e-13)
    assert np.all(dist.regret >= 0)
    assert np.all(dist.regret <= np.log(3) + 1e-12)


@given(forests(), st.floats(-2, 2))
def test_classes_of_a_forest_are_those_of_counting_with_the_row(forest, x):
    partition, X, labels, weights = forest
    counted = ClassLeaves.of(partition, X, labels, weights, 3, 0.0)
    at = partition.leaves(np.array([[x]]))
    genies = oracle.forest_class_genies(partition.leaves(X), labels, at[0], 3, weights)
    dist = counted.predictive(at)
    assert dist.regret[0] == pytest.approx(np.log(genies.sum()), rel=1e-12)
    np.testing.assert_allclose(dist.prob[0], genies / genies.sum(), rtol=1e-12)


@given(forests(), st.floats(-2, 2))
def test_values_of_a_forest_are_those_of_averaging_with_the_row(forest, x):
    partition, X, y, weights = forest
    y = y.astype(float)
    told = ValueLeaves.of(partition, X, y, weights)
    at = partition.leaves(np.array([[x]]))
    dist = told.predictive(at, 0.3)
    for target in (-1.0, 0.0, 5.0):
        s = oracle.forest_value_residual(partition.leaves(X), y, at[0], target, weights)
        away = target - dist.mean[0]
        expected = 0.0 if np.isinf(dist.regret[0]) else away * np.exp(-dist.regret[0])
        assert s == pytest.approx(expected, abs=1e-12)


def test_the_normaliser_of_a_forest_of_values_is_the_integral(rng):
    partition = stumps([-0.5, 0.1, 0.9])
    X, y = rng.normal(size=(15, 1)), rng.normal(size=15)
    told = ValueLeaves.of(partition, X, y, np.ones(15))
    for x in (-1.0, 0.0, 0.5, 3.0):
        at = partition.leaves(np.array([[x]]))
        centre, K = oracle.forest_value_normaliser(partition.leaves(X), y, at[0], 0.7)
        dist = told.predictive(at, 0.7)
        assert dist.regret[0] == pytest.approx(np.log(K), abs=1e-10)
        assert dist.mean[0] == pytest.approx(centre, abs=1e-10)
        assert dist.std[0] == pytest.approx(np.sqrt(0.7) * K, rel=1e-10)


def test_targets_far_from_zero_keep_their_digits(rng):
    partition = stumps([0.0])
    X, y = rng.normal(size=(40, 1)), rng.normal(size=40)
    near = ValueLeaves.of(partition, X, y, np.ones(40))
    far = ValueLeaves.of(partition, X, y + 1e9, np.ones(40))
    np.testing.assert_allclose(far.mean - 1e9, near.mean, atol=5e-7)


@given(forests(), priors)
def test_leaving_a_class_row_out_is_deleting_a_copy_of_it(forest, prior):
    partition, X, labels, weights = forest
    counted = ClassLeaves.of(partition, X, labels, weights, 3, prior)
    loo = leave_labels_out(counted, partition, X, labels, weights)
    for i in range(len(X)):
        rest = weights.copy()
        rest[i] = max(weights[i] - 1, 0.0)
        without = ClassLeaves.of(partition, X, labels, rest, 3, prior)
        dist = without.predictive(partition.leaves(X[i : i + 1]))
        assert loo.regrets[i] == pytest.approx(dist.regret[0], rel=1e-9)
        assert loo.log_losses[i] == pytest.approx(-dist.log_prob[0, labels[i]], rel=1e-9)


@given(forests())
def test_leaving_a_value_row_out_is_deleting_a_copy_of_it(forest):
    partition, X, labels, weights = forest
    y = labels + X[:, 0]
    told = ValueLeaves.of(partition, X, y, weights)
    loo = leave_values_out(told, partition, X, y, weights).leave_one_out(0.4)
    for i in range(len(X)):
        rest = weights.copy()
        rest[i] = max(weights[i] - 1, 0.0)
        without = ValueLeaves.of(partition, X, y, rest)
        dist = without.predictive(partition.leaves(X[i : i + 1]), 0.4)
        assert loo.regrets[i] == pytest.approx(dist.regret[0], rel=1e-9)
        assert loo.residuals[i] == pytest.approx(y[i] - dist.mean[0], abs=1e-9)
        if np.isfinite(loo.regrets[i]):
            assert loo.sds[i] == pytest.approx(dist.std[0], rel=1e-9)
            assert loo.log_losses[i] == pytest.approx(-dist.log_prob(y[i])[0], rel=1e-9, abs=1e-9)


@given(forests())
def test_left_out_loss_is_training_loss_plus_regret(forest):
    partition, X, labels, _ = forest
    ones = np.ones(len(X))
    y = labels + X[:, 0]
    told = ValueLeaves.of(partition, X, y, ones)
    folds = leave_values_out(told, partition, X, y, ones)
    plain = np.mean(told.mean[partition.leaves(X)], axis=1)
    np.testing.assert_allclose(folds.genie_residual, y - plain, atol=1e-12)
    counted = ClassLeaves.of(partition, X, labels, ones, 3, 0.0)
    loo = leave_labels_out(counted, partition, X, labels, ones)
    n_c = counted.counts[partition.leaves(X), labels[:, None]]
    training = -np.log(np.mean(n_c / counted.weight[partition.leaves(X)], axis=1))
    np.testing.assert_allclose(loo.log_losses, training + loo.regrets, atol=1e-12)


@given(forests())
def test_shares_sum_to_the_leverage_beyond_that_of_the_root(forest):
    partition, X, labels, weights = forest
    told = ValueLeaves.of(partition, X, labels.astype(float), weights)
    leverage = told.leverage(partition.leaves(X))
    at_root = 1 / weights.sum()
    shares = leaves.explain(partition.falls(X, told.weight), leverage, at_root)
    assert np.all(shares >= 0)
    np.testing.assert_allclose(shares.sum(axis=1), leverage - at_root, atol=1e-10)


def test_where_all_leaves_are_empty_the_features_that_led_there_are_infinite():
    falls = np.array([[0.5, 0.0]])
    assert leaves.explain(falls, np.array([np.inf]), 0.1).tolist() == [[np.inf, 0.0]]


def test_large_tables_are_worked_off_in_blocks_with_the_same_result(rng, monkeypatch):
    partition = stumps([-0.3, 0.2])
    X, labels, ones = rng.normal(size=(50, 1)), rng.integers(0, 3, size=50), np.ones(50)
    whole = ClassLeaves.of(partition, X, labels, ones, 3, 0.0)
    loo = leave_labels_out(whole, partition, X, labels, ones)
    monkeypatch.setattr("pnml.core.leaves.partition._BLOCK_NUMBERS", 16)
    parts = ClassLeaves.of(partition, X, labels, ones, 3, 0.0)
    np.testing.assert_array_equal(parts.counts, whole.counts)
    again = leave_labels_out(parts, partition, X, labels, ones)
    np.testing.assert_array_equal(again.regrets, loo.regrets)
