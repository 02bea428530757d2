"""Closed forms of the rivals are what rotations, refits and searches give."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import oracle
from pnml_experiments.ch4_luckiness import shift, shift_rivals
from pnml_experiments.ch4_luckiness.shift_rivals import Part, Search

SEARCH = Search.of(8, 6)
ridge = partial(oracle.ridge_fit, intercept=False)


@pytest.fixture
def rows(rng):
    """Correlated, centred rows and labels, and test rows."""
    mix = np.array([[1.0, 0.6, 0.2], [0.0, 1.0, -0.5], [0.0, 0.0, 0.7]])
    X = rng.normal(size=(24, 3)) @ mix
    y = X @ [1.0, -1.0, 0.5] + rng.normal(size=24)
    return X - X.mean(axis=0), y - y.mean(), rng.normal(size=(5, 3)) + 1.0


def refitted(X, y, penalties):
    """Ridge coefficients of the penalty with the least squared error of rows left out."""

    def error(alpha):
        fits = [ridge(np.delete(X, i, 0), np.delete(y, i), alpha) for i in range(len(y))]
        return sum((y[i] - X[i] @ theta) ** 2 for i, theta in enumerate(fits))

    return ridge(X, y, min(penalties, key=error))


def rotated(X, y, x, penalties, parts):
    """The four answers at x, by a rotation that has x as its first axis."""
    size = np.linalg.norm(x)
    turn = np.linalg.qr(np.column_stack([x, np.eye(len(x))[:, :-1]]))[0] / size
    turn[:, 0] *= np.sign(turn[:, 0] @ x)
    t, z = X @ turn[:, 0], X @ turn[:, 1:]
    left, slope, u = np.zeros(len(y)), np.zeros(len(y)), np.zeros(len(y))
    for held in np.array_split(np.arange(len(y)), parts):
        fit = np.setdiff1d(np.arange(len(y)), held)
        left[held] = y[held] - z[held] @ refitted(z[fit], y[fit], penalties)
        u[held] = t[held] - z[held] @ refitted(z[fit], t[fit], penalties)
        turned = size**2 * turn.T @ refitted(X[fit], y[fit], penalties)
        slope[held] = y[held] - z[held] @ turned[1:]
    answers = [t @ left / (t @ t), u @ left / (u @ u), t @ slope / (t @ t), u @ slope / (u @ t)]
    return answers, np.var(t) / (t @ t) ** 2 <= np.var(u) / (u @ u) ** 2


def test_moments_are_those_of_a_rotation_and_refits(rows):
    X, y, new = rows
    found = shift_rivals.moments(shift_rivals.split(X, y, 4), new, SEARCH.penalties)
    for j, x in enumerate(new):
        expected, zero = rotated(X, y, x, SEARCH.penalties, 4)
        told = [found.q[j], found.q_ridge[j], found.f[j], found.f_ridge[j]]
        np.testing.assert_allclose(told, expected, rtol=1e-8)
        assert bool(found.zero[j]) == zero


def test_rows_used_twice_without_a_penalty_give_least_squares(rows):
    X, y, new = rows
    found = shift_rivals.moments([Part.of(X, y, X, y)], new, np.array([1e-12]))
    expected = new @ np.linalg.lstsq(X, y, rcond=None)[0]
    np.testing.assert_allclose(found.q_ridge, expected, rtol=1e-8)
    np.testing.assert_allclose(found.f_ridge, expected, rtol=1e-8)


def test_without_a_penalty_only_a_fitted_g_takes_a_slope_along_the_test_row_whole(rows):
    X, y, new = rows
    none = np.array([1e-12])
    for x in new:
        t = X @ x / (x @ x)
        before, after = (
            shift_rivals.moments(shift_rivals.split(X, labels, 4), x[None], none)
            for labels in (y, y + 3 * t)
        )
        assert after.q_ridge[0] - before.q_ridge[0] == pytest.approx(3.0, rel=1e-8)
        assert abs(after.q[0] - before.q[0] - 3.0) > 0.01


def test_the_residual_of_g_is_orthogonal_to_the_rest_of_the_row(rows):
    X, y, new = rows
    part = Part.of(X, y, X, y)
    _, v = shift_rivals.nuisances(part, new @ part.V, np.array([1e-12]))
    for x, u in zip(new, (part.X @ v.T).T, strict=True):
        rest = X - np.outer(X @ x, x) / (x @ x)
        np.testing.assert_allclose(rest.T @ u, 0.0, atol=1e-8)
        assert np.mean(u**2) / np.mean(u * (X @ x)) ** 2 >= 1 / np.mean((X @ x) ** 2)


def test_a_test_row_at_the_mean_has_the_mean_label(rows):
    X, y, _ = rows
    found = shift_rivals.told(X, y + 7.0, np.zeros((1, 3)), SEARCH)
    for mean in (*found.methods.values(), *found.moments.values()):
        assert mean[0] == pytest.approx(7.0)


def test_neighbour_labels_join_as_one_weighted_row(rows):
    X, y, new = rows
    penalty = shift_rivals.least_left_out(Part.of(X, y, X, y), SEARCH.penalties)

    def said(X, y, x, width, weight):
        near = np.exp(-np.sum((X - x) ** 2, axis=1) / (2 * width**2))
        label = near @ y / (near.sum() + 1e-9)
        more = np.vstack([X, np.sqrt(weight) * x]), np.append(y, np.sqrt(weight) * label)
        return x @ ridge(*more, penalty)

    def error(pair):
        return sum(
            abs(said(np.delete(X, held, 0), np.delete(y, held), X[i], *pair) - y[i])
            for held in np.array_split(np.arange(len(y)), 5)
            for i in held
        )

    search = replace(SEARCH, weights=np.array([0.01, 1.0, 30.0]))
    best = min([(w, c) for w in search.widths for c in search.weights], key=error)
    expected = [said(X, y, x, *best) for x in new]
    np.testing.assert_allclose(shift_rivals.neighbour_labelled(X, y, new, search), expected)


def test_the_label_of_chapelle_has_the_least_left_out_error(rows):
    X, y, new = rows
    penalty = shift_rivals.least_left_out(Part.of(X, y, X, y), SEARCH.penalties)

    def best(X, y, x, hold):
        """The minimum of a parabola, from three of its points."""
        fit = x @ ridge(X, y, penalty)

        def error(label):
            more, labels = np.vstack([X, x]), np.append(y, label)
            fits = (
                more[i] @ ridge(np.delete(more, i, 0), np.delete(labels, i), penalty)
                for i in range(len(labels))
            )
            left = labels - np.fromiter(fits, float)
            return left @ left + hold * (label - fit) ** 2

        low, middle, high = error(fit - 1), error(fit), error(fit + 1)
        return fit + (low - high) / (2 * (low + high - 2 * middle))

    def held_out(hold):
        return sum(
            abs(best(np.delete(X, held, 0), np.delete(y, held), X[i], hold) - y[i])
            for held in np.array_split(np.arange(len(y)), 5)
            for i in held
        )

    search = replace(SEARCH, holds=np.array([1e-6, 1.0, 1e3]))
    hold = min(search.holds, key=held_out)
    told = shift_rivals.label_of_least_left_out(X, y, new, search)
    np.testing.assert_allclose(told, [best(X, y, x, hold) for x in new], rtol=1e-8)


def test_a_row_with_the_label_of_the_lasso_leaves_the_lasso_as_it_is(rows):
    from sklearn.linear_model import Lasso

    X, y, new = rows
    lasso = Lasso(alpha=0.2, fit_intercept=False, tol=1e-12).fit(X, y)
    for x in new:
        more, labels = np.vstack([X, x]), np.append(y, lasso.predict(x[None]))
        again = Lasso(alpha=0.2 * 24 / 25, fit_intercept=False, tol=1e-12).fit(more, labels)
        np.testing.assert_allclose(again.coef_, lasso.coef_, atol=1e-9)


@pytest.mark.data
@pytest.mark.parametrize("name", ["fire", "fertility"])
def test_the_printed_rivals_are_met(name, data_dir, monkeypatch):
    monkeypatch.setenv("PNML_DATA", str(data_dir))
    trained, new, y = shift.read(name)
    told = shift_rivals.told(trained.X, trained.y, new, Search.of(15, 30))
    for method in (shift_rivals.CORTES, shift_rivals.ALQUIER, shift_rivals.TRIPURANENI):
        rmse = float(np.sqrt(np.mean((told.methods[method] - y) ** 2)))
        assert rmse == pytest.approx(shift.printed()[name, method], rel=1e-3, abs=6e-4)
