"""DIAL as a heuristic of baal orders rows as DIAL does."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits

from pnml.active import dial_scores, dial_select
from pnml.errors import InputError

torch = pytest.importorskip("torch")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip("baal.active.heuristics")
    from baal.active import ActiveLearningDataset, ActiveLearningLoop

    from pnml.active import DIALHeuristic, MCDropout

pytestmark = pytest.mark.peers


def in_baal(logs):
    """Probabilities (N, C, M)."""
    return np.exp(logs).transpose(1, 2, 0)


def test_the_order_is_that_of_the_worst_cases(drawn):
    a, b = drawn(9, 12, 4), drawn(9, 7, 4)
    worst = dial_scores(a, b).max(axis=1)
    order, scores = DIALHeuristic().get_ranks(in_baal(a), in_baal(b))
    np.testing.assert_allclose(scores, worst, atol=1e-12)
    np.testing.assert_array_equal(order, dial_select(a, b, 12))
    np.testing.assert_array_equal(DIALHeuristic()(in_baal(a), in_baal(b)), order)


def test_logits_tensors_and_generators_are_taken(drawn):
    a, b = drawn(9, 12, 4), drawn(9, 7, 4)
    worst = dial_scores(a, b).max(axis=1)
    logits = 3 + a.transpose(1, 2, 0)
    heuristic = DIALHeuristic(targets=lambda: torch.tensor(b.transpose(1, 2, 0)))
    np.testing.assert_allclose(heuristic.get_uncertainties(torch.tensor(logits)), worst, atol=1e-9)
    parts = (logits[start : start + 5] for start in (0, 5, 10))
    order, scores = heuristic.get_ranks(parts)
    np.testing.assert_allclose(scores, worst, atol=1e-9)
    np.testing.assert_array_equal(order, np.argsort(worst, kind="stable"))


def test_of_equals_the_first_comes_first():
    same = np.full((40, 3, 5), 1 / 3)
    np.testing.assert_array_equal(DIALHeuristic()(same, same[:4]), np.arange(40))


@pytest.mark.parametrize(
    ("pool", "test", "words"),
    [
        (np.full((4, 3, 5), 1 / 3), None, "pass target_predictions"),
        (np.full((4, 3), 1 / 3), np.full((4, 3, 5), 1 / 3), r"\(N, C, M\)"),
        (np.full((4, 3, 5), 1 / 3), np.full((4, 3, 6), 1 / 3), "5 models but the targets from 6"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(pool, test, words):
    with pytest.raises(InputError, match=words):
        DIALHeuristic().compute_score(pool, test)


@pytest.mark.filterwarnings("ignore")
def test_labels_that_it_asks_for_raise_the_accuracy(dropout_network):
    X, y = load_digits(return_X_y=True)
    x, y = torch.tensor(X / 16, dtype=torch.float32), torch.tensor(y)
    test, truth = x[900:], y[900:]
    data = ActiveLearningDataset(torch.utils.data.TensorDataset(x[:300], y[:300]))
    data.label(list(range(10)))
    state = {}

    def accuracy():
        rows = [data[i] for i in range(len(data))]
        inputs, labels = (torch.stack(part) for part in zip(*rows, strict=True))
        state["net"] = dropout_network(inputs, labels, 60).eval()
        with torch.no_grad():
            return float((state["net"](test).argmax(dim=1) == truth).float().mean())

    def predictions(dataset):
        rows = torch.stack([dataset[i][0] for i in range(len(dataset))])
        return in_baal(MCDropout(state["net"], n=20)(rows))

    heuristic = DIALHeuristic(targets=lambda: in_baal(MCDropout(state["net"], n=20)(test[::20])))
    loop = ActiveLearningLoop(data, predictions, heuristic, query_size=10)
    before = accuracy()
    for _ in range(4):
        assert loop.step()
        after = accuracy()
    assert data.n_labelled == 50
    assert after > before + 0.1
