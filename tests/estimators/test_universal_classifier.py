"""Twice universality for labels: one answer for several strengths or sets of features."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pnml import (
    InputError,
    PNMLClassifier,
    PNMLTreeClassifier,
    UniversalClassifier,
    load,
    save,
)
from sentences import assert_refused


def refitted(C, **options):
    return PNMLClassifier(LogisticRegression(C=C), method="refit", tol=1e-7, **options)


@pytest.fixture
def fitted(three):
    X, y = three
    members = [("weak", refitted(10.0)), ("strong", refitted(0.1)), ("step", PNMLClassifier())]
    return UniversalClassifier(members).fit(X, y), 2 * X[::9]


def test_probabilities_are_the_largest_of_the_members_normalised(fitted):
    model, x = fitted
    best = np.max([member.predict_proba(x) for member in model.estimators_], axis=0)
    expected = best / best.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(x), expected, rtol=1e-9)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(x)), expected, rtol=1e-9)
    np.testing.assert_array_equal(model.predict(x), model.classes_[expected.argmax(axis=1)])


def test_regret_is_that_to_the_genie_of_the_member_that_owns_the_label(fitted):
    model, x = fitted
    q = np.array([member.predict_proba(x) for member in model.estimators_])
    genies = np.array(
        [m.predict_proba(x) * np.exp(m.regret(x))[:, None] for m in model.estimators_]
    )
    union = model.predict_proba(x)
    owner = q.argmax(axis=0)
    own = np.take_along_axis(genies, owner[None], axis=0)[0]  # genie of the owner of each label
    expected = np.sum(union * np.log(own / union), axis=1)
    np.testing.assert_allclose(model.regret(x), expected, rtol=1e-6)
    np.testing.assert_allclose(model.relative_regret(x), expected / np.log(3), rtol=1e-6)


def test_no_label_costs_more_than_the_best_member_and_the_log_of_their_number(fitted):
    model, x = fitted
    best = np.max([member.predict_log_proba(x) for member in model.estimators_], axis=0)
    assert np.all(model.predict_log_proba(x) >= best - np.log(3) - 1e-12)


@pytest.mark.parametrize(
    "member",
    [PNMLClassifier(), refitted(1.0), PNMLTreeClassifier()],
    ids=["step", "refit", "tree"],
)
def test_one_member_alone_is_itself(member, three):
    X, y = three
    alone, plain = UniversalClassifier([("a", member)]).fit(X, y), clone(member).fit(X, y)
    for method in ("predict_proba", "regret", "explain"):
        np.testing.assert_allclose(
            getattr(alone, method)(2 * X), getattr(plain, method)(2 * X), rtol=1e-9
        )
    if not isinstance(member, PNMLTreeClassifier):  # a union compares with rows left out
        np.testing.assert_array_equal(alone.trusted(2 * X), plain.trusted(2 * X))
    np.testing.assert_allclose(alone.loo_.regrets, plain.loo_.regrets, rtol=1e-9)
    np.testing.assert_allclose(alone.loo_.log_losses, plain.loo_.log_losses, rtol=1e-9)


def test_left_out_rows_are_those_of_refitted_members(three):
    X, y = three
    members = [("weak", refitted(10.0)), ("strong", refitted(0.1))]
    model = UniversalClassifier(members).fit(X, y)
    for i in (0, 25, 59):
        rest = np.delete(np.arange(60), i)
        dist = UniversalClassifier(members).fit(X[rest], y[rest]).predict_dist(X[[i]])
        assert model.loo_.log_losses[i] == pytest.approx(-dist.log_prob[0, y[i]], abs=1e-6)
        assert model.loo_.regrets[i] == pytest.approx(dist.regret[0], abs=1e-6)


def test_the_default_follows_strengths_from_strong_to_weak():
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = UniversalClassifier().fit(X[::2], y[::2])
    assert list(model.named_estimators_) == ["C=0.01", "C=0.1", "C=1", "C=10", "C=100"]
    assert model.score(X[1::2], y[1::2]) > 0.93
    assert model.trusted(X[1::2]).mean() > 0.9
    assert not model.trusted(X[1::2] + 10).any()


def test_sets_of_features_are_members_too(rng):
    table = pd.DataFrame(rng.normal(size=(60, 3)), columns=["age", "dose", "noise"])
    y = np.where(table["age"] + 0.5 * rng.normal(size=60) > 0, "ill", "well")

    def on(*names):
        columns = make_column_transformer(
            ("passthrough", list(names)), verbose_feature_names_out=False
        )
        return PNMLClassifier(make_pipeline(columns, LogisticRegression()), method="refit")

    model = UniversalClassifier([("age", on("age")), ("both", on("dose", "age"))]).fit(table, y)
    assert model.explain_names_.tolist() == ["age", "dose"]
    shares = model.explain(table.iloc[:5])
    assert shares.shape == (5, 2)
    assert np.all(shares >= 0)
    q = np.array([member.predict_proba(table) for member in model.estimators_]).max(axis=0)
    np.testing.assert_allclose(model.predict_proba(table), q / q.sum(axis=1, keepdims=True))


def test_weights_count_copies(three):
    X, y = three
    w = np.random.default_rng(1).integers(0, 3, size=60)
    members = [("weak", refitted(10.0)), ("strong", refitted(0.1))]
    weighted = UniversalClassifier(members).fit(X, y, sample_weight=w)
    copied = UniversalClassifier(members).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(weighted.regret(2 * X), copied.regret(2 * X), atol=1e-6)
    assert len(weighted.loo_.regrets) == np.sum(w > 0)


def test_parameters_of_the_members_are_parameters_of_the_whole():
    model = UniversalClassifier([("a", refitted(1.0)), ("b", PNMLClassifier())])
    assert model.get_params()["a__estimator__C"] == 1.0
    model.set_params(a__estimator__C=3.0, b=refitted(2.0))
    assert clone(model).get_params()["a__estimator__C"] == 3.0
    assert clone(model).get_params()["b__estimator__C"] == 2.0


def test_single_precision_rows_get_single_precision_regrets(fitted):
    model, x = fitted
    assert model.regret(x.astype(np.float32)).dtype == np.float32
    assert model.predict_proba(x.astype(np.float32)).dtype == np.float64


BAD = {
    "empty": ([], "empty list"),
    "no names": ([PNMLClassifier()], "needs a name"),
    "a plain classifier": ([("forest", RandomForestClassifier())], "inside of one"),
    "a union": ([("all", UniversalClassifier())], "PNMLTreeClassifier"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_combined_is_refused_in_one_sentence(name, three):
    members, words = BAD[name]
    assert_refused(lambda: UniversalClassifier(members).fit(*three), words)


def test_members_that_know_other_classes_are_refused(three):
    X, y = three
    frozen = FrozenEstimator(LogisticRegression().fit(X, np.where(y == 0, 0, y + 1)))
    members = [("a", PNMLClassifier()), ("b", PNMLClassifier(frozen))]
    with pytest.raises(InputError, match="classes"):
        UniversalClassifier(members).fit(X, y)


def test_names_must_differ(three):
    with pytest.raises(ValueError, match="unique"):
        UniversalClassifier([("a", PNMLClassifier()), ("a", PNMLClassifier())]).fit(*three)


@pytest.fixture
def mixed(three):
    X, y = three
    forest = PNMLTreeClassifier(RandomForestClassifier(5, max_depth=2, random_state=0))
    return UniversalClassifier([("refit", refitted(1.0)), ("forest", forest)]).fit(X, y), X, y


def test_trees_beside_logistic_regressions_are_the_normalised_maximum(mixed):
    model, X, _ = mixed
    q = np.array([member.predict_proba(2 * X) for member in model.estimators_])
    best = q.max(axis=0)
    Z = best.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(2 * X), best / Z, rtol=1e-9)
    assert np.all((Z >= 1) & (Z <= 2))
    shares = np.stack([(best / Z * (q[k] == best)).sum(axis=1) for k in range(2)])
    regrets = np.stack([member.regret(2 * X) for member in model.estimators_])
    expected = np.sum(shares * regrets, axis=0) + np.log(Z[:, 0])
    np.testing.assert_allclose(model.regret(2 * X), expected, rtol=1e-6)
    assert model.explain_names_.tolist() == [f"x{i}" for i in range(X.shape[1])]
    parts = np.stack([member.explain(2 * X) for member in model.estimators_])
    np.testing.assert_allclose(
        model.explain(2 * X), np.einsum("kn,knd->nd", shares, parts), rtol=1e-6
    )
    assert model.trusted(X).mean() > 0.9
    assert not model.trusted(X + 100).any()


def test_left_out_rows_of_frozen_trees_are_those_of_counts_without_them(three):
    X, y = three
    tree = RandomForestClassifier(3, max_depth=2, random_state=0).fit(X, y)
    frozen = PNMLTreeClassifier(FrozenEstimator(tree))
    members = [("tree", frozen), ("refit", refitted(1.0))]
    model = UniversalClassifier(members).fit(X, y)
    for i in (0, 31, 59):
        rest = np.delete(np.arange(60), i)
        dist = UniversalClassifier(members).fit(X[rest], y[rest]).predict_dist(X[[i]])
        assert model.loo_.log_losses[i] == pytest.approx(-dist.log_prob[0, y[i]], abs=1e-6)
        assert model.loo_.regrets[i] == pytest.approx(dist.regret[0], abs=1e-6)


def test_trees_in_a_union_come_back_from_a_file(mixed, tmp_path):
    model, X, _ = mixed
    save(model, tmp_path / "mixed.pnml")
    again = load(tmp_path / "mixed.pnml")
    for method in ("predict_proba", "regret", "explain", "trusted"):
        np.testing.assert_allclose(
            getattr(again, method)(2 * X), getattr(model, method)(2 * X), rtol=1e-12
        )
    np.testing.assert_array_equal(again.loo_.log_losses, model.loo_.log_losses)
