"""DIAL on what trained networks say, and on a large pool."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from sklearn.datasets import load_digits

import oracle
from pnml.active import dial_scores, dial_select

GIGABYTE = 1e9


@pytest.fixture(scope="module")
def network(dropout_network):
    """Trained on few digits, so that its models differ, and for long, so that they are sure."""
    torch = pytest.importorskip("torch")
    X, y = load_digits(return_X_y=True)
    x, y = torch.tensor(X[:60] / 16, dtype=torch.float32), torch.tensor(y[:60])
    return dropout_network(x, y, 150)


@pytest.mark.parametrize("kernel", ["numpy", "numba"])
@pytest.mark.parametrize("temperature", [1.0, 5.0])
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_on_a_trained_network_it_is_the_literal_loops(
    network, temperature, precision, kernel, monkeypatch
):
    from pnml.active import MCDropout

    if kernel == "numba":
        pytest.importorskip("numba")
    limit = 0 if kernel == "numba" else np.inf
    monkeypatch.setattr("pnml.active.dial_kernels._WORTH_COMPILING", limit)
    rows = load_digits().data / 16
    models = MCDropout(network, n=25, temperature=temperature)
    a, b = (models(part.astype(np.float32)) for part in (rows[100:120], rows[900:908]))
    a, b = a.astype(precision), b.astype(precision)
    literal = oracle.dial_scores(a.astype(float), b.astype(float))
    np.testing.assert_allclose(dial_scores(a, b), literal, atol=1e-5)
    order = np.argsort(literal.max(axis=1), kind="stable")
    for n in (1, 3, 16):
        np.testing.assert_array_equal(dial_select(a, b, n), order[:n])


@pytest.mark.slow
def test_ten_thousand_candidates_and_two_thousand_targets_take_less_than_a_gigabyte():
    rng = np.random.default_rng(0)
    tracemalloc.start()
    try:
        held = []
        for rows in (10_000, 2_000):
            logits = rng.normal(size=(100, rows, 10)).astype(np.float32)
            logits += 2 * rng.normal(size=(1, rows, 10)).astype(np.float32)
            logits -= np.log(np.exp(logits).sum(axis=-1, keepdims=True))
            held.append(logits)
        tracemalloc.reset_peak()
        picks = dial_select(*held, 3)
        peak = tracemalloc.get_traced_memory()[1]  # with the inputs
    finally:
        tracemalloc.stop()
    assert peak < GIGABYTE
    worst = dial_scores(held[0][:, picks], held[1]).max(axis=1)
    others = dial_scores(held[0][:, :20], held[1]).max(axis=1)
    assert (np.diff(worst) >= 0).all()
    assert (others[~np.isin(np.arange(20), picks)] >= worst[-1]).all()
