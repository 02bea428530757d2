"""The columns that are named are those that make the row strange."""

from __future__ import annotations

import datetime as dt
import re
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

from made_tables import mixed, numbers, one_batch, replaced
from pnml.tables.fitting import fit_table
from pnml.tables.learners import LEARNERS
from pnml.tables.roles import Request

REQUEST = Request(target="y")
LINEAR = ["pnml", "lpnml", "ols", "conformal"]


def fitted(table, learner="pnml", request=REQUEST):
    return fit_table(table.to_batches(), request, learner, "t.csv")


def texts(model, table):
    return model.score(one_batch(table), 0.9, 0.99).because.to_pylist()


def reasons(model, table):
    """(column, percentage, what is said of the cell) for each column that a row's text names."""
    names = "|".join(map(re.escape, model.encoder.names))
    parts = re.compile(rf"(?:^|, )({names}) (.*?) \((\d+)%\)(?=, (?:{names}) |$)")
    found = [parts.findall(text) for text in texts(model, table)]
    return [[(name, share, said) for name, said, share in row] for row in found]


@cache
def correlated(n, seed):
    """Six columns with correlations of about 0.5."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6)) + rng.normal(size=(n, 1))
    columns = {f"height {j} (cm)": X[:, j] for j in range(6)}
    return pa.table(columns | {"y": X.sum(axis=1) + rng.normal(size=n)})


@pytest.mark.parametrize("learner", LINEAR)
def test_a_shifted_column_is_named_first_by_its_own_name(learner):
    model = fitted(correlated(200, 0), learner)
    new = correlated(60, 1).drop_columns("y")
    for name in new.column_names:
        shifted = replaced(new, name, new[name].to_numpy() + 12.0)
        named = reasons(model, shifted)
        assert np.mean([row[0][0] == name for row in named]) > 0.95
        assert np.mean([int(row[0][1]) for row in named]) > 60


@pytest.mark.parametrize("learner", ["kernel", "norm-ball", "universal", "lpnml-l1"])
def test_other_learners_name_it_among_the_three(learner):
    model = fitted(numbers(40, 5), learner)
    new = numbers(12, 5, seed=1).drop_columns("y")
    shifted = replaced(new, "x3", new["x3"].to_numpy() + 9.0)
    named = reasons(model, shifted)
    assert np.mean(["x3" in [part[0] for part in row] for row in named]) > 0.8


def test_classifiers_name_it_too():
    table = numbers(200, 5)
    kind = pa.array(np.where(table["y"].to_numpy() > 0, "up", "down"))
    table = table.set_column(5, "kind", kind)
    model = fitted(table, "logistic", Request(target="kind"))
    new = numbers(40, 5, seed=1).drop_columns("y")
    shifted = replaced(new, "x3", new["x3"].to_numpy() + 12.0)
    assert np.mean([row[0][0] == "x3" for row in reasons(model, shifted)]) > 0.95


@pytest.mark.parametrize("learner", LINEAR)
def test_the_shares_of_three_columns_are_all_there_is_to_share(learner):
    model = fitted(numbers(80, 3), learner)
    for row in reasons(model, numbers(50, 3, seed=1)):
        assert 1 <= len(row) <= 3
        total = sum(int(share) for _, share, _ in row)
        assert 98 <= total <= 102  # each is rounded
        assert [int(s) for _, s, _ in row] == sorted((int(s) for _, s, _ in row), reverse=True)


def test_a_rare_word_is_named_by_its_column():
    table = mixed(200)
    cities = ["Lima", *table["city"].to_pylist()[1:]]
    model = fitted(replaced(table, "city", cities))
    rows = replaced(mixed(30, seed=3), "city", ["Lima"] * 30)
    assert np.mean([row[0][0] == "city" for row in reasons(model, rows)]) > 0.95


@pytest.mark.parametrize("learner", [n for n in LEARNERS if "boost" not in n or n == "boosting"])
def test_three_columns_at_most_and_never_one_twice(learner):
    n = 25 if learner == "lpnml-l1" else 60  # which takes its time
    table, request = mixed(n), REQUEST
    if LEARNERS[learner].task == "classification":
        up = np.where(table["y"].to_numpy() > 10, "up", "down")
        table = table.append_column("kind", pa.array(up)).drop_columns("y")
        request = Request(target="kind")
    drivers = fitted(table, learner, request).score(one_batch(table), 0.9, 0.99).drivers
    assert drivers.columns.shape == (n, 3)
    assert all(len(set(row)) == 3 for row in drivers.columns.tolist())
    assert (drivers.fractions >= 0).all()
    assert (drivers.fractions.sum(axis=1) <= 1 + 1e-9).all()
    assert (np.diff(drivers.fractions, axis=1) <= 1e-12).all()


def test_what_was_never_seen_is_said_and_comes_first():
    model = fitted(mixed(150))
    row = mixed(1, seed=4).drop_columns("y")
    row = replaced(replaced(row, "age", [40.0]), "city", ["Oslo"])

    def first(**cells):
        table = row
        for name, cell in cells.items():
            table = replaced(table, name, [cell])
        return reasons(model, table)[0][0][::2]

    assert first(city="Atlantis") == ("city", "'Atlantis' never seen in training")
    assert first(size=None) == ("size", "missing, never so in training")
    assert first(size=np.inf) == ("size", "inf never seen in training")
    # also beside a column that is much further out
    assert first(city="Atlantis", age=1e7) == ("city", "'Atlantis' never seen in training")


def test_columns_that_were_never_missing_together_are_both_named():
    table = mixed(150)
    both = table["age"].is_null().to_numpy() & table["city"].is_null().to_numpy()
    model = fitted(table.filter(pa.array(~both)))
    row = replaced(replaced(mixed(1, seed=4), "age", [None]), "city", [None])
    named = {name: said for name, _, said in reasons(model, row)[0]}
    together = "missing, never together with the other gaps in training"
    assert named["age"] == named["city"] == together


def test_without_a_penalty_the_column_that_left_the_span_takes_it_all():
    row = replaced(replaced(mixed(1, seed=4), "age", [40.0]), "city", ["Atlantis"])
    model = fitted(mixed(150), "ols")
    assert reasons(model, row)[0] == [("city", "100", "'Atlantis' never seen in training")]


@pytest.mark.parametrize("learner", [n for n in LEARNERS if "boost" not in n or n == "boosting"])
def test_a_reason_gives_the_cell_and_the_training_range(learner):
    """The range is the least and the largest of the training cells, counted here."""
    n = 25 if learner == "lpnml-l1" else 60
    rng = np.random.default_rng(3)
    age, day = rng.integers(19, 80, size=n), rng.integers(0, 300, size=n)
    city = rng.choice(["Oslo", "Rome"], size=n)
    y = age + 0.1 * day + rng.normal(size=n)
    label = np.where(y > np.median(y), "up", "down")
    target = label if LEARNERS[learner].task == "classification" else y
    dates = np.datetime64("2024-01-01") + day
    table = pa.table({"age": age, "day": dates, "city": city, "target": target})
    model = fitted(table, learner, Request(target="target"))
    new = pa.table(
        {
            "age": pa.array([648, 40], pa.int64()),
            "day": np.array(["2024-03-01", "2031-05-06"], dtype="datetime64[D]"),
            "city": ["Oslo", "Oslo"],
        }
    )
    said = [{name: words for name, _, words in row} for row in reasons(model, new)]
    assert said[0]["age"] == f"648; training {age.min()}–{age.max()}"
    if "day" in said[1]:
        assert said[1]["day"] == f"2031-05-06; training {dates.min()} to {dates.max()}"
    assert said[0].get("city", "'Oslo'") == "'Oslo'"


def test_a_number_just_outside_has_the_digits_to_show_it():
    x = np.linspace(0.0, 1.0, 40)
    model = fitted(pa.table({"x": x, "y": 3 * x + np.sin(9 * x)}))
    (said,) = texts(model, pa.table({"x": [1.0 + 1e-9]}))
    assert said == "x 1.000000001; training 0–1 (100%)"


BAD_ROWS = {
    "abc": ("age", "'abc' is not a number"),
    "2024-02-30": ("day", "'2024-02-30' is not a date"),
}


@pytest.mark.parametrize("learner", ["pnml", "ols", "kernel"])
@pytest.mark.parametrize("cell", BAD_ROWS)
def test_a_bad_cell_is_named_with_its_text(cell, learner):
    name, words = BAD_ROWS[cell]
    model = fitted(mixed(60), learner)
    row = replaced(replaced(mixed(2, seed=4), "age", [40.0, 41.0]), "city", ["Oslo", "Rome"])
    text = row[name].cast(pa.string()).to_pylist()
    place = row.column_names.index(name)
    new = row.set_column(place, name, pa.array([cell, text[1]]))
    scores = model.score(one_batch(new.drop_columns("y")), 0.9, 1.0)
    assert scores.trusted[0] == False  # noqa: E712
    assert scores.never_seen.tolist() == [True, False]
    assert reasons(model, new.drop_columns("y"))[0][0][::2] == (name, words)
    # the same from a reader that could not read the cell
    unread = row.set_column(place, name, pa.array([None, row[name][1].as_py()], row[name].type))
    unread = unread.append_column(f"\0unreadable:{name}", pa.array([cell, None]))
    again = model.score(one_batch(unread.drop_columns("y")), 0.9, 1.0)
    assert again.because.to_pylist() == scores.because.to_pylist()
    np.testing.assert_array_equal(again.answer.regret, scores.answer.regret)


def test_long_names_and_words_are_cut():
    table = mixed(60).rename_columns(["s" * 100, "age", "city", "member", "day", "y"])
    assert max(map(len, texts(fitted(table), table))) < 3 * 80
    row = replaced(table.slice(0, 1), "city", ["w" * 1000])
    (said,) = texts(fitted(table), row)
    assert "www…" in said
    assert len(said) < 300


def test_a_row_at_the_mean_has_no_column_to_name():
    table = numbers(60, 2)
    mean = {name: [table[name].to_numpy().mean()] for name in table.column_names}
    (said,) = fitted(table).score(one_batch(pa.table(mean)), 0.9, 0.99).because.to_pylist()
    assert said == "no single column stands out" or said.count("%") <= 2


def test_a_label_that_is_no_number_leaves_the_row_without_an_outcome():
    model = fitted(numbers(60, 2))
    rows = numbers(3, 2, seed=1).drop_columns("y").append_column("y", pa.array(["1", "oops", None]))
    outcome = model.score(one_batch(rows), 0.9, 0.99).answer.outcome
    assert np.isnan(outcome.loss).tolist() == [False, True, True]


def test_times_of_day_are_written_as_times():
    times = [dt.time(i % 24, 30) for i in range(60)]
    y = np.sin(np.arange(60) / 4)
    model = fitted(pa.table({"t": times, "y": y}))
    assert texts(model, pa.table({"t": [dt.time(23, 45, 10)]})) == [
        "t 23:45:10; training 0:30:00 to 23:30:00 (100%)"
    ]
    said = texts(model, pa.table({"t": ["07:30", "noon"]}))
    assert said[0] == "t 7:30:00; training 0:30:00 to 23:30:00 (100%)"
    assert said[1] == "t 'noon' is not a time (100%)"
