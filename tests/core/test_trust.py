"""The verdict: quantiles by counting, and rows that are never trusted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnml.core.trust import DEFAULT_LEVEL, Reference, Thresholds, check_level
from pnml.errors import InputError

values = st.floats(0, 10) | st.just(np.inf)


@given(st.lists(st.tuples(values, values, st.integers(0, 3)), min_size=1), st.floats(0.01, 1))
def test_a_threshold_is_the_smallest_value_that_enough_rows_do_not_pass(rows, level):
    regrets, leverages, weights = np.array(rows, dtype=float).T
    found = Reference(regrets, weights, leverages).thresholds(level)
    finite = np.isfinite(regrets) & np.isfinite(leverages)
    copies = np.repeat(np.flatnonzero(finite), weights[finite].astype(int))
    for limit, column in ((found.regret, regrets[copies]), (found.leverage, leverages[copies])):
        enough = [v for v in sorted(column) if np.sum(column <= v) >= level * len(column) - 1e-9]
        assert limit == (enough[0] if enough else -np.inf)


def test_infinite_rows_are_not_trusted_even_below_an_infinite_threshold():
    assert not Thresholds(np.inf).trusts(np.array([np.inf]))[0]
    assert not Thresholds(1.0, np.inf).trusts(np.array([0.0]), np.array([np.inf]))[0]


def test_without_any_finite_training_row_nothing_is_trusted():
    reference = Reference(np.array([np.inf, np.inf]))
    assert not reference.thresholds().trusts(np.array([0.0])).any()


def test_both_the_regret_and_the_leverage_must_pass():
    trusted = Thresholds(1.0, 2.0).trusts(np.array([1.0, 1.1, 1.0]), np.array([2.0, 2.0, 2.1]))
    assert trusted.tolist() == [True, False, False]


def test_verdicts_on_tensors_are_tensors():
    torch = pytest.importorskip("torch")
    trusted = Thresholds(1.0).trusts(torch.tensor([0.5, 1.5, torch.inf]))
    assert trusted.tolist() == [True, False, False]


def test_the_share_of_trusted_training_rows_counts_copies():
    reference = Reference(np.array([0.0, 1.0, 2.0]), np.array([3.0, 1.0, 1.0]))
    assert reference.trusted_share(0.6) == pytest.approx(0.6)
    assert 0 < DEFAULT_LEVEL < 1


@pytest.mark.parametrize("level", [0, -0.1, 1.1, np.nan, "0.9", None, True])
def test_a_level_that_is_no_quantile_is_refused(level):
    with pytest.raises(InputError, match="quantile of the training regrets"):
        check_level(level)


@given(
    st.lists(st.tuples(values, values, st.integers(0, 3)), min_size=1, max_size=40),
    st.floats(0.05, 1),
)
def test_regret_and_excess_share_one_level_of_false_alarms(rows, level):
    regrets, excesses, weights = np.array(rows, dtype=float).T
    reference = Reference(regrets, weights, excesses=excesses)
    limits = reference.thresholds(level)
    trusted = limits.trusts(regrets, None, None, excesses)
    finite = np.isfinite(regrets) & np.isfinite(excesses)
    usual = weights[finite].sum()
    # enough of the rows that count pass both, and none that must never be trusted
    assert weights[trusted & finite].sum() >= level * usual - 1e-9
    assert not trusted[~finite].any()
    if level == 1 and usual:
        assert trusted[finite & (weights > 0)].all()


def test_the_shared_quantile_is_no_larger_than_it_must_be():
    rng = np.random.default_rng(0)
    regrets, excesses = rng.random(1000), np.maximum(rng.random(1000) - 0.9, 0)
    share = Reference(regrets, excesses=excesses).trusted_share(0.95)
    assert 0.95 <= share < 0.953
