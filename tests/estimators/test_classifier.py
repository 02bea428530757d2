"""The classifier against the definition of its parts: refits, deletion, mpmath."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import oracle
from pnml import PNMLClassifier


def logits(model, x):
    """Logits of a fitted logistic regression, from its coefficients."""
    z = model.coef_ @ x + model.intercept_
    return np.append(0.0, z) if len(z) == 1 else z


def leverage_by_refit(X, x, alpha, intercept, weights=None):
    pull = oracle.pull_by_refit(X, x, alpha, intercept, weights)
    return pull / (1 - pull)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("alpha", [0.0, 0.3, "auto"])
def test_regret_is_the_definition_with_a_refit_for_the_leverage(three, alpha, classes, weighted):
    X, y = three[0][three[1] < classes], three[1][three[1] < classes]
    rng = np.random.default_rng(5)
    w = rng.uniform(0.5, 3, size=len(X)) if weighted else None
    model = PNMLClassifier(LogisticRegression(C=0.25), alpha=alpha).fit(X, y, sample_weight=w)
    base = LogisticRegression(C=0.25).fit(X, y, sample_weight=w)
    penalty = 4.0 if alpha == "auto" else alpha
    assert model.alpha_ == penalty
    for x in 3 * rng.normal(size=(6, 3)):
        h = leverage_by_refit(X, x, penalty, True, w)
        truth = oracle.single_layer_regret(logits(base, x), h)
        assert model.regret(x[None])[0] == pytest.approx(truth, rel=1e-9)
        p = [float(v) for v in oracle.class_probabilities_in_digits(logits(base, x))]
        genies = np.array(oracle.single_layer_genies(p, h / (1 + h)))
        np.testing.assert_allclose(model.predict_proba(x[None])[0], genies / genies.sum())


def test_rows_of_unit_norm_have_no_bias_and_no_centre(three):
    X, y = three
    x = np.array([2.0, -1.0, 4.0])
    model = PNMLClassifier(alpha=0.5, normalize=True).fit(X, y)
    U = X / np.linalg.norm(X, axis=1, keepdims=True)
    h = leverage_by_refit(U, x / np.linalg.norm(x), 0.5, False)
    truth = oracle.single_layer_regret(logits(LogisticRegression().fit(X, y), x), h)
    assert model.regret(x[None])[0] == pytest.approx(truth, rel=1e-9)
    assert np.isfinite(model.regret(np.zeros((1, 3))))[0]


def test_without_a_penalty_of_its_own_a_millionth_of_each_column_is_taken(three):
    X, y = three
    X = X * [1e5, 1.0, 1e-5]  # trees do not mind the units of a column, and nor must we
    forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    model = PNMLClassifier(RandomForestClassifier(5, random_state=0)).fit(X, y)
    unit = np.linalg.norm(X - X.mean(0), axis=0)
    for x in X[::10] * 1.5:
        h = leverage_by_refit(X / unit, x / unit, 1e-6, True)
        with np.errstate(divide="ignore"):
            log_p = np.log(forest.predict_proba(x[None])[0])
        assert model.regret(x[None])[0] == pytest.approx(
            oracle.single_layer_regret(log_p, h), rel=1e-8
        )


@pytest.mark.parametrize("alpha", [0.0, 0.7])
def test_left_out_leverage_is_that_among_the_other_rows(three, alpha):
    X, y = three
    model = PNMLClassifier(alpha=alpha).fit(X, y)
    for i in range(0, 60, 7):
        h = leverage_by_refit(np.delete(X, i, 0), X[i], alpha, True)
        truth = oracle.single_layer_regret(logits(model.estimator_, X[i]), h)
        assert model.loo_.leverages[i] == pytest.approx(h, rel=1e-9)
        assert model.loo_.regrets[i] == pytest.approx(truth, rel=1e-9)
        p = [float(v) for v in oracle.class_probabilities_in_digits(logits(model.estimator_, X[i]))]
        genies = np.array(oracle.single_layer_genies(p, h / (1 + h)))
        loss = -np.log(genies[y[i]] / genies.sum())
        assert model.loo_.log_losses[i] == pytest.approx(loss, rel=1e-9)
    assert model.loo_.log_loss == pytest.approx(model.loo_.log_losses.mean())


def test_of_a_heavy_row_one_copy_is_left_out(three):
    X, y = three
    w = np.ones(60)
    w[0], w[1], w[2] = 3.0, 0.5, 0.0
    model = PNMLClassifier(alpha=0.2).fit(X, y, sample_weight=w)
    for i, rest in ((0, 2.0), (1, 0.0), (3, 0.0)):
        without = w.copy()
        without[i] = rest
        used = without > 0
        h = leverage_by_refit(X[used], X[i], 0.2, True, without[used])
        assert model.loo_.leverages[i] == pytest.approx(h, rel=1e-9)


def test_a_row_of_no_weight_is_as_good_as_absent(three):
    X, y = three
    w = np.ones(60)
    w[::4] = 0
    options = {"estimator": LogisticRegression(tol=1e-12, max_iter=1000)}
    with_zeros = PNMLClassifier(**options).fit(X, y, sample_weight=w)
    without = PNMLClassifier(**options).fit(X[w > 0], y[w > 0])
    np.testing.assert_allclose(with_zeros.regret(2 * X), without.regret(2 * X), rtol=1e-6)
    assert with_zeros.loo_.threshold(0.9) == pytest.approx(without.loo_.threshold(0.9), rel=1e-6)


@pytest.mark.parametrize("alpha", [0.0, "auto"])
def test_a_direction_never_seen_raises_the_regret_and_costs_the_trust(rng, alpha):
    town = rng.integers(0, 3, size=90)
    X = np.column_stack([rng.normal(size=90), np.eye(4)[town]])  # nobody from the fourth town
    y = (X[:, 0] + 0.5 * rng.normal(size=90) > 0).astype(int)
    model = PNMLClassifier(alpha=alpha).fit(X, y)
    known, new = np.append(1.5, np.eye(4)[0])[None], np.append(1.5, np.eye(4)[3])[None]
    assert model.regret(new)[0] > 5 * model.regret(known)[0]
    assert model.trusted(known)[0]
    assert not model.trusted(new)[0]
    probabilities = model.predict_proba(np.vstack([known, new]))
    assert probabilities.max(axis=1)[1] < probabilities.max(axis=1)[0]
    assert model.explain(new)[0, 4] > 100 * model.explain(known)[0, 4]


def test_infinite_leverage_has_the_largest_regret_that_there_is_and_no_trust(rng):
    X = np.column_stack([rng.normal(size=40), np.zeros(40)])
    X[0, 1] = 1.0  # alone in its direction, and so of no use for the threshold
    y = (X[:, 0] > 0).astype(int)
    model = PNMLClassifier(alpha=0.0).fit(X, y)
    assert np.isinf(model.loo_.leverages[0])
    assert np.isfinite(model.loo_.leverages[1:]).all()
    assert model.loo_.regrets[0] > model.loo_.threshold(1.0)
    never = PNMLClassifier(alpha=0.0).fit(X[1:], y[1:])
    p = np.exp(never.estimator_.predict_log_proba([[0.5, 1.0]])[0])
    assert never.regret([[0.5, 1.0]])[0] == pytest.approx(np.log(np.sum(1 / (2 - p))), rel=1e-9)
    assert not never.trusted([[0.5, 1.0]], level=1.0)[0]
    assert np.isinf(never.explain([[0.5, 1.0]])[0, 1])


DATA = [load_iris, load_wine, load_breast_cancer]
BASES = [
    make_pipeline(StandardScaler(), LogisticRegression()),
    RandomForestClassifier(30, random_state=0),
    GaussianNB(),
]


@pytest.mark.parametrize("load", DATA)
@pytest.mark.parametrize("base", BASES, ids=["logistic", "forest", "bayes"])
def test_on_real_tables_it_predicts_as_before_and_knows_strange_rows(load, base):
    X, y = load(return_X_y=True)
    X_train, X_test, y_train, _ = train_test_split(X, y, random_state=0, stratify=y)
    model = PNMLClassifier(base).fit(X_train, y_train)
    before = clone(base).fit(X_train, y_train)
    np.testing.assert_array_equal(model.predict(X_test), before.predict(X_test))
    assert model.score(X_test, before.predict(X_test)) == 1.0
    strange = X_test + 10 * X_train.std(axis=0)
    assert model.trusted(X_test).mean() > 0.85
    assert model.trusted(strange).mean() < 0.05  # however sure the classifier inside is
    bound = np.log((len(model.classes_) + 1) / 2)
    assert np.all(model.regret(strange) <= bound + 1e-12)
    np.testing.assert_allclose(
        model.relative_regret(X_test), model.regret(X_test) / np.log(len(model.classes_))
    )


def test_what_is_returned_hangs_together(three):
    X, y = three
    labels = np.array(["low", "mid", "high"])[y]
    model = PNMLClassifier().fit(X, labels)
    p = model.predict_proba(X)
    assert model.classes_.tolist() == ["high", "low", "mid"]
    assert p.shape == (60, 3)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-14)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), p, rtol=1e-14)
    np.testing.assert_array_equal(model.predict(X), model.classes_[p.argmax(axis=1)])
    shares = model.explain(X)
    assert np.all(shares >= 0)
    leverage = model.spectrum_.leverage(X, model.alpha_)
    np.testing.assert_allclose(shares.sum(axis=1), leverage - 1 / 60, rtol=1e-10)


def test_confident_rows_of_two_classes_are_still_told_apart():
    X = np.linspace(-3, 3, 40)[:, None]
    model = PNMLClassifier(LogisticRegression(C=1e4, max_iter=1000)).fit(X, X[:, 0] > 0)
    far = np.array([[20.0], [21.0], [22.0]])
    assert np.all(model.estimator_.predict_proba(far)[:, 0] == 0)  # 1 − p has run out of digits
    for x, found in zip(far, model.regret(far), strict=True):
        h = leverage_by_refit(X, x, 1e-4, True)
        truth = oracle.single_layer_regret(logits(model.estimator_, x), h)
        assert found == pytest.approx(truth, rel=1e-9)


def test_rows_in_single_precision_get_regrets_in_single_precision(three):
    X, y = three
    model = PNMLClassifier().fit(X.astype(np.float32), y)
    assert model.regret(X.astype(np.float32)).dtype == np.float32
    assert model.explain(X.astype(np.float32)).dtype == np.float32
    assert model.predict_proba(X.astype(np.float32)).dtype == np.float64
    np.testing.assert_allclose(model.regret(X), PNMLClassifier().fit(X, y).regret(X), rtol=1e-4)
