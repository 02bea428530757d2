"""The columns that are named are those that make the row strange."""

from __future__ import annotations

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


def reasons(model, table):
    """(column, percentage, remark) of each row, as its text gives them."""
    texts = model.score(one_batch(table), 0.9, 0.99).because.to_pylist()
    return [re.findall(r"(?:^|, )(.+?) (\d+)%(?: \((.*?)\))?", text) for text in texts]


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


@pytest.mark.parametrize("learner", LEARNERS)
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


def test_what_was_never_seen_is_said_in_brackets_and_comes_first():
    model = fitted(mixed(150))
    row = mixed(1, seed=4).drop_columns("y")
    row = replaced(replaced(row, "age", [40.0]), "city", ["Oslo"])

    def first(**cells):
        table = row
        for name, cell in cells.items():
            table = replaced(table, name, [cell])
        return reasons(model, table)[0][0]

    assert first(city="Atlantis")[::2] == ("city", "never seen: Atlantis")
    assert first(size=None)[::2] == ("size", "never missing in training")
    assert first(size=np.inf)[::2] == ("size", "never seen: inf")
    # also beside a column that is much further out
    assert first(city="Atlantis", age=1e7)[::2] == ("city", "never seen: Atlantis")


def test_columns_that_were_never_missing_together_are_both_named():
    table = mixed(150)
    both = table["age"].is_null().to_numpy() & table["city"].is_null().to_numpy()
    model = fitted(table.filter(pa.array(~both)))
    row = replaced(replaced(mixed(1, seed=4), "age", [None]), "city", [None])
    named = {name: remark for name, _, remark in reasons(model, row)[0]}
    together = "never missing together with the others"
    assert named["age"] == named["city"] == together


def test_without_a_penalty_the_column_that_left_the_span_takes_it_all():
    row = replaced(replaced(mixed(1, seed=4), "age", [40.0]), "city", ["Atlantis"])
    model = fitted(mixed(150), "ols")
    assert reasons(model, row)[0] == [("city", "100", "never seen: Atlantis")]


def test_long_names_and_words_are_cut():
    table = mixed(60).rename_columns(["s" * 100, "age", "city", "member", "day", "y"])
    text = fitted(table).score(one_batch(table), 0.9, 0.99).because.to_pylist()
    assert max(map(len, text)) < 3 * 50
    row = replaced(table.slice(0, 1), "city", ["w" * 1000])
    (said,) = fitted(table).score(one_batch(row), 0.9, 0.99).because.to_pylist()
    assert "www…" in said
    assert len(said) < 250


def test_a_row_at_the_mean_has_no_column_to_name():
    table = numbers(60, 2)
    mean = {name: [table[name].to_numpy().mean()] for name in table.column_names}
    (said,) = fitted(table).score(one_batch(pa.table(mean)), 0.9, 0.99).because.to_pylist()
    assert said == "no single column stands out" or said.count("%") <= 2
