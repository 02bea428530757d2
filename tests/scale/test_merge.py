"""Models of parts are the model of the whole, in any order; windows leave nothing behind."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pnml
from examples import examples
from made_tables import classes, mixed
from pnml import InputError, LpNMLRegressor, NormBallRegressor, PNMLRegressor
from pnml.core.statistic.exact_sum import GramSum, merged, state_of, sum_of
from pnml.core.statistic.gram import Gram
from pnml.scale import SlidingWindow, merge
from pnml.tables.fitting import fit_table
from pnml.tables.roles import Request


def rows(condition, n=10_000, d=8, seed=0):
    """Rows whose centred XᵀX has about this condition number, and targets."""
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    X = rng.normal(size=(n, d)) @ (turn * np.geomspace(1, condition**-0.5, d)) @ turn.T
    return X + 3, X @ rng.normal(size=d) + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize(("condition", "limit"), [(10.0, 1e-12), (1e6, 1e-9)])
@pytest.mark.parametrize("drifting", [False, True])
def test_a_thousand_shards_in_any_order_predict_alike(condition, limit, drifting):
    X, y = rows(condition)
    if drifting:  # shards have means of their own
        order = np.argsort(X[:, 0])
        X, y = X[order], y[order]
    shards = [Gram.of(X[i : i + 10], y[i : i + 10], seen=i) for i in range(0, len(X), 10)]
    first = PNMLRegressor().fit_gram(merged(shards).gram())
    rng = np.random.default_rng(1)
    for _ in range(2):
        order = rng.permutation(len(shards))
        half = [merged([shards[i] for i in part]) for part in np.array_split(order, 7)]
        other = PNMLRegressor().fit_gram(merged(half[::-1]).gram())
        for name in ("predict", "regret"):
            ours, theirs = getattr(other, name)(X[:500]), getattr(first, name)(X[:500])
            assert np.linalg.norm(ours - theirs) <= limit * np.linalg.norm(theirs), name
        assert other._statistic.sample.keys.tobytes() == first._statistic.sample.keys.tobytes()


def test_a_sum_is_as_near_to_the_truth_as_a_double_can_be():
    rng = np.random.default_rng(2)
    A = rng.normal(size=(9000, 3)) + [0.0, 1e4, -50.0]
    total = merged(Gram.of(part) for part in np.array_split(A, 500)).gram()
    exact = A.astype(np.longdouble)
    centred = exact - exact.mean(axis=0)
    np.testing.assert_allclose(total.xx, np.asarray(centred.T @ centred, float), rtol=2e-10)
    # a mean near 0 is a sum of numbers as large as the column, and is as near as those allow
    off = np.abs(total.x_mean - np.asarray(exact.mean(axis=0), float))
    assert np.all(off <= 3e-16 * np.abs(A).mean(axis=0))


@settings(max_examples=examples(25))
@given(st.integers(0, 10_000))
def test_what_is_written_of_a_sum_comes_back_to_the_bit(seed):
    rng = np.random.default_rng(seed)
    parts = [Gram.of(rng.normal(size=(7, 2)), rng.normal(size=7), seen=i) for i in range(4)]
    total = merged(parts)
    again = sum_of(*state_of(total))
    more = GramSum.of(Gram.of(rng.normal(size=(5, 2)), rng.normal(size=5), seen=9))
    a, b = (total + more).gram(), (again + more).gram()
    assert a.xx.tobytes() == b.xx.tobytes()
    assert a.sample.rows.tobytes() == b.sample.rows.tobytes()


def test_nothing_is_neutral_and_to_merge_nothing_is_refused():
    gram = GramSum.of(Gram.of(np.eye(3), np.arange(3.0)))
    empty = GramSum.empty(3, 1)
    for total in (gram + empty, empty + gram, empty + empty + gram):
        assert total.gram().xx.tobytes() == gram.gram().xx.tobytes()
    with pytest.raises(InputError, match="no statistics to merge"):
        merged([])
    with pytest.raises(InputError, match="no models"):
        merge([])


@pytest.mark.parametrize(
    "estimator", [PNMLRegressor(), LpNMLRegressor(alpha=1.0, noise_variance=1.0)], ids=str
)
def test_models_of_parts_are_the_model_of_all_rows(estimator):
    X, y = rows(100.0, n=300, d=4)
    parts = [type(estimator)(**estimator.get_params()).fit(X[i::3], y[i::3]) for i in range(2)]
    parts.append(type(estimator)(**estimator.get_params()).partial_fit(X[2::3], y[2::3]))
    whole = merge(parts)
    truth = type(estimator)(**estimator.get_params()).fit(X, y)
    np.testing.assert_allclose(whole.predict(X), truth.predict(X), rtol=1e-9)
    np.testing.assert_allclose(whole.regret(X), truth.regret(X), rtol=1e-9)
    assert whole._statistic.rows == 300


def test_models_that_differ_are_not_put_together():
    X, y = rows(10.0, n=60, d=3)
    one = PNMLRegressor().fit(X, y)
    for other, words in (
        (PNMLRegressor(alpha=2.0).fit(X, y), "b is PNMLRegressor.alpha=2.0. but a is"),
        (PNMLRegressor().fit(X[:, :2], y), "same columns"),
        (PNMLRegressor(), "b is not fitted"),
        (LpNMLRegressor().fit(X, y), "same settings"),
        (NormBallRegressor().fit(X, y), "b is a NormBallRegressor"),
    ):
        with pytest.raises(InputError, match=words):
            merge([one, other], ["a", "b"])


def fitted(table, learner="pnml", **asked):
    return fit_table(table.to_batches(), Request(**({"target": "y"} | asked)), learner, "t.csv")


def test_merged_models_of_data_frames_are_such_models_and_know_of_how_much_use_they_are():
    table = mixed(300, seed=6)
    parts = [pnml.fit_table(table.slice(k, 150), "y", learner="pnml") for k in (0, 150)]
    whole = merge(parts)
    assert isinstance(whole, pnml.TableModel)
    truth = pnml.fit_table(table, "y", learner="pnml")
    for ours, theirs in zip(whole.comparison, truth.comparison, strict=True):
        # the penalty is found to about 1e-6
        assert (ours.log_loss, ours.error) == pytest.approx(
            (theirs.log_loss, theirs.error), rel=1e-5
        )


def test_the_scale_and_the_bound_of_a_target_are_those_of_all_models():
    below, above = mixed(100), mixed(100, seed=1)
    below = below.set_column(5, "y", pa.array(below["y"].to_numpy() - 20))
    assert fitted(above).target.least == 0.0
    assert merge([fitted(above), fitted(below)]).target.least is None
    assert merge([fitted(above), fitted(above.slice(5))]).target.least == 0.0
    with pytest.raises(InputError, match="has learnt the logarithm of 'y'"):
        merge([fitted(above), fitted(above, log_target=True)])


def test_models_of_tables_are_that_of_all_rows_though_words_and_units_differ():
    table = mixed(500, seed=6)
    early = table.filter(table["size"].to_numpy() < 0.2)
    late = table.filter(table["size"].to_numpy() >= 0.2)
    late = late.filter([word != "Bern" for word in late["city"].to_pylist()])
    whole = fitted(type(table).from_batches([*early.to_batches(), *late.to_batches()]))
    both = merge([fitted(early), fitted(late)])
    assert both.rows == whole.rows
    new = mixed(60, seed=7).to_batches()[0]
    ours, theirs = both.score(new, 0.9, 0.99), whole.score(new, 0.9, 0.99)
    np.testing.assert_allclose(ours.answer.prediction, theirs.answer.prediction, rtol=1e-7)
    np.testing.assert_allclose(ours.answer.regret, theirs.answer.regret, rtol=1e-6)
    assert (ours.trusted == theirs.trusted).all()
    for a in both.encoder.columns:
        b = next(c for c in whole.encoder.columns if c.name == a.name)
        if hasattr(a, "levels"):
            assert set(a.levels) == set(b.levels)
        else:
            assert (a.fill, a.scale) == pytest.approx((b.fill, b.scale), rel=1e-10)


def test_a_word_of_one_table_is_no_stranger_to_the_whole():
    table = mixed(300, seed=8)
    there = np.array([word == "Oslo" for word in table["city"].to_pylist()])
    parts = [fitted(table.filter(~there)), fitted(table)]
    whole = merge(parts)
    scores = whole.score(table.filter(there).to_batches()[0], 0.9, 0.99)
    assert not scores.never_seen.any()


def test_models_of_tables_that_differ_are_not_put_together():
    one = fitted(mixed(90))
    for other, words in (
        (fitted(mixed(90).drop(["age"])), "'age'"),
        (fitted(mixed(90), target="size"), "'size' but a 'y'"),
        (fitted(mixed(90), categorical=("day",)), "'day'"),
        (fitted(classes(90), learner="logistic", target="kind"), "'logistic'"),
    ):
        with pytest.raises(InputError, match=words):
            merge([one, other], ["a", "b"])
    with pytest.raises(InputError, match="b is a PNMLRegressor"):
        merge([one, PNMLRegressor().fit([[0.0], [1.0], [3.0]], [0.0, 1.0, 2.0])], ["a", "b"])


def test_a_window_is_the_model_of_its_rows_however_long_it_slides():
    rng = np.random.default_rng(3)
    window = SlidingWindow(PNMLRegressor(), batches=4)
    batches = []
    for number in range(40):
        n = int(rng.integers(5, 30))
        size = 1e6 if number % 9 == 0 else 1.0  # what has left must leave no round-off behind
        X = size * rng.normal(size=(n, 3)) + number
        batches.append((X, X @ rng.normal(size=3) + rng.normal(size=n)))
        window.push(*batches[-1])
        last = batches[-4:]
        X, y = np.vstack([b[0] for b in last]), np.concatenate([b[1] for b in last])
        assert (window.rows, len(window)) == (len(X), len(last))
        assert len(window.model._statistic.sample.rows) == len(X)
        if size == 1.0 and all(np.abs(b[0]).max() < 1e3 for b in last):
            truth = PNMLRegressor().fit(X, y)
            np.testing.assert_allclose(window.model.predict(X), truth.predict(X), rtol=1e-9)
            np.testing.assert_allclose(window.model.regret(X), truth.regret(X), rtol=1e-9)


def test_windows_say_what_they_lack():
    with pytest.raises(InputError, match="batches is 0"):
        SlidingWindow(PNMLRegressor(), batches=0)
    with pytest.raises(InputError, match="NormBallRegressor"):
        SlidingWindow(NormBallRegressor(), batches=3)
    window = SlidingWindow(PNMLRegressor(), batches=3)
    with pytest.raises(InputError, match="push some first"):
        _ = window.model
    with pytest.raises(InputError, match="push one first"):
        window.drop_oldest()
    window.push([[0.0], [1.0], [3.0]], [0.0, 1.0, 2.0])
    with pytest.raises(InputError, match="2 features"):
        window.push([[0.0, 1.0]], [0.0])
    assert len(window) == 1
    assert window.drop_oldest().rows == 0
