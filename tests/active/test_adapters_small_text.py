"""DIAL as a strategy of small-text picks what DIAL picks."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from pnml.active import Ensemble, dial_select, dial_select_batch
from pnml.errors import InputError

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip("small_text")
    from small_text import (
        EmptyPoolException,
        PoolBasedActiveLearner,
        PoolExhaustedException,
        SklearnClassifier,
        SklearnClassifierFactory,
        SklearnDataset,
    )

from pnml.active import DIALQueryStrategy

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:small_text")


@pytest.fixture
def data(rng):
    """A dataset of sixty rows, of which the first fifteen have labels."""
    y = rng.integers(0, 3, size=60)
    x = csr_matrix(np.maximum(rng.normal(size=(60, 4)) + y[:, None], 0))
    return SklearnDataset(x, y, target_labels=np.arange(3))


def queried(strategy, clf, data, n=3):
    return strategy.query(clf, data, np.arange(15, 45), np.arange(15), data.y[:15], n=n)


@pytest.mark.parametrize("label_paths", [None, 1])
def test_the_members_of_a_forest_are_the_models(data, label_paths):
    forest = RandomForestClassifier(9, min_samples_leaf=2, random_state=0)
    clf = SklearnClassifier(forest, 3).fit(data[np.arange(15)])
    models = Ensemble(forest.estimators_)
    a, b = models(data.x[15:45]), models(data.x[45:])
    strategy = DIALQueryStrategy(data[np.arange(45, 60)], label_paths=label_paths)
    found = queried(strategy, clf, data)
    select = dial_select if label_paths is None else dial_select_batch
    np.testing.assert_array_equal(found, 15 + select(a, b, 3))
    alone = queried(DIALQueryStrategy(label_paths=label_paths), clf, data)
    np.testing.assert_array_equal(alone, 15 + select(a, a, 3))


def test_a_network_leaves_out_the_same_units_for_all_texts(data):
    torch = pytest.importorskip("torch")
    from pnml.active import MCDropout

    torch.manual_seed(0)
    layers = torch.nn.Linear(4, 32), torch.nn.ReLU(), torch.nn.Dropout(0.5), torch.nn.Linear(32, 3)
    rows = torch.tensor(data.x.toarray(), dtype=torch.float32)

    class Classifier:
        """One that runs its network in batches of seven, as those of small-text do."""

        model = torch.nn.Sequential(*layers).train()

        def predict_proba(self, dataset):
            x = torch.tensor(dataset.x.toarray(), dtype=torch.float32)
            with torch.no_grad():
                logits = torch.cat([self.model(part) for part in torch.split(x, 7)])
            return torch.softmax(logits.double(), dim=1).numpy()

    clf = Classifier()
    models = MCDropout(clf.model, n=12, seed=4)
    a, b = models(rows[15:45]), models(rows[45:])
    strategy = DIALQueryStrategy(data[np.arange(45, 60)], dropout_samples=12, seed=4)
    np.testing.assert_array_equal(queried(strategy, clf, data), 15 + dial_select(a, b, 3))
    assert clf.model.training
    assert not clf.model._forward_pre_hooks


def test_one_model_is_not_enough(data):
    clf = SklearnClassifier(LogisticRegression(), 3).fit(data[np.arange(15)])
    with pytest.raises(InputError, match="LogisticRegression, but several models"):
        queried(DIALQueryStrategy(), clf, data)


def test_what_the_pool_cannot_give_is_refused_as_by_all_strategies(data):
    clf = SklearnClassifier(RandomForestClassifier(3), 3).fit(data[np.arange(15)])
    with pytest.raises(EmptyPoolException):
        DIALQueryStrategy().query(clf, data, np.array([], int), np.arange(15), data.y[:15], n=1)
    with pytest.raises(PoolExhaustedException):
        queried(DIALQueryStrategy(), clf, data, n=31)


def test_labels_that_it_asks_for_raise_the_accuracy():
    X, y = load_digits(return_X_y=True)
    data = SklearnDataset(csr_matrix(X / 16), y, target_labels=np.arange(10))
    pool, test = data[np.arange(300)], data[np.arange(900, len(y))]
    forest = RandomForestClassifier(12, min_samples_leaf=2, random_state=0)
    strategy = DIALQueryStrategy(data[np.arange(900, len(y), 20)])
    learner = PoolBasedActiveLearner(SklearnClassifierFactory(forest, 10), strategy, pool)
    learner.initialize_data(np.arange(10), y[:10])
    before = np.mean(learner.classifier.predict(test) == test.y)
    for _ in range(6):
        learner.update(y[learner.query(num_samples=8)])
    assert np.mean(learner.classifier.predict(test) == test.y) > before + 0.1
