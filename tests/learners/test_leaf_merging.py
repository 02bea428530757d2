"""Leaves merged until they hold enough rows, and trees left out where there are too many leaves."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from sklearn.ensemble import BaggingRegressor, HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor

from leaf_examples import check_ids, check_same_parts, table
from pnml.errors import InputError
from pnml.learners.leaf_maps import leaf_map_of, merged, of_trees, rows_in_leaves, thinned
from pnml.learners.leaf_maps.branches import Branches


def small_leaves(model, X, least):
    """Merged leaves of a model, with the rows in each."""
    leaves = merged(leaf_map_of(model), X, None, least)
    return leaves, rows_in_leaves(leaves, X)


@pytest.mark.parametrize(
    "model",
    [
        RandomForestRegressor(8, random_state=0),
        HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=2, random_state=0),
        BaggingRegressor(n_estimators=4, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("least", [1, 5, 20])
def test_merged_leaves_hold_enough_rows_and_part_the_rows(model, least):
    X, y, _ = table(400)
    fine = leaf_map_of(model.fit(X, y))
    leaves, rows = small_leaves(model, X, least)
    check_ids(leaves, leaves.leaf(X))
    assert rows.min() >= least
    for start, end in pairwise(leaves.ends):
        assert rows[start:end].sum() == len(X)
    new, _, _ = table(seed=1)
    check_ids(leaves, leaves.leaf(new))
    assert leaves.ends[-1] < fine.ends[-1] or least == 1
    assert np.array_equal(leaves.leaf(new), leaves.group[fine.leaf(new)])  # none is torn apart


def test_a_tree_with_too_few_rows_becomes_one_leaf():
    X, y, _ = table(15)
    leaves, rows = small_leaves(DecisionTreeRegressor().fit(X, y), X, 20)
    assert leaves.ends.tolist() == [0, 1]
    assert rows.tolist() == [15]


def test_a_few_rows_cut_off_at_the_root_do_not_undo_the_other_splits():
    X = np.append(np.linspace(0, 1, 100), [50.0, 60.0])[:, None]
    y = np.where(X[:, 0] > 10, 100.0, np.floor(4 * X[:, 0]))
    model = DecisionTreeRegressor(max_leaf_nodes=6, random_state=0).fit(X, y)
    assert model.tree_.threshold[0] > 1
    leaves, rows = small_leaves(model, X, 20)
    assert leaves.ends[-1] >= 4
    assert rows.min() >= 20


def test_leaves_join_those_below_the_lowest_ancestor_with_enough_rows():
    #         0
    #     1       2        rows of leaves 3, 4, 5, 6: 30, 3, 4, 25
    #   3   4   5   6
    left = np.array([1, 3, 5, -1, -1, -1, -1])
    branches = Branches.of_children(left, np.where(left < 0, -1, left + 1))

    class Four:
        ends = branches.ends

        def leaf(self, X):
            return np.asarray(X)[:, None]

    Four.branches = branches
    X = np.repeat(np.arange(4), [30, 3, 4, 25])

    def groups(weights=None, least=20):
        group = merged(Four(), X, weights, least).group.tolist()
        return [group.index(number) for number in group]  # the first leaf of the group

    assert groups() == [0, 0, 2, 2]
    assert groups(least=29) == [0, 0, 2, 2]
    assert groups(least=30) == [0, 0, 0, 0]
    assert groups(least=4) == [0, 0, 2, 3]
    assert groups(weights=(X > 0).astype(float)) == [0, 0, 0, 0]


def test_a_forest_grown_to_single_rows_shrinks_to_leaves_that_can_be_counted():
    X, y, _ = table(1500)
    model = RandomForestRegressor(10, random_state=0).fit(X, y)
    leaves, rows = small_leaves(model, X, 20)
    assert leaf_map_of(model).ends[-1] > 9000
    assert leaves.ends[-1] < 750
    assert np.diff(leaves.ends).min() > 10
    assert rows.min() >= 20


def test_merging_again_starts_from_the_merged_leaves():
    X, y, _ = table(400)
    model = RandomForestRegressor(5, random_state=0).fit(X, y)
    twice = merged(merged(leaf_map_of(model), X, None, 5), X, None, 40)
    check_ids(twice, twice.leaf(X))
    assert rows_in_leaves(twice, X).min() >= 40


def test_rows_in_leaves_add_up_over_chunks():
    X, y, _ = table()
    leaves = leaf_map_of(RandomForestRegressor(5, random_state=0).fit(X, y))
    whole = rows_in_leaves(leaves, X)
    assert np.array_equal(whole, rows_in_leaves(leaves, X[:70]) + rows_in_leaves(leaves, X[70:]))


class Sized:
    """A map that has only sizes of trees."""

    def __init__(self, sizes):
        self.ends = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


@pytest.mark.parametrize("trees", [1, 7, 100, 300, 1000])
@pytest.mark.parametrize("most", [10, 900, 4000, 40000])
def test_thinned_trees_are_evenly_spaced_and_fit(trees, most):
    kept = thinned(Sized([31] * trees), most)
    assert len(kept) == max(1, min(trees, most // 31))
    assert kept.tolist() == sorted(set(kept.tolist()))
    assert kept[0] >= 0
    assert kept[-1] < trees
    if len(kept) > 1:
        assert np.diff(kept).max() < 2 * np.ceil(trees / len(kept))


def test_thinned_trees_are_of_all_classes():
    kept = thinned(Sized([31] * 300), 3100)  # 100 of 300 trees, 3 classes
    assert np.bincount(kept % 3).min() >= 25


def test_leaves_of_some_trees_are_counted_anew():
    X, y, _ = table()
    model = RandomForestRegressor(9, max_leaf_nodes=6, random_state=0).fit(X, y)
    leaves = leaf_map_of(model)
    trees = thinned(leaves, 20)
    ends, leaf = of_trees(leaves.ends, leaves.leaf(X), trees)
    assert ends[-1] <= 20
    assert np.all((leaf >= ends[:-1]) & (leaf < ends[1:]))
    check_same_parts(leaf, model.apply(X)[:, trees])


@pytest.mark.parametrize("call", [lambda m: merged(m, None, None, 0), lambda m: thinned(m, 0)])
def test_limits_below_one_are_refused(call):
    class Counted:
        ends = np.array([0, 1])

        def leaf(self, X):
            return np.zeros((3, 1), dtype=np.int64)

    with pytest.raises(InputError, match="at least 1"):
        call(Counted())
