"""What is said of the error of a genie: the theorem behind it, and that it holds in practice."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from examples import cases, examples
from pnml.core.logistic import LogisticModel, refit
from pnml.core.logistic.certificate import Curvature, probability_error
from pnml.core.logistic.training import LabelledProblems, TrainingRows


@settings(max_examples=examples(300))
@given(
    seed=st.integers(0, 2**32 - 1),
    log_alpha=st.floats(-3, 2),
    far=st.sampled_from([1e-3, 0.1, 1.0, 10.0, 300.0]),
    weight=st.sampled_from([0.0, 1.0, 30.0]),
)
def test_the_gradient_bounds_the_angle_of_the_probability_anywhere(seed, log_alpha, far, weight):
    rng, alpha = np.random.default_rng(seed), 10**log_alpha
    N, M, C = (int(v) for v in rng.integers([1, 1, 2], [20, 4, 5]))
    X, y = rng.normal(size=(N, M)), rng.integers(C, size=N)
    x, label = 3 * rng.normal(size=M), int(rng.integers(C))
    w = np.full(N, weight)
    best = oracle.logistic_fit(
        np.vstack([X, x]), np.append(y, label), C, alpha, False, np.append(w, 1.0)
    )
    rows = TrainingRows.of(X, y, np.maximum(w, 1e-300), C, alpha, False)
    point = best + far * rng.normal(size=best.shape)
    problems = LabelledProblems.new(x[None], np.eye(C)[[label]])
    gradient = rows.at(point).gradient(np.zeros((1, C * M)), problems).reshape(1, C, M)
    doubt = Curvature(alpha, np.inf, True).doubt(gradient, False)[0]
    p, exact = (softmax(W @ x)[label] for W in (point, best))
    assert abs(oracle.arcsine(p) - oracle.arcsine(exact)) <= doubt * (1 + 1e-9) + 1e-9
    assert abs(p - exact) <= probability_error(np.log([max(p, 1e-300)]), doubt)[0] + 1e-9


def softmax(z):
    p = np.exp(z - z.max())
    return p / p.sum()


@given(p=st.floats(1e-12, 1.0), q=st.floats(0.0, 1.0))
def test_no_probability_within_the_doubt_is_further_than_the_error(p, q):
    doubt = np.array([abs(oracle.arcsine(p) - oracle.arcsine(q))])
    assert abs(p - q) <= probability_error(np.log([p]), doubt)[0] + 1e-9


def test_the_bound_is_reached_where_the_row_holds_as_much_as_the_rest():
    x, alpha, off = np.array([np.sqrt(2)]), 1.0, 1e-4
    rows = TrainingRows.of(np.zeros((1, 1)), np.zeros(1, dtype=int), np.ones(1), 2, alpha, False)
    halves = np.full((1, 2), 0.5)  # told both labels by halves, the optimum is at weights of 0
    problems = LabelledProblems(x[None], halves, np.ones(1), np.ones(1))
    point = off * np.array([[1.0], [-1.0]])
    gradient = rows.at(point).gradient(np.zeros((1, 2)), problems).reshape(1, 2, 1)
    doubt = Curvature(alpha, np.inf, True).doubt(gradient, False)[0]
    moved = oracle.arcsine(softmax(point @ x)[0]) - oracle.arcsine(0.5)
    assert moved == pytest.approx(doubt, rel=1e-6)


def test_without_an_intercept_the_bound_is_proven_and_the_strength_itself(rng):
    X, y = rng.normal(size=(30, 3)), rng.integers(3, size=30)
    curvature = LogisticModel.fit(X, y, 3, alpha=0.3, intercept=False).curvature
    assert curvature.proven
    assert curvature.features == 0.3
    assert not LogisticModel.fit(X, y, 3, alpha=0.3).curvature.proven


@pytest.mark.parametrize("first", range(0, 200, 40))
def test_no_error_is_larger_than_reported_in_a_thousand_cases(first):
    """In the profile thorough, with five rows a case; a hundred and fifty otherwise."""
    tolerances = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
    for seed in range(first, first + cases(40)):
        X, y, C, alpha, intercept, new = oracle.logistic_instance(np.random.default_rng(seed))
        genies = oracle.logistic_genies(X, y, C, new, alpha, intercept)
        model = LogisticModel.fit(X, y, C, alpha=alpha, intercept=intercept)
        tol = tolerances[seed % len(tolerances)]
        found = refit(model, new, tol=tol)
        error = np.abs(found.regret - np.log(genies.sum(axis=1)))
        assert np.all(error <= found.error + 1e-9), (seed, tol)
        assert np.all(found.converged == (found.error <= tol))
        assert found.converged.all(), (seed, tol)


def test_a_forecast_far_from_where_the_search_stands_counts_for_nothing():
    # Near-separable rows with columns of sizes from 0.05 to 180: quasi-Newton steps go astray.
    rng = np.random.default_rng(37)
    rng.integers(20, 201), rng.integers(1, 11), rng.integers(2, 7)
    alpha, size = 10 ** rng.uniform(-2.5, 2), 10 ** rng.uniform(-1, 1)
    rng.integers(2)
    X = rng.normal(size=(48, 8)) * size * 10 ** rng.uniform(-2, 2, size=8)
    W = rng.normal(size=(5, 8)) * rng.choice([0.3, 1.0, 5.0])
    rng.normal(size=5)
    y = (X @ W.T + rng.gumbel(size=(48, 5)) * rng.choice([0.1, 1.0]) * size).argmax(axis=1)
    y[:5] = np.arange(5)
    new = rng.normal(size=(2, 8)) * X.std(axis=0)
    genies = oracle.logistic_genies(X, y, 5, new, alpha, True)
    model = LogisticModel.fit(X, y, 5, alpha=alpha)
    for tol in (1e-2, 1e-3, 1e-5):
        found = refit(model, new, tol=tol)
        error = np.abs(found.regret - np.log(genies.sum(axis=1)))
        assert np.all(error <= found.error + 1e-9), tol
