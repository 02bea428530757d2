"""What a ConformalRegressor computes at its first use is what its estimator has at once."""

import copy
import gc
import pickle
import threading
import weakref

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.frozen import FrozenEstimator

from pnml import ConformalRegressor, PNMLRegressor
from pnml.core.later import Later
from pnml.core.selection import Choice
from pnml.estimators.calibration_rows import split_rows
from pnml.models import load, save


@pytest.fixture
def table():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(400, 3))
    return X, X @ [1.0, -2.0, 0.5] + rng.normal(size=400)


def _at_once(X, y, **settings):
    """The estimator fitted to the same rows by its own fit."""
    proper, _ = split_rows(len(X), 0.25, None, 0)
    return PNMLRegressor(**settings).fit(X[proper], y[proper])


def _same(one, other):
    for name in ("residuals", "sds", "regrets", "log_losses", "weights"):
        assert_array_equal(getattr(one.loo_, name), getattr(other.loo_, name))
    assert_array_equal(one.learner_.slopes, other.learner_.slopes)


@pytest.mark.parametrize("settings", [{}, {"alpha": 3.0}, {"alpha": "loo"}])
def test_rows_left_out_later_are_those_left_out_at_once(table, settings):
    X, y = table
    model = ConformalRegressor(PNMLRegressor(**settings), random_state=0).fit(X, y)
    _same(model.estimator_, _at_once(X, y, **settings))
    assert_array_equal(model.trusted(9 * X), _at_once(X, y, **settings).trusted(9 * X))


def test_rows_changed_after_fit_change_no_verdict(table):
    X, y = table
    model = ConformalRegressor(random_state=0).fit(X, y)
    expected = _at_once(X, y)
    X *= 0
    y *= 0
    _same(model.estimator_, expected)


def test_more_rows_are_added_to_the_same_sample(table):
    X, y = table
    model = ConformalRegressor(random_state=0).fit(X, y)
    more = model.estimator_.partial_fit(X[:50], y[:50])
    expected = _at_once(X, y).partial_fit(X[:50], y[:50])
    assert_array_equal(more._statistic.sample.rows, expected._statistic.sample.rows)
    _same(more, expected)


def _saved(model, folder):
    save(model, folder / "model.pnml")
    return load(folder / "model.pnml")


@pytest.mark.parametrize(
    "copied",
    [
        lambda model, _: pickle.loads(pickle.dumps(model)),
        lambda model, _: copy.deepcopy(model),
        _saved,
    ],
)
def test_a_copy_before_the_first_use_answers_alike(table, copied, tmp_path):
    X, y = table
    model = copied(ConformalRegressor(random_state=0).fit(X, y), tmp_path)
    _same(model.estimator_, _at_once(X, y))
    model.estimator_.partial_fit(X[:5], y[:5])


def test_threads_that_meet_at_the_first_use_all_get_the_verdict(table):
    X, y = table
    model = ConformalRegressor(random_state=0).fit(X, y)
    expected, start, seen = _at_once(X, y).trusted(3 * X), threading.Barrier(8), []

    def ask():
        start.wait()
        seen.append(model.trusted(3 * X))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 8
    for verdicts in seen:
        assert_array_equal(verdicts, expected)


def test_the_rows_are_released_when_they_are_no_longer_needed(table):
    X, y = table
    estimator = PNMLRegressor()
    own = X.copy()
    rows = weakref.ref(own)
    estimator._fit_own_rows(own, y.copy())
    del own
    assert rows() is not None
    assert estimator.loo_ is not None
    assert estimator._counted() is not None
    gc.collect()
    assert rows() is None


def test_a_misspelt_attribute_of_a_choice_is_an_error():
    choice = Choice.with_later(1.0, 1.0, Later(lambda: pytest.fail("not asked for")))
    with pytest.raises(AttributeError, match="'lo'"):
        choice.lo  # noqa: B018


def test_a_frozen_model_stays_as_it_is_and_a_subclass_fits_itself(table):
    X, y = table
    inner = PNMLRegressor().fit(X, y)
    slopes = inner.coef_.copy()
    model = ConformalRegressor(FrozenEstimator(inner), random_state=0).fit(X[:80], y[:80])
    assert isinstance(model.estimator_, FrozenEstimator)
    assert_array_equal(inner.coef_, slopes)

    class Own(PNMLRegressor):
        def fit(self, X, y, sample_weight=None):
            self.called_ = True
            return super().fit(X, y, sample_weight)

    assert ConformalRegressor(Own(), random_state=0).fit(X, y).estimator_.called_
