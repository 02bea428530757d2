"""Laws of the envelope that hold for all classes."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pnml.core.universality import class_shares, envelope

# Few distinct values, so that equal means, equal stds and equal classes are common.
MEAN = st.one_of(st.integers(-2, 2).map(float), st.floats(-50, 50))
STD = st.one_of(st.sampled_from([0.5, 1.0, 2.0, np.inf]), st.floats(1e-3, 1e3))
REGRET = st.floats(0, 5)


@st.composite
def classes(draw, rows=3):
    m = draw(st.integers(1, 5))
    scale = 10.0 ** draw(st.integers(-8, 8))
    means = scale * draw(arrays(float, (rows, m), elements=MEAN))
    stds = scale * draw(arrays(float, (rows, m), elements=STD))
    regrets = np.where(np.isinf(stds), np.inf, draw(arrays(float, (rows, m), elements=REGRET)))
    return means, stds, regrets


@given(classes())
def test_the_price_of_not_knowing_the_class_is_at_most_the_log_of_their_number(parts):
    known = np.isfinite(parts[1]).sum(axis=1)
    log_mass = envelope(*parts).log_mass[known > 0]
    assert np.all(log_mass >= -1e-12)
    assert np.all(log_mass <= np.log(known[known > 0]) + 1e-12)


@given(classes(), st.randoms(use_true_random=False))
def test_the_order_of_the_classes_changes_nothing(parts, random):
    order = list(range(parts[0].shape[1]))
    random.shuffle(order)
    one, other = envelope(*parts), envelope(*(part[:, order] for part in parts))
    np.testing.assert_allclose(other.log_mass, one.log_mass, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(other.regret, one.regret, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(other.std, one.std, rtol=1e-9)
    np.testing.assert_allclose(
        class_shares(parts[0][:, order], parts[1][:, order]),
        class_shares(*parts[:2])[:, order],
        atol=1e-9,
    )


@given(classes(), st.floats(-5, 5))
def test_no_label_costs_more_than_the_normaliser_over_any_class(parts, z):
    """log q_k − log q ≤ log Z at every label: the regret to genie k is at most Γ_k + log Z."""
    means, stds, _ = parts
    value = envelope(*parts)
    known = np.isfinite(stds)
    y = means[:, 0] + z * np.where(known[:, 0], stds[:, 0], 1.0)
    with np.errstate(invalid="ignore"):
        u = (y[:, None] - means) / stds
        log_q = np.where(known, -0.5 * u * u - np.log(stds) - 0.5 * np.log(2 * np.pi), -np.inf)
    best = log_q.max(axis=1)
    rows = known.any(axis=1)
    slack = value.log_prob(y)[rows] + value.log_mass[rows] - best[rows]
    assert np.all(np.abs(slack) <= 1e-9 * (1 + np.abs(best[rows])))


@given(classes())
def test_the_regret_lies_between_the_least_and_the_greatest_plus_the_price(parts):
    _, stds, regrets = parts
    value = envelope(*parts)
    known = np.isfinite(stds)
    rows = known.any(axis=1)
    low = np.where(known, regrets, np.inf).min(axis=1)[rows]
    high = np.where(known, regrets, -np.inf).max(axis=1)[rows] + value.log_mass[rows]
    assert np.all(value.regret[rows] >= low - 1e-9)
    assert np.all(value.regret[rows] <= high + 1e-9)
    assert np.all(np.isposinf(value.regret[~rows]))


@given(classes())
def test_shares_are_probabilities(parts):
    shares = class_shares(*parts[:2])
    assert np.all(shares >= 0)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=1e-9)


@given(classes(), arrays(float, (9, 1), elements=st.floats(1e-9, 1 - 1e-9)))
def test_no_label_is_likelier_than_the_mode(parts, q):
    value = envelope(*parts)
    rows = np.isfinite(value.regret)
    drawn = value.log_prob(value.ppf(q))[:, rows]
    assert np.all(drawn <= value.log_prob(value.mode)[rows] + 1e-9)


@given(classes(), st.floats(0.01, 0.97), st.floats(0.001, 0.02))
def test_wider_coverage_holds_the_narrower_interval(parts, coverage, more):
    value = envelope(*parts)
    narrow, wide = value.interval(coverage), value.interval(coverage + more)
    assert np.all(wide[:, 0] <= narrow[:, 0])
    assert np.all(narrow[:, 1] <= wide[:, 1])
