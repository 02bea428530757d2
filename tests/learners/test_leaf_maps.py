"""Leaf maps of scikit-learn's models."""

from __future__ import annotations

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

from leaf_examples import check_ids, check_same_parts, table, with_gaps
from pnml.errors import InputError
from pnml.learners.leaf_maps import leaf_map_of


def target_of(model, y, c):
    return c if "Classifier" in type(model).__name__ else y


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


def test_leaf_values_that_do_not_add_up_are_refused(monkeypatch):
    X, y, _ = table()
    model = HistGradientBoostingRegressor(**HIST).fit(X, y)
    own = model.predict(X)
    monkeypatch.setattr(model, "predict", lambda X: own[: len(X)])
    monkeypatch.setattr(model, "_preprocess_X", lambda X, reset: -X)
    with pytest.raises(InputError, match=r"scikit-learn \d.* stores its trees in an unknown way"):
        leaf_map_of(model, X)


@pytest.mark.parametrize("rows", [True, False])
def test_a_changed_layout_of_histogram_boosting_is_refused(rows, monkeypatch):
    X, y, _ = table()
    model = HistGradientBoostingRegressor(**HIST).fit(X, y)
    monkeypatch.setattr(model, "predict", lambda X: np.zeros(len(X)))
    monkeypatch.delattr(model, "_predictors")
    with pytest.raises(InputError, match="stores its trees in an unknown way"):
        leaf_map_of(model, X if rows else None)


def test_rows_that_histogram_boosting_refuses_raise_its_own_error():
    X, y, _ = table()
    model = HistGradientBoostingRegressor(**HIST).fit(X, y)
    with pytest.raises(ValueError, match="expecting 4 features"):
        leaf_map_of(model, X[:, :2])


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
