"""Trees and forests against counting in scikit-learn's own leaves, with the row added."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)
from sklearn.utils.estimator_checks import parametrize_with_checks

import oracle
from examples import examples
from pnml import ConformalRegressor, InputError, PNMLRegressor, UniversalRegressor
from pnml.estimators.tree_classifier import PNMLTreeClassifier
from pnml.estimators.tree_growing import partition_of
from pnml.estimators.tree_regressor import PNMLTreeRegressor
from sentences import assert_refused

CLASSIFIERS = {
    "tree": DecisionTreeClassifier(random_state=0),
    "shallow": DecisionTreeClassifier(max_leaf_nodes=4, random_state=0),
    "pruned": DecisionTreeClassifier(ccp_alpha=0.02, random_state=0),
    "random tree": ExtraTreeClassifier(random_state=0),
    "forest": RandomForestClassifier(7, random_state=0),
    "random forest": ExtraTreesClassifier(7, random_state=0),
}
REGRESSORS = {
    "tree": DecisionTreeRegressor(min_samples_leaf=3, random_state=0),
    "shallow": DecisionTreeRegressor(max_depth=2, criterion="absolute_error", random_state=0),
    "random tree": ExtraTreeRegressor(min_samples_leaf=2, random_state=0),
    "forest": RandomForestRegressor(7, random_state=0),
    "random forest": ExtraTreesRegressor(7, min_samples_leaf=2, random_state=0),
}


@pytest.fixture
def three(rng):
    """Rows of three classes that overlap."""
    y = np.repeat([0, 1, 2], 20)
    return rng.normal(size=(60, 3)) + y[:, None] * [1.0, 0.0, -1.0], y


@pytest.fixture
def line(rng):
    X = rng.normal(size=(50, 3))
    return X, X[:, 0] ** 2 + 0.3 * rng.normal(size=50)


def fitted(base, X, y, weights=None):
    """scikit-learn's own fit, and the leaves it finds."""
    trees = clone(base).fit(X, y, sample_weight=weights)
    return trees, lambda rows: trees.apply(rows).reshape(len(rows), -1)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(
    [
        PNMLTreeClassifier(),
        PNMLTreeClassifier(prior=0.5),
        PNMLTreeClassifier(ExtraTreesClassifier(3, random_state=0)),
        PNMLTreeRegressor(),
    ]
)
def test_estimator_keeps_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


def _drawn_rows(estimator):
    """A bootstrap draws rows, not copies: weights and copies grow different forests."""
    return {"check_sample_weight_equivalence_on_dense_data": "the bootstrap draws rows"}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(
    [PNMLTreeRegressor(RandomForestRegressor(3, random_state=0))],
    expected_failed_checks=_drawn_rows,
)
def test_a_bootstrap_forest_keeps_it_but_for_weights(estimator, check):
    check(estimator)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classes_are_those_of_counting_with_the_row(name, weighted, three, rng):
    X, y = three
    w = rng.choice([0.5, 1.0, 3.0], size=60) if weighted else None
    model = PNMLTreeClassifier(CLASSIFIERS[name]).fit(X, y, sample_weight=w)
    _, leaves = fitted(CLASSIFIERS[name], X, y, w)
    rows = 1.5 * rng.normal(size=(12, 3))
    found, regret = model.predict_proba(rows), model.regret(rows)
    for i, at in enumerate(leaves(rows)):
        genies = oracle.forest_class_genies(leaves(X), y, at, 3, w)
        np.testing.assert_allclose(found[i], genies / genies.sum(), rtol=1e-12)
        assert regret[i] == pytest.approx(np.log(genies.sum()), rel=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", REGRESSORS)
def test_values_are_those_of_averaging_with_the_row(name, weighted, line, rng):
    X, y = line
    w = rng.choice([0.5, 1.0, 3.0], size=50) if weighted else None
    model = PNMLTreeRegressor(REGRESSORS[name], noise_variance=0.2).fit(X, y, sample_weight=w)
    _, leaves = fitted(REGRESSORS[name], X, y, w)
    rows = 1.5 * rng.normal(size=(4, 3))
    dist = model.predict_dist(rows)
    for i, at in enumerate(leaves(rows)):
        centre, K = oracle.forest_value_normaliser(leaves(X), y, at, 0.2, w)
        assert dist.mean[i] == pytest.approx(centre, abs=1e-9)
        assert dist.regret[i] == pytest.approx(np.log(K), abs=1e-9)
        assert dist.std[i] == pytest.approx(np.sqrt(0.2) * K, rel=1e-9)
        s = oracle.forest_value_residual(leaves(X), y, at, 2.0, w)
        q = np.exp(-(s**2) / 0.4) / np.sqrt(0.4 * np.pi) / K
        assert dist.log_prob(2.0)[i] == pytest.approx(np.log(q), rel=1e-9)


def test_a_tree_of_classes_follows_the_rule_of_laplace(three):
    X, y = three
    model = PNMLTreeClassifier().fit(X, y)
    trees = DecisionTreeClassifier(min_samples_leaf=5, random_state=0).fit(X, y)
    n = trees.tree_.n_node_samples[trees.apply(X)]
    n_c = (trees.predict_proba(X) * n[:, None]).round()
    np.testing.assert_allclose(model.predict_proba(X), (n_c + 1) / (n[:, None] + 3), rtol=1e-13)
    np.testing.assert_allclose(model.regret(X), np.log((n + 3) / (n + 1)), rtol=1e-13)
    np.testing.assert_array_equal(model.predict(X), trees.predict(X))
    np.testing.assert_allclose(model.relative_regret(X), model.regret(X) / np.log(3))


def test_a_tree_of_values_predicts_as_before(line):
    X, y = line
    model = PNMLTreeRegressor().fit(X, y)
    trees = DecisionTreeRegressor(min_samples_leaf=5, random_state=0).fit(X, y)
    n = trees.tree_.n_node_samples[trees.apply(X)]
    np.testing.assert_allclose(model.predict(X), trees.predict(X), rtol=1e-12)
    np.testing.assert_allclose(model.regret(X), np.log1p(1 / n), rtol=1e-13)
    std = np.sqrt(model.noise_variance_) * (1 + 1 / n)
    np.testing.assert_allclose(model.predict(X, return_std=True)[1], std, rtol=1e-12)
    mean_square = np.mean((y - trees.predict(X)) ** 2)
    assert model.noise_variance_ == pytest.approx(mean_square, rel=1e-12)
    low, high = model.predict_interval(X, coverage=0.9).T
    np.testing.assert_allclose((low + high) / 2, trees.predict(X), rtol=1e-9)


@settings(max_examples=examples(25))
@given(st.integers(0, 10**6), st.integers(1, 4), st.booleans())
def test_rows_find_the_leaves_that_scikit_learn_finds(seed, depth, gaps):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(40, 3)), 1)
    if gaps:
        X[rng.random(X.shape) < 0.2] = np.nan
    y = rng.integers(0, 3, size=40)
    forest = ExtraTreesClassifier(3, max_depth=depth, random_state=seed).fit(X, y)
    rows = np.vstack([X, np.round(3 * rng.normal(size=(20, 3)), 1)])
    partition = partition_of(forest)
    np.testing.assert_array_equal(partition.leaves(rows) - partition.roots, forest.apply(rows))


def test_a_forest_of_one_tree_is_the_tree(three, line):
    X, y = three
    one = RandomForestClassifier(1, bootstrap=False, max_features=None, random_state=0)
    forest = PNMLTreeClassifier(one).fit(X, y)
    tree = PNMLTreeClassifier(FrozenEstimator(fitted(one, X, y)[0].estimators_[0])).fit(X, y)
    for name in ("predict_proba", "regret", "explain", "trusted"):
        np.testing.assert_allclose(getattr(forest, name)(X), getattr(tree, name)(X), rtol=1e-14)
    X, y = line
    one = ExtraTreesRegressor(1, min_samples_leaf=3, random_state=0)
    forest = PNMLTreeRegressor(one).fit(X, y)
    tree = PNMLTreeRegressor(FrozenEstimator(fitted(one, X, y)[0].estimators_[0])).fit(X, y)
    for name in ("predict", "regret", "explain", "trusted", "predict_interval"):
        np.testing.assert_allclose(getattr(forest, name)(X), getattr(tree, name)(X), rtol=1e-14)


def test_weights_are_copies_and_no_weight_is_absence(three, line):
    X, y = three
    w = np.random.default_rng(1).integers(0, 4, size=60)
    base = ExtraTreesClassifier(5, max_depth=3, random_state=0)
    weighted = PNMLTreeClassifier(base).fit(X, y, sample_weight=w)
    copied = PNMLTreeClassifier(base).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(weighted.predict_proba(X), copied.predict_proba(X), rtol=1e-12)
    assert weighted.loo_.log_loss == pytest.approx(copied.loo_.log_loss, rel=1e-12)
    np.testing.assert_array_equal(weighted.trusted(X, 0.8), copied.trusted(X, 0.8))
    X, y = line
    w = w[:50]
    weighted = PNMLTreeRegressor().fit(X, y, sample_weight=w)
    copied = PNMLTreeRegressor().fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(weighted.predict(X), copied.predict(X), rtol=1e-12)
    assert weighted.noise_variance_ == pytest.approx(copied.noise_variance_, rel=1e-12)
    assert weighted.loo_.log_loss == pytest.approx(copied.loo_.log_loss, rel=1e-12)


def test_the_names_of_the_classes_mean_nothing(three):
    X, y = three
    names = np.array(["b", "c", "a"])
    plain = PNMLTreeClassifier().fit(X, y)
    named = PNMLTreeClassifier().fit(X, names[y])
    assert named.classes_.tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(named.predict_proba(X)[:, [1, 2, 0]], plain.predict_proba(X))
    np.testing.assert_array_equal(named.regret(X), plain.regret(X))
    np.testing.assert_array_equal(named.predict(X), names[plain.predict(X)])


def test_luckiness_makes_leaves_more_even(three):
    X, y = three
    plain, lucky = (PNMLTreeClassifier(prior=a).fit(X, y) for a in (0.0, 2.0))
    assert np.all(lucky.predict_proba(X).max(axis=1) < plain.predict_proba(X).max(axis=1))
    assert np.all(lucky.explain(X) >= 0)
    np.testing.assert_allclose(np.exp(lucky.predict_log_proba(X)).sum(axis=1), 1, rtol=1e-13)


@pytest.mark.parametrize("base", [None, RandomForestClassifier(9, random_state=0)])
def test_shares_of_classes_sum_to_the_leverage_beyond_that_of_no_splits(base, three):
    X, y = three
    model = PNMLTreeClassifier(base).fit(X, y)
    shares = model.explain(X)
    assert shares.shape == X.shape
    assert np.all(shares >= 0)
    leverage = np.expm1(model.regret(X))
    np.testing.assert_allclose(shares.sum(axis=1), leverage - 2 / 61, atol=1e-12)


@pytest.mark.parametrize("base", [None, RandomForestRegressor(9, random_state=0)])
def test_shares_of_values_sum_to_the_leverage_less_the_intercept(base, line):
    X, y = line
    model = PNMLTreeRegressor(base).fit(X, y)
    shares = model.explain(X)
    assert np.all(shares >= 0)
    leverage = np.expm1(model.regret(X))
    np.testing.assert_allclose(shares.sum(axis=1), leverage - 1 / 50, atol=1e-12)


def test_a_feature_that_is_never_split_on_explains_nothing(line):
    X, y = line
    X = np.column_stack([X, np.ones(50)])
    shares = PNMLTreeRegressor().fit(X, y).explain(X)
    assert np.all(shares[:, 3] == 0)
    assert shares[:, 0].sum() > 0


def test_a_frozen_tree_stays_and_only_counts(line, rng):
    X, y = line
    tree = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, y)
    before = tree.apply(X)
    fresh = rng.normal(size=(9, 3))
    model = PNMLTreeRegressor(FrozenEstimator(tree), noise_variance=1.0).fit(fresh, fresh[:, 0])
    np.testing.assert_array_equal(tree.apply(X), before)
    empty = ~np.isin(before, tree.apply(fresh))
    assert empty.any()
    assert np.all(np.isinf(model.regret(X)) == empty)
    np.testing.assert_allclose(model.predict(X)[empty], fresh[:, 0].mean())
    assert not model.trusted(X)[empty].any()
    assert np.isinf(model.explain(X)[empty]).any(axis=1).all()
    labels = DecisionTreeClassifier(random_state=0).fit(X, np.digitize(y, [0.3, 1.0]))
    counted = PNMLTreeClassifier(FrozenEstimator(labels)).fit(X[:4], [0, 1, 0, 1])
    assert counted.classes_.tolist() == [0, 1, 2]
    nobody = ~np.isin(labels.apply(X), labels.apply(X[:4]))
    np.testing.assert_allclose(counted.regret(X)[nobody], np.log(3), rtol=1e-14)


LOADS = {"wine": load_wine, "cancer": load_breast_cancer, "digits": load_digits}


@pytest.mark.parametrize("name", LOADS)
@pytest.mark.parametrize("frozen", [False, True])
def test_about_as_many_new_rows_are_trusted_as_was_asked(name, frozen):
    X, y = LOADS[name](return_X_y=True)
    shares = []
    for seed in range(3):
        X_train, X_test, y_train, _ = train_test_split(
            X, y, test_size=0.5, random_state=seed, stratify=y
        )
        base = ExtraTreesClassifier(30, min_samples_leaf=5, random_state=0)
        half = len(X_train) // 2
        if frozen:
            base = FrozenEstimator(base.fit(X_train[:half], y_train[:half]))
            X_train, y_train = X_train[half:], y_train[half:]
        shares.append(PNMLTreeClassifier(base).fit(X_train, y_train).trusted(X_test, 0.9).mean())
    assert 0.8 < np.mean(shares) < 0.97


@pytest.mark.parametrize("base", [*CLASSIFIERS.values()][-3:])
def test_trees_fitted_before_and_trees_fitted_here_trust_alike(base, three):
    X, y = three
    here = PNMLTreeClassifier(base).fit(X, y)
    frozen = PNMLTreeClassifier(FrozenEstimator(fitted(base, X, y)[0])).fit(X, y)
    np.testing.assert_array_equal(frozen.regret(X), here.regret(X))
    for level in (0.5, 0.9):
        np.testing.assert_array_equal(frozen.trusted(X, level), here.trusted(X, level))
        assert here.trusted(X, level).mean() >= level


def test_small_leaves_are_trusted_less(rng):
    X = np.concatenate([rng.uniform(0, 1, 190), rng.uniform(9, 10, 2)])[:, None]
    y = (X[:, 0] > 5).astype(int)
    model = PNMLTreeClassifier(DecisionTreeClassifier()).fit(X, y)
    assert model.trusted([[0.5], [9.5]], level=0.98).tolist() == [True, False]


def test_missing_values_go_where_the_tree_sends_them(three):
    X, y = three
    X = X.copy()
    X[::7, 0] = np.nan
    base = DecisionTreeClassifier(random_state=0)
    model = PNMLTreeClassifier(base).fit(X, y)
    _, leaves = fitted(base, X, y)
    genies = oracle.forest_class_genies(leaves(X), y, leaves(X[:1])[0], 3)
    assert model.regret(X[:1])[0] == pytest.approx(np.log(genies.sum()))
    known, unknown = X[1:2].copy(), X[1:2].copy()
    known[0, 0], unknown[0, 1] = np.nan, np.nan
    assert model.trusted(known, level=1.0)[0]
    assert not model.trusted(unknown, level=1.0)[0]  # never missing in training
    values = PNMLTreeRegressor(RandomForestRegressor(5, random_state=0)).fit(X, y + 0.0)
    assert values.trusted(known, level=1.0)[0]
    assert not values.trusted(unknown, level=1.0)[0]
    assert np.isfinite(values.predict(X)).all()


def test_frames_pipelines_and_searches_work(three, line):
    X, y = three
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = PNMLTreeClassifier().fit(frame, y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an array where there was a frame
        np.testing.assert_array_equal(model.regret(frame), model.regret(X))
    with pytest.raises(InputError, match="feature names should match"):
        model.regret(frame[["b", "a", "c"]])
    frozen = FrozenEstimator(DecisionTreeClassifier(random_state=0).fit(frame, y))
    with pytest.raises(InputError, match="same columns as in fit"):
        PNMLTreeClassifier(frozen).fit(frame[["b", "a", "c"]], y)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), PNMLTreeClassifier(DecisionTreeClassifier(random_state=0))),
        {"pnmltreeclassifier__estimator__max_depth": [1, 3]},
        scoring="neg_log_loss",
        cv=3,
    )
    assert search.fit(X, y).best_estimator_[-1].regret(X).shape == (60,)
    X, y = line
    search = GridSearchCV(
        PNMLTreeRegressor(RandomForestRegressor(5, random_state=0)),
        {"estimator__min_samples_leaf": [1, 5]},
        cv=3,
    )
    assert search.fit(X, y).best_estimator_.regret(X).shape == (50,)
    towns = pd.DataFrame({"town": np.where(X[:, 0] > 0, "Ghent", "Turin")})
    steps = make_pipeline(OneHotEncoder(sparse_output=False), PNMLTreeRegressor())
    assert steps.fit(towns, y).predict(towns).shape == (50,)


def test_it_joins_the_other_regressors(line):
    X, y = line
    both = UniversalRegressor([("tree", PNMLTreeRegressor()), ("linear", PNMLRegressor())])
    assert np.isfinite(both.fit(X, y).regret(X)).all()
    conformal = ConformalRegressor(PNMLTreeRegressor(), random_state=0).fit(X, y)
    assert conformal.predict_interval(X).shape == (50, 2)


def test_trees_grown_on_other_rows_have_intervals_that_cover(rng):
    X, y = load_diabetes(return_X_y=True)
    found = []
    for seed in range(5):
        X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=seed)
        forest = RandomForestRegressor(30, min_samples_leaf=5, random_state=0)
        frozen = FrozenEstimator(forest.fit(X_train[:160], y_train[:160]))
        model = PNMLTreeRegressor(frozen).fit(X_train[160:], y_train[160:])
        low, high = model.predict_interval(X_test, coverage=0.9).T
        found.append(np.mean((low <= y_test) & (y_test <= high)))
    assert 0.86 < np.mean(found) < 0.96


def test_rows_in_single_precision_get_answers_in_single_precision(line):
    X, y = line
    X = X.astype(np.float32)
    model = PNMLTreeRegressor().fit(X, y)
    for name in ("predict", "regret", "explain", "predict_interval"):
        assert getattr(model, name)(X).dtype == np.float32
    np.testing.assert_array_equal(
        model.trusted(X), PNMLTreeRegressor().fit(X.astype(float), y).trusted(X.astype(float))
    )


def test_everything_fitted_is_plain_arrays(three):
    X, y = three
    model = PNMLTreeClassifier(RandomForestClassifier(3, random_state=0)).fit(X, y)
    for value in vars(model.partition_).values():
        assert type(value) is np.ndarray
        assert value.dtype in (np.dtype(np.int64), np.dtype(np.float64), np.dtype(bool))
    assert not any(hasattr(value, "tree_") for value in vars(model).values())
    below = np.arange(model.partition_.nodes)
    inner = model.partition_.feature >= 0
    assert np.all(model.partition_.left[inner] > below[inner])
    assert np.all(model.partition_.right[inner] > below[inner])


class Whole(DecisionTreeRegressor):
    """A tree that takes no gaps, as those of some criteria in some releases."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        return tags


C, R = PNMLTreeClassifier, PNMLTreeRegressor
BAD = {
    "boosting": (
        lambda X, y: C(GradientBoostingClassifier()).fit(X, y),
        "GradientBoostingClassifier, but .* DecisionTreeClassifier, ExtraTreeClassifier, Random",
    ),
    "boosted values": (lambda X, y: R(GradientBoostingRegressor()).fit(X, y), "pass one of these"),
    "the other kind": (lambda X, y: C(DecisionTreeRegressor()).fit(X, y), "DecisionTreeRegressor"),
    "a pipeline": (
        lambda X, y: C(make_pipeline(DecisionTreeClassifier())).fit(X, y),
        "before PNMLTreeClassifier",
    ),
    "a word": (lambda X, y: C("tree").fit(X, y), "estimator is a str"),
    "constraints": (
        lambda X, y: R(DecisionTreeRegressor(monotonic_cst=[1, 0, 0])).fit(X, y),
        "monotonic_cst",
    ),
    "several labels": (lambda X, y: C().fit(X, np.c_[y, y]), "one class per row"),
    "several targets": (lambda X, y: R().fit(X, np.c_[y, y]), "learns one target"),
    "trees of several targets": (
        lambda X, y: R(FrozenEstimator(DecisionTreeRegressor().fit(X, np.c_[y, y]))).fit(X, y),
        "of 2 targets, but PNMLTreeRegressor learns one",
    ),
    "other columns": (
        lambda X, y: R(FrozenEstimator(DecisionTreeRegressor().fit(X, y))).fit(X[:, 1:], y),
        "same columns as in fit",
    ),
    "an unknown class": (
        lambda X, y: C(FrozenEstimator(DecisionTreeClassifier().fit(X, y))).fit(X, y + 1),
        "not among the classes",
    ),
    "one class": (lambda X, y: C().fit(X, 0 * y), "one class only"),
    "one class that counts": (lambda X, y: C().fit(X, y, y == 1), "one class only"),
    "fewer labels": (lambda X, y: C().fit(X, y[1:]), "60 rows but y has 59"),
    "fewer targets": (lambda X, y: R().fit(X, y[1:]), "60 rows but y has 59"),
    "a missing target": (lambda X, y: R().fit(X, np.where(y == 1, np.nan, y)), "row 20"),
    "constant targets": (lambda X, y: R().fit(X, 0 * y), "y is constant"),
    "one row": (lambda X, y: R().fit(X[:1], y[:1]), "only one sample"),
    "a negative prior": (lambda X, y: C(prior=-1).fit(X, y), "at least 0"),
    "a word as prior": (lambda X, y: C(prior="flat").fit(X, y), "prior is 'flat'"),
    "no noise": (lambda X, y: R(noise_variance=0).fit(X, y), "greater than 0"),
    "rows all alone": (
        lambda X, y: R(DecisionTreeRegressor()).fit(X, y + X[:, 0]),
        "min_samples_leaf=5, or pass noise_variance",
    ),
    "an infinite value": (lambda X, y: C().fit(X, y).regret([[0.0, np.inf, 0.0]]), "column 1"),
    "values beyond float32": (lambda X, y: C().fit(X, y).regret([[0.0, 1e39, 0.0]]), "float32"),
    "a gap that the tree does not take": (
        lambda X, y: R(Whole(max_depth=2)).fit(X, y + 0.0).predict([[0.0, np.nan, 0.0]]),
        "contains NaN",
    ),
    "a negative weight": (lambda X, y: R().fit(X, y, -np.ones(60)), "negative value"),
    "no such quantile": (lambda X, y: C().fit(X, y).trusted(X, level=2), "quantile"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_gets_one_sentence_that_says_what_to_do(name, three):
    run, words = BAD[name]
    assert_refused(lambda: run(*three), words)
