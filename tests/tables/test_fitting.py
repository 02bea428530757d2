"""One pass over a table gives the model of all its rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from sklearn.compose import make_column_transformer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from examples import examples
from made_tables import CITIES, classes, in_batches, mixed, numbers, one_batch, replaced
from pnml import InputError, KernelPNMLRegressor, LpNMLRegressor, PNMLRegressor
from pnml.tables.first_rows import first_rows
from pnml.tables.fitting import fit_table
from pnml.tables.learners import LEARNERS
from pnml.tables.roles import Request
from pnml.tables.sampling import uniform_rows

REQUEST = Request(target="y")
CUTS = range(40, 300, 40)


@pytest.fixture
def short_look(monkeypatch):
    """Tables of more than 50 rows are streamed."""
    monkeypatch.setattr("pnml.tables.fitting.MOST_ROWS", 50)


def fitted(table, learner="auto", request=REQUEST, cuts=()):
    return fit_table(in_batches(table, cuts), request, learner, "t.csv")


def in_memory(table, learner="auto", request=REQUEST):
    """The same with all rows in memory."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pnml.tables.fitting.MOST_ROWS", 100_000)
        return fitted(table, learner, request)


def assert_alike(a, b, rtol, table=None):
    """Same predictions, intervals, regrets, trust and words for new rows, and same noise."""
    new = one_batch(mixed(60, seed=9, shift=0.5) if table is None else table)
    one, two = a.score(new, 0.9, 0.99), b.score(new, 0.9, 0.99)
    np.testing.assert_allclose(one.answer.prediction, two.answer.prediction, rtol=rtol)
    np.testing.assert_allclose(one.answer.regret, two.answer.regret, rtol=rtol)
    np.testing.assert_allclose(one.answer.interval, two.answer.interval, rtol=rtol, atol=rtol)
    assert one.trusted.tolist() == two.trusted.tolist()
    assert one.because.to_pylist() == two.because.to_pylist()


@pytest.mark.parametrize("learner", ["ols", "pnml", "lpnml"])
def test_a_stream_and_rows_in_memory_give_the_same_model(learner, short_look):
    table = mixed(300)
    streamed = fitted(table, learner, cuts=CUTS)
    whole = in_memory(table, learner)
    assert any("uniform sample" in remark for remark in streamed.remarks)
    assert streamed.rows == whole.rows == 300
    # moments lose half the digits that a factorisation keeps; penalties are found to 1e-6
    assert_alike(streamed, whole, 1e-8 if learner == "ols" else 1e-5)
    for a, b in zip(streamed.encoder.columns, whole.encoder.columns, strict=True):
        assert (a.name, a.missing is None) == (b.name, b.missing is None)
        if hasattr(a, "fill"):  # the mean, spread and range of all rows
            mine, theirs = (a.fill, a.scale, a.low, a.high), (b.fill, b.scale, b.low, b.high)
            np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12)


def test_a_stream_of_full_rows_is_exact_at_any_penalty(short_look):
    table = numbers(300)
    for learner in ("ols", "pnml", "lpnml"):
        streamed, whole = fitted(table, learner, cuts=CUTS), in_memory(table, learner)
        assert_alike(streamed, whole, 1e-7, numbers(60, seed=9))


def test_a_penalty_chosen_on_a_sample_changes_little(short_look, monkeypatch):
    monkeypatch.setattr("pnml.core.statistic.row_sample._MOST_ROWS", 256)
    table, new = mixed(3000), mixed(300, seed=9)
    streamed, whole = fitted(table, "pnml", cuts=range(500, 3000, 500)), in_memory(table, "pnml")
    assert len(streamed.estimator.loo_.regrets) == 256
    a, b = (m.score(one_batch(new), 0.9, 0.99).answer for m in (streamed, whole))
    gap = (a.prediction - b.prediction) / 0.4  # in units of the noise
    assert np.sqrt(np.mean(gap**2)) < 0.05
    assert np.abs(gap).max() < 0.2
    assert np.median(np.abs(a.regret / b.regret - 1)) < 0.05


@settings(max_examples=examples(15))
@given(st.lists(st.integers(1, 119), max_size=6))
def test_how_the_rows_are_cut_into_batches_does_not_matter(cuts):
    table = mixed(120)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pnml.tables.fitting.MOST_ROWS", 30)
        streamed = fitted(table, "ols", cuts=[30, *cuts])
    assert_alike(streamed, fitted(table, "ols"), 1e-7)


def coded(table):
    """The same cells, its words by codes of a dictionary in another order than they come in."""
    words = pa.array([*CITIES[::-1], *table["city"].to_pylist()]).dictionary_encode()[3:]
    return table.set_column(2, "city", words)


@pytest.mark.parametrize("change", [lambda table: table, coded], ids=["words", "codes"])
@pytest.mark.parametrize("cuts", [(1, 2, 49), (50,), (699,), tuple(range(0, 1200, 7))])
def test_a_stream_gives_one_penalty_and_one_score_however_its_rows_are_cut(
    cuts, change, short_look, monkeypatch
):
    """Penalty, noise and line of trust come from a sample of the rows, 256 of 1,200."""
    monkeypatch.setattr("pnml.core.statistic.row_sample._MOST_ROWS", 256)
    late = ["Oslo"] * 700 + mixed(500, seed=2)["city"].to_pylist()  # words and gaps come late
    table = change(replaced(mixed(1200), "city", late))
    whole, cut = fitted(table, "pnml"), fitted(table, "pnml", cuts=cuts)
    sampled = [model.estimator._counted().sample.rows for model in (whole, cut)]
    assert len(sampled[0]) == 256
    # the last columns are target and weight, which nothing rounds
    np.testing.assert_array_equal(sampled[0][:, -2:], sampled[1][:, -2:])
    # sums of equal numbers in another order, and a penalty found to 1e-6 of it
    assert cut.estimator.alpha_ == pytest.approx(whole.estimator.alpha_, rel=1e-5)
    assert_alike(cut, whole, 1e-7)
    assert_alike(fitted(table, "pnml", cuts=cuts[::2]), whole, 1e-7)


def test_words_and_gaps_that_come_late_in_a_stream_are_learnt(short_look):
    table = mixed(200)
    city = table["city"].to_pylist()
    late = replaced(table, "city", ["Oslo", "Rome"] * 50 + city[100:])
    late = replaced(late, "age", table["age"].fill_null(40.0).to_pylist()[:100] + [None] * 100)
    assert_alike(fitted(late, "ols", cuts=[50, 100, 150]), in_memory(late, "ols"), 1e-7)
    model = fitted(late, "ols", cuts=[50, 100, 150])
    assert model.encoder.columns[2].missing is not None
    assert set(model.encoder.columns[2].levels) == {"Oslo", "Rome", "Bern"}


@pytest.mark.parametrize("learner", ["ols", "pnml", "lpnml"])
def test_a_weight_counts_copies_of_a_row(learner, rng):
    table = mixed(120)
    copies = rng.integers(0, 4, size=120)
    weighted = table.append_column("copies", pa.array(copies))
    repeated = table.take(pa.array(np.repeat(np.arange(120), copies)))
    model = fitted(weighted, learner, replace(REQUEST, weight="copies", weight_kind="copies"))
    again = fitted(repeated, learner)
    assert_alike(model, again, 1e-7)
    assert f"{(copies == 0).sum()} rows of weight 0 left out." in model.remarks


def test_a_weight_counts_copies_in_a_stream_too(short_look, rng):
    table = mixed(120)
    copies = rng.integers(0, 4, size=120)
    weighted = table.append_column("copies", pa.array(copies))
    request = replace(REQUEST, weight="copies", weight_kind="copies")
    streamed, whole = (
        fitted(weighted, "ols", request, cuts=[50, 90]),
        in_memory(weighted, "ols", request),
    )
    assert_alike(streamed, whole, 1e-7)
    assert streamed.remarks[0] == whole.remarks[0]


def test_a_row_of_weight_zero_teaches_no_word():
    table = mixed(60).append_column("w", pa.array([0.0] + [1.0] * 59))
    table = replaced(table, "city", ["Atlantis", *table["city"].to_pylist()[1:]])
    model = fitted(table, "pnml", replace(REQUEST, weight="w"))
    assert model.score(one_batch(table.slice(0, 1)), 0.9, 1.0).never_seen.all()


@pytest.mark.parametrize("streamed", [False, True])
def test_rows_without_a_target_are_left_out_and_counted(streamed, monkeypatch):
    if streamed:
        monkeypatch.setattr("pnml.tables.fitting.MOST_ROWS", 40)
    table = mixed(100)
    y = table["y"].to_pylist()
    gaps = replaced(table, "y", [None, np.nan, *y[2:60], None, *y[61:]])
    model = fitted(gaps, "ols", cuts=[40, 80])
    labelled = table.take(pa.array([i for i in range(100) if i not in (0, 1, 60)]))
    assert model.rows == 97
    assert "3 rows without a value of 'y' left out." in model.remarks
    assert_alike(model, in_memory(labelled, "ols"), 1e-8)


def design(table):
    """Rows as scikit-learn would write them, and a column of zeros for what is never seen."""
    frame = table.drop_columns("y").to_pandas()
    shape = make_column_transformer(
        (StandardScaler(), ["size", "age", "day"]),
        (OneHotEncoder(sparse_output=False), ["city", "member"]),
    )
    frame["day"] = frame["day"].map(lambda day: day.toordinal())
    X = shape.fit_transform(frame)
    return np.column_stack([np.zeros(len(X)), X]), table["y"].to_numpy()


def full(n, seed, target=0.0):
    """Mixed rows without gaps."""
    table = mixed(n, seed)
    for name in ("age", "city"):
        table = replaced(table, name, table[name].fill_null(table[name].drop_null()[0]).to_pylist())
    return replaced(table, "y", table["y"].to_numpy() + target)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n", [12, 40, 150])
def test_auto_takes_the_learner_of_the_smallest_left_out_log_loss(n, seed):
    table = full(n, seed, target=100.0 * (seed % 2))
    X, y = design(table)
    losses = {
        "pnml": PNMLRegressor(alpha="loo").fit(X, y).loo_.log_loss,
        "lpnml": LpNMLRegressor().fit(X, y).loo_.log_loss,
        "kernel": KernelPNMLRegressor().fit(X, y).loo_.log_loss,
    }
    model = fitted(table)
    assert {name: dict(model.losses)[name] for name in losses} == pytest.approx(losses, rel=1e-7)
    assert ("boosting" in dict(model.losses)) == (n >= 100)
    assert model.learner == min(dict(model.losses), key=dict(model.losses).get)
    makers = {"lpnml": LpNMLRegressor, "kernel": KernelPNMLRegressor}
    direct = makers.get(model.learner, lambda: PNMLRegressor(alpha="loo"))().fit(X, y)
    scores = model.score(one_batch(table), 0.9, 0.99)
    np.testing.assert_allclose(scores.answer.prediction, direct.predict(X), rtol=1e-7)
    np.testing.assert_allclose(scores.answer.regret, direct.regret(X), rtol=1e-6)
    assert scores.trusted.tolist() == direct.trusted(X).tolist()


def test_learners_that_need_the_rows_get_a_uniform_sample(monkeypatch):
    monkeypatch.setitem(LEARNERS, "kernel", replace(LEARNERS["kernel"], rows=40))
    model = fitted(mixed(200), "kernel", cuts=[70, 140])
    assert model.rows == 40
    assert "Learnt from a uniform sample of 40 of the 200 rows." in model.remarks
    assert fitted(mixed(30), "kernel").remarks == ()


def test_every_row_is_as_likely_to_be_sampled_wherever_it_stands():
    counts = np.zeros(60)
    for start in range(300):
        table = pa.table({"row": np.arange(60)})
        batches = in_batches(table, [1 + start % 7, 20, 45])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("pnml.tables.sampling.Reservoir.__init__.__defaults__", (start,))
            rows, total = uniform_rows(batches, 9)
        assert (rows.num_rows, total) == (9, 60)
        counts[rows["row"].to_numpy()] += 1
    assert chisquare(counts).pvalue > 1e-3


def test_a_wide_table_is_counted_rather_than_kept(monkeypatch):
    table = mixed(120)
    whole = fitted(table, "ols")
    monkeypatch.setattr("pnml.tables.fitting._MOST_NUMBERS", 100)
    counted = fitted(table, "ols")
    assert counted.rows == 120
    assert_alike(counted, whole, 1e-8)


@settings(max_examples=examples(15))
@given(st.lists(st.integers(1, 59), max_size=6), st.integers(1, 70), st.integers(1, 4000))
def test_the_first_rows_are_the_same_however_the_table_is_cut(cuts, rows, size):
    table = mixed(60)
    whole = first_rows(iter(in_batches(table, ())), rows, size)
    cut = first_rows(iter(in_batches(table, cuts)), rows, size)
    assert whole.look.equals(cut.look.combine_chunks())
    assert 1 <= whole.look.num_rows <= rows
    for first in (whole, cut):  # and no row is lost
        rest = 0 if first.rest is None else sum(batch.num_rows for batch in first.rest)
        assert first.look.num_rows + rest == 60


@pytest.mark.parametrize("learner", LEARNERS)
def test_every_learner_fits_and_scores_a_mixed_table(learner):
    regression = LEARNERS[learner].task == "regression"
    n = 30 if learner == "lpnml-l1" else 90  # which takes its time
    table, target = (mixed(n), "y") if regression else (classes(n), "kind")
    model = fitted(table, learner, Request(target=target))
    scores = model.score(one_batch(table), 0.8, 0.99)
    answer = scores.answer
    assert (answer.regret >= 0).all()
    if regression:
        assert (answer.interval[:, 0] <= answer.prediction).all()
        assert (answer.prediction <= answer.interval[:, 1]).all()
        assert np.corrcoef(answer.prediction, table["y"].to_numpy())[0, 1] > 0.9
    else:
        np.testing.assert_allclose(answer.probabilities.sum(axis=1), 1.0)
        assert set(scores.prediction.to_pylist()) <= set(table["kind"].to_pylist())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t.slice(0, 0), "t.csv has no rows"),
        (lambda t: t.slice(0, 1), "t.csv has 1 row with a value of 'y'"),
        (lambda t: t.slice(0, 2), "t.csv has 2 rows with a value of 'y'"),
        (lambda t: replaced(t, "y", [2.5] * t.num_rows), "'y' is 2.5 in every row"),
        (lambda t: replaced(t, "y", [np.inf, *t["y"].to_pylist()[1:]]), "'y' holds .* inf"),
        (lambda t: replaced(t, "y", [1e300, *t["y"].to_pylist()[1:]]), "'y' holds .* 1e\\+300"),
        (lambda t: replaced(t, "size", [np.inf] * t.num_rows), "'size' holds .* inf"),
    ],
)
@pytest.mark.parametrize("streamed", [False, True])
def test_what_nothing_can_be_learnt_from_is_refused(change, said, streamed, monkeypatch):
    if streamed:
        monkeypatch.setattr("pnml.tables.fitting.MOST_ROWS", 20)
    table = change(mixed(60))
    with pytest.raises(InputError, match=said):
        fitted(table, cuts=[c for c in (20, 40) if c < table.num_rows])


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ([-1.0] + [1.0] * 59, "holds -1"),
        ([None] + [1.0] * 59, "holds an empty cell"),
        (["x"] * 60, "holds other cells than numbers"),
        ([0.0] * 60, "0 rows with a value of 'y'"),
    ],
)
def test_weights_that_count_nothing_are_refused(cells, said):
    table = mixed(60).append_column("w", pa.array(cells))
    with pytest.raises(InputError, match=said):
        fitted(table, request=replace(REQUEST, weight="w"))


def test_a_weight_is_not_asked_of_rows_without_a_label():
    table = mixed(60).append_column("w", pa.array([None] + [1.0] * 59))
    table = replaced(table, "y", [None, *table["y"].to_pylist()[1:]])
    assert fitted(table, request=replace(REQUEST, weight="w")).rows == 59


@pytest.mark.parametrize("learner", [n for n, one in LEARNERS.items() if not one.weighs])
def test_learners_without_weights_say_so(learner):
    table = mixed(60).append_column("w", pa.array([1.0] * 60))
    with pytest.raises(InputError, match=f"--learner {learner} takes no weights"):
        fitted(table, learner, replace(REQUEST, weight="w"))


def test_a_learner_of_the_other_task_is_refused():
    with pytest.raises(InputError, match="--learner logistic does classification"):
        fitted(mixed(40), "logistic")
    with pytest.raises(InputError, match="--learner kernel does regression"):
        fitted(classes(40), "kernel", Request(target="kind"))


@pytest.mark.parametrize(
    ("labels", "said"),
    [(["a"] * 40, "one class only, 'a'"), ([f"w{i}" for i in range(40)], "40 classes in 40 rows")],
)
def test_classes_must_be_few_and_more_than_one(labels, said):
    table = numbers(40).append_column("kind", pa.array(labels))
    with pytest.raises(InputError, match=said):
        fitted(table, request=Request(target="kind"))


def test_many_lonely_patterns_of_gaps_are_told(rng):
    table = numbers(60, 8)
    for name in table.column_names[:-1]:
        gaps = rng.random(60) < 0.4
        table = replaced(table, name, np.where(gaps, None, table[name].to_numpy()).tolist())
    assert any("miss a set of columns that no other row misses" in r for r in fitted(table).remarks)


def test_labels_of_new_rows_are_read_as_those_of_training_were():
    days = np.datetime64("2024-01-01") + np.arange(150) % 90
    bare = mixed(150).drop_columns("y")
    dated = bare.append_column("y", pa.array(days))
    model = fitted(dated)
    told = model.score(one_batch(dated), 0.9, 0.99).answer.outcome
    spelt = one_batch(bare.append_column("y", pa.array([str(day) for day in days])))
    np.testing.assert_array_equal(model.score(spelt, 0.9, 0.99).answer.outcome.loss, told.loss)
    with pytest.raises(InputError, match="knows it as a date"):
        model.score(one_batch(mixed(150)), 0.9, 0.99)
    with pytest.raises(InputError, match="predicts numbers"):
        fitted(mixed(150)).score(one_batch(dated), 0.9, 0.99)


def test_the_error_of_boosted_classes_is_their_share_of_wrong_labels():
    table = classes(150)
    model = fitted(table, "boosting-classifier", Request(target="kind"))
    wrong = model.estimator.cross_fitted_.absolute_errors
    assert set(wrong) == {0.0, 1.0}
    assert model.comparison[0].error == pytest.approx(np.count_nonzero(wrong) / 150)
