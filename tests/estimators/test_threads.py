"""Several threads teach one estimator, and none of their rows is lost."""

from __future__ import annotations

import copy
import pickle
import sys
import threading

import numpy as np
import pytest
from sklearn.base import clone

from pnml import ConditionWarning, ConformalRegressor, LpNMLRegressor, PNMLRegressor
from pnml.core.conformal import rows_needed
from pnml.scale.monitor import RegretMonitor

rng = np.random.default_rng(0)
X = rng.normal(size=(20, 3))
y = X[:, 0] + rng.normal(size=20)


@pytest.fixture
def restless():
    """Threads take turns as often as the interpreter lets them."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


def in_threads(work, count=4):
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def last_layer():
    torch = pytest.importorskip("torch")
    from pnml.nn import LastLayerPNML

    layer = LastLayerPNML(torch.nn.Linear(3, 2))
    rows = torch.tensor(X, dtype=torch.float32)
    return lambda: layer.partial_fit_features(rows), lambda: int(layer.statistic.counted.rows)


def estimator(model):
    return lambda: model.partial_fit(X, y), lambda: model._statistic.rows


def monitor():
    watched = RegretMonitor(np.linspace(0, 1, 50), within=10**6)
    return lambda: watched.update(np.linspace(0, 1, 20)), lambda: watched.rows


LEARNERS = {
    "PNMLRegressor": lambda: estimator(PNMLRegressor()),
    "LpNMLRegressor": lambda: estimator(LpNMLRegressor()),
    "LastLayerPNML": last_layer,
    "RegretMonitor": monitor,
}


@pytest.mark.parametrize("name", LEARNERS)
def test_rows_that_threads_add_at_once_are_all_counted(name, restless):
    add, rows = LEARNERS[name]()

    def work():
        for _ in range(25):
            add()

    in_threads(work)
    assert rows() == 4 * 25 * 20


def test_an_answer_between_two_additions_is_not_kept_beyond_the_second(restless):
    model = PNMLRegressor(alpha=1.0).partial_fit(X, y)

    def work():
        for _ in range(25):
            model.partial_fit(X, y)
            model.predict(X[:1])

    in_threads(work)
    alone = PNMLRegressor(alpha=1.0).partial_fit(X, y, sample_weight=np.full(20, 101.0))
    np.testing.assert_allclose(model.coef_, alone.coef_, rtol=1e-9)  # sums in another order


@pytest.mark.parametrize("again", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m)), clone])
def test_an_estimator_that_threads_have_taught_is_copied_and_goes_on(again):
    model = PNMLRegressor().partial_fit(X, y)
    other = again(model).partial_fit(X, y)
    assert model._statistic.rows == 20
    assert other._statistic.rows in (20, 40)


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9, 0.95, 0.99])
def test_too_few_rows_for_a_coverage_are_told_with_how_many_are_needed(coverage):
    """The interval ends exactly where the sentence says that it does."""
    needed = rows_needed(coverage)
    for rows, ends in ((needed - 1, False), (needed, True)):
        if not rows:
            continue
        total = 4 * rows  # a quarter is held back
        if total < 4:
            continue
        features = np.linspace(0, 1, total)[:, None]
        model = ConformalRegressor(PNMLRegressor(noise_variance=1.0), random_state=0).fit(
            features, rng.normal(size=total)
        )
        if ends:
            assert np.isfinite(model.predict_interval([[0.5]], coverage=coverage)).all()
        else:
            with pytest.warns(ConditionWarning, match=f"needs at least {needed} rows .*{rows};"):
                assert np.isinf(model.predict_interval([[0.5]], coverage=coverage)).all()
