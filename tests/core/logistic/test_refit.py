"""A refit for each label of each row: what explicit refits say, however the work is cut."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, load_wine

import oracle
from pnml.core.logistic import LogisticModel, preconditioner, refit, refit_left_out
from pnml.core.logistic.preconditioner import ByClass, Shared, Whole
from pnml.errors import InputError

# The function hides the module of its name.
refit_module = import_module("pnml.core.logistic.refit")


def real_rows(name):
    """Training rows, their labels and two new rows of a well-known set."""
    load = {"iris": load_iris, "wine": load_wine, "digits": load_digits}[name]
    X, y = load(return_X_y=True)
    if name == "digits":
        X, y = X[y < 4][:120] / 16, y[y < 4][:120]
    else:
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        order = np.random.default_rng(0).permutation(len(X))
        X, y = X[order], y[order]
    return X[2:], y[2:], X[:2]


def made_rows(rng, n=50, features=4, classes=4, new=6):
    X, y = rng.normal(size=(n, features)), rng.integers(classes, size=n)
    y[:classes] = np.arange(classes)
    return X, y, 2 * rng.normal(size=(new, features))


@pytest.mark.parametrize("alpha", [100.0, 10.0, 1.0, 0.1, 0.01])
@pytest.mark.parametrize("name", ["iris", "wine", "digits"])
def test_regrets_of_real_rows_are_those_of_explicit_refits(name, alpha):
    X, y, new = real_rows(name)
    new = np.vstack([new, 5 * new])
    C = y.max() + 1
    found = refit(LogisticModel.fit(X, y, C, alpha=alpha), new, tol=1e-5)
    genies = oracle.logistic_genies(X, y, C, new, alpha, True)
    error = np.abs(found.regret - np.log(genies.sum(axis=1)))
    assert found.converged.all()
    assert error.max() <= 1e-5
    assert np.all(error <= found.error)
    np.testing.assert_allclose(np.exp(found.log_genie), genies, atol=1e-5)
    np.testing.assert_allclose(np.exp(found.log_prob).sum(axis=1), 1, atol=1e-12)


@pytest.mark.parametrize("intercept", [True, False])
def test_two_classes_are_refitted_like_more(intercept, rng):
    X, y, new = made_rows(rng, classes=2)
    model = LogisticModel.fit(X, y, 2, alpha=0.5, intercept=intercept)
    genies = oracle.logistic_genies(X, y, 2, new, 0.5, intercept)
    np.testing.assert_allclose(np.exp(refit(model, new, tol=1e-7).log_genie), genies, atol=1e-7)


def test_without_a_penalty_regrets_are_those_of_explicit_refits(rng):
    X, y, new = made_rows(rng, classes=3)
    found = refit(LogisticModel.fit(X, y, 3, alpha=0.0), new, tol=1e-6)
    genies = oracle.logistic_genies(X, y, 3, new, 0.0, True)
    error = np.abs(found.regret - np.log(genies.sum(axis=1)))
    assert np.all(error <= found.error)
    assert found.converged.all()


def test_without_intercepts_a_row_can_be_told_a_class_that_no_training_row_has(rng):
    X, y, new = made_rows(rng, classes=3)
    found = refit(LogisticModel.fit(X, y, 4, alpha=1.0, intercept=False), new, tol=1e-5)
    genies = oracle.logistic_genies(X, y, 4, new, 1.0, False)
    np.testing.assert_allclose(np.exp(found.log_genie), genies, atol=1e-5)
    assert np.all(np.abs(found.regret - np.log(genies.sum(axis=1))) <= found.error)


def test_with_intercepts_a_class_without_rows_is_refused(rng):
    X, y, _ = made_rows(rng, classes=3)
    with pytest.raises(InputError, match="Class 3 of 4 has no row"):
        LogisticModel.fit(X, y, 4, alpha=1.0)
    with pytest.raises(InputError, match="Class 0 of 3 has no row"):
        LogisticModel.fit(X, y, 3, alpha=1.0, sample_weight=np.where(y == 0, 0.0, 1.0))


def test_names_of_labels_do_not_matter(rng):
    X, y, new = made_rows(rng)
    order = rng.permutation(4)
    plain = refit(LogisticModel.fit(X, y, 4, alpha=0.2), new, tol=1e-8)
    named = refit(LogisticModel.fit(X, order[y], 4, alpha=0.2), new, tol=1e-8)
    np.testing.assert_allclose(named.log_genie[:, order], plain.log_genie, atol=1e-8)


@pytest.mark.parametrize("problems", [1, 3, 7])
def test_answers_do_not_depend_on_how_rows_are_grouped(problems, rng, monkeypatch):
    X, y, new = made_rows(rng)
    model = LogisticModel.fit(X, y, 4, alpha=0.2)
    together = refit(model, new, tol=1e-8)
    alone = [refit(model, row[None], tol=1e-8).log_genie[0] for row in new]
    np.testing.assert_allclose(alone, together.log_genie, atol=1e-9)
    monkeypatch.setattr(refit_module, "_AT_ONCE", problems)
    np.testing.assert_allclose(refit(model, new, tol=1e-8).log_genie, together.log_genie, atol=1e-9)
    left = refit_left_out(model, np.arange(5), tol=1e-8)
    monkeypatch.undo()
    whole = refit_left_out(model, np.arange(5), tol=1e-8)
    np.testing.assert_allclose(left.log_genie, whole.log_genie, atol=1e-9)


def test_little_memory_gives_the_same_answers(rng, monkeypatch):
    X, y, new = made_rows(rng)
    model = LogisticModel.fit(X, y, 4, alpha=0.2)
    plenty = refit(model, new, tol=1e-8)
    monkeypatch.setattr(refit_module, "_MAX_MEMORY", 1)
    little = refit(model, new, tol=1e-8)
    np.testing.assert_allclose(little.log_genie, plenty.log_genie, atol=1e-9)
    np.testing.assert_array_equal(little.steps > 0, plenty.steps > 0)


@pytest.mark.parametrize("alpha", [0.0, 0.05, 5.0])
def test_every_preconditioner_leads_to_the_same_genies(alpha, rng, monkeypatch):
    X, y, new = made_rows(rng)
    found = {}
    for kind in (Whole, ByClass, Shared):
        if kind is not Whole:
            monkeypatch.setattr(preconditioner, "_WHOLE_UNKNOWNS", 0)
        if kind is Shared:
            monkeypatch.setattr(preconditioner, "_BY_CLASS_NUMBERS", 0)
        model = LogisticModel.fit(X, y, 4, alpha=alpha)
        assert isinstance(model.preconditioner, kind)
        found[kind] = refit(model, new, tol=1e-7)
        assert found[kind].converged.all()
    genies = oracle.logistic_genies(X, y, 4, new, alpha, True)
    for kind, answer in found.items():
        np.testing.assert_allclose(np.exp(answer.log_genie), genies, atol=1e-7, err_msg=kind)


@pytest.mark.parametrize("intercept", [True, False])
def test_a_left_out_row_is_one_taken_out_and_told_again(intercept, rng):
    X, y, _ = made_rows(rng)
    y[7], y[y == 3] = 3, 0  # a class of one row, which is left out, too
    y[7] = 3
    chosen = np.array([7, 0, 11])
    model = LogisticModel.fit(X, y, 4, alpha=0.3, intercept=intercept)
    found = refit_left_out(model, chosen, tol=1e-6)
    for i, row in enumerate(chosen):
        for c in range(4):
            told = np.where(np.arange(len(y)) == row, c, y)  # out, and back with label c
            W = oracle.logistic_fit(X, told, 4, 0.3, intercept)
            z = oracle.design(X[[row]], intercept)[0] @ W.T
            exact = np.exp(z[c] - np.logaddexp.reduce(z))
            assert np.exp(found.log_genie[i, c]) == pytest.approx(exact, abs=1e-6)


def test_of_a_left_out_row_of_weight_one_copy_is_taken_out_and_told_again(rng):
    X, y, _ = made_rows(rng, classes=3)
    w = rng.choice([0.1, 1.0, 4.0], size=len(y))
    w[:4] = [0.1, 1.0, 4.0, 0.0]  # of a tenth of a row, the tenth is taken out
    model = LogisticModel.fit(X, y, 3, alpha=0.3, sample_weight=w)
    found = refit_left_out(model, np.arange(4), tol=1e-6)
    for row in range(4):
        rest = np.maximum(w - (np.arange(len(w)) == row), 0.0)
        genies = oracle.logistic_genies(X, y, 3, X[[row]], 0.3, True, rest)[0]
        np.testing.assert_allclose(np.exp(found.log_genie[row]), genies, atol=1e-6)
        assert abs(found.regret[row] - np.log(genies.sum())) <= found.error[row]


def test_the_genie_never_says_less_of_its_label_than_the_fit(rng):
    X, y, new = made_rows(rng)
    model = LogisticModel.fit(X, y, 4, alpha=0.2)
    found = refit(model, new, tol=1e-8)
    assert np.all(found.log_genie >= model.log_prob(new) - 1e-8)
    assert np.all((found.regret >= 0) & (found.regret <= np.log(4)))


def test_no_rows_have_no_answers(rng):
    X, y, new = made_rows(rng)
    model = LogisticModel.fit(X, y, 4, alpha=0.2)
    for found in (refit(model, new[:0]), refit_left_out(model, [])):
        assert found.log_genie.shape == found.log_prob.shape == found.steps.shape == (0, 4)
        assert found.regret.shape == found.error.shape == found.converged.shape == (0,)


def test_progress_counts_rows_up_to_all_of_them(rng, monkeypatch):
    X, y, new = made_rows(rng)
    model = LogisticModel.fit(X, y, 4, alpha=0.2)
    monkeypatch.setattr(refit_module, "_AT_ONCE", 8)
    said = []
    refit(model, new, progress=lambda done, total: said.append((done, total)))
    assert said == [(2, 6), (4, 6), (6, 6)]


@pytest.mark.parametrize(
    ("rows", "tol", "message"),
    [
        (np.zeros((2, 3)), 1e-4, "4 columns"),
        (np.zeros(4), 1e-4, "4 columns"),
        (np.full((2, 4), np.nan), 1e-4, "NaN"),
        (np.full((2, 4), np.inf), 1e-4, "finite"),
        (np.zeros((2, 4)), 0.0, "tol is 0"),
        (np.zeros((2, 4)), -1.0, "tol is -1"),
        (np.zeros((2, 4)), np.nan, "tol is nan"),
    ],
)
def test_what_cannot_be_refitted_is_refused_with_a_sentence(rows, tol, message, rng):
    X, y, _ = made_rows(rng)
    model = LogisticModel.fit(X, y, 4, alpha=0.2)
    with pytest.raises(InputError, match=message):
        refit(model, rows, tol=tol)
