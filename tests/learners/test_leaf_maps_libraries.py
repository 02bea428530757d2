"""Leaf maps of LightGBM, XGBoost and CatBoost: sums of leaf values are the predictions."""

from __future__ import annotations

import json
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

import child
from leaf_examples import check_ids, table, with_gaps
from pnml.errors import InputError
from pnml.learners.leaf_maps import leaf_map_of, merged, rows_in_leaves

ROUNDS = 6


def words(n=300, seed=0):
    """A data frame with a category and gaps, and a target that needs both."""
    rng = np.random.default_rng(seed)
    colour = pd.Categorical(rng.choice(["red", "green", "blue", "grey"], n))
    frame = pd.DataFrame({"a": rng.normal(size=n), "colour": colour, "b": rng.normal(size=n)})
    frame.loc[rng.random(n) < 0.1, "b"] = np.nan
    y = frame["a"] * (frame["colour"] == "red") + 2 * (frame["colour"] == "blue")
    return frame, (y + rng.normal(size=n) / 10).to_numpy()


def summed(leaves, X, values, classes=1, dtype=float):
    """Leaf values added up tree after tree; column c of classes has trees c, c + C, …"""
    leaf = leaves.leaf(X)
    check_ids(leaves, leaf)
    total = np.zeros((len(leaf), classes), dtype=dtype)
    for t in range(leaf.shape[1]):
        total[:, t % classes] += values[leaf[:, t]]
    return total if classes > 1 else total[:, 0]


def check_merged(leaves, X, least=20):
    """Merged leaves have enough rows, are groups of leaves, and are those below one node."""
    coarse = merged(leaves, X, None, least)
    check_ids(coarse, coarse.leaf(X))
    assert rows_in_leaves(coarse, X).min() >= least
    assert np.diff(coarse.ends).max() > 1
    assert coarse.ends[-1] < leaves.ends[-1]


def check_branches(leaves, X, rows_of_nodes):
    """Nodes hold as many of the rows as the library counted in training, tree by tree."""
    total = leaves.branches.gathered(rows_in_leaves(leaves, X))
    bounds = np.append(leaves.branches.starts, len(total))
    for t, expected in enumerate(rows_of_nodes):
        ours = total[bounds[t] : bounds[t + 1]]
        assert sorted(ours[ours > 0].tolist()) == sorted(n for n in expected if n > 0)


def test_reading_leaves_imports_no_library():
    code = (
        "import sys; from sklearn.tree import DecisionTreeRegressor as T; "
        "from pnml.learners.leaf_maps import leaf_map_of; "
        "leaf_map_of(T().fit([[0], [1]], [0, 1])); "
        "print({'lightgbm', 'xgboost', 'catboost'} & set(sys.modules))"
    )
    assert child.python(code, check=True).stdout.strip() == "set()"


class TestLightGBM:
    lightgbm = staticmethod(lambda: pytest.importorskip("lightgbm"))
    settings = {"n_estimators": ROUNDS, "num_leaves": 7, "verbose": -1, "n_jobs": 1}

    @staticmethod
    def values(booster, **rounds):
        def leaves(node):
            if "leaf_value" in node:
                return {node.get("leaf_index", 0): node["leaf_value"]}
            return leaves(node["left_child"]) | leaves(node["right_child"])

        dumped = booster.dump_model(**rounds)["tree_info"]
        trees = [leaves(tree["tree_structure"]) for tree in dumped]
        return np.array([tree[i] for tree in trees for i in range(len(tree))])

    def test_leaf_values_add_up_to_predictions_to_the_bit(self):
        X, y, _ = table()
        model = self.lightgbm().LGBMRegressor(**self.settings).fit(with_gaps(X), y)
        new = with_gaps(table(seed=1)[0], seed=1)
        total = summed(leaf_map_of(model), new, self.values(model.booster_))
        assert np.array_equal(total, model.predict(new))

    def test_classes_have_one_tree_per_round_each(self):
        X, _, c = table()
        model = self.lightgbm().LGBMClassifier(**self.settings).fit(X, c)
        total = summed(leaf_map_of(model), X, self.values(model.booster_), classes=3)
        assert np.array_equal(total, model.predict(X, raw_score=True))

    def test_categories_go_where_predict_sends_them(self):
        frame, y = words()
        settings = self.settings | {"min_child_samples": 5, "cat_smooth": 1}
        model = self.lightgbm().LGBMRegressor(**settings).fit(frame, y)
        assert "num_cat=1" in model.booster_.model_to_string()
        new, _ = words(seed=1)
        new["colour"] = new["colour"].cat.add_categories(["pink"])
        new.loc[:20, "colour"] = "pink"
        total = summed(leaf_map_of(model), new, self.values(model.booster_))
        assert np.array_equal(total, model.predict(new))

    def test_a_model_stopped_early_has_the_trees_it_predicts_with(self):
        lightgbm = self.lightgbm()
        X, y, _ = table()
        new, truth, _ = table(seed=1)
        stop = lightgbm.early_stopping(3, verbose=False)
        model = lightgbm.LGBMRegressor(**self.settings | {"n_estimators": 300})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # newer versions call it eval_X and eval_y
            model.fit(X, y, eval_set=[(new, truth)], callbacks=[stop])
        leaves = leaf_map_of(model)
        assert len(leaves.ends) - 1 == model.best_iteration_ < 300
        assert np.array_equal(summed(leaves, X, self.values(model.booster_)), model.predict(X))

    def test_a_booster_is_read_like_the_estimator_around_it(self):
        X, y, _ = table()
        model = self.lightgbm().LGBMRegressor(**self.settings).fit(X, y)
        leaves = leaf_map_of(model.booster_)
        assert np.array_equal(leaves.leaf(X), leaf_map_of(model).leaf(X))

    def test_nodes_hold_the_rows_counted_in_training(self):
        X, y, _ = table(400)
        model = self.lightgbm().LGBMRegressor(**self.settings, min_child_samples=2).fit(X, y)

        def counts(node):
            if "leaf_index" in node:
                return [node["leaf_count"]]
            below = counts(node["left_child"]) + counts(node["right_child"])
            return [node["internal_count"], *below]

        dumped = model.booster_.dump_model()["tree_info"]
        leaves = leaf_map_of(model)
        check_branches(leaves, X, [counts(tree["tree_structure"]) for tree in dumped])
        check_merged(leaves, X)

    def test_a_tree_without_splits_is_one_leaf(self):
        X, y, _ = table(30)
        model = self.lightgbm().LGBMRegressor(**self.settings, min_child_samples=50).fit(X, y)
        leaves = leaf_map_of(model)
        assert set(np.diff(leaves.ends)) == {1}
        check_ids(leaves, leaves.leaf(X))

    def test_linear_trees_are_refused(self):
        X, y, _ = table()
        model = self.lightgbm().LGBMRegressor(**self.settings, linear_tree=True).fit(X, y)
        with pytest.raises(InputError, match="linear trees"):
            leaf_map_of(model)

    def test_an_unfitted_model_is_refused(self):
        with pytest.raises(InputError, match="The LGBMClassifier is not fitted"):
            leaf_map_of(self.lightgbm().LGBMClassifier())


class TestXGBoost:
    xgboost = staticmethod(lambda: pytest.importorskip("xgboost"))
    settings = {"n_estimators": ROUNDS, "max_depth": 3, "n_jobs": 1}

    @staticmethod
    def values(booster, leaves):
        model = json.loads(bytes(booster.save_raw("json")))["learner"]["gradient_booster"]
        trees = model.get("gbtree", model)["model"]["trees"]
        nodes = leaves.branches.leaves
        found = []
        for t, start in enumerate(leaves.branches.starts):
            own = nodes[leaves.ends[t] : leaves.ends[t + 1]] - start
            found.append(np.array(trees[t]["split_conditions"], dtype=np.float32)[own])
        return np.concatenate(found)

    def check(self, model, X, classes=1, each=1):
        """The margin is that of an empty sum plus the leaf values, in float32."""
        leaves = leaf_map_of(model)
        leaf = leaves.leaf(X)
        check_ids(leaves, leaf)
        values = self.values(model.get_booster(), leaves)[leaf].astype(float)
        total = values.reshape(len(leaf), -1, classes, each).sum(axis=(1, 3))
        own = model.predict(X, output_margin=True).reshape(len(leaf), classes)
        gap = own - total
        np.testing.assert_allclose(gap, np.broadcast_to(gap[0], gap.shape), atol=3e-6)
        return leaves

    def test_leaf_values_add_up_to_predictions_but_for_the_base_score(self):
        X, y, _ = table()
        model = self.xgboost().XGBRegressor(**self.settings, base_score=0.25, gamma=0.3)
        model.fit(with_gaps(X), y)
        new = with_gaps(table(seed=1)[0], seed=1)
        leaves = self.check(model, new)
        values = self.values(model.get_booster(), leaves)
        total = summed(leaves, new, values, dtype=np.float32) + np.float32(0.25)
        np.testing.assert_allclose(total, model.predict(new), rtol=0, atol=1e-6)

    def test_classes_and_parallel_trees_come_in_the_order_of_the_model(self):
        X, _, c = table()
        model = self.xgboost().XGBClassifier(
            **self.settings, num_parallel_tree=2, subsample=0.7, random_state=0
        )
        leaves = self.check(model.fit(X, c), X, classes=3, each=2)
        assert len(leaves.ends) - 1 == ROUNDS * 3 * 2

    def test_classes_may_share_one_tree_per_round(self):
        X, _, c = table()
        settings = self.settings | {"multi_strategy": "multi_output_tree"}
        model = self.xgboost().XGBClassifier(**settings).fit(X, c)
        leaves = leaf_map_of(model)
        leaf = leaves.leaf(X)
        check_ids(leaves, leaf)
        assert leaf.shape[1] == ROUNDS
        margins = model.predict(X, output_margin=True)
        hot = (leaf[:, :, None] == np.arange(leaves.ends[-1])).any(axis=1).astype(float)
        fitted = hot @ np.linalg.lstsq(hot, margins, rcond=None)[0]  # linear in the leaves
        np.testing.assert_allclose(fitted, margins, atol=1e-5)

    def test_forests_and_dart_have_leaves(self):
        X, y, _ = table()
        forest = self.xgboost().XGBRFRegressor(n_estimators=5, max_depth=3, n_jobs=1).fit(X, y)
        assert len(self.check(forest, X, each=5).ends) - 1 == 5
        dart = self.xgboost().XGBRegressor(**self.settings, booster="dart", rate_drop=0.0)
        self.check(dart.fit(X, y), X)

    def test_categories_go_where_predict_sends_them(self):
        frame, y = words()
        settings = self.settings | {"enable_categorical": True, "max_cat_to_onehot": 1}
        model = self.xgboost().XGBRegressor(**settings).fit(frame, y)
        dumped = json.loads(bytes(model.get_booster().save_raw("json")))
        trees = dumped["learner"]["gradient_booster"]["model"]["trees"]
        assert any(1 in tree["split_type"] for tree in trees)
        new, _ = words(seed=1)
        self.check(model, new)
        order = ["red", "grey", "green", "blue"]
        self.check(model, new.assign(colour=new["colour"].cat.set_categories(order)))

    def test_a_model_stopped_early_has_the_trees_it_predicts_with(self):
        X, y, _ = table()
        new, truth, _ = table(seed=1)
        settings = self.settings | {"n_estimators": 300, "early_stopping_rounds": 3}
        model = self.xgboost().XGBRegressor(**settings)
        model.fit(X, y, eval_set=[(new, truth)], verbose=False)
        leaves = self.check(model, X)
        every = leaf_map_of(model.get_booster())  # its own predict uses all rounds
        assert len(leaves.ends) - 1 == model.best_iteration + 1
        assert len(every.ends) - 1 == model.get_booster().num_boosted_rounds()
        assert len(leaves.ends) < len(every.ends)
        matrix = self.xgboost().DMatrix(X)
        assert np.array_equal(every.leaf(X), every.leaf(matrix))
        check_ids(every, every.leaf(X))

    def test_nodes_hold_the_rows_counted_in_training(self):
        X, y, _ = table(400)
        model = self.xgboost().XGBRegressor(**self.settings, gamma=0.5).fit(X, y)
        dumped = json.loads(bytes(model.get_booster().save_raw("json")))
        trees = dumped["learner"]["gradient_booster"]["model"]["trees"]
        leaves = leaf_map_of(model)  # with squared errors, a row's curvature is 1
        reached = [np.append(0, tree["left_children"] + tree["right_children"]) for tree in trees]
        rows = [
            np.array(tree["sum_hessian"])[np.unique(at[at >= 0])]
            for tree, at in zip(trees, reached, strict=True)
        ]
        check_branches(leaves, X, [found.astype(int).tolist() for found in rows])
        check_merged(leaves, X)

    def test_linear_boosters_have_no_leaves(self):
        X, y, _ = table(50)
        model = self.xgboost().XGBRegressor(booster="gblinear", n_estimators=2).fit(X, y)
        assert leaf_map_of(model) is None

    @pytest.mark.parametrize("strategy", ["one_output_per_tree", "multi_output_tree"])
    def test_several_targets_are_refused(self, strategy):
        X, y, _ = table(50)
        model = self.xgboost().XGBRegressor(n_estimators=2, multi_strategy=strategy)
        with pytest.raises(InputError, match="several targets"):
            leaf_map_of(model.fit(X, np.column_stack([y, y])))

    def test_an_unfitted_model_is_refused(self):
        with pytest.raises(InputError, match="The XGBRegressor is not fitted"):
            leaf_map_of(self.xgboost().XGBRegressor())
        with pytest.raises(InputError, match="The Booster is not fitted"):
            leaf_map_of(self.xgboost().Booster())


class TestCatBoost:
    catboost = staticmethod(lambda: pytest.importorskip("catboost"))
    settings = {
        "iterations": ROUNDS,
        "depth": 3,
        "verbose": 0,
        "thread_count": 1,
        "allow_writing_files": False,
    }

    def check(self, model, X, classes=1):
        leaves = leaf_map_of(model)
        leaf = leaves.leaf(X)
        check_ids(leaves, leaf)
        values = model.get_leaf_values().reshape(-1, classes)
        scale, bias = model.get_scale_and_bias()
        total = values[leaf].sum(axis=1) * scale + bias
        own = np.asarray(model.predict(X, prediction_type="RawFormulaVal")).reshape(-1, classes)
        np.testing.assert_allclose(total, own, rtol=1e-12, atol=1e-12)
        return leaves

    @pytest.mark.parametrize("policy", ["SymmetricTree", "Depthwise", "Lossguide"])
    def test_leaf_values_add_up_to_predictions(self, policy):
        X, y, _ = table()
        model = self.catboost().CatBoostRegressor(**self.settings, grow_policy=policy)
        model.fit(with_gaps(X), y)
        self.check(model, with_gaps(table(seed=1)[0], seed=1))

    def test_classes_share_one_tree_per_round(self):
        X, _, c = table()
        model = self.catboost().CatBoostClassifier(**self.settings).fit(X, c)
        assert len(self.check(model, X, classes=3).ends) - 1 == ROUNDS

    def test_categories_go_where_predict_sends_them(self):
        frame, y = words()
        frame["colour"] = frame["colour"].astype(str)
        model = self.catboost().CatBoostRegressor(**self.settings, cat_features=["colour"])
        model.fit(frame, y)
        new, _ = words(seed=1)
        new["colour"] = new["colour"].astype(str).replace("red", "pink")
        self.check(model, new)

    def test_a_model_stopped_early_has_the_trees_it_predicts_with(self):
        X, y, _ = table()
        new, truth, _ = table(seed=1)
        settings = self.settings | {"iterations": 300, "early_stopping_rounds": 3}
        model = self.catboost().CatBoostRegressor(**settings, learning_rate=0.5)
        model.fit(X, y, eval_set=(new, truth))
        leaves = self.check(model, X)
        assert len(leaves.ends) - 1 == model.get_best_iteration() + 1 < 300

    @pytest.mark.parametrize("policy", ["SymmetricTree", "Depthwise", "Lossguide"])
    def test_nodes_are_those_of_the_splits(self, policy, tmp_path):
        X, y, _ = table(400)
        model = self.catboost().CatBoostRegressor(**self.settings, grow_policy=policy).fit(X, y)
        model.save_model(str(tmp_path / "model.json"), format="json")
        stored = json.loads((tmp_path / "model.json").read_text())

        def passes(split):
            return X[:, split["float_feature_index"]] > split["border"]

        def symmetric(splits, inside):
            if not splits:
                return [inside.sum()]
            over = passes(splits[0])
            below = symmetric(splits[1:], inside & over) + symmetric(splits[1:], inside & ~over)
            return [inside.sum(), *below]

        def grown(node, inside):
            if "split" not in node:
                return [inside.sum()]
            over = passes(node["split"])
            return [
                inside.sum(),
                *grown(node["left"], inside & ~over),
                *grown(node["right"], inside & over),
            ]

        every = np.ones(len(X), dtype=bool)
        if policy == "SymmetricTree":
            rows = [symmetric(tree["splits"], every) for tree in stored["oblivious_trees"]]
        else:
            rows = [grown(tree, every) for tree in stored["trees"]]
        leaves = leaf_map_of(model)
        check_branches(leaves, X, [[int(n) for n in tree] for tree in rows])
        check_merged(leaves, X)

    def test_several_targets_are_refused(self):
        X, y, _ = table(50)
        model = self.catboost().CatBoostRegressor(**self.settings, loss_function="MultiRMSE")
        with pytest.raises(InputError, match="several targets"):
            leaf_map_of(model.fit(X, np.column_stack([y, -y])))

    def test_an_unfitted_model_is_refused(self):
        with pytest.raises(InputError, match="The CatBoostRegressor is not fitted"):
            leaf_map_of(self.catboost().CatBoostRegressor())

    def test_a_version_without_leaf_indices_is_refused(self, monkeypatch):
        X, y, _ = table(50)
        model = self.catboost().CatBoostRegressor(**self.settings).fit(X, y)
        monkeypatch.delattr(sys.modules["catboost"].CatBoost, "calc_leaf_indexes")
        with pytest.raises(InputError, match="cannot be read from CatBoost"):
            leaf_map_of(model)
