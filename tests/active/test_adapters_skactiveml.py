"""DIAL among the strategies of scikit-activeml picks what DIAL picks, and behaves as they do."""

from __future__ import annotations

import unittest
import warnings
from copy import deepcopy
from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from pnml.active import Ensemble, dial_scores, dial_select, dial_select_batch
from pnml.errors import InputError

pytest.importorskip("skactiveml")
from skactiveml.classifier import ParzenWindowClassifier, SklearnClassifier
from skactiveml.pool import SubSamplingWrapper
from skactiveml.utils import is_labeled, unlabeled_indices

from pnml.active import DIAL

HAS_CHECKS = find_spec("skactiveml.tests") is not None


def forest(classes=(0, 1, 2), n=7, **options):
    inner = RandomForestClassifier(n, min_samples_leaf=2, random_state=0)
    return SklearnClassifier(inner, classes=list(classes), random_state=0, **options)


@pytest.fixture
def pool(rng):
    """Forty rows of three classes, of which nine have a label, and twelve to be predicted."""
    labels = rng.integers(0, 3, size=52)
    X = rng.normal(size=(52, 4)) + 1.5 * labels[:, None]
    y = np.full(40, np.nan)
    for c in range(3):
        y[np.flatnonzero(labels[:40] == c)[:3]] = c
    return X[:40], y, X[40:], labels[:40]


def logs_by_hand(model, X, y, rows):
    fitted = clone(model).fit(X, y)
    return Ensemble(fitted.estimator_.estimators_)(rows)


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("label_paths", [None, 1, 2])
def test_the_picks_are_those_of_the_members_log_probabilities(pool, n, label_paths):
    X, y, targets, _ = pool
    left = unlabeled_indices(y)
    a, b = (logs_by_hand(forest(), X, y, rows) for rows in (X[left], targets))
    if label_paths is None:
        expected = dial_select(a, b, n)
    else:
        expected = dial_select_batch(a, b, n, label_paths=label_paths)
    strategy = DIAL(label_paths=label_paths)
    found = strategy.query(X, y, forest(), targets, batch_size=n)
    np.testing.assert_array_equal(found, left[expected])
    same, utilities = strategy.query(X, y, forest(), targets, batch_size=n, return_utilities=True)
    np.testing.assert_array_equal(same, found)
    np.testing.assert_array_equal(np.nanargmax(utilities, axis=1), found)
    assert utilities.shape == (n, len(X))
    worst = dial_scores(a, b).max(axis=1)
    np.testing.assert_allclose(utilities[0, left], -worst, atol=1e-12)


def test_without_targets_the_rows_themselves_are_to_be_predicted(pool):
    X, y, _, _ = pool
    found = DIAL().query(X, y, forest(), batch_size=2)
    np.testing.assert_array_equal(found, DIAL().query(X, y, forest(), X, batch_size=2))


def test_what_gives_log_probabilities_is_run_once_on_candidates_and_targets_together(pool):
    X, y, targets, _ = pool
    inner = Ensemble(clone(forest()).fit(X, y).estimator_.estimators_)
    calls = []

    def models(rows):
        calls.append(len(rows))
        return inner(rows)

    found = DIAL().query(X, y, models, targets, batch_size=2)
    assert calls == [len(unlabeled_indices(y)) + len(targets)]
    np.testing.assert_array_equal(found, DIAL().query(X, y, forest(), targets, batch_size=2))


def test_a_temperature_is_that_of_the_models(pool):
    X, y, targets, _ = pool
    members = clone(forest()).fit(X, y).estimator_.estimators_
    warm = DIAL().query(X, y, Ensemble(members, temperature=3.0), targets, return_utilities=True)
    for models in (forest(), Ensemble(members)):
        found = DIAL(temperature=3.0).query(X, y, models, targets, return_utilities=True)
        np.testing.assert_allclose(found[1], warm[1], atol=1e-12)


def test_lists_of_classifiers_and_methods_that_sample_are_ensembles(pool):
    X, y, targets, _ = pool
    several = [
        ParzenWindowClassifier(classes=[0, 1, 2], metric_dict={"gamma": g}) for g in (0.1, 1, 5)
    ]
    found = DIAL().query(X, y, several, targets, batch_size=2)
    logs = [np.log(clone(m).fit(X, y).predict_proba(np.vstack([X, targets]))) for m in several]
    logs, left = np.stack(logs), unlabeled_indices(y)
    np.testing.assert_array_equal(found, left[dial_select(logs[:, left], logs[:, len(X) :], 2)])
    sampling = DIAL(
        sample_predictions_method_name="sample_proba",
        sample_predictions_dict={"n_samples": 6, "random_state": 0},
    )
    window = ParzenWindowClassifier(classes=[0, 1, 2], class_prior=1)
    assert len(sampling.query(X, y, window, targets, batch_size=3)) == 3


def test_members_that_saw_few_classes_and_few_features_are_understood(rng):
    """Members number the classes that the ensemble has seen, which are not all there are."""
    X = rng.normal(size=(60, 5))
    words = np.array(["ant", "bee", "cat", "dog"])
    labels = words[rng.choice([1, 3], size=60)]
    y = labels.astype(object)
    y[30:] = None
    bag = BaggingClassifier(DecisionTreeClassifier(), 8, max_features=0.6, random_state=1)
    model = SklearnClassifier(bag, classes=list(words), missing_label=None)
    found = DIAL(missing_label=None).query(X, y, model, return_utilities=True)
    fitted = clone(model).fit(X, y)
    mean = np.zeros((60, 4))
    parts = zip(fitted.estimator_.estimators_, fitted.estimator_.estimators_features_, strict=True)
    p = [member.predict_proba(X[:, columns]) for member, columns in parts]
    mean[:, [1, 3]] = np.mean(p, axis=0)
    np.testing.assert_allclose(fitted.predict_proba(X), mean)
    logs = np.full((8, 60, 4), -np.inf)
    with np.errstate(divide="ignore"):
        logs[:, :, [1, 3]] = np.log(p)
    worst = dial_scores(logs[:, 30:], logs).max(axis=1)
    np.testing.assert_allclose(found[1][0, 30:], -worst, atol=1e-12)


@pytest.mark.parametrize("exclude", [True, False])
def test_a_wrapper_that_draws_candidates_gets_the_best_of_those_it_drew(pool, exclude):
    X, y, targets, _ = pool
    wrapper = SubSamplingWrapper(
        DIAL(), max_candidates=9, exclude_non_subsample=exclude, random_state=1
    )
    found, utilities = wrapper.query(
        X, y, ensemble=forest(), X_eval=targets, batch_size=2, return_utilities=True
    )
    drawn = np.flatnonzero(np.isfinite(utilities[0]))
    assert len(drawn) == 9
    expected = DIAL().query(X, y, forest(), targets, candidates=drawn, batch_size=2)
    np.testing.assert_array_equal(found, expected)


def test_labels_that_it_asks_for_raise_the_accuracy():
    digits = load_digits()
    X, labels = digits.data[:900] / 16, digits.target[:900]
    test, truth = digits.data[900:] / 16, digits.target[900:]
    y = np.full(900, np.nan)
    y[:10] = labels[:10]
    model = forest(range(10), n=12)
    before = clone(model).fit(X, y).score(test, truth)
    strategy = SubSamplingWrapper(DIAL(), max_candidates=60, random_state=0)
    for _ in range(8):
        picks = strategy.query(X, y, ensemble=model, X_eval=test[::20], batch_size=8)
        y[picks] = labels[picks]
    after = clone(model).fit(X, y).score(test, truth)
    assert is_labeled(y).sum() == 74
    assert after > before + 0.15


class TestBehaviour:
    """What the strategies of scikit-activeml are checked for."""

    def query(self, pool, **changes):
        X, y, targets, _ = pool
        given = {"X": X, "y": y, "ensemble": forest(), "X_eval": targets} | changes
        return DIAL(random_state=0).query(**given)

    def test_it_is_reproducible_and_leaves_what_it_was_given_alone(self, pool):
        model = forest()
        before = deepcopy(model.__dict__)
        first = self.query(pool, ensemble=model, batch_size=4)
        np.testing.assert_array_equal(first, self.query(pool, ensemble=model, batch_size=4))
        assert before.keys() == model.__dict__.keys()

    def test_candidates_can_be_indices_or_rows(self, pool):
        X, y, _, _ = pool
        left = unlabeled_indices(y)
        every = self.query(pool, return_utilities=True)
        for candidates in (left, X[left]):
            picks, utilities = self.query(pool, candidates=candidates, return_utilities=True)
            chosen = utilities[0] if candidates.ndim == 2 else utilities[0, left]
            np.testing.assert_allclose(chosen, every[1][0, left])
            np.testing.assert_array_equal(picks if candidates.ndim == 1 else left[picks], every[0])
        one, utilities = self.query(pool, candidates=left[:1], return_utilities=True)
        assert one == left[:1]
        assert np.isfinite(utilities).sum() == 1

    def test_utilities_of_labelled_and_of_picked_rows_are_missing(self, pool):
        picks, utilities = self.query(pool, batch_size=4, return_utilities=True)
        assert len(set(picks)) == 4
        for row in range(4):
            missing = set(np.flatnonzero(is_labeled(pool[1]))) | set(picks[:row])
            assert set(np.flatnonzero(np.isnan(utilities[row]))) == missing

    def test_it_warns_of_a_batch_larger_than_the_pool(self, pool):
        left = unlabeled_indices(pool[1])
        with pytest.warns(UserWarning, match="larger than number of candidates"):
            picks = self.query(pool, batch_size=len(left) + 1)
        assert sorted(picks) == list(left)

    @pytest.mark.parametrize("labels", [0, 1, 39])
    @pytest.mark.filterwarnings("ignore:The 'base_estimator' could not be fitted")
    @pytest.mark.filterwarnings("ignore:Since the 'base_estimator' could not be fitted")
    def test_any_number_of_labels_will_do(self, pool, labels):
        y = np.full(40, np.nan)
        y[:labels] = pool[3][:labels]
        assert self.query(pool, y=y) >= labels

    def test_fitted_models_are_used_as_they_are(self, pool):
        X, y, _, _ = pool
        fitted = forest().fit(X, y)
        np.testing.assert_array_equal(
            self.query(pool, ensemble=fitted, fit_ensemble=False), self.query(pool)
        )
        with pytest.raises(NotFittedError):
            self.query(pool, fit_ensemble=False)

    def test_weights_of_rows_are_passed_on(self, pool):
        X, y = pool[:2]
        weight = np.linspace(0.1, 3, 40)
        models = [ParzenWindowClassifier(classes=range(3), class_prior=c) for c in (0.1, 1)]
        fitted = [clone(model).fit(X, y, weight) for model in models]
        found = self.query(pool, ensemble=models, sample_weight=weight, return_utilities=True)
        same = self.query(pool, ensemble=fitted, fit_ensemble=False, return_utilities=True)
        np.testing.assert_allclose(found[1], same[1])

    @pytest.mark.parametrize(
        ("changes", "error", "words"),
        [
            ({"ensemble": GaussianNB()}, TypeError, "SklearnClassifier"),
            ({"ensemble": [GaussianNB()]}, TypeError, "SklearnClassifier"),
            ({"ensemble": []}, TypeError, "list"),
            ({"ensemble": forest(missing_label=-1)}, ValueError, "missing_label"),
            ({"fit_ensemble": "yes"}, TypeError, "fit_ensemble"),
            ({"X_eval": np.zeros((3, 9))}, InputError, "same features"),
            ({"X_eval": np.full((3, 4), np.nan)}, ValueError, "NaN"),
            ({"batch_size": 0}, ValueError, "batch_size"),
            ({"return_utilities": None}, TypeError, "return_utilities"),
            ({"sample_weight": np.ones(3)}, ValueError, "sample_weight|inconsistent"),
        ],
    )
    def test_bad_input_is_refused(self, pool, changes, error, words):
        with pytest.raises(error, match=words):
            self.query(pool, **changes)

    @pytest.mark.parametrize(
        ("settings", "words"),
        [
            ({"temperature": 0.0}, "temperature is 0.0"),
            ({"label_paths": 0}, "label_paths is 0"),
            ({"sample_predictions_method_name": "guess"}, "no method guess"),
        ],
    )
    def test_bad_settings_are_refused_when_they_are_used(self, pool, settings, words):
        X, y, targets, _ = pool
        with pytest.raises(InputError, match=words):
            DIAL(**settings).query(X, y, forest(), targets)

    def test_models_of_other_classes_are_refused(self, pool):
        with pytest.raises(InputError, match="model 1 knows"):
            self.query(pool, ensemble=[forest(), forest(range(4))])


if HAS_CHECKS:
    from skactiveml.tests.template_query_strategy import TemplateSingleAnnotatorPoolQueryStrategy

    class TestTheirChecks(TemplateSingleAnnotatorPoolQueryStrategy, unittest.TestCase):
        """The checks of scikit-activeml itself, which its wheels leave out.

        Those for regressors and for one classifier have nothing to look at here, as DIAL takes an
        ensemble; those for weights of utilities and for annotators neither.
        """

        def setUp(self):
            warnings.simplefilter("ignore")
            query = {
                "X": np.array([[1, 2], [5, 8], [8, 4], [5, 4]]),
                "y": np.array([0, 1, np.nan, np.nan]),
                "ensemble": forest((0, 1)),
            }
            super().setUp(qs_class=DIAL, init_default_params={}, query_default_params_clf=query)

        def test_query_param_y(self):
            with self.subTest("labels of all kinds"):
                for missing, classes in ((None, ["A", "B"]), (0, [1, 2]), ("", ["A", "B"])):
                    y = np.full(
                        4, missing, dtype=type(classes[0]) if missing is not None else object
                    )
                    y[:2] = classes
                    query = self.query_default_params_clf | {"y": y}
                    query["ensemble"] = forest(classes, missing_label=missing)
                    assert DIAL(missing_label=missing).query(**query)[0] in (2, 3)

        def test_query_param_X_eval(self):
            cases = [(None, None), (np.ones((2, 2)), None), (np.ones((2, 3)), ValueError)]
            self._test_param("query", "X_eval", [*cases, ("text", ValueError)])

        def test_query_param_ensemble(self):
            cases = [
                (None, TypeError),
                ("text", TypeError),
                (GaussianNB(), TypeError),
                ([], TypeError),
            ]
            self._test_param("query", "ensemble", cases)

        def test_query_param_fit_ensemble(self):
            cases = [("text", TypeError), (None, TypeError), (True, None), (False, NotFittedError)]
            self._test_param("query", "fit_ensemble", cases)

        def test_init_param_label_paths(self):
            cases = [(None, None), (1, None), (0, ValueError), ("all", ValueError)]
            self._test_param("init", "label_paths", cases)

        def test_init_param_temperature(self):
            cases = [(2.0, None), (0.0, ValueError), ("hot", ValueError)]
            self._test_param("init", "temperature", cases)

        def test_init_param_sample_predictions_method_name(self):
            cases = [(None, None), ("guess", ValueError), (1, TypeError)]
            self._test_param("init", "sample_predictions_method_name", cases)

        def test_init_param_sample_predictions_dict(self):
            self._test_param("init", "sample_predictions_dict", [(None, None)])

        def test_query(self):
            picks = DIAL().query(**self.query_default_params_clf, batch_size=2)
            assert sorted(picks) == [2, 3]
else:

    @pytest.mark.skip("wheels of scikit-activeml leave its checks out; put its tests on the path")
    def test_their_checks():
        """As above."""
