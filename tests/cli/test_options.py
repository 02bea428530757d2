"""Every option of the command does what it says."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from made_tables import mixed, replaced
from pnml import load
from pnml.cli import options
from pnml.core import trust

REGRESSION = ["prediction", "lower", "upper", "expected_error", "regret", "trusted", "because"]


def widths(call, *options, model="model.pnml"):
    assert call("score", model, "new.csv", "-o", "s.csv", *options).code == 0
    table = pd.read_csv("s.csv")
    return table


def test_a_larger_coverage_gives_wider_intervals_that_cover_more(here, call):
    pyarrow.csv.write_csv(mixed(400, seed=8), "new.csv")
    tables = [widths(call, "--coverage", share) for share in ("0.5", "0.9", "0.99")]
    for narrow, wide in zip(tables, tables[1:], strict=False):
        assert (narrow.lower > wide.lower).all()
        assert (narrow.upper < wide.upper).all()
    for table, share in zip(tables, (0.5, 0.9, 0.99), strict=True):
        inside = ((table.lower <= table.y) & (table.y <= table.upper)).mean()
        assert inside == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / 400) + 0.02)


def test_a_higher_level_trusts_more_rows_and_is_a_quantile_of_training_regrets(here, call):
    regrets = load("model.pnml").estimator.loo_.regrets
    trusted = []
    for level in ("0.3", "0.9", "1"):
        table = widths(call, "--level", level)
        threshold = np.quantile(regrets, float(level), method="inverted_cdf")
        calm = table.regret <= threshold * (1 + 1e-9)
        assert (table.trusted == calm).mean() > 0.95
        trusted.append(table.trusted.sum())
    assert trusted == sorted(trusted)
    assert trusted[0] < trusted[-1]


def test_a_prefix_makes_room_beside_columns_of_the_same_name(here, call):
    table = widths(call, "--prefix", "pnml_")
    assert list(table.columns[-7:]) == [f"pnml_{name}" for name in REGRESSION]
    table.to_csv("again.csv", index=False)
    done = call("score", "model.pnml", "again.csv", "-o", "s2.csv")
    assert done.code == 0
    assert list(pd.read_csv("s2.csv").columns[-14:-7]) == [f"pnml_{name}" for name in REGRESSION]


LEARNERS = {
    "pnml": "PNMLRegressor",
    "lpnml": "LpNMLRegressor",
    "ols": "PNMLRegressor",
    "lpnml-l1": "LpNMLRegressor",
    "norm-ball": "NormBallRegressor",
    "kernel": "KernelPNMLRegressor",
    "universal": "UniversalRegressor",
    "conformal": "ConformalRegressor",
    "logistic": "PNMLClassifier",
    "refit": "PNMLClassifier",
}


@pytest.mark.parametrize("learner", LEARNERS)
def test_every_learner_goes_through_the_whole_chain(learner, here, call):
    classification = learner in ("logistic", "refit")
    train, new = ("kinds.csv", "new-kinds.csv") if classification else ("train.csv", "new.csv")
    for name, rows in ((train, 41), (new, 13)):  # some learners take their time
        Path(name).write_text("".join(Path(name).read_text().splitlines(True)[:rows]))
    target = "kind" if classification else "y"
    fitted = call("fit", train, "-t", target, "--learner", learner, "-o", "m.pnml", "--json")
    assert json.loads(fitted.out)["estimator"] == LEARNERS[learner]
    assert json.loads(fitted.out)["learner"] == learner
    assert call("score", "m.pnml", new, "-o", "s.parquet").code == 0
    table = pd.read_parquet("s.parquet")
    assert (table.regret >= 0).all()
    assert table.because.str.contains("%|stands out|like the training rows").all()
    assert call("report", "m.pnml", new, "-o", "r.html").code == 0
    assert LEARNERS[learner] in call("inspect", "m.pnml").out


def roles(call, *options, train="train.csv", target="y"):
    done = call("fit", train, "-t", target, "-o", "m.pnml", "--json", *options)
    assert done.code == 0, done.err
    return {row["name"]: row["role"] for row in json.loads(done.out)["columns"]}


def test_columns_have_the_roles_that_are_asked_for(here, call):
    usual = {
        "size": "number",
        "age": "number",
        "city": "category",
        "member": "category",
        "day": "date",
        "y": "target",
    }
    assert roles(call) == usual
    table = mixed(150).append_column("zip", pa.array([f"{i % 4:03d}" for i in range(150)]))
    table = table.append_column("name", pa.array([f"P{i}" for i in range(150)]))
    table = table.append_column("weight", pa.array([1, 2, 3] * 50))
    pyarrow.csv.write_csv(table, "train.csv")
    more = {"zip": "category", "name": "left out", "weight": "number"}
    assert roles(call) == usual | more
    asked = ["--categorical", "zip", "--drop", "day", "--id", "name", "--weight", "weight"]
    found = roles(call, *asked)
    assert found == usual | {"zip": "category", "day": "left out", "name": "id", "weight": "weight"}
    assert set(load("m.pnml").encoder.columns[-1].levels) == {"000", "001", "002", "003"}
    assert "Left out 'name'" in call("fit", "train.csv", "-t", "y", "-o", "m.pnml").out


def test_an_id_is_shown_in_the_report_and_kept_as_text(here, call):
    for name in ("train.csv", "new.csv"):
        table = pyarrow.csv.read_csv(name)
        ids = pa.array([f"00{i}" for i in range(table.num_rows)])
        pyarrow.csv.write_csv(table.append_column("case", ids), name)
    assert call("fit", "train.csv", "-t", "y", "--id", "case", "-o", "m.pnml").code == 0
    assert call("score", "m.pnml", "new.csv", "-o", "s.parquet").code == 0
    assert pyarrow.parquet.read_table("s.parquet")["case"][7].as_py() == "007"
    assert call("report", "m.pnml", "new.csv", "-o", "r.html").code == 0
    assert "007" in Path("r.html").read_text(encoding="utf-8")


def test_a_weight_counts_copies_of_rows(here, call):
    table = mixed(100)
    copies = np.arange(100) % 3
    weighted = table.append_column("copies", pa.array(copies))
    pyarrow.csv.write_csv(weighted, "weighted.csv")
    pyarrow.csv.write_csv(table.take(pa.array(np.repeat(np.arange(100), copies))), "repeated.csv")
    call(
        "fit",
        "weighted.csv",
        "-t",
        "y",
        "--weight",
        "copies",
        "--weight-kind",
        "copies",
        "--learner",
        "pnml",
        "-o",
        "a.pnml",
    )
    call("fit", "repeated.csv", "-t", "y", "--learner", "pnml", "-o", "b.pnml")
    a, b = widths(call, model="a.pnml"), widths(call, model="b.pnml")
    np.testing.assert_allclose(a[REGRESSION[:5]], b[REGRESSION[:5]], rtol=1e-7)


def test_the_task_decides_what_a_number_is(here, call):
    table = mixed(60).append_column("half", pa.array([0, 1] * 30))
    pyarrow.csv.write_csv(table, "train.csv")

    def task(*options):
        done = call("fit", "train.csv", "-t", "half", "-o", "m.pnml", "--json", *options)
        return json.loads(done.out)["task"]

    assert task() == "classification"
    assert task("--task", "regression") == "regression"
    assert call("score", "m.pnml", "train.csv", "-o", "s.csv").code == 0
    table = mixed(60).append_column("half", pa.array([1, 2, 3] * 20))
    pyarrow.csv.write_csv(table, "train.csv")
    assert task() == "regression"
    assert task("--task", "classification") == "classification"
    assert call("score", "m.pnml", "train.csv", "-o", "s.csv").code == 0
    assert set(pd.read_csv("s.csv").prediction) <= {1, 2, 3}


def test_words_that_mean_missing_are_missing(here, call):
    text = Path("train.csv").read_text().splitlines()
    text[3] = re.sub(r"^[^,]*,[^,]*", "unknown,unknown", text[3])
    Path("train.csv").write_text("\n".join(text) + "\n")
    assert call("fit", "train.csv", "-t", "y", "-o", "m.pnml").code == 2
    done = call("fit", "train.csv", "-t", "y", "-o", "m.pnml", "--missing", "unknown", "--json")
    assert done.code == 0
    columns = {row["name"]: row["remark"] for row in json.loads(done.out)["columns"]}
    assert "some missing" in columns["size"]
    scored = call("score", "m.pnml", "train.csv", "-o", "s.csv", "--missing", "unknown")
    assert scored.code == 0


def test_delimiters_and_encodings_are_as_they_are_said_to_be(here, call):
    for name in ("train", "new"):
        table = pd.read_csv(f"{name}.csv").replace({"city": {"Bern": "Zürich"}})
        table.to_csv(f"{name}.txt", sep=";", encoding="latin-1", index=False)
    said = ["--delimiter", ";", "--encoding", "latin-1"]
    assert call("fit", "train.txt", "-t", "y", "-o", "m.pnml", *said).code == 0
    assert "Zürich" in load("m.pnml").encoder.columns[2].levels
    done = call("score", "m.pnml", "new.txt", "-o", "s.csv", *said, "--json")
    assert json.loads(done.out)["never_seen"] == 0
    assert "Zürich" in Path("s.csv").read_text(encoding="utf-8")


def german(source, target):
    """A table as it is written in another country."""
    table = pd.read_csv(source)
    for name in table.select_dtypes("number"):
        unit = " €" if name == "y" else ""
        table[name] = [
            "" if pd.isna(x) else f"{x:,.6f}".translate(str.maketrans(",.", ".,")) + unit
            for x in table[name]
        ]
    table["day"] = pd.to_datetime(table["day"]).dt.strftime("%d.%m.%Y")
    table.to_csv(target, sep=";", index=False)


def test_numbers_and_dates_are_read_in_the_formats_that_are_named(here, call):
    for name in ("train", "new"):
        german(f"{name}.csv", f"{name}.txt")
    said = ["--decimal", ",", "--thousands", ".", "--date-format", "%d.%m.%Y"]
    assert call("fit", "train.txt", "-t", "y", "-o", "m.pnml", *said).code == 0
    assert call("fit", "train.csv", "-t", "y", "-o", "plain.pnml").code == 0
    assert call("score", "m.pnml", "new.txt", "-o", "s.csv", *said).code == 0
    assert call("report", "m.pnml", "new.txt", "-o", "r.html", *said).code == 0
    found, plain = pd.read_csv("s.csv"), widths_of_plain(call)
    for name in ("prediction", "regret"):  # cells were rounded to six decimals
        np.testing.assert_allclose(found[name], plain[name], rtol=1e-3, atol=1e-4)
    lacking = call("score", "m.pnml", "new.txt", "-o", "s.csv")
    assert lacking.code == 2
    assert "--decimal ','" in lacking.err.replace("\n", " ")


def widths_of_plain(call):
    assert call("score", "plain.pnml", "new.csv", "-o", "plain.csv").code == 0
    return pd.read_csv("plain.csv")


def test_a_database_is_a_table_by_its_address_or_a_query(here, call):
    with closing(sqlite3.connect("my.db")) as database:
        for name in ("train", "new"):
            pd.read_csv(f"{name}.csv").to_sql(name, database, index=False)
    assert call("fit", "sqlite:///my.db?table=train", "-t", "y", "-o", "m.pnml").code == 0
    assert not Path("m.pnml.part").exists()
    query = ["--query", "SELECT * FROM new WHERE size > 0"]
    assert call("score", "m.pnml", "sqlite:///my.db", *query, "-o", "s.csv").code == 0
    assert call("report", "m.pnml", "sqlite:///my.db", *query, "-o", "r.html").code == 0
    scored = pd.read_csv("s.csv")
    assert len(scored) == (pd.read_csv("new.csv")["size"] > 0).sum()
    done = call("score", "m.pnml", "sqlite:///my.db", "--query", "DELETE FROM new", "-o", "t.csv")
    assert done.code == 2
    assert "begins with 'DELETE'" in done.err


def test_an_impossible_date_is_refused_unless_its_column_is_dropped(here, call):
    lines = Path("train.csv").read_text().splitlines()
    lines[7] = re.sub(r"\d{4}-\d{2}-\d{2}", "2024-02-30", lines[7])
    Path("train.csv").write_text("\n".join(lines) + "\n")
    done = call("fit", "train.csv", "-t", "y", "-o", "m.pnml")
    assert done.code == 2
    assert "'2024-02-30' in row 8" in " ".join(done.err.split())
    assert call("fit", "train.csv", "-t", "y", "-o", "m.pnml", "--drop", "day").code == 0


def test_constant_columns_are_left_out_and_said_so(here, call):
    table = mixed(60).append_column("same", pa.array([1] * 60)).append_column("void", pa.nulls(60))
    pyarrow.csv.write_csv(table, "train.csv")
    done = call("fit", "train.csv", "-t", "y", "-o", "m.pnml")
    said = " ".join(done.out.split())
    assert "Left out 'same': always 1 in training." in said
    assert "Left out 'void': it holds no value at all." in said
    for found in (roles(call), roles(call, "--skip-constant")):
        assert (found["same"], found["void"]) == ("left out", "left out")


def test_a_never_seen_word_is_told_and_not_trusted(here, call):
    table = replaced(mixed(40, seed=1), "city", ["Atlantis"] + ["Oslo"] * 39)
    pyarrow.csv.write_csv(table, "odd.csv")
    done = call("score", "model.pnml", "odd.csv", "-o", "s.csv", "--level", "1")
    scored = pd.read_csv("s.csv")
    assert not scored.trusted[0]
    assert scored.because[0].startswith("city ")
    assert "city 'Atlantis' never seen in training" in scored.because[0]
    assert "1 row holds a category" in " ".join(done.out.split())


def test_labels_that_are_no_numbers_do_not_stop_a_score(here, call):
    table = mixed(40, seed=1)
    y = [str(value) for value in table["y"].to_pylist()]
    table = table.drop_columns("y").append_column("y", pa.array(["n/k", *y[1:]]))
    pyarrow.csv.write_csv(table, "odd.csv")
    done = call("score", "model.pnml", "odd.csv", "-o", "s.csv")
    assert done.code == 0
    assert len(pd.read_csv("s.csv")) == 40
    assert call("report", "model.pnml", "odd.csv", "-o", "r.html").code == 0


def test_the_level_of_the_commands_is_that_of_the_library():
    assert options.DEFAULT_LEVEL == trust.DEFAULT_LEVEL
