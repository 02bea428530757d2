"""Leaf maps of scikit-learn's models; merging and thinning."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

from pnml.errors import InputError
from pnml.learners.leaf_maps import leaf_map_of, merged, of_trees, rows_in_leaves, thinned
from pnml.learners.leaf_maps.branches import Branches


def table(n=200, seed=0):
    """Rows, a target, and three classes of it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=n) / 10
    return X, y, (y > -0.5).astype(int) + (y > 0.5)


def target_of(model, y, c):
    return c if "Classifier" in type(model).__name__ else y


def with_gaps(X, seed=0):
    gap = np.random.default_rng(seed).random(X.shape) < 0.1
    return np.where(gap, np.nan, X)


def check_ids(leaves, leaf):
    """Every leaf is one of its tree's, and together they are all that are counted."""
    assert leaf.dtype == np.int64
    assert leaf.flags.c_contiguous
    assert leaves.ends.dtype == np.int64
    assert leaf.shape[1] == len(leaves.ends) - 1
    assert np.all(leaf >= leaves.ends[:-1])
    assert np.all(leaf < leaves.ends[1:])
    assert len(leaves.branches.leaves) == leaves.ends[-1]


def check_same_parts(leaf, truth):
    """The two numberings put the same rows together in every tree."""
    assert leaf.shape == truth.shape
    for ours, theirs in zip(leaf.T, truth.T, strict=True):
        pairs = {*zip(ours.tolist(), theirs.tolist(), strict=True)}
        assert len(pairs) == len(set(ours.tolist())) == len(set(theirs.tolist()))


SMALL = {"random_state": 0, "max_leaf_nodes": 6}
TREES = [
    DecisionTreeRegressor(**SMALL),
    DecisionTreeClassifier(**SMALL),
    ExtraTreeRegressor(**SMALL),
    ExtraTreeClassifier(**SMALL),
    RandomForestRegressor(4, **SMALL),
    RandomForestClassifier(4, **SMALL),
    ExtraTreesRegressor(4, **SMALL),
    ExtraTreesClassifier(4, **SMALL),
    GradientBoostingRegressor(n_estimators=4, **SMALL),
    GradientBoostingClassifier(n_estimators=4, **SMALL),
]


@pytest.mark.parametrize("model", TREES, ids=lambda model: type(model).__name__)
def test_leaves_are_those_of_apply_counted_over_all_trees(model):
    X, y, c = table()
    model.fit(X, target_of(model, y, c))
    leaves = leaf_map_of(model)
    new, _, _ = table(seed=1)
    leaf = leaves.leaf(new)
    check_ids(leaves, leaf)
    check_same_parts(leaf, model.apply(new).reshape(len(new), -1))
    grown = np.ravel(getattr(model, "estimators_", [model]))
    assert np.diff(leaves.ends).tolist() == [tree.get_n_leaves() for tree in grown]


def test_boosting_has_one_tree_per_round_and_class():
    X, _, c = table()
    model = GradientBoostingClassifier(n_estimators=3, max_depth=2, random_state=0).fit(X, c)
    leaves = leaf_map_of(model)
    assert len(leaves.ends) == 3 * 3 + 1
    leaf = leaves.leaf(X) - leaves.ends[:-1]
    tree = model.estimators_[1, 2]
    check_same_parts(leaf[:, [1 * 3 + 2]], tree.apply(X)[:, None])


def test_trees_take_gaps_and_data_frames():
    X, y, _ = table()
    frame = pd.DataFrame(with_gaps(X), columns=list("abcd"))
    model = RandomForestRegressor(3, max_leaf_nodes=8, random_state=0).fit(frame, y)
    check_same_parts(leaf_map_of(model).leaf(frame), model.apply(frame))


@pytest.mark.parametrize("kind", [BaggingRegressor, BaggingClassifier])
def test_bagged_trees_see_their_own_columns(kind):
    X, y, c = table()
    tree = DecisionTreeRegressor if kind is BaggingRegressor else DecisionTreeClassifier
    model = kind(tree(max_depth=3), n_estimators=5, max_features=0.5, random_state=0)
    frame = pd.DataFrame(X, columns=list("abcd"))
    model.fit(frame, target_of(model, y, c))
    leaves = leaf_map_of(model)
    leaf = leaves.leaf(frame)
    check_ids(leaves, leaf)
    parts = zip(model.estimators_, model.estimators_features_, strict=True)
    truth = [member.apply(X[:, columns]) for member, columns in parts]
    check_same_parts(leaf, np.column_stack(truth))


@pytest.mark.parametrize("kind", [AdaBoostRegressor, AdaBoostClassifier])
def test_adaboost_of_trees(kind):
    X, y, c = table()
    model = kind(n_estimators=4, random_state=0)
    model.fit(X, target_of(model, y, c))
    leaves = leaf_map_of(model)
    leaf = leaves.leaf(X)
    check_ids(leaves, leaf)
    check_same_parts(leaf, np.column_stack([tree.apply(X) for tree in model.estimators_]))


def test_bagged_boosting_joins_the_trees_of_its_members():
    X, y, _ = table()
    inner = HistGradientBoostingRegressor(max_iter=3, max_leaf_nodes=4, random_state=0)
    model = BaggingRegressor(inner, n_estimators=2, max_features=3, random_state=0).fit(X, y)
    leaves = leaf_map_of(model, X)
    check_ids(leaves, leaves.leaf(X))
    assert len(leaves.ends) == 2 * 3 + 1


# HistGradientBoosting has no `apply`: the sum of its leaf values is the truth.


def hist_values(model):
    nodes = [tree.nodes for of_round in model._predictors for tree in of_round]
    return np.concatenate([part["value"][part["is_leaf"] == 1] for part in nodes])


def check_hist(model, rows):
    leaves = leaf_map_of(model, rows)
    leaf = leaves.leaf(rows)
    check_ids(leaves, leaf)
    total = hist_values(model)[leaf].reshape(len(leaf), -1, model.n_trees_per_iteration_)
    total = total.sum(axis=1) + model._baseline_prediction
    raw = model._raw_predict(rows)
    np.testing.assert_allclose(total, raw, rtol=1e-12, atol=1e-12)
    return leaves


def words(seed=0, n=300):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "colour": pd.Categorical(rng.choice(["red", "green", "blue", "grey"], n)),
            "b": with_gaps(rng.normal(size=(n, 1)))[:, 0],
            "shape": pd.Categorical(rng.choice(["round", "square"], n)),
        }
    )
    y = frame["a"] * (frame["colour"] == "red") + (frame["shape"] == "round") + rng.normal(size=n)
    return frame, y.to_numpy()


HIST = {"max_iter": 6, "max_leaf_nodes": 7, "random_state": 0}


@pytest.mark.parametrize("loss", ["squared_error", "poisson", "absolute_error"])
def test_leaf_values_of_histogram_boosting_add_up_to_its_predictions(loss):
    X, y, _ = table()
    check_hist(HistGradientBoostingRegressor(loss=loss, **HIST).fit(X, np.abs(y)), X)


@pytest.mark.parametrize("classes", [2, 3])
def test_histogram_boosting_of_classes_has_one_tree_per_round_and_class(classes):
    X, _, c = table()
    model = HistGradientBoostingClassifier(**HIST).fit(X, np.minimum(c, classes - 1))
    leaves = check_hist(model, X)
    assert len(leaves.ends) - 1 == 6 * (1 if classes == 2 else 3)


def test_histogram_boosting_sends_gaps_and_new_rows_where_predict_does():
    X, y, _ = table()
    model = HistGradientBoostingRegressor(**HIST).fit(with_gaps(X), y)
    new, _, _ = table(seed=1)
    check_hist(model, with_gaps(new, seed=1) * 5)


def test_histogram_boosting_sends_categories_where_predict_does():
    frame, y = words()
    model = HistGradientBoostingRegressor(categorical_features="from_dtype", **HIST).fit(frame, y)
    nodes = np.concatenate([tree.nodes for (tree,) in model._predictors])
    assert np.any(nodes["is_categorical"])
    new, _ = words(seed=1)
    new["colour"] = new["colour"].cat.add_categories(["pink"])
    new.loc[:20, "colour"] = "pink"
    new.loc[30:40, "shape"] = None
    check_hist(model, new)


def test_histogram_boosting_takes_codes_as_categories():
    X, y, c = table()
    rows = np.column_stack([X[:, :2], c])
    check_hist(HistGradientBoostingRegressor(categorical_features=[2], **HIST).fit(rows, y), rows)


def test_histogram_boosting_stopped_early_counts_the_trees_it_kept():
    X, y, _ = table()
    model = HistGradientBoostingRegressor(
        max_iter=200, early_stopping=True, n_iter_no_change=2, random_state=0
    ).fit(X, y)
    assert model.n_iter_ < 200
    assert len(check_hist(model, X).ends) - 1 == model.n_iter_


@pytest.mark.parametrize("change", ["value", "gone"])
def test_a_changed_layout_of_histogram_boosting_is_refused(change, monkeypatch):
    X, y, _ = table()
    model = HistGradientBoostingRegressor(**HIST).fit(X, y)
    if change == "value":
        monkeypatch.setattr(model, "_preprocess_X", lambda X, reset: -np.asarray(X))
        monkeypatch.setattr(model, "predict", lambda X: np.zeros(len(X)))
    else:
        monkeypatch.delattr(model, "_predictors")
    with pytest.raises(InputError, match="stores its trees in an unknown way"):
        leaf_map_of(model, X)


# Merging and thinning.


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


# Refusals.


@pytest.mark.parametrize(
    "model",
    [
        *[type(model)() for model in TREES],
        HistGradientBoostingRegressor(),
        HistGradientBoostingClassifier(),
        BaggingRegressor(),
        AdaBoostClassifier(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_unfitted_models_are_refused(model):
    with pytest.raises(InputError, match=f"The {type(model).__name__} is not fitted"):
        leaf_map_of(model)


def test_several_targets_are_refused():
    X, y, _ = table()
    model = RandomForestRegressor(2).fit(X, np.column_stack([y, y]))
    with pytest.raises(InputError, match="several targets"):
        leaf_map_of(model)


def test_models_without_trees_have_no_leaves():
    X, y, _ = table(50)
    linear = LinearRegression().fit(X, y)
    assert leaf_map_of(linear) is None
    assert leaf_map_of(lambda X: X) is None
    assert leaf_map_of(BaggingRegressor(LinearRegression(), n_estimators=2).fit(X, y)) is None
    stack = StackingRegressor([("tree", DecisionTreeRegressor(max_depth=1))], cv=2)
    assert leaf_map_of(stack.fit(X, y)) is None


def test_frozen_models_are_looked_into():
    X, y, _ = table(50)
    tree = DecisionTreeRegressor(max_depth=2).fit(X, y)
    check_same_parts(leaf_map_of(FrozenEstimator(tree)).leaf(X), tree.apply(X)[:, None])


@pytest.mark.parametrize("call", [lambda m: merged(m, None, None, 0), lambda m: thinned(m, 0)])
def test_limits_below_one_are_refused(call):
    class Counted:
        ends = np.array([0, 1])

        def leaf(self, X):
            return np.zeros((3, 1), dtype=np.int64)

    with pytest.raises(InputError, match="at least 1"):
        call(Counted())
