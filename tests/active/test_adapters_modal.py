"""DIAL as a strategy of modAL picks what DIAL picks."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from pnml.active import Ensemble, dial_sampling, dial_scores, dial_select, dial_select_batch

pytest.importorskip("modAL")
from modAL.models import ActiveLearner, Committee


@pytest.fixture
def data(rng):
    y = rng.integers(0, 3, size=60)
    return rng.normal(size=(60, 4)) + y[:, None], y


def test_of_a_learner_the_members_of_its_ensemble_are_the_models(data):
    X, y = data
    forest = RandomForestClassifier(9, min_samples_leaf=2, random_state=0)
    learner = ActiveLearner(forest, dial_sampling, X_training=X[:15], y_training=y[:15])
    pool, targets = X[15:45], X[45:]
    models = Ensemble(forest.estimators_)
    a, b = models(pool), models(targets)
    for n in (1, 2, 3):  # two picks could be taken for picks and their worth
        found, rows, worth = learner.query(pool, n, X_eval=targets, return_metrics=True)
        np.testing.assert_array_equal(found, dial_select(a, b, n))
        np.testing.assert_array_equal(rows, pool[found])
        np.testing.assert_allclose(worth, -dial_scores(a, b)[found].max(axis=1), atol=1e-12)


def test_of_a_committee_the_learners_are_the_models_also_if_they_know_other_classes(data):
    X, y = data
    few = np.flatnonzero(y < 2)[:8]
    learners = [
        ActiveLearner(LogisticRegression(C=c), X_training=X[rows], y_training=y[rows])
        for c, rows in ((0.1, slice(9)), (10.0, slice(5, 15)), (1.0, few))
    ]
    together = partial(dial_sampling, label_paths=2)
    committee = Committee(learners, together)
    pool, targets = X[15:45], X[45:]
    with np.errstate(divide="ignore"):
        a, b = (np.log(committee.vote_proba(rows).swapaxes(0, 1)) for rows in (pool, targets))
    found, _ = committee.query(pool, n_instances=3, X_eval=targets)
    np.testing.assert_array_equal(found, dial_select_batch(a, b, 3, label_paths=2))
    found, _ = committee.query(pool, n_instances=2)
    np.testing.assert_array_equal(found, dial_select_batch(a, a, 2, label_paths=2))


def test_labels_that_it_asks_for_raise_the_accuracy():
    X, y = load_digits(return_X_y=True)
    X = X / 16
    known, test, truth = np.arange(10), X[900:], y[900:]
    scores = []
    for _ in range(7):
        forest = RandomForestClassifier(12, min_samples_leaf=2, random_state=0)
        # a new one each time: its method teach does not run with scikit-learn from 1.8 on
        learner = ActiveLearner(forest, dial_sampling, X_training=X[known], y_training=y[known])
        scores.append(learner.score(test, truth))
        left = np.setdiff1d(np.arange(300), known)
        index, _ = learner.query(X[left], 8, X_eval=test[::20])
        known = np.append(known, left[index])
    assert scores[-1] > scores[0] + 0.1
