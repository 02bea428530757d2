"""One answer for several model classes, label by label, against sums over the labels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pnml.core.universality import label_envelope, label_shares
from pnml.errors import InputError


@st.composite
def probabilities(draw):
    """Probabilities (m, n, C), some of them 0, some classes the same."""
    m, n, c = draw(st.integers(1, 4)), draw(st.integers(1, 3)), draw(st.integers(2, 5))
    weights = draw(arrays(float, (m, n, c), elements=st.sampled_from([0.0, 1e-9, 0.5, 1.0, 7.0])))
    weights[..., 0] += 1e-3
    return weights / weights.sum(axis=-1, keepdims=True)


def logs(q):
    with np.errstate(divide="ignore"):
        return np.log(q)


@given(probabilities())
def test_the_union_is_the_largest_over_its_sum(q):
    found = label_envelope(logs(q))
    best = q.max(axis=0)
    z = best.sum(axis=-1)
    np.testing.assert_allclose(np.exp(found.log_prob), best / z[:, None], atol=1e-12)
    np.testing.assert_allclose(found.log_mass, np.log(z), atol=1e-12)


@given(probabilities())
def test_no_class_beats_the_union_by_more_than_the_price(q):
    found = label_envelope(logs(q))
    m, _, c = q.shape
    assert np.all(found.log_mass >= 0)
    assert np.all(found.log_mass <= np.log(min(m, c)) + 1e-12)
    lead = np.exp(logs(q) - found.log_mass[:, None])  # q_k / Z, at most the union
    assert np.all(lead <= np.exp(found.log_prob) + 1e-12)


@given(probabilities())
def test_shares_are_probabilities_and_owners_have_them(q):
    shares = label_shares(logs(q))
    union = np.exp(label_envelope(logs(q)).log_prob)
    expected = np.zeros((q.shape[1], q.shape[0]))
    for t in range(q.shape[1]):
        for y in range(q.shape[2]):
            owners = [k for k in range(len(q)) if q[k, t, y] >= q[:, t, y].max() * (1 - 1e-12)]
            for k in owners:
                expected[t, k] += union[t, y] / len(owners)
    np.testing.assert_allclose(shares, expected, atol=1e-12)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=1e-12)


def test_one_class_is_itself_at_no_price(rng):
    q = rng.dirichlet(np.ones(4), size=(1, 6))
    found = label_envelope(np.log(q))
    np.testing.assert_allclose(np.exp(found.log_prob), q[0], rtol=1e-12)
    np.testing.assert_allclose(found.log_mass, 0.0, atol=1e-12)
    np.testing.assert_array_equal(label_shares(np.log(q)).round(12), np.ones((6, 1)))


def test_sure_classes_that_disagree_cost_the_log_of_their_number():
    with np.errstate(divide="ignore"):
        log_q = np.log(np.eye(3))[:, None]
    found = label_envelope(log_q)
    assert found.log_mass[0] == pytest.approx(np.log(3))
    np.testing.assert_allclose(np.exp(found.log_prob), 1 / 3)


@pytest.mark.parametrize(
    ("log_q", "says"),
    [
        (np.zeros((2, 3)), r"shape \(2, 3\)"),
        (np.zeros((0, 2, 3)), "at least one class"),
        (np.zeros((2, 2, 0)), "at least one class and one label"),
        (np.full((2, 1, 3), np.nan), "some rows have none"),
        (np.full((2, 1, 3), -np.inf), "some rows have none"),
    ],
)
def test_what_is_no_probability_is_refused(log_q, says):
    for function in (label_envelope, label_shares):
        with pytest.raises(InputError, match=says):
            function(log_q)
