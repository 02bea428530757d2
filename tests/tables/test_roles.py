"""What each column is for, from its cells or from what the user says."""

from __future__ import annotations

import datetime as dt
import re

import numpy as np
import pyarrow as pa
import pytest

from made_tables import in_batches, numbers, one_batch
from pnml.errors import InputError
from pnml.tables.fitting import fit_table
from pnml.tables.roles import Request, check_request, infer, infer_task

N = 40
HALF = np.arange(N) / 2


def role(cells, **asked):
    """Role of one column beside a number and a target."""
    look = pa.table({"cells": cells, "other": HALF[::-1].copy(), "y": HALF})
    return infer(look, Request(target="y", **asked))[0]


KINDS = {
    "floats": (HALF, "number"),
    "whole numbers": (np.arange(N) % 7, "number"),
    "small numbers": (pa.array(np.arange(N) % 7, pa.int8()), "number"),
    "decimals": (pa.array(np.arange(N) % 7, pa.int64()).cast(pa.decimal128(30, 3)), "number"),
    "times of day": (pa.array([dt.time(i % 24) for i in range(N)]), "number"),
    "durations": (pa.array([dt.timedelta(hours=i % 5) for i in range(N)]), "number"),
    "dates": (pa.array([dt.date(2024, 1, 1 + i % 28) for i in range(N)]), "date"),
    "moments": (pa.array([dt.datetime(2024, 1, 1 + i % 28) for i in range(N)]), "date"),
    "words": (["a", "b"] * (N // 2), "category"),
    "long words": (pa.array(["a", "b"] * (N // 2), pa.large_string()), "category"),
    "coded words": (pa.array(["a", "b"] * (N // 2)).dictionary_encode(), "category"),
    "coded numbers": (pa.array([3, 4] * (N // 2)).dictionary_encode(), "category"),
    "truth values": ([True, False] * (N // 2), "category"),
    "missing words": (pa.nulls(N, pa.string()), "category"),
    "identifiers": ([f"P{i}" for i in range(N)], "left out"),
    "row numbers from 0": (np.arange(N), "left out"),
    "row numbers from 1": (np.arange(1, N + 1), "left out"),
    "lists": ([[i % 3] for i in range(N)], "left out"),
}


@pytest.mark.parametrize("name", KINDS)
def test_the_role_of_a_column_is_told_by_its_cells(name):
    cells, kind = KINDS[name]
    assert role(cells).kind == kind


def test_whole_numbers_that_do_not_count_the_rows_are_numbers():
    assert role(np.arange(5, N + 5)).kind == "number"
    assert role(np.arange(N)[::-1].copy()).kind == "number"


def test_what_is_left_out_says_why():
    assert "identifier" in role([f"P{i}" for i in range(N)]).remark
    assert "numbers the rows" in role(np.arange(N)).remark


def test_words_that_are_mostly_unique_are_left_out_unless_they_are_asked_for():
    names = [f"name {i % 212}" for i in range(280)]
    look = pa.table({"name": names, "y": np.arange(280) / 2, "x": np.arange(280) / 3})
    said = infer(look, Request(target="y"))[0]
    assert said.kind == "left out"
    assert said.remark == "212 distinct values in 280 rows, nearly an identifier"
    assert infer(look, Request(target="y", categorical=("name",)))[0].kind == "category"
    few = pa.table({"name": [f"n{i % 20}" for i in range(30)], "y": HALF[:30], "x": HALF[:30]})
    assert infer(few, Request(target="y"))[0].kind == "category"
    half = pa.table({"name": [f"n{i % 139}" for i in range(280)], "y": look["y"], "x": look["x"]})
    assert infer(half, Request(target="y"))[0].kind == "category"


@pytest.mark.parametrize(
    "cells", [["007", "013"], ["01234", "12345", "99999"], ["007", "A1", "12"]]
)
def test_codes_with_leading_zeros_are_words(cells):
    column = [cells[i % len(cells)] for i in range(N)]
    assert role(column).kind == "category"
    assert infer_task(pa.chunked_array([column]), Request(target="y")) == "classification"


def test_texts_that_are_dates_are_dates_and_an_impossible_one_is_named():
    days = [f"2024-01-{1 + i % 28:02d}" for i in range(N)]
    assert role(days).kind == "date"
    days[16] = "2024-02-30"
    with pytest.raises(InputError, match=r"'cells' holds '2024-02-30' in row 17, which is no date"):
        role(days)
    assert role(days, categorical=("cells",)).kind == "category"


def test_the_text_among_numbers_is_counted_and_the_first_is_named():
    cells = [str(i % 9) for i in range(N)]
    cells[4], cells[30] = "abc", "n/a?"
    with pytest.raises(InputError, match="2 of 40 cells are no numbers, first 'abc' in row 5"):
        role(cells)


def test_what_the_user_says_comes_first():
    identifiers = [f"P{i}" for i in range(N)]
    assert role(identifiers, categorical=("cells",)).kind == "category"
    assert role(np.arange(N) % 7, categorical=("cells",)).kind == "category"
    assert role(HALF, drop=("cells",)).kind == "left out"
    assert role(HALF, id=("cells",)).kind == "id"
    assert role(HALF, weight="cells").kind == "weight"


@pytest.mark.parametrize("cells", [["1", "2", "x"], ["12", "abc", "13", "14"]])
def test_a_column_that_mixes_numbers_and_text_is_refused_with_examples(cells):
    column = [cells[i % len(cells)] for i in range(N)]
    with pytest.raises(InputError) as caught:
        role(column)
    said = str(caught.value)
    word = next(cell for cell in cells if not cell.isdigit())
    assert "'cells'" in said
    assert repr(word) in said
    assert "--missing" in said
    assert role(column, categorical=("cells",)).kind == "category"
    assert role(column, drop=("cells",)).kind == "left out"


DISGUISED = {
    "decimal comma": (["170,5", "1,25", "80"], "numbers"),
    "thousands": (["1,234.50", "950.00", "12,345,678"], "numbers"),
    "european thousands": (["1.234,50", "99,9", "1.000.000,0"], "numbers"),
    "spaces": (["1 234", "12\u00a0345,5", "7"], "numbers"),
    "per cent": (["12.5%", "7 %", "100%"], "numbers"),
    "money": (["$1,200", "€ 3.50", "-12 €"], "numbers"),
    "days first": (["31/12/2020", "1.2.2021", "05/06/21"], "dates"),
}


@pytest.mark.parametrize("name", DISGUISED)
def test_numbers_and_dates_in_other_spellings_are_neither_words_nor_identifiers(name):
    cells, what = DISGUISED[name]
    column = [cells[i % len(cells)] for i in range(N)]
    with pytest.raises(InputError, match=f"'cells' holds {what} written as .*--categorical"):
        role(column)
    assert role(column, categorical=("cells",)).kind == "category"
    with pytest.raises(InputError, match=f"target 'y' holds {what} written as"):
        infer_task(pa.chunked_array([column]), Request(target="y"))
    table = numbers(N, 2).drop_columns("y").append_column("y", pa.array(column))
    with pytest.raises(InputError, match=f"target 'y' holds {what} written as"):
        fit_table(table.to_batches(), Request(target="y", task="regression"), "pnml", "t.csv")


@pytest.mark.parametrize("cells", [["1-2", "3-4"], ["1.2.3", "1.10.0"], ["S1", "M2"], ["a,b", "c"]])
def test_words_with_digits_are_words(cells):
    assert role([cells[i % 2] for i in range(N)]).kind == "category"


def test_a_few_numbers_among_many_words_are_words():
    words = ["north", "south", "east", "west", "12"]
    assert role([words[i % 5] for i in range(N)]).kind == "category"


def test_no_column_to_learn_from_is_refused():
    look = pa.table({"name": [f"P{i}" for i in range(N)], "y": HALF})
    with pytest.raises(InputError, match="No column is left"):
        infer(look, Request(target="y"))


TASKS = {
    "amounts": (HALF, "regression"),
    "many whole numbers": (np.arange(N) % 7, "regression"),
    "two whole numbers": (np.arange(N) % 2, "classification"),
    "two fractions": (HALF % 1, "regression"),
    "words": (["a", "b"] * (N // 2), "classification"),
    "truth values": ([True, False] * (N // 2), "classification"),
    "dates": ([dt.date(2024, 1, 1 + i % 28) for i in range(N)], "regression"),
}


@pytest.mark.parametrize("name", TASKS)
def test_the_task_is_told_by_the_target_unless_it_is_named(name):
    cells, task = TASKS[name]
    column = pa.chunked_array([pa.array(cells)])
    assert infer_task(column, Request(target="y")) == task
    for named in ("regression", "classification"):
        assert infer_task(column, Request(target="y", task=named)) == named


@pytest.mark.parametrize("option", ["target", "weight"])
def test_a_column_that_is_not_there_is_refused_with_the_nearest_name(option):
    asked = {"target": "y"} | {option: "heigth"}
    with pytest.raises(InputError) as caught:
        check_request(["y", "height"], Request(**asked), "t.csv")
    assert f"--{option} names 'heigth', but t.csv has no such column" in str(caught.value)
    assert "did you mean 'height'?" in str(caught.value)


@pytest.mark.parametrize("option", ["categorical", "drop", "id"])
def test_so_is_one_among_several(option):
    with pytest.raises(InputError, match=f"--{option} names 'nothing'.*it has 'y', 'x'"):
        check_request(["y", "x"], Request(target="y", **{option: ("x", "nothing")}), "t.csv")


def test_one_column_cannot_have_two_roles():
    with pytest.raises(InputError, match="'y' is given both as --target and as --drop"):
        check_request(["y", "x"], Request(target="y", drop=("y",)), "t.csv")
    check_request(["y", "x"], Request(target="y", categorical=("x",)), "t.csv")


USELESS = {
    "a constant": (np.full(N, 3.5), "always 3.5 in training", 3.5, 3.6),
    "a constant far from 0": (np.full(N, 1e9 + 0.1), "always 1e+09 in training", 1e9 + 0.1, 1e9),
    "noughts": (np.zeros(N), "always 0 in training", 0.0, 1e-9),
    "round-off": (
        2.0**53 + 2 * np.arange(N),
        "always 9007199254740992 in training",
        2.0**53 + 8,
        2.0**52,
    ),
    "one word": (["same"] * N, "always 'same' in training", "same", "other"),
    "one day": (
        [dt.date(2024, 5, 1)] * N,
        "always 2024-05-01 in training",
        dt.date(2024, 5, 1),
        dt.date(2024, 5, 2),
    ),
    "truth": ([True] * N, "always 'true' in training", True, False),
    "no numbers": (pa.nulls(N, pa.float64()), "it holds no value at all", None, 1.0),
    "no words": (pa.nulls(N, pa.string()), "it holds no value at all", None, "a"),
    "nothing": (pa.nulls(N), "it holds no value at all", None, 1.0),
    "NaN only": (np.full(N, np.nan), "it holds no value at all", None, 1.0),
}


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("name", USELESS)
def test_a_column_without_information_is_left_out_but_a_change_of_it_is_noticed(
    name, streamed, skip, monkeypatch
):
    cells, why, same, other = USELESS[name]
    bare = numbers(N, 2)
    table = bare.append_column("dull", pa.array(cells))
    if streamed:
        monkeypatch.setattr("pnml.tables.fitting.MOST_ROWS", 20)
    request = Request(target="y", skip_constant=skip)
    model = fit_table(in_batches(table, range(10, N, 10)), request, "pnml", "t.csv")
    truth = fit_table(in_batches(bare, range(10, N, 10)), request, "pnml", "t.csv")
    assert model.encoder.used == ("x0", "x1")
    assert [(r.column, r.remark) for r in model.roles if r.kind == "left out"] == [("dull", why)]
    scores = model.score(one_batch(bare), 0.9, 0.99)  # nobody needs the column
    without = truth.score(one_batch(bare), 0.9, 0.99)
    np.testing.assert_allclose(scores.answer.regret, without.answer.regret, rtol=1e-9)
    assert scores.trusted.tolist() == without.trusted.tolist()
    for cell, changed in ((same, False), (other, True)):
        column = pa.array([cell] * 3, None if cell is None or changed else table["dull"].type)
        new = bare.slice(0, 3).append_column("dull", column)
        scores = model.score(one_batch(new), 0.9, 1.0)
        assert scores.never_seen.all() == changed
        if changed:
            assert not scores.trusted.any()
            assert all(text.startswith("dull ") for text in scores.because.to_pylist())


def test_a_constant_with_missing_cells_is_worth_knowing():
    cells = pa.array([1.0] * N, mask=np.arange(N) % 3 == 0)
    table = numbers(N, 2).append_column("some", cells)
    model = fit_table(table.to_batches(), Request(target="y"), "pnml", "t.csv")
    assert "some" in model.encoder.names


def test_what_varies_only_in_rows_without_a_label_is_constant():
    table = numbers(N, 2).append_column("dull", pa.array([1.0] * 30 + [2.0] * 10))
    y = pa.array(table["y"].to_numpy(), mask=np.arange(N) >= 30)
    table = table.set_column(2, "y", y)
    model = fit_table(table.to_batches(), Request(target="y"), "pnml", "t.csv")
    assert "dull" not in model.encoder.used


def test_where_every_column_is_constant_one_sentence_says_so():
    table = pa.table({"dull": np.ones(N), "empty": pa.nulls(N, pa.string()), "y": HALF})
    with pytest.raises(InputError, match=r"Nothing can be learnt from t.csv") as caught:
        fit_table(table.to_batches(), Request(target="y"), "pnml", "t.csv")
    assert not re.search(r"[.?!] [A-Z]", str(caught.value))


@pytest.mark.parametrize("cells", [[{"a": 1}] * N, [[1, 2]] * N, [b"\xff\xfe", b"b"] * (N // 2)])
def test_cells_that_are_no_words_cannot_be_categories(cells):
    table = numbers(N, 2).append_column("odd", pa.array(cells))
    with pytest.raises(InputError, match=r"'odd' holds cells of type .* as words"):
        fit_table(table.to_batches(), Request(target="y", categorical=("odd",)), "pnml", "t.csv")


TARGETS = {
    "no value": (pa.nulls(N), "holds no value at all"),
    "no word": (pa.nulls(N, pa.string()), "holds no value at all"),
    "no number": (pa.nulls(N, pa.float64()), "holds no value at all"),
    "lists": (pa.array([[1], [2]] * (N // 2)), "holds cells of type list"),
    "records": (pa.array([{"a": 1}, {"a": 2}] * (N // 2)), "holds cells of type struct"),
    "bytes": (pa.array([b"\xff", b"b"] * (N // 2)), "holds cells of type binary"),
}


@pytest.mark.parametrize("task", [None, "classification"])
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("name", TARGETS)
def test_a_target_without_labels_is_refused_in_one_sentence(name, streamed, task, monkeypatch):
    if streamed:
        monkeypatch.setattr("pnml.tables.fitting.MOST_ROWS", 20)
    cells, said = TARGETS[name]
    table = pa.table({"x": HALF, "y": cells})
    with pytest.raises(InputError, match=f"The target 'y' {said}.*; pick another") as caught:
        fit_table(in_batches(table, [20]), Request(target="y", task=task), "auto", "t.csv")
    assert not re.search(r"[.?!] [A-Z]", str(caught.value))
