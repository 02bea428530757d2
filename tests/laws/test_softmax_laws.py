"""Laws of the single-layer regret, for any probabilities and any leverage."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from pnml.core import softmax

numbers = st.floats(-1e3, 1e3) | st.floats(-5, 5)
leverages = st.floats(0, 1e12) | st.floats(0, 1) | st.just(np.inf)


@st.composite
def problems(draw, fewest=1):
    """Log-probabilities (n, C) and leverages (n,)."""
    n, C = draw(st.integers(1, 4)), draw(st.integers(fewest, 6))
    z = draw(npst.arrays(np.float64, (n, C), elements=numbers))
    return softmax.log_softmax(z), draw(npst.arrays(np.float64, n, elements=leverages))


@given(problems())
def test_regret_lies_between_nothing_and_the_log_of_half_the_classes(problem):
    log_p, h = problem
    found = softmax.regret(log_p, h)
    assert np.all(found >= 0)
    assert np.all(found <= np.log((log_p.shape[1] + 1) / 2) + 1e-15)


@given(problems(), st.floats(1, 1e3))
def test_regret_never_falls_as_leverage_grows(problem, factor):
    log_p, h = problem
    low, high = softmax.regret(log_p, h), softmax.regret(log_p, h * factor)
    assert np.all(low <= high * (1 + 1e-13) + 1e-300)


@given(problems(), st.randoms())
def test_the_order_of_the_classes_means_nothing(problem, random):
    log_p, h = problem
    order = list(range(log_p.shape[1]))
    random.shuffle(order)
    shuffled = softmax.predictive(log_p[:, order], h)
    found = softmax.predictive(log_p, h)
    np.testing.assert_allclose(shuffled.regret, found.regret, rtol=1e-14)
    np.testing.assert_allclose(shuffled.prob, found.prob[:, order], rtol=1e-12)


@given(problems())
def test_probabilities_sum_to_one(problem):
    np.testing.assert_allclose(softmax.predictive(*problem).prob.sum(axis=1), 1, rtol=1e-14)


@given(problems())
def test_the_order_of_the_probabilities_is_kept(problem):
    log_p, h = problem
    found = softmax.predictive(log_p, h).log_prob
    at = np.argsort(log_p, axis=1)
    sorted_ours = np.take_along_axis(found, at, axis=1)
    assert np.all(np.diff(sorted_ours, axis=1) >= -1e-13 * np.abs(sorted_ours[:, :-1]) - 1e-15)


@given(problems(fewest=2))
def test_the_regret_is_what_normalises_the_genies(problem):
    log_p, h = problem
    genies = np.exp(softmax.genie_log_probs(log_p, h))
    np.testing.assert_allclose(np.log(genies.sum(axis=1)), softmax.regret(log_p, h), atol=1e-14)


@given(problems())
def test_every_genie_gains(problem):
    log_p, h = problem
    genies = softmax.genie_log_probs(log_p, h)
    assert np.all(genies >= log_p - 1e-13 * np.abs(log_p))
    assert np.all(genies <= 0)


@given(problems())
def test_tensors_get_the_same_answers_as_arrays(problem):
    log_p, h = problem
    tensors = softmax.predictive(torch.from_numpy(log_p), torch.from_numpy(h))
    arrays = softmax.predictive(log_p, h)
    np.testing.assert_allclose(tensors.regret.numpy(), arrays.regret, rtol=1e-13, atol=1e-307)
    np.testing.assert_allclose(tensors.log_prob.numpy(), arrays.log_prob, rtol=1e-13, atol=1e-15)
