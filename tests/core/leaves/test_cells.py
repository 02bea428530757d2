"""Cells of frozen trees: extremes, moments and leverage against dense refits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnml.core.leaves import cells, leaf_gram, leaf_leverage
from pnml.core.leaves.cells import Cells, Columns
from pnml.core.leaves.leaf_attribution import LeafAttribution
from pnml.core.leaves.leaf_gram import LeafGram
from pnml.core.leaves.leaf_leverage import LeafGeometry
from pnml.core.leaves.local_noise import LocalNoise

ALPHA = 0.3
WORDS = 5  # two words in the first column of words, three in the second


class Forest:
    """Made trees on made rows with gaps and words."""

    def __init__(self, seed, n=40, trees=4, columns=3):
        rng = np.random.default_rng(seed)
        self.cuts = [np.sort(rng.normal(size=rng.integers(1, 5))) for _ in range(trees)]
        self.split = rng.integers(0, columns, trees)
        self.ends = np.concatenate([[0], np.cumsum([len(cut) + 1 for cut in self.cuts])])
        self.X, self.columns, self.leaf = self.draw(rng, n, columns)
        self.weights = rng.integers(1, 4, n).astype(float)
        self.new, self.new_columns, self.new_leaf = self.draw(rng, 30, columns, spread=2.0)
        unseen = rng.random(self.new_columns.words.shape) < 0.1
        self.new_columns.words[unseen] = -1
        self.gram = LeafGram.of(self.ends, self.leaf, self.X, self.weights)
        self.geometry = LeafGeometry.of(self.gram, ALPHA)
        self.cells = Cells.of(self.leaf, self.columns, self.leaves, WORDS)

    @property
    def leaves(self):
        return int(self.ends[-1])

    def draw(self, rng, n, columns, spread=1.0):
        X = spread * rng.normal(size=(n, columns))
        numbers = np.where(rng.random(X.shape) < 0.1, np.nan, X)
        words = np.column_stack([rng.integers(0, 2, n), rng.integers(2, WORDS, n)])
        leaf = [
            self.ends[t] + np.digitize(X[:, self.split[t]], cut) for t, cut in enumerate(self.cuts)
        ]
        return X, Columns(numbers, words), np.column_stack(leaf)

    def rows(self, leaf, inside, Z):
        """Dense rows [φ_in, z]."""
        hot = np.zeros((len(leaf), self.leaves))
        for i, t in np.argwhere(inside):
            hot[i, leaf[i, t]] = 1 / np.sqrt(leaf.shape[1])
        return np.hstack([hot, Z])


def refitted_leverage(U, weights, u, penalties, out):
    """Leverage of one row by solving the centred ridge system, and empty cells at 1/alpha."""
    mean = np.average(U, axis=0, weights=weights)
    A = ((U - mean) * weights[:, None]).T @ (U - mean) + np.diag(penalties)
    return 1 / weights.sum() + (u - mean) @ np.linalg.solve(A, u - mean) + out / ALPHA


def dense(forest):
    every = np.ones(forest.leaf.shape, dtype=bool)
    penalties = np.r_[np.full(forest.leaves, ALPHA), np.ones(forest.X.shape[1])]
    return forest.rows(forest.leaf, every, forest.X), penalties


def inside(forest, leaf, columns, **options):
    return ~forest.cells.outside(leaf, columns, **options).any(axis=2)


@pytest.mark.parametrize("seed", range(4))
def test_the_leverage_is_that_of_the_dense_ridge_with_a_column_for_every_empty_cell(seed):
    forest = Forest(seed)
    held = inside(forest, forest.new_leaf, forest.new_columns)
    found = forest.geometry.leverage(forest.new_leaf, held, forest.new)
    U, penalties = dense(forest)
    new = forest.rows(forest.new_leaf, held, forest.new)
    out = (~held).mean(axis=1)
    w = forest.weights
    truth = [refitted_leverage(U, w, u, penalties, o) for u, o in zip(new, out, strict=True)]
    np.testing.assert_allclose(found, truth, rtol=1e-10)
    # the same with the empty cells as columns of their own, which no training row has
    wide = np.hstack([U, np.zeros((len(U), held.shape[1]))])
    rows = np.hstack([new, (~held) / np.sqrt(held.shape[1])])
    more = np.r_[penalties, np.full(held.shape[1], ALPHA)]
    again = [refitted_leverage(wide, w, row, more, 0.0) for row in rows]
    np.testing.assert_allclose(found, again, rtol=1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_leaving_a_row_out_is_building_everything_without_one_copy_of_it(seed):
    forest = Forest(seed)
    held = inside(forest, forest.leaf, forest.columns, left_out=True)
    held |= forest.weights[:, None] > 1  # a copy stays
    found = forest.geometry.left_out(forest.leaf, held, forest.X, forest.weights)
    U, penalties = dense(forest)
    for i in range(len(U)):
        weights = forest.weights - (np.arange(len(U)) == i)
        rest = weights > 0
        others = Cells.of(forest.leaf[rest], forest.columns[rest], forest.leaves, WORDS)
        at = slice(i, i + 1)
        without = ~others.outside(forest.leaf[at], forest.columns[at]).any(axis=2)
        np.testing.assert_array_equal(held[at], without)
        row = forest.rows(forest.leaf[at], without, forest.X[at])[0]
        truth = refitted_leverage(U[rest], weights[rest], row, penalties, (~without).mean())
        assert found[i] == pytest.approx(truth, rel=1e-9)


@given(st.integers(0, 1000), st.integers(1, 39))
def test_moments_and_cells_add_up_over_chunks(seed, cut):
    forest = Forest(seed)
    parts = [slice(0, cut), slice(cut, None)]
    gram = [LeafGram.of(forest.ends, forest.leaf[p], forest.X[p], forest.weights[p]) for p in parts]
    whole = gram[0] + gram[1]
    np.testing.assert_allclose(whole.products, forest.gram.products, atol=1e-9)
    np.testing.assert_allclose(whole.sums, forest.gram.sums, atol=1e-9)
    halves = [Cells.of(forest.leaf[p], forest.columns[p], forest.leaves, WORDS) for p in parts]
    for name, value in vars(halves[0] + halves[1]).items():
        np.testing.assert_array_equal(value, getattr(forest.cells, name))


@given(st.integers(0, 1000))
def test_training_rows_are_inside_their_own_cells(seed):
    forest = Forest(seed)
    assert inside(forest, forest.leaf, forest.columns).all()


@given(st.integers(0, 1000))
def test_more_rows_never_raise_the_leverage_while_the_cells_stay(seed):
    forest = Forest(seed)
    held = inside(forest, forest.new_leaf, forest.new_columns)
    more = forest.gram + LeafGram.of(forest.ends, forest.new_leaf, forest.new)
    before = forest.geometry.leverage(forest.new_leaf, held, forest.new)
    after = LeafGeometry.of(more, ALPHA).leverage(forest.new_leaf, held, forest.new)
    assert np.all(after <= before * (1 + 1e-9))


@given(st.integers(0, 1000))
def test_attribution_is_not_negative_and_sums_to_the_leverage(seed):
    forest = Forest(seed)
    outside = forest.cells.outside(forest.new_leaf, forest.new_columns)
    columns = forest.X.shape[1]
    groups = [(j,) for j in range(columns)] + [(), ()]  # words have no linear part here
    found = LeafAttribution.of(forest.geometry, groups).explain(
        forest.new_leaf, outside, forest.new
    )
    leverage = forest.geometry.leverage(forest.new_leaf, ~outside.any(axis=2), forest.new)
    assert np.all(found >= 0)
    np.testing.assert_allclose(found.sum(axis=1), leverage - 1 / forest.gram.weight, rtol=1e-9)


def test_local_noise_is_the_shrunk_mean_of_the_leaves_errors():
    forest = Forest(0)
    errors = np.abs(np.random.default_rng(1).normal(size=len(forest.X)))
    w = forest.weights
    noise = LocalNoise.of([(slice(0, len(w)), forest.leaf)], errors, w, forest.leaves)
    mean = np.average(errors, weights=w)
    for i in range(len(errors)):
        typical, without = [], []
        for t in range(forest.leaf.shape[1]):
            same = forest.leaf[:, t] == forest.leaf[i, t]
            less = w - (np.arange(len(errors)) == i)  # one copy
            for counts, out in ((w, typical), (less, without)):
                out.append((counts[same] @ errors[same] + 5 * mean) / (counts[same].sum() + 5))
        assert noise.at(forest.leaf)[i] == pytest.approx(np.mean(typical))
        left_out = noise.left_out(forest.leaf, errors, w)[i]
        assert left_out == pytest.approx(np.mean(without))


@pytest.mark.parametrize("seed", range(3))
def test_compiled_loops_and_numpy_give_the_same_numbers(seed, monkeypatch):
    pytest.importorskip("numba")
    fast = Forest(seed)
    monkeypatch.setattr(cells, "compiled", lambda: None)
    monkeypatch.setattr(leaf_gram, "compiled", lambda: None)
    monkeypatch.setattr(leaf_leverage, "compiled", lambda: None)
    slow = Forest(seed)
    np.testing.assert_array_equal(fast.gram.products, slow.gram.products)
    for name, value in vars(fast.cells).items():
        np.testing.assert_array_equal(value, getattr(slow.cells, name))
    held = inside(slow, slow.new_leaf, slow.new_columns)
    for left_out in (False, True):
        empty = slow.cells.empty(slow.new_leaf, slow.new_columns, left_out=left_out)
        monkeypatch.undo()
        again = slow.cells.empty(slow.new_leaf, slow.new_columns, left_out=left_out)
        np.testing.assert_array_equal(empty, again)
    rows = slow.new_leaf, held, slow.new
    # inverses may differ in their last digits with the kernel, sums of the same entries do not
    np.testing.assert_allclose(
        slow.geometry.leverage(*rows), fast.geometry.leverage(*rows), rtol=1e-13
    )


@given(st.integers(0, 1000), st.integers(1, 3))
def test_words_are_counted_alike_however_many_there_are(seed, times):
    forest = Forest(seed)
    more = 10_000 * times  # so many places that only those with rows are looked at
    many = Cells.of(forest.leaf, forest.columns, forest.leaves, more)
    np.testing.assert_array_equal(many.words[:, :WORDS], forest.cells.words)
    assert not many.words[:, WORDS:].any()
    for leaf, word in np.argwhere(forest.cells.words >= 0):
        rows = (forest.leaf == leaf).any(axis=1) & (forest.columns.words == word).any(axis=1)
        assert forest.cells.words[leaf, word] == min(rows.sum(), 2)
