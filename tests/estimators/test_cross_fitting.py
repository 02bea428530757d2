"""Probabilities of left-out rows, against clones fitted by hand without their fold."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, KFold, TimeSeriesSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from pnml import InputError
from pnml.estimators.cross_fitting import out_of_fold_log_probabilities
from pnml.estimators.fit_params import FitParams


def probabilities(model, X, labels, weights=None, cv=5, groups=None, seed=0):
    params = FitParams.plain(weights, groups)
    folds = params, cv, seed, np.unique(labels)
    return np.exp(out_of_fold_log_probabilities(model, X, labels, *folds))


class Recalls(ClassifierMixin, BaseEstimator):
    """Sure of the rows that it was trained on, and of nothing else."""

    def fit(self, X, y, sample_weight=None):
        self.classes_, self.counts_ = np.unique(y, return_counts=True)
        self.rows_ = set(map(tuple, np.asarray(X)))
        return self

    def predict_proba(self, X):
        known = np.array([tuple(row) in self.rows_ for row in np.asarray(X)])
        p = np.tile(self.counts_ / self.counts_.sum(), (len(X), 1))
        p[known] = np.eye(len(self.classes_))[0]
        return p


def test_each_row_is_told_by_a_model_that_has_not_seen_it(three):
    X, y = three
    assert Recalls().fit(X, y).predict_proba(X)[:, 0].min() == 1
    np.testing.assert_array_equal(probabilities(Recalls(), X, y), np.full((60, 3), 1 / 3))


def test_a_splitter_gives_what_clones_fitted_to_its_parts_say(three):
    X, y = three
    groups = np.arange(60) % 7
    out = probabilities(GaussianNB(), X, y, cv=GroupKFold(3), groups=groups)
    for train, test in GroupKFold(3).split(X, y, groups):
        by_hand = GaussianNB().fit(X[train], y[train]).predict_proba(X[test])
        np.testing.assert_allclose(out[test], by_hand, rtol=1e-13)  # logarithms and back


def test_every_fold_has_its_share_of_every_class():
    labels = np.repeat(["a", "b", "c"], [50, 23, 7])
    X = np.arange(80.0)[:, None]
    kept = 64 * probabilities(Recalls(), X, labels)  # rows of each class in the fit
    np.testing.assert_array_less(np.abs(kept - 0.8 * np.array([50, 23, 7])), 1)


def test_a_class_with_fewer_rows_than_folds_is_known_while_it_has_two(rng):
    labels = np.repeat(["a", "b", "pair", "single"], [20, 20, 2, 1])
    X = rng.normal(size=(43, 2))
    out = probabilities(Recalls(), X, labels)
    np.testing.assert_allclose(out.sum(axis=1), 1, rtol=1e-15)
    assert np.all(out[:, :3] > 0)
    assert out[-1, 3] == 0  # nobody else is of its class
    assert np.sum(out[:, 3] == 0) <= 9  # the fold of the single row, of 43 rows in 5 folds


def test_the_last_class_that_is_left_is_certain(rng):
    """Most classifiers cannot be fitted to one class."""
    X, labels = rng.normal(size=(21, 2)), np.repeat([0, 1], [20, 1])
    out = probabilities(LogisticRegression(), X, labels)
    assert out[-1].tolist() == [1.0, 0.0]
    np.testing.assert_allclose(out.sum(axis=1), 1, rtol=1e-12)


def test_rows_of_no_weight_change_nothing_for_the_others(rng):
    X, labels = rng.normal(size=(50, 2)), np.arange(50) % 3
    weights = np.where(np.arange(50) % 4 == 0, 0.0, 1.0 + np.arange(50) % 2)
    used = weights > 0
    model = GaussianNB(var_smoothing=0)  # which else adds a share of the variance of all rows
    out = probabilities(model, X, labels, weights)
    without = probabilities(model, X[used], labels[used], weights[used])
    np.testing.assert_allclose(out[used], without, rtol=1e-10)  # sums in another order
    np.testing.assert_allclose(out.sum(axis=1), 1, rtol=1e-12)


def test_weights_reach_the_last_step_and_tables_their_pipeline(rng):
    frame = pd.DataFrame({"town": rng.choice(["Ghent", "Turin"], 40)}, index=np.arange(40) + 100)
    labels = np.where(rng.random(40) < 0.5, "ill", "well")
    steps = make_pipeline(OneHotEncoder(sparse_output=False), LogisticRegression())
    weights = rng.integers(1, 4, size=40).astype(float)
    out = probabilities(steps, frame, labels, weights, KFold(4))
    for train, test in KFold(4).split(frame):
        part = make_pipeline(OneHotEncoder(sparse_output=False), LogisticRegression())
        part.fit(frame.iloc[train], labels[train], logisticregression__sample_weight=weights[train])
        np.testing.assert_allclose(out[test], part.predict_proba(frame.iloc[test]), rtol=1e-12)


def test_the_same_seed_gives_the_same_folds_whatever_the_model_draws(three):
    X, y = three
    model = RandomForestClassifier(5, random_state=np.random.RandomState(3))
    first, second = probabilities(model, X, y), probabilities(model, X, y)
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, probabilities(model, X, y, seed=1))


@pytest.mark.parametrize("cv", [1, 61, TimeSeriesSplit(3)])
def test_folds_that_leave_rows_unknown_are_refused(three, cv):
    words = "pass a number of folds" if isinstance(cv, int) else "tests every row"
    with pytest.raises(InputError, match=words):
        probabilities(GaussianNB(), *three, cv=cv)


def test_a_model_that_needs_more_rows_than_are_left_says_so(rng):
    X, labels = rng.normal(size=(30, 2)), np.repeat([0, 1], [25, 5])
    calibrated = CalibratedClassifierCV(GaussianNB(), cv=5)
    calibrated.fit(X, labels)
    with pytest.raises(InputError, match=r"cannot be fitted without the rows of one fold.* cv"):
        probabilities(calibrated, X, labels)


def test_a_word_that_only_one_fold_has_is_named(rng):
    frame = pd.DataFrame({"town": ["Ghent"] * 20 + ["Turin"] * 19 + ["Oslo"]})
    labels = np.arange(40) % 2
    strict, lenient = (
        make_pipeline(OneHotEncoder(handle_unknown=unknown), RandomForestClassifier(3))
        for unknown in ("error", "ignore")
    )
    with pytest.raises(InputError, match=r"Forest.*Oslo.* take values unseen in training"):
        probabilities(strict, frame, labels)
    assert probabilities(lenient, frame, labels).shape == (40, 2)
