"""Columns and cells come out of a scored table as they went in."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from made_tables import mixed
from pnml import load

REGRESSION = ["prediction", "lower", "upper", "expected_error", "regret", "trusted", "because"]


def test_input_columns_come_out_as_they_went_in(here, call):
    table = mixed(40, seed=1)
    table = table.append_column("count", pa.array(range(40), pa.int32()))
    table = table.append_column("note", pa.array(["007", None, 'a "quoted", cell', "ü"] * 10))
    table = table.append_column("when", pa.array(np.arange(40) * 10**9, pa.timestamp("ns", "UTC")))
    table = table.append_column("single", pa.array(np.linspace(0, 1, 40), pa.float32()))
    pyarrow.parquet.write_table(table, "new.parquet")
    assert call("score", "model.pnml", "new.parquet", "-o", "s.parquet").code == 0
    found = pyarrow.parquet.read_table("s.parquet")
    assert found.column_names == [*table.column_names, *REGRESSION]
    assert found.select(table.column_names).equals(table)


def test_cells_of_a_csv_come_out_as_they_went_in(here, call):
    rows = ["code,size,age,city,member,day,plain,y"]
    rows += [f"0{i:02d},0.{i},4{i},Oslo,true,2024-01-0{i + 1},{i},1.5" for i in range(5)]
    Path("codes.csv").write_text("\n".join(rows) + "\n")
    train = mixed(60).append_column("code", pa.array([f"{i % 7:03d}" for i in range(60)]))
    pyarrow.csv.write_csv(train, "train.csv")
    assert call("fit", "train.csv", "-t", "y", "--id", "code", "-o", "m.pnml").code == 0
    assert call("score", "m.pnml", "codes.csv", "-o", "s.csv").code == 0
    found = Path("s.csv").read_text().splitlines()
    for row, line in zip(rows[1:], found[1:], strict=True):
        given, out = row.split(","), [cell.strip('"') for cell in line.split(",")]
        assert out[0] == given[0]
        assert out[6] == given[6]
        assert out[3:6] == given[3:6]


def test_zeros_and_digits_of_a_csv_are_not_lost(here, call):
    rng = np.random.default_rng(0)
    rows = ["zip,account,x,y"]
    rows += [f"{i:05d},12345678901234567{i:05d},{i % 9},{rng.normal()}" for i in range(5, 95)]
    Path("codes.csv").write_text("\n".join(rows) + "\n")
    assert call("fit", "codes.csv", "-t", "y", "--drop", "account", "-o", "m.pnml").code == 0
    assert call("score", "m.pnml", "codes.csv", "-o", "s.csv").code == 0
    given, found = (pd.read_csv(name, dtype=str) for name in ("codes.csv", "s.csv"))
    assert found[["zip", "account"]].equals(given[["zip", "account"]])
    model = load("m.pnml")
    assert model.encoder.numbers() == ["x"]
    table = pyarrow.csv.read_csv("codes.csv")
    scores = model.fitted.score(table.to_batches()[0], 0.9, 0.99)
    np.testing.assert_array_equal(found.regret.astype(float), scores.answer.regret)
    assert call("report", "m.pnml", "codes.csv", "-o", "r.html").code == 0


def test_times_of_day_in_a_csv_are_scored_as_they_were_learnt(here, call):
    rng = np.random.default_rng(0)
    rows = ["time,x,y", *(f"{i % 24:02d}:30,{i % 7},{rng.normal()}" for i in range(60))]
    Path("times.csv").write_text("\n".join(rows) + "\n")
    assert call("fit", "times.csv", "-t", "y", "-o", "m.pnml").code == 0
    done = call("score", "m.pnml", "times.csv", "-o", "s.csv")
    assert (done.code, done.err) == (0, "")
    Path("times.csv").write_text("time,x,y\nnoon,1,1\n12:30,1,1\n")
    done = call("score", "m.pnml", "times.csv", "-o", "s.csv")
    assert done.code == 0
    scored = pd.read_csv("s.csv")
    assert scored.trusted.tolist() == [False, True]
    assert scored.because[0].startswith("time 'noon' is not a time")


def test_reordered_and_further_columns_are_fine(here, call):
    table = mixed(40, seed=1, shift=0.5)
    other = table.select(table.column_names[::-1]).append_column("extra", pa.array(["x"] * 40))
    pyarrow.csv.write_csv(other, "other.csv")
    assert call("score", "model.pnml", "new.csv", "-o", "a.csv").code == 0
    assert call("score", "model.pnml", "other.csv", "-o", "b.csv").code == 0
    a, b = pd.read_csv("a.csv"), pd.read_csv("b.csv")
    pd.testing.assert_frame_equal(a[REGRESSION], b[REGRESSION])
    assert (b.extra == "x").all()


def test_a_table_without_the_target_is_scored_without_metrics(here, call):
    pyarrow.csv.write_csv(mixed(40, seed=1).drop_columns("y"), "bare.csv")
    done = call("score", "model.pnml", "bare.csv", "-o", "s.csv")
    assert done.code == 0
    assert "log-loss" not in done.out
    assert list(pd.read_csv("s.csv").columns[-7:]) == REGRESSION


@pytest.mark.parametrize("spelling", [("True", "False"), ("TRUE", "FALSE"), ("true", "false")])
def test_truth_values_are_familiar_however_they_are_spelt(spelling, here, call):
    text = Path("new.csv").read_text()
    Path("new.csv").write_text(text.replace("true", spelling[0]).replace("false", spelling[1]))
    done = call("score", "model.pnml", "new.csv", "-o", "s.csv", "--json")
    assert json.loads(done.out)["never_seen"] == 0


def test_labels_that_look_like_numbers_keep_their_zeros(here, call):
    labels = ["007", "08"] * 30
    table = mixed(60).drop_columns("y").append_column("label", pa.array(labels))
    pyarrow.csv.write_csv(table, "train.csv")
    fitted = call("fit", "train.csv", "-t", "label", "--task", "classification", "-o", "m.pnml")
    assert fitted.code == 0
    done = call("score", "m.pnml", "train.csv", "-o", "s.csv", "--json")
    scored = pd.read_csv("s.csv", dtype=str)
    assert set(scored.prediction) <= {"007", "08"}
    assert scored.label.tolist() == labels
    assert isinstance(json.loads(done.out)["groups"][0]["log_loss"], float)
