"""What cannot be learnt or scored is refused in one sentence of Python's words."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import child
from made_tables import classes
from pnml import InputError, fit_table
from pnml.readers import ReadOptions


def refused(run, *words):
    with pytest.raises(InputError) as caught:
        run()
    said = str(caught.value)
    assert "\n" not in said
    assert said.endswith((".", "?"))
    assert not re.search(r"[.?!] [A-Z]", said), said
    assert "--" not in said, said
    for word in words:
        assert word in said, said


def with_lists(frame):
    return frame.assign(size=[[1, 2]] * len(frame))


def with_zones(frame):
    zones = ["UTC", "Europe/Rome"] * (len(frame) // 2)
    return frame.assign(day=[pd.Timestamp("2024-01-01", tz=zone) for zone in zones])


def with_levels(frame):
    frame.columns = pd.MultiIndex.from_product([["a"], frame.columns])
    return frame


FRAMES = {
    "a name twice": (lambda f: pd.concat([f, f[["size"]]], axis=1), ["'size'", "rename"]),
    "two levels of names": (with_levels, ["2 levels of column names"]),
    "lists": (with_lists, ["'size'", "no single value"]),
    "time zones": (with_zones, ["'day'", "mixes time zones"]),
    "no rows": (lambda f: f[:0], ["no rows"]),
    "no table": (lambda f: {"y": [1]}, ["dict"]),
}


@pytest.mark.parametrize("case", FRAMES)
def test_a_frame_that_is_no_table_is_refused_in_both_directions(case, train, model):
    change, words = FRAMES[case]
    frame = change(train.to_pandas())
    refused(lambda: fit_table(frame, target="y"), *words)
    refused(lambda: model.score(frame), *words)


TARGETS = {
    "all missing": (lambda f: f.assign(y=np.nan), {}, ["'y'", "no value at all"]),
    "all None": (lambda f: f.assign(y=None), {}, ["'y'", "no value at all"]),
    "not there": (lambda f: f.rename(columns={"y": "price"}), {"target": "prize"}, ["'price'?"]),
    "a list": (lambda f: f, {"target": ["y"]}, ["target is ['y']"]),
    "nothing": (lambda f: f, {"target": None}, ["target is None"]),
    "constant": (lambda f: f.assign(y=1.5), {}, ["1.5 in every row"]),
    "words": (lambda f: f, {"target": "city", "task": "regression"}, ["task='classification'"]),
    "not there to drop": (lambda f: f, {"drop": "sise"}, ["drop names 'sise'", "'size'?"]),
    "twice": (lambda f: f, {"id_columns": ["y"]}, ["both as target and as id_columns"]),
    "learner": (lambda f: f, {"learner": "ridge"}, ["learner is 'ridge'", "auto, pnml"]),
    "task": (lambda f: f, {"task": "clustering"}, ["task is 'clustering'"]),
    "weight kind": (lambda f: f, {"weight_kind": "many"}, ["weight_kind is 'many'"]),
    "other task": (lambda f: f, {"learner": "logistic"}, ["learner='logistic' does class"]),
    "no weights": (lambda f: f, {"learner": "kernel", "weight": "age"}, ["takes no weights"]),
    "mixture": (lambda f: f.assign(m=["1", "x"] * 75), {}, ["mixes", "drop=['m']"]),
    "text": (lambda f: f.assign(y=["1,5", "2,5"] * 75), {"task": "regression"}, ["'y'"]),
}


@pytest.mark.parametrize("case", TARGETS)
def test_what_cannot_be_learnt_is_named_by_its_argument(case, train):
    change, options, words = TARGETS[case]
    options = {"target": "y", "learner": "pnml"} | options
    refused(lambda: fit_table(change(train.to_pandas()), **options), *words)


@pytest.mark.parametrize("value", [0, -0.1, 1.5, "much", None, float("nan"), True])
@pytest.mark.parametrize("name", ["coverage", "level"])
def test_shares_are_above_0_and_at_most_1(name, value, model, new):
    for run in (model.score, model.findings):
        refused(lambda run=run: run(new, **{name: value}), f"{name} is {value!r}")


def test_a_level_may_be_1_and_a_coverage_not(model, new):
    assert model.score(new, level=1).num_rows == 40
    refused(lambda: model.score(new, coverage=1), "below 1")


def test_columns_that_lack_are_named(model, new):
    refused(lambda: model.score(new.drop_columns(["age"])), "lacks the column 'age'")
    refused(lambda: model.score(new.drop_columns(["age", "city"])), "2 columns 'age', 'city'")
    renamed = new.rename_columns(["size", "Age", *new.column_names[2:]])
    refused(lambda: model.score(renamed), "is it called 'Age' there?")


def test_scored_rows_are_scored_again_under_a_prefix_only(model, new):
    scored = model.score(new)
    refused(lambda: model.score(scored), "already has a column 'prediction'", "pass prefix")
    assert model.score(scored, prefix="b_").column_names[-7] == "b_prediction"


def test_databases_that_give_nothing_are_refused(train, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    connection = sqlite3.connect("my.db")
    train.to_pandas().astype({"day": str}).to_sql("rows", connection, index=False)
    connection.close()
    empty = ReadOptions(query="SELECT * FROM rows WHERE size > 1e9")
    refused(lambda: fit_table("sqlite:///my.db", target="y", options=empty), "gives no rows")
    refused(lambda: fit_table("sqlite:///mine.db", target="y"), "mine.db is not there")
    refused(lambda: fit_table("sqlite:///my.db?table=row", target="y"), "'rows'")


@pytest.mark.integration
def test_a_duckdb_file_that_another_process_writes_is_refused(train, tmp_path, monkeypatch):
    duckdb = pytest.importorskip("duckdb")
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("my.duckdb") as connection:
        connection.register("train", train)
        connection.execute("CREATE TABLE rows AS SELECT * FROM train")
    code = (
        "import duckdb, sys; c = duckdb.connect('my.duckdb'); print('open', flush=True); "
        "sys.stdin.read()"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    command = [sys.executable, "-c", code]
    with child.started(command, seconds=60, text=True, **pipes) as process:
        assert process.stdout.readline() == "open\n"
        refused(lambda: fit_table("duckdb:///my.duckdb", target="y"), "locked by another process")
        process.communicate("")


def test_a_logarithm_wants_positive_amounts(train):
    y = train["y"].to_pylist()
    y[5] = 0.0
    place = train.column_names.index("y")
    zero = train.set_column(place, "y", pa.array(y))
    refused(
        lambda: fit_table(zero, target="y", learner="pnml", log_target=True),
        "amounts of 0 or less",
        "leave log_target out",
    )
    refused(lambda: fit_table(classes(), target="kind", log_target=True), "log_target wants")


def test_places_that_cannot_be_written_are_named(model, new, tmp_path):
    refused(lambda: model.report(new, tmp_path / "no" / "r.html"), "r.html")
    refused(lambda: model.save(tmp_path / "no" / "m.pnml"), "m.pnml")
