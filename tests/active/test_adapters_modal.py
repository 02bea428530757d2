"""DIAL as a strategy of modAL picks what DIAL picks; learners like modAL's stand in for them."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from pnml.active import Ensemble, dial_sampling, dial_scores, dial_select, dial_select_batch


@pytest.fixture
def data(rng):
    y = rng.integers(0, 3, size=60)
    return rng.normal(size=(60, 4)) + y[:, None], y


def test_of_a_learner_the_members_of_its_ensemble_are_the_models(data):
    X, y = data
    forest = RandomForestClassifier(9, min_samples_leaf=2, random_state=0).fit(X[:15], y[:15])
    pool, targets = X[15:45], X[45:]
    models = Ensemble(forest.estimators_)
    a, b = models(pool), models(targets)
    for n in (1, 2, 3):
        found, worth = dial_sampling(SimpleNamespace(estimator=forest), pool, n, X_eval=targets)
        np.testing.assert_array_equal(found, dial_select(a, b, n))
        np.testing.assert_allclose(worth, -dial_scores(a, b)[found].max(axis=1), atol=1e-12)


def test_of_a_committee_the_learners_are_the_models(data):
    X, y = data
    models = [LogisticRegression(C=c).fit(X[:15], y[:15]) for c in (0.1, 1.0, 10.0)]

    def vote_proba(rows):
        return np.stack([model.predict_proba(rows) for model in models], axis=1)

    committee = SimpleNamespace(vote_proba=vote_proba)
    pool, targets = X[15:45], X[45:]
    a, b = (np.log(vote_proba(rows).swapaxes(0, 1)) for rows in (pool, targets))
    found, _ = dial_sampling(committee, pool, 3, targets, label_paths=2)
    np.testing.assert_array_equal(found, dial_select_batch(a, b, 3, label_paths=2))
    found, _ = dial_sampling(committee, pool, 2, label_paths=2)
    np.testing.assert_array_equal(found, dial_select_batch(a, a, 2, label_paths=2))


def test_a_learner_of_modal_gets_a_warning_and_the_same_picks(data):
    X, y = data
    forest = RandomForestClassifier(5, random_state=0).fit(X[:15], y[:15])
    Learner = type(
        "ActiveLearner", (), {"__module__": "modAL.models.learners", "estimator": forest}
    )
    with pytest.warns(UserWarning, match="no longer tested with modAL"):
        found, _ = dial_sampling(Learner(), X[15:])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(
            found, dial_sampling(SimpleNamespace(estimator=forest), X[15:])[0]
        )
