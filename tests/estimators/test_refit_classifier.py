"""The refitted classifier against scikit-learn trained again, label by label."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from pnml import ConditionWarning, InputError, PNMLClassifier

EXACT = {"solver": "newton-cholesky", "tol": 1e-12, "max_iter": 1000}


def log_genies(base, X, y, x, w=None):
    """Log-probability of each label by scikit-learn, trained to the end with the row and it."""
    found = []
    w = np.ones(len(X)) if w is None else w
    for k, label in enumerate(np.unique(y)):
        told = clone(base).set_params(**EXACT)
        told.fit(np.vstack([X, x]), np.append(y, label), sample_weight=np.append(w, 1.0))
        found.append(told.predict_log_proba(x[None])[0, k])
    return np.array(found)


def regret_and_log_prob(base, X, y, x, w=None):
    genies = log_genies(base, X, y, x, w)
    regret = logsumexp(genies)
    return regret, genies - regret


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("C", [0.05, 1.0, 50.0])
def test_genies_are_what_scikit_learn_trains_with_the_row(three, classes, intercept, weighted, C):
    X, y = three[0][three[1] < classes], three[1][three[1] < classes]
    rng = np.random.default_rng(5)
    w = rng.integers(1, 4, size=len(X)).astype(float) if weighted else None
    base = LogisticRegression(C=C, fit_intercept=intercept)
    model = PNMLClassifier(base, method="refit", tol=1e-6).fit(X, y, sample_weight=w)
    new = X[rng.integers(len(X), size=3)] + 2 * rng.normal(size=(3, 3))
    found = model.predict_dist(new)
    for i, x in enumerate(new):
        regret, log_prob = regret_and_log_prob(base, X, y, x, w)
        assert found.regret[i] == pytest.approx(regret, abs=2e-6)
        np.testing.assert_allclose(np.exp(found.log_prob[i]), np.exp(log_prob), atol=2e-6)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("intercept", [True, False])
def test_before_it_is_told_anything_the_model_is_that_of_scikit_learn(three, classes, intercept):
    X, y = three[0][three[1] < classes], three[1][three[1] < classes]
    base = LogisticRegression(C=0.7, fit_intercept=intercept)
    model = PNMLClassifier(base, method="refit").fit(X, y)
    exact = clone(base).set_params(**EXACT).fit(X, y)
    inside = model.learner_.model
    np.testing.assert_allclose(
        np.exp(inside.log_prob(2 * X)), exact.predict_proba(2 * X), atol=1e-8
    )
    coef = inside.weight[1:] - inside.weight[0] if classes == 2 else inside.weight
    np.testing.assert_allclose(coef, exact.coef_, atol=1e-7)


def test_labels_may_be_words_and_rows_a_table():
    iris = load_iris(as_frame=True)
    words = iris.target_names[iris.target]
    # In centimetres lbfgs takes about 100 steps, a few more or fewer as sums are rounded.
    base = LogisticRegression(C=10.0, max_iter=1000)
    model = PNMLClassifier(base, method="refit", tol=1e-6).fit(iris.data, words)
    new = iris.data.iloc[[0, 70, 130]] * 1.2
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert model.feature_names_in_.tolist() == iris.data.columns.tolist()
    p = model.predict_proba(new)
    assert model.predict(new).tolist() == model.classes_[p.argmax(axis=1)].tolist()
    for x, found in zip(new.to_numpy(), model.regret(new), strict=True):
        truth, _ = regret_and_log_prob(base, iris.data.to_numpy(), words, x)
        assert found == pytest.approx(truth, abs=2e-6)


def test_steps_before_the_classifier_stay_as_they_were_fitted():
    X, y = load_wine(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), LogisticRegression(C=0.3))
    model = PNMLClassifier(pipeline, method="refit", tol=1e-6).fit(X[:-2], y[:-2])
    scaler = StandardScaler().fit(X[:-2])
    rows, new = scaler.transform(X[:-2]), scaler.transform(X[-2:] * 1.3)
    for x, found in zip(new, model.regret(X[-2:] * 1.3), strict=True):
        truth, _ = regret_and_log_prob(LogisticRegression(C=0.3), rows, y[:-2], x)
        assert found == pytest.approx(truth, abs=2e-6)


def test_tables_of_words_and_numbers_go_through_a_pipeline(rng):
    table = pd.DataFrame({"size": rng.normal(size=60), "town": rng.choice(["a", "b"], size=60)})
    y = (table["size"] + (table["town"] == "a") + 0.5 * rng.normal(size=60) > 0.5).to_numpy()
    columns = make_column_transformer(
        (StandardScaler(), ["size"]), (OneHotEncoder(handle_unknown="ignore"), ["town"])
    )
    model = PNMLClassifier(make_pipeline(columns, LogisticRegression()), method="refit")
    model.fit(table, y)
    new = pd.DataFrame({"size": [0.1, 0.1], "town": ["a", "z"]})
    assert model.regret(new)[1] > model.regret(new)[0]
    assert model.explain(new).shape == (2, 3)


def test_a_classifier_that_is_fitted_already_is_trained_again_on_the_rows_of_fit(three):
    X, y = three
    frozen = FrozenEstimator(LogisticRegression(C=2.0).fit(X, y))
    new = 2 * X[:3]
    fresh = PNMLClassifier(LogisticRegression(C=2.0), method="refit", tol=1e-7).fit(X[::2], y[::2])
    again = PNMLClassifier(frozen, method="refit", tol=1e-7).fit(X[::2], y[::2])
    np.testing.assert_allclose(again.regret(new), fresh.regret(new), atol=2e-7)
    with pytest.raises(InputError, match="Class 2 has no row"):
        PNMLClassifier(frozen, method="refit").fit(X[y < 2], y[y < 2])
    with pytest.raises(InputError, match="has 3 features, but X has 2"):
        PNMLClassifier(frozen, method="refit").fit(X[:, 1:], y)


def test_left_out_rows_are_judged_by_a_model_that_has_not_seen_them(three):
    X, y = three
    base = LogisticRegression(C=5.0)
    model = PNMLClassifier(base, method="refit", tol=1e-6).fit(X, y)
    loo = model.loo_
    assert loo.index.tolist() == list(range(60))
    for i in range(0, 60, 13):
        rest = np.delete(np.arange(60), i)
        regret, log_prob = regret_and_log_prob(base, X[rest], y[rest], X[i])
        assert loo.regrets[i] == pytest.approx(regret, abs=2e-6)
        assert loo.log_losses[i] == pytest.approx(-log_prob[y[i]], abs=1e-5)
        np.testing.assert_allclose(np.exp(loo.log_prob[i]), np.exp(log_prob), atol=2e-6)
        h = PNMLClassifier(base, alpha=model.alpha_).fit(X, y).loo_.leverages[i]
        assert loo.leverages[i] == pytest.approx(h, rel=1e-12)
    assert np.all(loo.errors <= 1e-6)
    assert loo.log_loss == pytest.approx(loo.log_losses.mean())


def test_leave_one_out_waits_until_it_is_asked_for_and_takes_200_rows_of_many(rng):
    X = rng.normal(size=(500, 2))
    y = (X[:, 0] + rng.normal(size=500) > 0).astype(int)
    w = np.ones(500)
    w[::5] = 0
    model = PNMLClassifier(method="refit").fit(X, y, sample_weight=w)
    model.predict_proba(X[:3])
    assert "loo" not in vars(model.learner_)
    index = model.loo_.index
    assert len(np.unique(index)) == 200
    assert np.all(index % 5 != 0)
    assert PNMLClassifier(method="refit").fit(X, y, sample_weight=w).loo_.index.tolist() == (
        index.tolist()
    )


def test_a_row_of_no_weight_is_as_good_as_absent(three):
    X, y = three
    w = np.ones(60)
    w[::4] = 0
    with_zeros = PNMLClassifier(method="refit", tol=1e-8).fit(X, y, sample_weight=w)
    without = PNMLClassifier(method="refit", tol=1e-8).fit(X[w > 0], y[w > 0])
    np.testing.assert_allclose(with_zeros.regret(2 * X), without.regret(2 * X), atol=1e-8)
    assert with_zeros.loo_.threshold(0.9) == pytest.approx(without.loo_.threshold(0.9), abs=1e-8)
    with pytest.raises(InputError, match="Class 1 has no row with a weight above 0"):
        PNMLClassifier(method="refit").fit(X, y, sample_weight=(y != 1).astype(float))


def test_without_a_penalty_the_regret_is_that_of_plain_maximum_likelihood(rng):
    X = rng.normal(size=(80, 2))
    y = (X[:, 0] + 1.5 * rng.normal(size=80) > 0).astype(int)
    base = LogisticRegression(C=np.inf)
    model = PNMLClassifier(base, method="refit", tol=1e-6).fit(X, y)
    for x in 2 * X[:3]:
        truth, _ = regret_and_log_prob(base, X, y, x)
        assert model.regret(x[None])[0] == pytest.approx(truth, abs=2e-6)


def test_a_class_of_one_row_is_a_class(three):
    X, y = three
    keep = (y != 2) | (np.arange(60) == 59)
    model = PNMLClassifier(method="refit").fit(X[keep], y[keep])
    truth, _ = regret_and_log_prob(LogisticRegression(), X[keep], y[keep], X[50])
    assert model.regret(X[[50]])[0] == pytest.approx(truth, abs=1e-4)


DATA = [load_iris, load_wine, load_breast_cancer]


@pytest.mark.parametrize("load", DATA)
def test_on_real_tables_it_trusts_usual_rows_and_no_strange_ones(load):
    X, y = load(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    model = PNMLClassifier(pipeline, method="refit").fit(X_train, y_train)
    assert model.score(X_test, y_test) > 0.93
    assert model.trusted(X_test).mean() > 0.85
    strange = X_test + 10 * X_train.std(axis=0)
    assert model.trusted(strange).mean() < 0.05
    C = len(model.classes_)
    assert np.all(model.regret(strange) <= np.log(C))
    np.testing.assert_allclose(model.predict_proba(strange).sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(
        model.relative_regret(X_test[:5]), model.regret(X_test[:5]) / np.log(C), rtol=1e-9
    )


def test_far_away_every_label_can_be_fitted(three):
    X, y = three
    model = PNMLClassifier(method="refit").fit(X, y)
    assert model.regret(1e4 * X[:3]) == pytest.approx(np.log(3), abs=0.01)
    assert model.predict_proba(1e4 * X[:3]) == pytest.approx(1 / 3, abs=0.01)


def test_rows_in_single_precision_get_regrets_in_single_precision(three):
    X, y = three
    model = PNMLClassifier(method="refit").fit(X.astype(np.float32), y)
    assert model.regret(X[:3].astype(np.float32)).dtype == np.float32
    assert model.predict_proba(X[:3].astype(np.float32)).dtype == np.float64


def test_a_tolerance_out_of_reach_is_said_with_rows_and_error(three):
    X, y = three
    model = PNMLClassifier(method="refit", tol=1e-18).fit(X, y)
    with pytest.warns(ConditionWarning, match=r"of [12] of 2 rows .* largest error may be"):
        model.regret(X[:2])


def test_settings_of_the_classifier_inside_can_be_searched(three):
    X, y = three
    search = GridSearchCV(
        PNMLClassifier(LogisticRegression(), method="refit"),
        {"estimator__C": [0.01, 1.0]},
        scoring="neg_log_loss",
        cv=3,
    ).fit(X, y)
    assert search.best_estimator_.estimator_.C in (0.01, 1.0)


def inside(**options):
    return PNMLClassifier(LogisticRegression(**options), method="refit")


BAD = {
    "another classifier": (PNMLClassifier(GaussianNB(), method="refit"), 'method="analytic"'),
    "several strengths": (
        PNMLClassifier(LogisticRegressionCV(), method="refit"),
        "LogisticRegressionCV",
    ),
    "a pipeline to another": (
        PNMLClassifier(make_pipeline(StandardScaler(), GaussianNB()), method="refit"),
        "GaussianNB",
    ),
    "lasso": (inside(l1_ratio=1.0, solver="saga"), "l1_ratio=0"),
    "elastic net": (inside(l1_ratio=0.5, solver="saga"), "ℓ1"),
    "liblinear": (inside(solver="liblinear"), 'solver="lbfgs"'),
    "balanced": (inside(class_weight="balanced"), "sample_weight"),
    "uneven": (inside(class_weight={0: 1.0, 1: 2.0, 2: 1.0}), "class_weight=None"),
    "no tolerance": (PNMLClassifier(method="refit", tol=0.0), "tol=1e-4"),
    "a word as tolerance": (PNMLClassifier(method="refit", tol="small"), "above 0"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_trained_again_is_refused_in_one_sentence(name, three):
    model, words = BAD[name]
    with pytest.raises(InputError, match=words) as caught:
        model.fit(*three)
    assert str(caught.value).endswith(".")
    assert str(caught.value).count(". ") == 0


def test_classes_that_can_be_told_apart_need_a_penalty(rng):
    X = rng.normal(size=(40, 1))
    X += np.sign(X)
    model = inside(C=np.inf, max_iter=10_000)
    with pytest.raises(InputError, match=r"regret is log 2 = 0\.693 everywhere; .* finite C"):
        model.fit(X, X[:, 0] > 0)


def test_even_class_weights_are_none_at_all(three):
    X, y = three
    even = inside(class_weight={0: 1, 1: 1, 2: 1}).fit(X, y)
    np.testing.assert_allclose(even.regret(X[:4]), inside().fit(X, y).regret(X[:4]), atol=1e-12)
