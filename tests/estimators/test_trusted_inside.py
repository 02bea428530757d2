"""Models inside searches and transformed targets are judged by what they are."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pnml
from pnml import TrustedClassifier, TrustedRegressor

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
Y = np.exp(X[:, 0] + 0.1 * RNG.normal(size=200))
NEW = np.vstack([X, X + 3])


def search(model, **grid):
    return GridSearchCV(model, {name: [value] for name, value in grid.items()}, cv=2)


def forest():
    return RandomForestRegressor(5, min_samples_leaf=20, random_state=0)


@pytest.mark.parametrize(
    ("outside", "model", "y"),
    [
        (search(forest(), min_samples_leaf=20), forest(), Y),
        (RandomizedSearchCV(Ridge(), {"alpha": [2.0]}, n_iter=1, cv=2), Ridge(2.0), Y),
        (search(make_pipeline(StandardScaler(), Ridge()), ridge__alpha=2.0), None, Y),
        (make_pipeline(StandardScaler(), search(Ridge(), alpha=2.0)), None, Y),
        (TransformedTargetRegressor(forest(), func=np.log, inverse_func=np.exp), forest(), "log"),
        (TransformedTargetRegressor(Lasso(), func=np.log, inverse_func=np.exp), Lasso(), "log"),
        (search(TransformedTargetRegressor(Ridge()), regressor__alpha=2.0), Ridge(2.0), Y),
    ],
    ids=["trees", "slopes", "steps", "last step", "log trees", "log lasso", "both"],
)
def test_a_model_inside_another_has_its_own_regret_and_reasons(outside, model, y):
    y = np.log(Y) if isinstance(y, str) else y
    model = make_pipeline(StandardScaler(), Ridge(2.0)) if model is None else model
    found = TrustedRegressor(outside, cv=2, random_state=0).fit(X, Y)
    plain = TrustedRegressor(model, cv=2, random_state=0).fit(X, y)
    np.testing.assert_allclose(found.regret(NEW), plain.regret(NEW), rtol=1e-10)
    np.testing.assert_array_equal(found.trusted(NEW), plain.trusted(NEW))
    np.testing.assert_allclose(found.explain(NEW), plain.explain(NEW), rtol=1e-8, atol=1e-12)
    np.testing.assert_array_equal(found.predict(NEW), found.estimator_.predict(NEW))


def test_a_search_is_taken_as_it_is_and_comes_back_from_a_file(tmp_path):
    fitted = search(forest(), min_samples_leaf=20).fit(X, Y)
    found = TrustedRegressor(FrozenEstimator(fitted)).fit(X, Y)
    plain = TrustedRegressor(forest().fit(X, Y), prefit=True).fit(X, Y)
    np.testing.assert_array_equal(found.regret(NEW), plain.regret(NEW))
    with pytest.warns(UserWarning, match="only a fingerprint of the FrozenEstimator"):
        pnml.save(found, tmp_path / "model.pnml")
    again = pnml.load(tmp_path / "model.pnml", model=FrozenEstimator(fitted))
    np.testing.assert_array_equal(again.regret(NEW), found.regret(NEW))


def test_a_classifier_inside_a_search_keeps_its_answers():
    labels = Y > 1
    found = TrustedClassifier(search(LogisticRegression(), C=0.5), cv=3, random_state=0)
    plain = TrustedClassifier(LogisticRegression(C=0.5), cv=3, random_state=0)
    found.fit(X, labels), plain.fit(X, labels)
    np.testing.assert_allclose(found.regret(NEW), plain.regret(NEW), rtol=1e-10)
    np.testing.assert_array_equal(found.predict_proba(NEW), plain.predict_proba(NEW))


@pytest.mark.parametrize(
    "outside",
    [
        search(Ridge(), alpha=2.0),
        TransformedTargetRegressor(Ridge(2.0)),
        search(make_pipeline("passthrough", Ridge()), ridge__alpha=2.0),
    ],
    ids=["search", "target", "steps"],
)
def test_weights_reach_the_model_inside(outside):
    weights = np.arange(200) % 3
    repeated = np.repeat(np.arange(200), weights)
    found = TrustedRegressor(outside, cv=2, random_state=0).fit(X, Y, sample_weight=weights)
    truth = Ridge(2.0).fit(X[repeated], Y[repeated]).predict(NEW)
    np.testing.assert_allclose(found.predict(NEW), truth, rtol=1e-9)


def test_words_are_coded_for_trees_inside_a_search_too():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": X[:, 0], "word": RNG.choice(["x", "y"], 200)})
    inside = search(HistGradientBoostingRegressor(max_iter=5), max_iter=5)
    model = TrustedRegressor(inside, cv=2, random_state=0).fit(frame, Y)
    assert not model.trusted(frame[:3].assign(word="z")).any()
    assert model.trusted(frame).mean() > 0.9
