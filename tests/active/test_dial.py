"""DIAL is its definition, whatever the kernel, the memory and the order of the work."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from pnml.active import dial_scores, dial_select, dial_select_batch
from pnml.active.dial_kernels import NumpyKernel
from pnml.active.dial_search import Candidates, Scorer, least_worst


def ranked(scores, n):
    return np.argsort(scores.max(axis=1), kind="stable")[:n]


def quantised(rng, models, rows, classes, levels=4):
    """Probabilities such as the votes of small forests have: ties everywhere, and zeros."""
    votes = rng.multinomial(levels, np.ones(classes) / classes, size=(models, rows))
    with np.errstate(divide="ignore"):
        return np.log(votes / levels)


@pytest.fixture(params=["numpy", "numba"])
def kernel(request, monkeypatch):
    """Both kernels, whatever the size."""
    if request.param == "numba":
        pytest.importorskip("numba")
        monkeypatch.setattr("pnml.active.dial_kernels._WORTH_COMPILING", 0)
    else:
        monkeypatch.setattr("pnml.active.dial_kernels._WORTH_COMPILING", np.inf)


@pytest.mark.parametrize("n", [1, 3, 16])
def test_scores_and_picks_are_those_of_the_literal_loops(kernel, drawn, n):
    candidates, targets = drawn(12, 20, 4), drawn(12, 9, 4)
    literal = oracle.dial_scores(candidates, targets)
    np.testing.assert_allclose(dial_scores(candidates, targets), literal, atol=1e-12)
    np.testing.assert_array_equal(dial_select(candidates, targets, n), ranked(literal, n))


@pytest.mark.parametrize("seed", range(8))
def test_of_models_that_fit_equally_the_first_answers(kernel, seed):
    rng = np.random.default_rng(seed)
    candidates, targets = quantised(rng, 7, 15, 3), quantised(rng, 7, 6, 3)
    literal = oracle.dial_scores(candidates, targets)
    scores, picks = dial_scores(candidates, targets), dial_select(candidates, targets, 5)
    np.testing.assert_allclose(scores, literal, atol=1e-12)
    np.testing.assert_array_equal(picks, ranked(scores, 5))
    # sums of the same terms in another order are equal but for round-off
    worst = literal.max(axis=1)
    np.testing.assert_allclose(worst[picks], np.sort(worst)[:5], atol=1e-12)


def added(kernel, a, b):
    out = np.full((len(a), b.shape[1]), 0.25)
    kernel.add(kernel.rows(a), kernel.block(b), out)
    return out


def hard_to_tell(case, rng, a, b):
    """Weights and targets that keys of a few bits confuse: a and b with something done to them."""
    M = a.shape[1]
    if case == "close":  # leads far below what a key resolves, on either side of it
        a, b = -1 - 1e-7 * rng.integers(0, 60, a.shape), -2 - 1e-7 * rng.integers(0, 60, b.shape)
    elif case == "equal":
        a, b = np.repeat(a[:, :1], M, axis=1), np.repeat(b[:1], M, axis=0)
    elif case == "far":  # the winner is the second best of both, far below either
        a, b = np.full_like(a, -900.0), np.full_like(b, -800.0)
        a[:, 0], b[-1], a[:, M // 2], b[M // 2] = 0, 0, -40, -30
    elif case == "impossible":
        a[rng.random(a.shape) < 0.5], b[rng.random(b.shape) < 0.5] = -np.inf, -np.inf
        a[0] = -np.inf
    return a, b


@pytest.mark.parametrize("case", ["ordinary", "close", "equal", "far", "impossible"])
def test_both_kernels_give_the_same_numbers_to_the_last_bit(drawn, case):
    compiled = pytest.importorskip("pnml.active.dial_kernels_numba")
    rng = np.random.default_rng(0)
    sizes = ((1, 1, 1), (2, 3, 5), (9, 4, 8), (31, 17, 33), (100, 9, 128), (1500, 5, 40))
    for M, rows, lanes in sizes:
        a, b = drawn(M, rows, 3)[:, :, 0].T.copy(), drawn(M, lanes, 3)[:, :, 1].copy()
        a, b = hard_to_tell(case, rng, a, b)
        found = added(compiled.NumbaKernel(), a, b)
        np.testing.assert_array_equal(found, added(NumpyKernel(), a, b))


def test_candidates_that_no_model_allows_or_all_agree_on_are_scored(kernel):
    candidates = np.array([[[0.0, -np.inf]], [[0.0, -np.inf]]])  # label 1 is impossible
    targets = np.log([[[0.9, 0.1]], [[0.2, 0.8]]])
    literal = oracle.dial_scores(candidates, targets)
    np.testing.assert_allclose(dial_scores(candidates, targets), literal, atol=1e-14)
    np.testing.assert_allclose(literal, [[np.log(1.7), 0.0]], atol=1e-14)
    assert dial_select(candidates, targets) == [0]


@given(
    seed=st.integers(0, 2**32 - 1),
    sizes=st.tuples(st.integers(1, 9), st.integers(1, 7), st.integers(1, 5), st.integers(1, 4)),
)
def test_every_score_is_between_nothing_and_the_best_model_for_every_label(seed, sizes):
    M, N, K, C = sizes
    rng = np.random.default_rng(seed)
    candidates, targets = quantised(rng, M, N, C), quantised(rng, M, K, C)
    scores = dial_scores(candidates, targets)
    most = np.log(np.exp(targets).max(axis=0).sum(axis=1)).sum()
    assert (scores > -1e-12).all()
    assert (scores < most + 1e-12).all()


def test_memory_changes_neither_scores_nor_picks(kernel, drawn):
    candidates, targets = drawn(20, 60, 5), drawn(20, 70, 5)
    scores, picks = dial_scores(candidates, targets), dial_select(candidates, targets, 4)
    for megabytes in (0.3, 0.4, 1.0):
        few = dial_scores(candidates, targets, max_memory=megabytes * 1e6)
        np.testing.assert_allclose(few, scores, rtol=1e-13)
        found = dial_select(candidates, targets, 4, max_memory=megabytes * 1e6)
        np.testing.assert_array_equal(found, picks)


@pytest.mark.parametrize("megabytes", [1, 4, 20])
def test_memory_stays_within_what_is_allowed(kernel, drawn, megabytes):
    candidates, targets = drawn(50, 300, 6), drawn(50, 200, 6)
    dial_scores(candidates[:, :4], targets)  # whatever is loaded once is loaded now
    tracemalloc.start()
    try:
        dial_scores(candidates, targets, max_memory=megabytes * 1e6)
        dial_select(candidates, targets, 3, max_memory=megabytes * 1e6)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    checking, answers = 5 * 2**18 * 8, 300 * 6 * 8 * 4
    assert peak < megabytes * 1e6 + checking + answers


def test_most_labels_of_most_candidates_are_not_scored(drawn):
    candidates, targets = drawn(50, 300, 8), drawn(50, 40, 8)
    scorer = Scorer.within(1e8, targets, 2400)
    every = np.arange(300)
    found = least_worst(scorer, Candidates.alone(candidates), 1, every, lambda rows: None)
    scores = dial_scores(candidates, targets)
    assert found.index == ranked(scores, 1)
    assert found.scores == scores.max(axis=1).min()
    assert found.rows_scored < 0.3 * scores.size


def test_tensors_in_single_precision_are_taken(drawn):
    torch = pytest.importorskip("torch")
    candidates, targets = drawn(12, 20, 4), drawn(12, 9, 4)
    single = [
        torch.tensor(part, dtype=torch.float32, requires_grad=True)
        for part in (candidates, targets)
    ]
    doubled = [part.detach().numpy().astype(float) for part in single]
    np.testing.assert_array_equal(dial_scores(*single), dial_scores(*doubled))


def test_progress_is_told_up_to_the_end(drawn):
    candidates, targets = drawn(5, 400, 3), drawn(5, 4, 3)
    for call in (dial_scores, dial_select, dial_select_batch):
        told = []
        call(candidates, targets, progress=lambda *done, told=told: told.append(done))
        done, totals = zip(*told, strict=True)
        assert list(done) == sorted(done)
        assert done[-1] == totals[0] == totals[-1]


def test_a_bar_is_drawn_where_it_is_asked_for(drawn, capsys):
    pytest.importorskip("rich")
    dial_scores(drawn(5, 400, 3), drawn(5, 4, 3), progress=True)
    assert "Scoring candidates" in capsys.readouterr().err


class TestBatch:
    def test_the_first_pick_is_the_best_candidate_alone(self, drawn):
        candidates, targets = drawn(15, 30, 3), drawn(15, 10, 3)
        first = dial_select(candidates, targets)
        assert dial_select_batch(candidates, targets, 3)[:1] == first

    @pytest.mark.parametrize("seed", range(3))
    def test_with_all_label_paths_it_is_the_worst_case_over_all_labels(self, seed):
        rng = np.random.default_rng(seed)
        candidates, targets = (np.log(rng.dirichlet(np.ones(2), size=(8, rows))) for rows in (6, 4))
        found = dial_select_batch(candidates, targets, 3, label_paths=4)
        assert list(found) == oracle.dial_batch(candidates, targets, 3)

    def test_no_candidate_is_picked_twice_and_all_can_be(self, drawn):
        candidates, targets = drawn(6, 7, 3), drawn(6, 5, 3)
        for paths in (1, 3):
            picks = dial_select_batch(candidates, targets, 7, label_paths=paths)
            assert sorted(picks) == list(range(7))

    def test_it_does_not_ask_twice_what_one_label_tells(self):
        # Two questions, two bits: rows 0 and 1 ask for the first, row 2 for the second.
        bits = np.array([[m >> 1 & 1, m >> 1 & 1, m & 1] for m in range(4)])
        p, q = np.where(bits == 1, 0.99, 0.01), np.where(bits == 1, 0.8, 0.2)
        candidates, targets = (np.log(np.stack([1 - x, x], axis=-1)) for x in (p, q[:, 1:]))
        assert set(dial_select(candidates, targets, 2)) == {0, 1}
        assert set(dial_select_batch(candidates, targets, 2)) == {0, 2}
