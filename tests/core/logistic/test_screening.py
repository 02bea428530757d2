"""Labels without a refit: none of them could have gained more than is said."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from pnml.core.logistic import LogisticModel, preconditioner, refit
from pnml.core.logistic.screening import left_out


def well_determined(rng, n=2000, features=3, classes=5):
    X = rng.normal(size=(n, features))
    W = rng.normal(size=(classes, features))
    return X, (X @ W.T + rng.gumbel(size=(n, classes))).argmax(axis=1), rng.normal(size=(4, 3))


@pytest.mark.parametrize("intercept", [True, False])
def test_labels_left_out_gain_no_more_than_is_said(intercept):
    X, y, new = well_determined(np.random.default_rng(1))
    model = LogisticModel.fit(X, y, 5, alpha=1.0, intercept=intercept)
    found = refit(model, new, tol=5e-2)
    out = found.steps == 0
    assert out.mean() > 0.2
    genies = oracle.logistic_genies(X, y, 5, new, 1.0, intercept)
    gained = np.where(out, genies - np.exp(model.log_prob(new)), 0.0)
    assert np.all(gained >= -1e-9)
    assert np.all(gained.sum(axis=1) <= found.left_out)
    assert np.all(np.abs(found.regret - np.log(genies.sum(axis=1))) <= found.error)


@pytest.mark.parametrize("seed", range(8))
def test_no_genie_gains_more_than_its_bound_wherever_there_is_one(seed):
    rng = np.random.default_rng(seed)
    C, M = int(rng.integers(2, 5)), int(rng.integers(1, 4))
    X = rng.normal(size=(300, M))
    y = (X @ rng.normal(size=(M, C)) + rng.gumbel(size=(300, C))).argmax(axis=1)
    y[:C] = np.arange(C)
    alpha, new = 10 ** rng.uniform(-1, 2), rng.normal(size=(3, M))
    model = LogisticModel.fit(X, y, C, alpha=alpha)
    reach = model.preconditioner.reach(model.objective.training.design_rows(new))
    gains = model.screen.gains(model.log_prob(new), reach.matrix)
    genies = oracle.logistic_genies(X, y, C, new, alpha, True)
    p = np.exp(model.log_prob(new))
    assert np.all(genies - p <= gains + 1e-9)
    assert np.any(gains < 0.9 * (1 - p))  # some bound says more than that p* ≤ 1


def test_the_bound_is_the_first_order_gain_where_data_are_many(rng):
    X, y, new = well_determined(rng, n=200_000)
    model = LogisticModel.fit(X, y, 5, alpha=1.0)
    reach = model.preconditioner.reach(model.objective.training.design_rows(new))
    gains = model.screen.gains(model.log_prob(new), reach.matrix)
    exact = np.exp(refit(model, new, tol=1e-8).log_genie) - np.exp(model.log_prob(new))
    assert np.all(exact <= gains)
    assert np.median(gains / exact) < 2.5


def test_without_the_whole_curvature_no_label_is_left_out(rng, monkeypatch):
    X, y, new = well_determined(rng)
    monkeypatch.setattr(preconditioner, "_WHOLE_UNKNOWNS", 0)
    found = refit(LogisticModel.fit(X, y, 5, alpha=1.0), new, tol=5e-2)
    assert np.all(found.steps > 0)
    np.testing.assert_array_equal(found.left_out, 0)


@given(
    gains=st.lists(st.floats(0, 1), min_size=2, max_size=8),
    allowance=st.floats(0, 2),
)
def test_labels_left_out_together_stay_within_the_allowance(gains, allowance):
    gains = np.array([gains])
    out = left_out(gains, allowance)
    assert gains[out].sum() <= allowance * (1 + 1e-12)
    inside = gains[~out]
    if inside.size:  # one more would be too many
        assert gains[out].sum() + inside.min() > allowance * (1 - 1e-12)
