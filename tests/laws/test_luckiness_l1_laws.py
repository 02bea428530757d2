"""Laws of the lasso's path and of ℓ1 luckiness, on designs full of ties."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pnml.core.lasso.luckiness import L1Fit
from pnml.core.lasso.path import Start, genie_path, lasso

WHOLE = st.integers(-2, 2).map(float)
PENALTY = st.sampled_from([0.25, 0.5, 1.0, 2.0, 3.0])


@st.composite
def problems(draw):
    """Small whole numbers: equal, opposite, dependent and empty columns are all common."""
    n, m = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    X, x = draw(arrays(float, (n, m), elements=WHOLE)), draw(arrays(float, m, elements=WHOLE))
    return X, draw(arrays(float, n, elements=st.integers(-4, 4).map(float))), x, draw(PENALTY)


def path_of(X, y, x, penalty):
    gram, moment = X.T @ X, X.T @ y
    coef = lasso(gram, moment, np.array([penalty]))[0]
    return genie_path(Start.of(gram, moment, penalty, coef), x)


def labels_of(path):
    kinks = path.edges[1:-1]
    return np.concatenate([kinks, (kinks[1:] + kinks[:-1]) / 2, kinks[[0]] - 5, kinks[[-1]] + 5])


@given(problems())
def test_the_genie_is_stationary_at_every_label(problem):
    X, y, x, penalty = problem
    path = path_of(*problem)
    labels = labels_of(path)
    theta = path.at(labels)
    c = (y - theta @ X.T) @ X + (labels - theta @ x)[:, None] * x
    size = 1 + np.abs(labels[:, None]) + np.abs(theta).sum(axis=1, keepdims=True)
    assert np.all(np.abs(c) <= penalty + 1e-9 * size)
    assert np.all(np.abs(penalty * np.abs(theta) - c * theta) <= 1e-9 * size**2)


@given(problems())
def test_the_residual_never_falls_and_never_outruns_the_label(problem):
    path = path_of(*problem)
    assert np.all(path.residual_slope >= 0)
    assert np.all(path.residual_slope <= 1 + 1e-12)
    assert np.all(np.diff(path.residual) >= -1e-12)


@given(problems(), st.randoms(use_true_random=False))
def test_the_order_of_the_columns_changes_nothing(problem, random):
    X, y, x, penalty = problem
    order = list(range(len(x)))
    random.shuffle(order)
    one, other = path_of(X, y, x, penalty), path_of(X[:, order], y, x[order], penalty)
    labels = np.linspace(-9, 9, 37)
    np.testing.assert_allclose(one.at(labels) @ x, other.at(labels) @ x[order], atol=1e-9)
    norms = [np.abs(path.at(labels)).sum(axis=1) for path in (one, other)]
    np.testing.assert_allclose(*norms, atol=1e-9)


@given(problems())
def test_the_sign_of_a_column_changes_nothing(problem):
    X, y, x, penalty = problem
    signs = np.where(np.arange(len(x)) % 2, -1.0, 1.0)
    labels = np.linspace(-9, 9, 37)
    one, other = path_of(X, y, x, penalty), path_of(X * signs, y, x * signs, penalty)
    np.testing.assert_allclose(one.at(labels) @ x, other.at(labels) @ (signs * x), atol=1e-9)


@given(problems(), st.sampled_from([0.01, 0.3, 2.0]))
def test_a_mirrored_label_mirrors_the_distribution(problem, variance):
    X, y, x, penalty = problem
    fits = [
        L1Fit.of(X.T @ X, sign * X.T @ y, penalty, np.zeros(len(x)), 0.0, 1.0)
        for sign in (1.0, -1.0)
    ]
    one, other = (fit.predictive(x[None], variance) for fit in fits)
    np.testing.assert_allclose(one.log_mass, other.log_mass, atol=1e-9)
    np.testing.assert_allclose(one.interval(0.8)[:, ::-1], -other.interval(0.8), atol=1e-8)


@given(problems(), st.sampled_from([0.01, 0.3, 2.0]))
def test_adding_a_copy_of_a_column_changes_nothing(problem, variance):
    X, y, x, penalty = problem
    regrets = []
    for columns in (np.arange(len(x)), np.append(np.arange(len(x)), 0)):
        A, row = X[:, columns], x[columns]
        fit = L1Fit.of(A.T @ A, A.T @ y, penalty, np.zeros(len(row)), 0.0, 1.0)
        regrets.append(fit.predictive(row[None], variance).log_mass[0])
    assert abs(regrets[0] - regrets[1]) <= 1e-9
