"""The batched objective: its gradient is its slope, whatever the sizes of the numbers."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from pnml.core.logistic import LogisticModel, refit, training
from pnml.core.logistic.training import LabelledProblems, TrainingRows


def random_problems(rng, intercept, n=30, features=3, classes=4, problems=5):
    """An objective around random weights, and problems some of which are of rows it holds."""
    X, y = rng.normal(size=(n, features)), rng.integers(classes, size=n)
    w = rng.choice([0.5, 1.0, 2.0], size=n)
    rows = TrainingRows.of(X, y, w, classes, 0.7, intercept)
    C, M = rows.shape
    new = rows.design_rows(rng.normal(size=(problems, features)))
    target = np.eye(classes)[rng.integers(classes, size=problems)]
    own = rng.choice([0.0, 1.0], size=problems)
    labelled = LabelledProblems(new, target, own, np.ones(problems))
    return rows.at(rng.normal(size=(C, M))), labelled, rng.normal(size=(problems, C * M))


def value(objective, step, labelled, i):
    """The told objective of one problem, summed as it is written down."""
    rows = objective.training
    W = objective.weight + step.reshape(objective.weight.shape)

    def lse(z):
        return z.max() + np.log(np.exp(z - z.max()).sum())

    loss = sum(
        w * (lse(W @ x) - W[c] @ x)
        for x, c, w in zip(rows.values, rows.labels, rows.weights, strict=True)
    )
    z = W @ labelled.rows[i]
    return (
        loss + (rows.penalty * W**2).sum() / 2 + labelled.own[i] * lse(z) - z @ labelled.target[i]
    )


@pytest.mark.parametrize("intercept", [True, False])
def test_the_gradient_is_the_slope_of_the_objective(intercept, rng):
    objective, labelled, steps = random_problems(rng, intercept)
    found = objective.gradient(steps, labelled)
    e = 1e-5
    for i, step in enumerate(steps):
        ways = e * np.eye(len(step))
        slope = [
            (value(objective, step + d, labelled, i) - value(objective, step - d, labelled, i))
            / (2 * e)
            for d in ways
        ]
        np.testing.assert_allclose(found[i], slope, atol=1e-7)


@pytest.mark.parametrize("numbers", [1, 5000])
def test_the_gradient_does_not_depend_on_how_the_rows_are_cut(numbers, rng, monkeypatch):
    objective, labelled, steps = random_problems(rng, True, n=300)
    whole = objective.gradient(steps, labelled)
    monkeypatch.setattr(training, "_BLOCK_NUMBERS", numbers)
    np.testing.assert_allclose(objective.gradient(steps, labelled), whole, rtol=1e-12, atol=1e-12)


def test_each_problem_has_the_gradient_that_it_has_alone(rng):
    objective, labelled, steps = random_problems(rng, True)
    together = objective.gradient(steps, labelled)
    for i in range(len(steps)):
        one = np.array([i])
        alone = objective.gradient(steps[one], labelled[one])
        np.testing.assert_allclose(together[one], alone, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("size", [1e3, 1e5, 1e150])
def test_steps_of_any_size_give_the_gradient_without_overflow(size, rng):
    objective, labelled, steps = random_problems(rng, False, n=4, problems=2)
    steps = steps * size
    found = objective.gradient(steps, labelled)
    rows, W = objective.training, objective.weight
    with mpmath.workdps(30):
        for i in range(2):
            moved = W + steps[i].reshape(W.shape)
            exact = rows.penalty * moved
            for x, c, w in zip(rows.values, rows.labels, rows.weights, strict=True):
                exact = exact + w * np.outer(softmax_in_digits(moved, x) - np.eye(4)[c], x)
            pull = labelled.own[i] * softmax_in_digits(moved, labelled.rows[i]) - labelled.target[i]
            exact = exact + np.outer(pull, labelled.rows[i])
            np.testing.assert_allclose(found[i].reshape(W.shape), exact, rtol=1e-9, atol=1e-9)


def softmax_in_digits(W, x):
    z = [mpmath.fdot(map(float, row), map(float, x)) for row in W]
    p = [mpmath.exp(v - max(z)) for v in z]
    return np.array([float(v / sum(p)) for v in p])


@pytest.mark.parametrize(("size", "alpha"), [(1e4, 1.0), (1e4, 1e-6), (1.0, 1e-8)])
def test_huge_logits_are_fitted_and_refitted_without_a_warning(size, alpha, rng):
    X = size * rng.normal(size=(40, 3))
    model = LogisticModel.fit(X, X.argmax(axis=1), 3, alpha=alpha)
    found = refit(model, size * rng.normal(size=(4, 3)), tol=1e-3)
    assert np.all(np.isfinite(found.regret))
    assert np.all((found.regret >= 0) & (found.regret <= np.log(3)))
