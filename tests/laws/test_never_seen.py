"""What no training row had is never trusted, whatever the learner, offset and unit."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor

import never_seen
from pnml import (
    NormBallRegressor,
    PNMLClassifier,
    PNMLRegressor,
    PNMLTreeRegressor,
    TrustedClassifier,
    TrustedRegressor,
    load,
    save,
)
from pnml.core.trust import Thresholds
from pnml.estimators.registry import every_learner

ROWS = 60
NEW = 2
OTHERS = {
    "wrapped ridge": ("regression", lambda: TrustedRegressor(Ridge())),
    "wrapped neighbours": ("regression", lambda: TrustedRegressor(KNeighborsRegressor())),
    "wrapped process": (
        "regression",
        lambda: TrustedRegressor(GaussianProcessRegressor(alpha=0.1)),
    ),
    "wrapped forest": (
        "classification",
        lambda: TrustedClassifier(RandomForestClassifier(10, random_state=0)),
    ),
    "classifier around a forest": (
        "classification",
        lambda: PNMLClassifier(RandomForestClassifier(10, random_state=0)),
    ),
    "norm ball without intercept": ("regression", NormBallRegressor),
}
CASES = {name: (entry.task, entry.make) for name, entry in every_learner().items()} | OTHERS


def fitted(name, offset, unit):
    task, make = CASES[name]
    X = never_seen.table(ROWS, offset=offset, unit=unit)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # solvers that find units awkward
        return make().fit(X, never_seen.labels(X, task))


@pytest.mark.parametrize(("offset", "unit"), [(0.0, 1.0), (100.0, 1e-2)])
@pytest.mark.parametrize("name", CASES)
def test_a_row_with_what_no_training_row_had_is_never_trusted(
    name, offset, unit, tmp_path, monkeypatch
):
    model = fitted(name, offset, unit)
    new = never_seen.table(NEW, seed=5, offset=offset, unit=unit)
    strange = never_seen.broken(new, offset, unit)
    rows = np.vstack(list(strange.values()))
    for level in (0.5, 1.0):
        trusted = model.trusted(rows, level).reshape(len(strange), NEW)
        assert dict(zip(strange, trusted.any(axis=1), strict=True)) == dict.fromkeys(strange, False)
    if name in every_learner():
        save(model, tmp_path / "model.pnml")
        assert not load(tmp_path / "model.pnml").trusted(rows).any()
    ordinary = never_seen.table(20, seed=7, offset=offset, unit=unit)
    found = model.trusted(ordinary)
    assert found.mean() > 0.75  # few rows; half of them must not be lost to relations
    rounded = ordinary.copy()  # the constant, computed in another order
    rounded[:, never_seen.CONSTANT] *= 1 + 2.5e-16
    assert (rounded != ordinary).any()
    np.testing.assert_array_equal(found, model.trusted(rounded))
    trusts = Thresholds.trusts  # without the relations
    monkeypatch.setattr(Thresholds, "trusts", lambda self, *known: trusts(self, *known[:4]))
    np.testing.assert_array_equal(found, model.trusted(ordinary))


def test_streams_and_their_sums_know_the_relations_of_all_rows():
    X = never_seen.table(400)
    y = never_seen.labels(X, "regression")
    parts = PNMLRegressor(alpha=1.0)
    for part in np.array_split(np.arange(400), 5):
        parts.partial_fit(X[part], y[part])
    new = never_seen.table(NEW, seed=5)
    for rows in never_seen.broken(new).values():
        assert not parts.trusted(rows).any()
    assert parts.trusted(new).mean() > 0.8
    strange = never_seen.broken(X[:40])["a constant column changes"]
    parts.partial_fit(strange, y[:40])  # no longer constant
    assert parts.trusted(never_seen.broken(new)["a constant column changes"]).mean() > 0.8
    assert not parts.trusted(never_seen.broken(new)["a sum is broken"]).any()


def test_with_more_columns_than_rows_constants_count_and_nothing_else():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 120))
    X[:, 7] = 3.0
    new = rng.normal(size=(200, 120))
    new[:, 7] = 3.0
    model = NormBallRegressor(fit_intercept=True).fit(X, X[:, 0] + rng.normal(size=40))
    assert model.trusted(new).mean() > 0.8
    new[:, 7] = 3.001
    assert not model.trusted(new).any()


def test_gaps_that_came_together_are_a_relation():
    X = never_seen.table(120)
    X[::4, 0] = X[::4, 1] = np.nan
    y = never_seen.labels(never_seen.table(120), "regression")
    model = PNMLTreeRegressor().fit(X, y)
    whole, both, one = never_seen.table(3, seed=4)
    both[:2] = one[0] = np.nan
    assert model.trusted(np.array([whole, both, one])).tolist() == [True, True, False]


def test_a_score_frame_names_the_columns_of_a_broken_relation():
    pytest.importorskip("pandas")
    X = never_seen.table(ROWS)
    model = TrustedRegressor(Ridge()).fit(X, never_seen.labels(X, "regression"))
    strange = never_seen.broken(never_seen.table(NEW, seed=5))
    for what, named in (("a sum is broken", "x0, x1 and x4"), ("two words", "x5, x6 and x7")):
        frame = model.score_frame(strange[what])
        start = f"{named} are not related as in the training rows; "
        assert all(text.startswith(start) for text in frame["because"])
