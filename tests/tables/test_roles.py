"""What each column is for, from its cells or from what the user says."""

from __future__ import annotations

import datetime as dt
import re

import numpy as np
import pyarrow as pa
import pytest

from made_tables import in_batches, numbers
from pnml.errors import InputError
from pnml.tables.fitting import fit_table
from pnml.tables.roles import MOST_LEVELS, Request, check_request, infer, infer_task

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
    many = [f"w{i % (MOST_LEVELS + 1)}" for i in range(2 * MOST_LEVELS + 2)]
    look = pa.table({"cells": many, "y": np.arange(len(many)) / 2, "x": np.arange(len(many)) / 3})
    assert "1,000 distinct" in infer(look, Request(target="y"))[0].remark


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
    "a constant": (np.full(N, 3.5), "has the same value in every row"),
    "a constant far from 0": (np.full(N, 1e9 + 0.1), "has the same value in every row"),
    "noughts": (np.zeros(N), "has the same value in every row"),
    "round-off": (2.0**53 + 2 * np.arange(N), "has the same value in every row, up to"),
    "one word": (["same"] * N, "has the same value in every row"),
    "no numbers": (pa.nulls(N, pa.float64()), "holds no value at all"),
    "no words": (pa.nulls(N, pa.string()), "holds no value at all"),
    "nothing": (pa.nulls(N), "holds no value at all"),
    "NaN only": (np.full(N, np.nan), "holds no value at all"),
}


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("name", USELESS)
def test_a_column_without_information_is_refused_or_skipped_as_asked(name, streamed, monkeypatch):
    cells, why = USELESS[name]
    table = numbers(N, 2).append_column("dull", pa.array(cells))
    if streamed:
        monkeypatch.setattr("pnml.tables.fitting.MOST_ROWS", 20)
    batches = in_batches(table, range(10, N, 10))
    with pytest.raises(InputError, match=f"column 'dull' {why}.*--drop 'dull'.*--skip-constant"):
        fit_table(batches, Request(target="y"), "pnml", "t.csv")
    model = fit_table(batches, Request(target="y", skip_constant=True), "pnml", "t.csv")
    assert model.encoder.names == ("x0", "x1")
    assert [r.column for r in model.roles if r.kind == "left out"] == ["dull"]


def test_a_constant_with_missing_cells_is_worth_knowing():
    cells = pa.array([1.0] * N, mask=np.arange(N) % 3 == 0)
    table = numbers(N, 2).append_column("some", cells)
    model = fit_table(table.to_batches(), Request(target="y"), "pnml", "t.csv")
    assert "some" in model.encoder.names


def test_what_varies_only_in_rows_without_a_label_is_constant():
    table = numbers(N, 2).append_column("dull", pa.array([1.0] * 30 + [2.0] * 10))
    y = pa.array(table["y"].to_numpy(), mask=np.arange(N) >= 30)
    table = table.set_column(2, "y", y)
    with pytest.raises(InputError, match="'dull' has the same value"):
        fit_table(table.to_batches(), Request(target="y"), "pnml", "t.csv")
    request = Request(target="y", skip_constant=True)
    assert "dull" not in fit_table(table.to_batches(), request, "pnml", "t").encoder.names


def test_every_message_is_one_sentence():
    table = numbers(N, 2).append_column("dull", pa.array(np.ones(N)))
    with pytest.raises(InputError) as caught:
        fit_table(table.to_batches(), Request(target="y"), "pnml", "t.csv")
    assert not re.search(r"[.?!] [A-Z]", str(caught.value))


@pytest.mark.parametrize("cells", [[{"a": 1}] * N, [[1, 2]] * N, [b"\xff\xfe", b"b"] * (N // 2)])
def test_cells_that_are_no_words_cannot_be_categories(cells):
    table = numbers(N, 2).append_column("odd", pa.array(cells))
    with pytest.raises(InputError, match=r"'odd' holds cells of type .* as words"):
        fit_table(table.to_batches(), Request(target="y", categorical=("odd",)), "pnml", "t.csv")
