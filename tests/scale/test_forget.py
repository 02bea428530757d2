"""A model that has forgotten rows is the model of the others, or says that it cannot be."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from pnml import ConditionWarning, InputError, LpNMLRegressor, PNMLRegressor, load, save
from pnml.core.statistic.exact_sum import GramSum, state_of, sum_of


def rows(n=400, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 5
    return X, X @ rng.normal(size=d) + rng.normal(size=n)


ESTIMATORS = [
    PNMLRegressor(),
    PNMLRegressor(alpha="loo"),
    PNMLRegressor(alpha=3.0, fit_intercept=False),
    LpNMLRegressor(),
]


def fresh(estimator):
    return type(estimator)(**estimator.get_params())


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_what_is_left_is_the_model_of_the_other_rows(estimator, streamed, weighted):
    X, y = rows()
    w = np.arange(400) % 3 + 1.0 if weighted else None
    gone = slice(50, 210)
    stays = np.delete(np.arange(400), np.arange(50, 210))
    model = fresh(estimator)
    learn = model.partial_fit if streamed else model.fit
    learn(X, y, w)
    model.forget(X[gone], y[gone], None if w is None else w[gone])
    truth = fresh(estimator).fit(X[stays], y[stays], None if w is None else w[stays])
    np.testing.assert_allclose(model.predict(X), truth.predict(X), rtol=1e-10)
    np.testing.assert_allclose(model.regret(X), truth.regret(X), rtol=1e-9)
    assert model._statistic.rows == 240
    assert len(model.loo_.regrets) == 240


def test_a_direction_that_only_forgotten_rows_had_is_unknown_again():
    X, y = rows()
    X = np.column_stack([X, np.arange(400) < 7])
    model = PNMLRegressor().partial_fit(X, y)
    assert np.isfinite(model.regret(X)).all()
    model.forget(X[:7], y[:7])
    assert np.isinf(model.regret(X[:7])).all()
    assert np.isfinite(model.regret(X[7:])).all()


def test_rows_of_a_long_stream_leave_its_sample_too():
    X, y = rows(9000, 2)
    model = PNMLRegressor().partial_fit(X, y)
    model.forget(X[:3000], y[:3000])
    gone = {row.tobytes() for row in np.column_stack([X[:3000], y[:3000], np.ones(3000)])}
    assert not any(row.tobytes() in gone for row in model._statistic.sample.rows)
    truth = PNMLRegressor().fit(X[3000:], y[3000:])
    np.testing.assert_allclose(model.coef_, truth.coef_, rtol=1e-11)


def test_forgetting_and_learning_for_long_stays_accurate():
    X, y = rows(6000, 3)
    model = PNMLRegressor().partial_fit(X[:100], y[:100])
    for start in range(0, 5000, 50):
        model.partial_fit(X[start + 100 : start + 150], y[start + 100 : start + 150])
        model.forget(X[start : start + 50], y[start : start + 50])
    truth = PNMLRegressor().fit(X[5000:5100], y[5000:5100])
    np.testing.assert_allclose(model.coef_, truth.coef_, rtol=1e-10)
    np.testing.assert_allclose(model.regret(X[:50]), truth.regret(X[:50]), rtol=1e-10)


def test_too_little_beside_the_round_off_is_refused_and_changes_nothing():
    X, y = rows()
    X[:200] *= 1e6
    y[:200] *= 1e6
    model = PNMLRegressor().partial_fit(X, y)
    before = model.predict(X)
    with pytest.raises(InputError, match=r"known to \d+e-\d+ only.*fit the rows that stay anew"):
        model.forget(X[:200], y[:200])
    assert model.predict(X).tobytes() == before.tobytes()


def test_digits_that_were_lost_where_they_matter_are_told_of():
    X, y = rows()
    X[:, 1] = X[:, 0] + 1e-3 * X[:, 1]
    big = X.copy()
    big[:200] *= 300
    model = PNMLRegressor().partial_fit(big, y).forget(big[:200], y[:200])
    with pytest.warns(ConditionWarning, match="Rows were forgotten whose round-off"):
        model.predict(X)


@pytest.mark.parametrize("near", [1.0, 1e-2, 1e-4])
@pytest.mark.parametrize("intercept", [True, False])
def test_no_answer_after_forgetting_is_worse_than_it_says(near, intercept):
    """The larger the rows that leave, the more is lost: to 1e-6 right, or told of, or refused."""
    said = []
    for size in 10.0 ** np.arange(10):
        X, y = rows(300, 3)
        X[:, 1] = X[:, 0] + near * X[:, 1]  # directions that little is known of lose most
        X[:150] *= size
        y[:150] *= size
        model = PNMLRegressor(fit_intercept=intercept).partial_fit(X, y)
        truth = PNMLRegressor(fit_intercept=intercept).fit(X[150:], y[150:])
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                found = model.forget(X[:150], y[:150]).regret(X[150:])
        except InputError:
            said.append("refused")
            continue
        said.append("told of" if caught else "silent")
        if not caught:
            np.testing.assert_allclose(found, truth.regret(X[150:]), rtol=1e-6, err_msg=str(size))
            np.testing.assert_allclose(model.predict(X[150:]), truth.predict(X[150:]), rtol=1e-6)
    assert said[0] == "silent" or near < 1, "next to nothing is lost where rows are of one size"
    assert said[-1] == "refused"


def test_what_was_lost_is_kept_in_files_and_sums(tmp_path):
    X, y = rows()
    model = PNMLRegressor().partial_fit(X, y).forget(X[:9], y[:9])
    save(model, tmp_path / "m.pnml")
    again = load(tmp_path / "m.pnml")
    assert again._statistic.lost.tobytes() == model._statistic.lost.tobytes()
    held = sum_of(*state_of(GramSum.of(model._statistic))).gram()
    assert held.lost.tobytes() == model._statistic.lost.tobytes()
    model.partial_fit(X[:9], y[:9])
    assert (model._statistic.lost == again._statistic.lost).all()


def test_rows_that_were_never_learnt_cannot_be_forgotten():
    X, y = rows()
    model = PNMLRegressor().fit(X[10:], y[10:])
    with pytest.raises(InputError, match="3 of the 5 rows to forget were never learnt"):
        model.forget(X[7:12], y[7:12])
    with pytest.raises(InputError, match="1 of the 2 rows to forget"):
        model.forget(X[[20, 20]], y[[20, 20]])
    with pytest.raises(InputError, match="All 390 rows would be forgotten"):
        model.forget(X[10:], y[10:])
    with pytest.raises(InputError, match="3 features"):
        model.forget(X[10:12, :3], y[10:12])
    long_X, long_y = rows(9000)
    stream = PNMLRegressor().partial_fit(long_X, long_y)
    with pytest.raises(InputError, match="spread further than all rows"):
        stream.forget(1e3 * long_X[:50], long_y[:50])
    with pytest.raises(InputError, match="Cannot subtract a Gram of 9100 rows"):
        stream.forget(np.vstack([long_X, X[:100]]), np.concatenate([long_y, y[:100]]))


def test_only_what_adds_up_can_forget():
    lasso = LpNMLRegressor(penalty="l1")
    assert not hasattr(lasso, "forget")
    with pytest.raises(AttributeError):
        lasso.forget([[1.0]], [1.0])
