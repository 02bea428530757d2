"""Work that would be the same is done once: calls are counted, not seconds."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import pairwise_kernels

from pnml import KernelPNMLRegressor, PNMLClassifier, PNMLRegressor
from pnml.core.geometry.spectrum import Spectrum
from pnml.learners import kernel_function, logistic_refit


@pytest.fixture
def count(monkeypatch):
    """Counts calls of a function that is looked up on an object, and the rows it is given."""

    def counted(owner, name, rows=lambda *args: 0):
        calls, inside = [], getattr(owner, name)

        def wrapper(*args, **kwargs):
            calls.append(rows(*args))
            return inside(*args, **kwargs)

        monkeypatch.setattr(owner, name, wrapper)
        return calls

    return counted


@pytest.mark.parametrize("kernel", ["rbf", "poly", "sigmoid", "cosine"])
def test_a_kernel_is_evaluated_in_whole_batches(kernel, rng, count):
    X = rng.normal(size=(30, 4))
    model = KernelPNMLRegressor(kernel=kernel, alpha=1.0, noise_variance=1.0).fit(X, X[:, 0])
    calls = count(kernel_function, "pairwise_kernels")
    model.regret(X)
    assert len(calls) == 1
    calls.clear()
    model.explain(X)
    assert len(calls) == 2 + 2 * 4  # the rows, their means, and each feature gone and alone


def test_a_feature_alone_is_asked_once_for_each_of_its_values(rng, count):
    X = np.column_stack([rng.normal(size=40), rng.integers(0, 2, 40)])
    model = KernelPNMLRegressor(alpha=1.0, noise_variance=1.0).fit(X, X[:, 0])
    calls = count(kernel_function, "pairwise_kernels", lambda A, B: len(A))
    model.explain(X)
    assert sorted(calls) == [1, 2, 40, 40, 40, 40]


@pytest.mark.parametrize("kernel", ["additive_chi2", "chi2", "cosine", "linear", "poly"])
@pytest.mark.parametrize("zeros", [False, True])
def test_the_kernel_of_a_row_with_itself_is_the_diagonal(kernel, zeros, rng):
    X = np.abs(rng.normal(size=(6, 3)))
    X[2] *= not zeros
    function = kernel_function.KernelFunction(kernel, 0.3, 2, 1.5, None)
    whole = pairwise_kernels(X, metric=kernel, filter_params=True, gamma=0.3, degree=2, coef0=1.5)
    np.testing.assert_allclose(function.diagonal(X), np.diagonal(whole), rtol=1e-14, atol=1e-15)


def test_half_as_many_operations_give_the_same_explanation(rng, monkeypatch):
    X = rng.normal(size=(60, 5))
    model = KernelPNMLRegressor(alpha=0.1, noise_variance=1.0).fit(X, X[:, 0])
    new = 2 * rng.normal(size=(20, 5))
    assert model.learner_._root is not None
    fast = model.explain(new)
    monkeypatch.setattr("pnml.learners.kernel.KernelRidge._root", None)
    np.testing.assert_allclose(fast, model.explain(new), rtol=1e-11, atol=1e-13)


@pytest.fixture
def labelled(rng):
    pa = pytest.importorskip("pyarrow")
    X = rng.normal(size=(40, 2))
    words = np.where(X[:, 0] + rng.normal(size=40) > 0, "yes", "no")
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "city": ["x", "y"] * 20, "y": words})
    return table


def fitted(table, learner):
    from pnml.tables.fitting import fit_table
    from pnml.tables.roles import Request

    return fit_table(table.to_batches(), Request(target="y"), learner, "rows")


def test_scoring_refits_every_row_once(labelled, count):
    model = fitted(labelled, "refit")
    (batch,) = labelled.to_batches()
    model.threshold(0.99)  # the training rows, each left out
    calls = count(logistic_refit, "refit")
    scores = model.score(batch, 0.9, 0.99)
    assert len(calls) == 1
    alone = model.estimator.trusted(model.encoder.encode(batch).X)
    np.testing.assert_array_equal(scores.trusted, alone)


def test_a_picture_refits_every_row_once(rng, count):
    plots = pytest.importorskip("pnml.plots")
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    X = rng.normal(size=(30, 2))
    model = PNMLClassifier(method="refit").fit(X, X[:, 0] > 0)
    _ = model.loo_
    calls = count(logistic_refit, "refit")
    plots.RegretDisplay.from_estimator(model, X)
    plt.close("all")
    assert len(calls) == 1


@pytest.mark.parametrize("learner", ["pnml", "lpnml"])
def test_missing_directions_are_added_once_for_all_batches(labelled, learner, count):
    pa = pytest.importorskip("pyarrow")
    numbers = labelled.set_column(3, "y", pa.array(np.arange(40.0) % 7))
    model = fitted(numbers, learner)
    strange = pa.RecordBatch.from_pydict({"a": [0.1], "b": [0.2], "city": ["never seen"]})
    model.score(strange, 0.9, 0.99)
    calls = count(Spectrum, "completed")
    for _ in range(3):
        model.score(strange, 0.9, 0.99)
    assert not calls


def test_a_stream_is_solved_once(rng, count):
    X = rng.normal(size=(30, 3))
    model = PNMLRegressor().partial_fit(X, X[:, 0] + rng.normal(size=30))
    from pnml.estimators import regressor

    calls = count(regressor, "solve")
    model.regret(X)
    model.trusted(X)
    _ = model.loo_, model.coef_, model.alpha_
    assert len(calls) == 1
