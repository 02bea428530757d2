"""The single-layer regret against its definition in many digits."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.special import log_softmax

import oracle
from pnml.core import softmax


def rows(rng, n, scales=(-2, 2.5), leverages=(-15, 8)):
    """Logits of all sizes, and leverages from none to nearly infinite."""
    for _ in range(n):
        z = rng.normal(size=rng.integers(2, 8)) * 10 ** rng.uniform(*scales)
        yield z, 10 ** rng.uniform(*leverages)


def regret_of(z, h):
    return softmax.regret(softmax.log_softmax(np.atleast_2d(z)), np.atleast_1d(h))


def test_regret_is_the_definition_to_twelve_digits(rng):
    for z, h in rows(rng, 150):
        truth = oracle.single_layer_regret(z, h)
        assert regret_of(z, h)[0] == pytest.approx(truth, rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("confidence", [5.0, 20.0, 34.0, 36.0, 40.0, 100.0])
@pytest.mark.parametrize("h", [1e-12, 1e-3, 1.0])
def test_the_smallest_regrets_keep_their_digits(confidence, h):
    z = np.array([confidence, 0.0, -1.0])
    truth = oracle.single_layer_regret(z, h)
    assert regret_of(z, h)[0] == pytest.approx(truth, rel=1e-13)
    plain = log_softmax(z[None], axis=1)  # of whatever make: what 1 − p loses there does not count
    assert softmax.regret(plain, np.array([h]))[0] == pytest.approx(truth, rel=1e-13)


def test_probabilities_are_the_genies_over_their_sum(rng):
    for z, h in rows(rng, 60, scales=(-2, 1)):
        p = [float(v) for v in oracle.class_probabilities_in_digits(z)]
        genies = np.array([float(v) for v in oracle.single_layer_genies(p, h / (1 + h))])
        log_p, leverage = softmax.log_softmax(z[None]), np.array([h])
        found = softmax.predictive(log_p, leverage)
        np.testing.assert_allclose(found.prob[0], genies / genies.sum(), rtol=1e-12)
        np.testing.assert_allclose(
            np.exp(softmax.genie_log_probs(log_p, leverage)[0]), genies, rtol=1e-12
        )


@pytest.mark.parametrize("h", [0.0, 1e-3, 2.0, 1e4, 1e20, np.inf])
@pytest.mark.parametrize("low", [-690.0, -1e4, -np.inf])
def test_the_least_probable_classes_are_counted_right(h, low):
    z = np.array([0.0, -1.0, low])
    assert regret_of(z, h)[0] == pytest.approx(oracle.single_layer_regret(z, h), rel=1e-12)
    u = 1 / (1 + h)
    expected = -np.log(2) if u == 0 else u * low
    found = softmax.genie_log_probs(softmax.log_softmax(z[None]), np.array([h]))[0, 2]
    if u * abs(low) > 100 or u == 0:
        assert found == pytest.approx(expected, rel=1e-2)


def test_without_leverage_there_is_no_regret_and_nothing_changes(rng):
    log_p = softmax.log_softmax(rng.normal(size=(50, 4)) * 20)
    assert np.all(softmax.regret(log_p, np.zeros(50)) == 0)
    np.testing.assert_array_equal(softmax.predictive(log_p, np.zeros(50)).log_prob, log_p)


def test_with_infinite_leverage_the_regret_is_that_of_the_limit(rng):
    z = rng.normal(size=(30, 4))
    p = np.exp(softmax.log_softmax(z))
    infinite = softmax.regret(np.log(p), np.full(30, np.inf))
    np.testing.assert_allclose(infinite, np.log(np.sum(1 / (2 - p), axis=1)), rtol=1e-14)
    np.testing.assert_allclose(softmax.regret(np.log(p), np.full(30, 1e15)), infinite, rtol=1e-12)


def test_a_sure_row_has_no_regret_unless_nothing_speaks_for_it():
    log_p = np.array([[0.0, -np.inf, -np.inf]])
    assert softmax.regret(log_p, np.array([1e6]))[0] == 0
    assert softmax.regret(log_p, np.array([np.inf]))[0] == pytest.approx(np.log(2), rel=1e-15)
    sure = softmax.predictive(log_p, np.array([1.0]))
    assert sure.log_prob.tolist() == [[0.0, -np.inf, -np.inf]]


def test_one_class_leaves_nothing_to_regret():
    assert softmax.regret(np.zeros((2, 1)), np.array([0.5, np.inf])).tolist() == [0.0, 0.0]


def test_yes_or_no_labels_are_two_classes_each_and_add_up(rng):
    z, h = rng.normal(size=(5, 3)) * 10, rng.exponential(size=5)
    truth = [
        sum(oracle.single_layer_regret([0.0, v], leverage) for v in labels)
        for labels, leverage in zip(z, h, strict=True)
    ]
    np.testing.assert_allclose(softmax.sigmoid_regret(z, h), truth, rtol=1e-12)
    log_p = softmax.sigmoid_log_probs(z)
    np.testing.assert_allclose(log_p[..., 1], -np.logaddexp(0, -z), rtol=1e-14)
    np.testing.assert_allclose(log_p[..., 0], -np.logaddexp(0, z), rtol=1e-14)


def test_a_value_that_is_no_number_reaches_the_result():
    assert np.isnan(softmax.regret(np.array([[np.nan, -1.0]]), np.array([1.0]))[0])
    assert np.isnan(softmax.regret(np.log([[0.5, 0.5]]), np.array([np.nan]))[0])


def test_blocks_change_nothing(rng):
    log_p, h = softmax.log_softmax(rng.normal(size=(5000, 9))), rng.exponential(size=5000)
    whole, found = softmax.regret(log_p, h), softmax.predictive(log_p, h)
    np.testing.assert_array_equal(found.regret, whole)
    for i in (0, 1820, 1821, 4999):
        one = softmax.predictive(log_p[i : i + 1], h[i : i + 1])
        np.testing.assert_allclose(one.regret, whole[[i]], rtol=1e-14)
        np.testing.assert_allclose(one.log_prob[0], found.log_prob[i], rtol=1e-14)


def test_numbers_in_single_precision_are_counted_in_double():
    log_p = torch.log_softmax(torch.tensor([[30.0, 0.0]]), -1)
    found = softmax.regret(log_p, torch.tensor([0.1]))
    assert found.dtype == torch.float64
    assert float(found[0]) == pytest.approx(oracle.single_layer_regret([30.0, 0.0], 0.1), rel=1e-6)


EDGES = [
    [[0.0, 0.0, 0.0], 1.0],
    [[60.0, 0.0, -60.0], 1e-9],
    [[1e4, 0.0, -1e4], 3.0],
    [[1e4, 0.0, -1e4], 0.0],
    [[3.0, 0.0, -np.inf], 0.5],
    [[3.0, 0.0, -np.inf], 0.0],
    [[3.0, 0.0, -np.inf], np.inf],
    [[1e4, -np.inf, -np.inf], np.inf],
]


@pytest.mark.parametrize(("z", "h"), EDGES)
def test_gradients_are_finite_everywhere(z, h):
    logits = torch.tensor([z], dtype=torch.float64, requires_grad=True)
    leverage = torch.tensor([h], dtype=torch.float64, requires_grad=True)
    out = softmax.predictive(softmax.log_softmax(logits), leverage)
    finite = torch.where(torch.isfinite(out.log_prob), out.log_prob, 0.0)
    (out.regret.sum() + finite.sum()).backward()
    assert torch.isfinite(logits.grad).all()
    assert torch.isfinite(leverage.grad).all()


def test_gradients_are_those_of_the_function(rng):
    z = torch.tensor(rng.normal(size=(4, 3)), requires_grad=True)
    h = torch.tensor(rng.exponential(size=4), requires_grad=True)
    functions = (
        lambda z, h: softmax.regret(softmax.log_softmax(z), h),
        lambda z, h: softmax.predictive(softmax.log_softmax(z), h).log_prob,
        softmax.sigmoid_regret,
    )
    assert all(torch.autograd.gradcheck(f, (z, h)) for f in functions)


def test_gradients_at_a_tie_are_those_of_the_function():
    z = torch.zeros((1, 3), dtype=torch.float64, requires_grad=True)
    h = torch.ones(1, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda z, h: softmax.regret(softmax.log_softmax(z), h), (z, h))


def test_gradients_of_yes_or_no_at_even_odds_are_those_of_the_function():
    z = torch.zeros((2, 2), dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(softmax.sigmoid_log_probs, (z,))
