"""What new rows are compared with: how sure the classifier is of rows that it has not seen."""

from __future__ import annotations

import warnings
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold
from sklearn.naive_bayes import CategoricalNB, GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import oracle
from pnml import PNMLClassifier, UniversalClassifier
from pnml.core.statistic.gram import Gram
from pnml.errors import ConditionWarning
from pnml.learners.last_step import LastStep
from sentences import assert_refused

FOREST = RandomForestClassifier(20, random_state=0)


def left_out_leverage(X, i, unit):
    """Leverage of a row among the others, by a refit; a millionth of each column is the penalty."""
    pull = oracle.pull_by_refit(np.delete(X, i, 0) / unit, X[i] / unit, 1e-6, intercept=True)
    return pull / (1 - pull)


@pytest.mark.parametrize(
    "base",
    [
        FOREST,
        KNeighborsClassifier(7),
        make_pipeline(FunctionTransformer(), FOREST),
        HistGradientBoostingClassifier(max_iter=5, random_state=0),  # has no predict_log_proba
    ],
    ids=["forest", "neighbours", "pipeline", "boosting"],
)
def test_a_left_out_regret_is_that_of_a_model_fitted_without_the_fold_of_the_row(base, three):
    X, y = three
    cv = KFold(4, shuffle=True, random_state=1)
    model = PNMLClassifier(base, cv=cv).fit(X, y)
    unit = np.linalg.norm(X - X.mean(0), axis=0)
    for train, test in cv.split(X):
        part = clone(base).fit(X[train], y[train])
        for i in test[::5]:
            p = part.predict_proba(X[i : i + 1])[0]
            h = left_out_leverage(X, i, unit)
            with np.errstate(divide="ignore"):
                truth = oracle.single_layer_regret(np.log(p), h)
            # the penalty is a share of all rows' columns; without the row they are a bit shorter
            assert model.loo_.leverages[i] == pytest.approx(h, rel=1e-5)
            assert model.reference_.regrets[i] == pytest.approx(truth, rel=1e-5, abs=1e-15)
            genies = np.array(oracle.single_layer_genies([float(v) for v in p], h / (1 + h)))
            with np.errstate(divide="ignore"):
                loss = -np.log(genies[y[i]].astype(float) / float(genies.sum()))
            assert model.loo_.log_losses[i] == pytest.approx(loss, rel=1e-5, abs=1e-15)


def test_the_folds_change_no_answer_but_the_verdict(three):
    X, y = three
    few, many = (PNMLClassifier(FOREST, cv=cv).fit(X, y) for cv in (2, 10))
    inside = clone(FOREST).fit(X, y)
    np.testing.assert_array_equal(few.estimator_.predict_proba(X), inside.predict_proba(X))
    np.testing.assert_array_equal(few.regret(2 * X), many.regret(2 * X))
    np.testing.assert_array_equal(few.reference_.leverages, many.reference_.leverages)
    assert not np.array_equal(few.reference_.regrets, many.reference_.regrets)
    again = PNMLClassifier(FOREST, cv=2).fit(X, y)
    np.testing.assert_array_equal(few.reference_.regrets, again.reference_.regrets)


def noisy(n, rng):
    """Rows whose label is wrong one time in ten, which a forest learns by heart."""
    X = rng.normal(size=(n, 6))
    return X, (X[:, 0] + X[:, 1] * X[:, 2] > 0) ^ (rng.random(n) < 0.1)


def test_of_fresh_rows_a_forest_distrusts_about_the_share_asked_for(rng):
    X, y = noisy(1000, rng)
    fresh, _ = noisy(4000, rng)
    forest = RandomForestClassifier(50, random_state=0)
    model = PNMLClassifier(forest).fit(X, y)
    own = PNMLClassifier(FrozenEstimator(forest.fit(X, y)), cv="prefit").fit(X, y)
    with pytest.warns(ConditionWarning, match="leverage alone"):
        frozen = PNMLClassifier(FrozenEstimator(forest)).fit(X, y)
    for level in (0.9, 0.99):
        # A threshold is a quantile of 1000 rows, and is passed by a share of 4000: three standard
        # deviations of both above 1 − level. Regret and leverage may each refuse that share.
        most = 1 - level + 3 * np.sqrt(level * (1 - level) * (1 / 1000 + 1 / 4000))
        passed = {
            who: np.mean(who.regret(fresh) > who.reference_.thresholds(level).regret)
            for who in (model, own)
        }
        assert passed[model] < most < passed[own]  # rows taken for new that were learnt by heart
        assert 0.5 * (1 - level) < np.mean(~model.trusted(fresh, level)) < 2 * most
        assert np.mean(~frozen.trusted(fresh, level)) < most


RIGID = {
    "logistic": LogisticRegression(),
    "scaled": make_pipeline(StandardScaler(), LogisticRegression()),
    "discriminant": LinearDiscriminantAnalysis(),
    "gradient descent": SGDClassifier(loss="log_loss", random_state=0),
    "bayes": GaussianNB(),
    "bayes of counts": make_pipeline(FunctionTransformer(np.abs), MultinomialNB()),
    "a search": GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2),
}
FLEXIBLE = {
    "forest": FOREST,
    "neighbours": KNeighborsClassifier(),
    "network": MLPClassifier((4,), max_iter=5),
    "calibrated": CalibratedClassifierCV(SVC(), cv=2),
    "categories": make_pipeline(FunctionTransformer(lambda X: X > 0), CategoricalNB()),
    "a search": GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1, 2]}, cv=2),
}


@pytest.mark.parametrize("name", RIGID)
def test_one_number_per_class_and_feature_cannot_recall_a_row(name, three):
    X, y = three
    model = PNMLClassifier(RIGID[name]).fit(X, y)
    assert LastStep.of(model.estimator_, X).is_rigid
    frozen = PNMLClassifier(FrozenEstimator(model.estimator_)).fit(X, y)  # and no warning
    assert model.reference_.regrets.tobytes() == frozen.reference_.regrets.tobytes()
    assert model.loo_.log_losses.tobytes() == frozen.loo_.log_losses.tobytes()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", FLEXIBLE)
def test_any_other_model_may_recall_its_rows(name, three):
    X, y = three
    assert not LastStep.of(clone(FLEXIBLE[name]).fit(X, y), X).is_rigid


@pytest.mark.parametrize(
    ("library", "name", "settings"),
    [
        ("lightgbm", "LGBMClassifier", {"n_estimators": 3, "verbose": -1, "n_jobs": 1}),
        ("xgboost", "XGBClassifier", {"n_estimators": 3, "n_jobs": 1}),
        (
            "catboost",
            "CatBoostClassifier",
            {"iterations": 3, "verbose": 0, "allow_writing_files": False},
        ),
    ],
)
def test_boosted_models_of_other_libraries_are_cross_fitted(library, name, settings, three):
    pytest.importorskip(library)
    X, y = three
    base = getattr(import_module(library), name)(**settings)
    model = PNMLClassifier(base).fit(X, y)
    assert not LastStep.of(model.estimator_, X).is_rigid
    own = PNMLClassifier(FrozenEstimator(model.estimator_), cv="prefit").fit(X, y)
    assert not np.array_equal(model.reference_.regrets, own.reference_.regrets)


class Counted(RandomForestClassifier):
    fits = 0

    def fit(self, X, y, sample_weight=None):
        Counted.fits += 1
        return super().fit(X, y, sample_weight)


def test_the_folds_cost_as_many_fits_as_there_are(three):
    for cv in (2, 5):
        Counted.fits = 0
        PNMLClassifier(Counted(3, random_state=0), cv=cv).fit(*three)
        assert Counted.fits == cv + 1


def test_a_table_of_words_is_left_out_whole(rng):
    frame = pd.DataFrame({"town": rng.choice(["Ghent", "Turin"], 60), "dose": rng.normal(size=60)})
    labels = np.where(rng.random(60) < 0.5, "ill", "well")
    encode = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["town"]), (StandardScaler(), ["dose"])
    )
    base = make_pipeline(encode, RandomForestClassifier(5, random_state=0))
    groups = np.arange(60) % 4
    model = PNMLClassifier(base, cv=GroupKFold(4)).fit(frame, labels, groups=groups)
    for k in range(4):
        part = clone(base).fit(frame[groups != k], labels[groups != k])
        p = part.predict_proba(frame[groups == k])
        certain = p.max(axis=1) == 1  # no regret, as nothing is left to gain
        np.testing.assert_array_equal(model.loo_.regrets[groups == k] == 0, certain)


def test_rows_of_no_weight_are_as_good_as_absent_in_the_folds(three):
    X, y = three
    w = np.where(np.arange(60) % 4 == 0, 0.0, 1.0 + np.arange(60) % 2)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    with_zeros = PNMLClassifier(tree).fit(X, y, sample_weight=w)
    without = PNMLClassifier(tree).fit(X[w > 0], y[w > 0], sample_weight=w[w > 0])
    kept = with_zeros.reference_.regrets[w > 0]
    # leverages of the same rows, in sums of other lengths
    np.testing.assert_allclose(kept, without.reference_.regrets, rtol=1e-9, atol=1e-15)
    for level in (0.5, 0.9, 0.99):
        limits = (model.reference_.thresholds(level) for model in (with_zeros, without))
        first, second = limits
        assert first.regret == pytest.approx(second.regret, rel=1e-9)
        assert first.leverage == pytest.approx(second.leverage, rel=1e-9)


def test_an_infinite_loss_that_does_not_count_is_not_counted(three):
    X, y = three
    w = np.ones(60)
    w[0] = 0.0
    y = np.where(np.arange(60) == 0, 7, y)  # the only row of its class, without weight
    model = PNMLClassifier(RandomForestClassifier(20, random_state=0, max_depth=2))
    loo = model.fit(X, y, sample_weight=w).loo_
    assert loo.log_losses[0] == np.inf
    assert np.isfinite(loo.log_loss)


def test_classes_of_one_and_two_rows_are_left_out_too(three):
    X, y = three
    labels = np.where(np.arange(60) < 2, "pair", y.astype(str))
    labels[2] = "single"
    model = PNMLClassifier(FOREST).fit(X, labels)
    assert model.classes_.tolist() == ["0", "1", "2", "pair", "single"]
    assert np.isfinite(model.reference_.regrets).all()
    assert model.loo_.log_losses[2] == np.inf  # nobody else is of its class


def test_a_union_compares_with_left_out_rows(rng):
    X, y = noisy(400, rng)
    fresh, _ = noisy(2000, rng)
    members = [("forest", PNMLClassifier(FOREST)), ("line", PNMLClassifier())]
    union = UniversalClassifier(members).fit(X, y)
    sample = union.estimators_[0].learner_.sample
    assert np.mean(sample.log_prob.max(axis=1) < np.log(0.9)) > 0.3  # not learnt by heart
    # the thresholds are quantiles of 200 rows here: three standard deviations for each
    allowed = 2 * 0.1 + 6 * np.sqrt(0.1 * 0.9 / 200)
    assert np.mean(~union.trusted(fresh, 0.9)) < allowed


@pytest.mark.parametrize("steps", [False, True])
def test_a_frozen_model_that_may_recall_the_rows_is_judged_by_the_leverage_alone(steps, three):
    X, y = three
    forest = clone(FOREST).fit(X, y)
    frozen = FrozenEstimator(forest)
    inside = make_pipeline(FunctionTransformer(), frozen) if steps else frozen
    with pytest.warns(ConditionWarning, match="frozen RandomForestClassifier may recall") as told:
        model = PNMLClassifier(inside).fit(X, y)
    assert len(told) == 1
    assert told[0].filename == __file__
    new = np.vstack([X, 1.5 * X])
    limit = model.reference_.thresholds(0.9).leverage
    trusted = model.trusted(new, 0.9)
    np.testing.assert_array_equal(trusted, model.learner_.leverage(new) <= limit)
    assert 0 < trusted.mean() < 1
    assert np.all(model.loo_.regrets == np.log(3))
    assert np.all(model.regret(1e6 * X) < np.log(3))


def test_rows_that_a_frozen_model_has_not_seen_are_a_reference(three):
    X, y = three
    base = FOREST.fit(X[::2], y[::2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = PNMLClassifier(FrozenEstimator(base), cv="prefit").fit(X[1::2], y[1::2])
    rows = X[1::2]
    unit = np.linalg.norm(rows - rows.mean(0), axis=0)
    for i in range(0, 30, 4):
        h = left_out_leverage(rows, i, unit)
        with np.errstate(divide="ignore"):
            truth = oracle.single_layer_regret(np.log(base.predict_proba(rows[i : i + 1])[0]), h)
        assert model.reference_.regrets[i] == pytest.approx(truth, rel=1e-5, abs=1e-15)


def test_a_statistic_of_rows_has_the_same_reference(three):
    X, y = three
    frozen = FrozenEstimator(clone(FOREST).fit(X, y))
    gram = Gram.of(X, y.astype(float)[:, None])
    with pytest.warns(ConditionWarning, match="leverage alone"):
        counted = PNMLClassifier(frozen).fit_gram(gram)
    assert np.all(counted.loo_.regrets == np.log(3))
    told = PNMLClassifier(frozen, cv="prefit").fit_gram(gram)
    whole = PNMLClassifier(frozen, cv="prefit").fit(X, y)
    np.testing.assert_allclose(
        np.sort(told.loo_.regrets), np.sort(whole.loo_.regrets), rtol=1e-9, atol=1e-15
    )


REFUSED = {
    "no fold": ({"cv": 1}, "number of folds from 2 on"),
    "half a fold": ({"cv": 2.5}, "number of folds from 2 on"),
    "a flag": ({"cv": True}, "number of folds from 2 on"),
    "a word": ({"cv": "loo"}, '"prefit"'),
    "more folds than rows": ({"cv": 61, "estimator": FOREST}, "X has 60 rows"),
    "trained here": ({"cv": "prefit", "estimator": FOREST}, "FrozenEstimator"),
    "trained here by default": ({"cv": "prefit"}, "LogisticRegression will be trained"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_folds_are_refused_in_one_sentence(name, three):
    settings, words = REFUSED[name]
    assert_refused(lambda: PNMLClassifier(**settings).fit(*three), words)
