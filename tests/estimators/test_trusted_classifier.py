"""TrustedClassifier: the model's own classes, and verdicts that know the training rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import (
    GridSearchCV,
    PredefinedSplit,
    StratifiedKFold,
    cross_val_predict,
    cross_validate,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from pnml import InputError, PNMLClassifier, TrustedClassifier
from pnml.core import softmax

MODELS = {
    "boosting": GradientBoostingClassifier(n_estimators=10, random_state=0),
    "forest": RandomForestClassifier(20, random_state=0),
    "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
    "bayes": GaussianNB(),
}


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = np.array(["no", "perhaps", "yes"])[
        np.digitize(X[:, 0] + 0.3 * rng.normal(size=400), [-0.5, 0.5])
    ]
    return X, y


@pytest.mark.parametrize("name", MODELS)
def test_classes_and_probabilities_are_the_models_own_to_the_bit(name, table):
    X, y = table
    model = TrustedClassifier(MODELS[name], cv=3, random_state=0).fit(X, y)
    alone = MODELS[name].fit(X, y)
    np.testing.assert_array_equal(model.predict(X), alone.predict(X))
    np.testing.assert_array_equal(model.predict_proba(X), alone.predict_proba(X))
    assert model.classes_.tolist() == ["no", "perhaps", "yes"]


@pytest.mark.parametrize("name", MODELS)
def test_far_rows_are_not_trusted_and_ordinary_ones_are(name, table):
    X, y = table
    model = TrustedClassifier(MODELS[name], cv=3, random_state=0).fit(X[:300], y[:300])
    far = X[300:].copy()
    far[:, 2] += 50
    # of 100 rows one is expected to be refused; more than seven come by chance once in 20,000
    assert model.trusted(X[300:]).mean() > 0.93
    assert not model.trusted(far).any()
    assert (model.explain(far).argmax(axis=1) == 2).all()


def test_the_regret_is_that_of_the_single_layer_network_at_the_leverage(table):
    X, y = table
    model = TrustedClassifier(MODELS["forest"], cv=3, random_state=0).fit(X, y)
    base = model.learner_.base
    kappa = base.leverage(base.read(X))
    with np.errstate(divide="ignore"):
        log_p = np.log(model.predict_proba(X))
    # probabilities are normalised once more, which moves their last digits
    np.testing.assert_allclose(model.regret(X), softmax.regret(log_p, kappa), rtol=1e-9, atol=1e-15)
    dist = model.predict_dist(X)
    np.testing.assert_allclose(dist.prob.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(model.relative_regret(X), dist.regret / np.log(3), rtol=1e-12)


def test_a_logistic_regression_has_the_regret_of_pnml(table):
    X, y = table
    model = TrustedClassifier(LogisticRegression(), cv=3).fit(X, y)
    same = PNMLClassifier(LogisticRegression()).fit(X, y)
    new = X * 1.5
    np.testing.assert_allclose(model.regret(new), same.regret(new), rtol=1e-9)


def test_usual_regrets_come_from_models_that_have_not_seen_the_row(table):
    X, y = table
    folds = StratifiedKFold(4)
    model = TrustedClassifier(MODELS["boosting"], cv=folds).fit(X, y)
    p = cross_val_predict(MODELS["boosting"], X, y, cv=folds, method="predict_proba")
    by_hand = softmax.regret(np.log(p), model.learner_.base.leverages)
    np.testing.assert_allclose(model.reference_.regrets, by_hand, rtol=1e-9)


def test_the_probability_of_being_wrong_is_calibrated_and_keeps_the_order(table):
    X, y = table
    folds = PredefinedSplit(np.arange(400) % 4)
    model = TrustedClassifier(MODELS["forest"], cv=folds).fit(X, y)
    p = cross_val_predict(MODELS["forest"], X, y, cv=folds, method="predict_proba")
    wrong = model.classes_[p.argmax(axis=1)] != y
    with np.errstate(divide="ignore"):
        expected = model.learner_.wrong.at(np.log(p))
    # at the maximum of the likelihood the mean is that of Platt's targets, a row away from 0 and 1
    assert expected.mean() == pytest.approx(wrong.mean(), abs=2 / 400)
    new = np.random.default_rng(1).normal(size=(300, 4))
    largest = model.predict_proba(new).max(axis=1)
    order = np.argsort(-largest, kind="stable")
    assert (np.diff(model.expected_error(new)[order]) >= -1e-12).all()


def test_false_distrust_of_boosting_is_near_the_level():
    X, y = load_breast_cancer(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(y))
    train, test = rows[:380], rows[380:]
    model = TrustedClassifier(random_state=0).fit(X[train], y[train])
    # 189 rows at a level of one in a hundred: more than eight by chance once in 5,000
    assert np.mean(~model.trusted(X[test])) <= 8 / 189


def test_a_fitted_classifier_is_kept_and_calibrated_with_other_rows(table):
    X, y = table
    fitted = RandomForestClassifier(20, random_state=0).fit(X[:200], y[:200])
    for inner in (fitted, FrozenEstimator(fitted)):
        model = TrustedClassifier(inner, prefit=True).fit(X[:200], y[:200])
        np.testing.assert_array_equal(model.predict(X), fitted.predict(X))
        assert model.trusted(X[200:]).mean() > 0.93
        assert not model.trusted(X + 50).any()
        with pytest.raises(InputError, match=r"calibrate\(X, y\)"):
            model.expected_error(X)
        assert "expected_error" not in model.score_frame(X[:2])
        model.calibrate(X[200:], y[200:])
        error = np.mean(fitted.predict(X[200:]) != y[200:])
        assert model.expected_error(X[200:]).mean() == pytest.approx(error, abs=0.02)


def test_the_frame_has_all_answers(table):
    pytest.importorskip("pandas")
    X, y = table
    model = TrustedClassifier(MODELS["boosting"], cv=3, random_state=0).fit(X, y)
    frame = model.score_frame(X[:5] + [0, 0, 30, 0])
    names = ["prediction", "probability", "expected_error", "regret", "trusted", "because"]
    assert list(frame) == names
    assert not frame["trusted"].any()
    assert frame["because"].str.startswith("x2 ").all()


def test_it_works_in_searches_and_cross_validation(table):
    X, y = table
    model = TrustedClassifier(GradientBoostingClassifier(random_state=0), cv=3, random_state=0)
    search = GridSearchCV(model, {"estimator__n_estimators": [2, 5]}, cv=2).fit(X, y)
    assert search.best_estimator_.trusted(X).mean() > 0.9
    assert np.isfinite(
        cross_validate(model.set_params(estimator__n_estimators=2), X, y, cv=2)["test_score"]
    ).all()


@pytest.mark.parametrize(
    ("estimator", "y", "sentence"),
    [
        (Ridge(), None, "use TrustedRegressor"),
        (LinearSVC(), None, "without predict_proba"),
        (None, np.zeros(400), "one class only"),
        (None, np.zeros((400, 2)), "one class per row"),
        (None, np.zeros(3), "X has 400 rows but y has 3"),
    ],
)
def test_what_cannot_be_learned_is_refused_in_a_sentence(estimator, y, sentence, table):
    X, labels = table
    with pytest.raises(InputError, match=sentence):
        TrustedClassifier(estimator).fit(X, labels if y is None else y)


def never_repeats(estimator):
    reason = "HistGradientBoostingClassifier bins rows without looking at their weights"
    return {"check_sample_weight_equivalence_on_dense_data": reason}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([TrustedClassifier(random_state=0)], expected_failed_checks=never_repeats)
def test_estimator_keeps_the_contract_of_scikit_learn(estimator, check):
    check(estimator)
