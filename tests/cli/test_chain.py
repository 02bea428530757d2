"""Fit, score, report and inspect, as a user chains them; truth is recomputed by hand."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from scipy.stats import norm

import child
from made_tables import classes, mixed, replaced
from pnml import load

REGRESSION = ["prediction", "lower", "upper", "expected_error", "regret", "trusted", "because"]
CLASSES = [f"probability_{kind}" for kind in ("high", "low", "middle")]
CLASSIFICATION = ["prediction", *CLASSES, "expected_error", "regret", "trusted", "because"]


def side_by_side(out):
    """Group → numbers of the printed table."""
    rows = re.findall(r"^ *(trusted|not trusted|all rows) +(.*?) *$", out, flags=re.MULTILINE)
    return {
        name: [float(v.rstrip("%").replace(",", "")) for v in row.split()] for name, row in rows
    }


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_the_installed_command_fits_scores_reports_and_inspects(task, here, installed):
    target, train, new = ("y", "train.csv", "new.csv")
    if task == "classification":
        target, train, new = "kind", "kinds.csv", "new-kinds.csv"
    fitted = installed("fit", train, "-t", target, "-o", "m.pnml")
    assert (fitted.returncode, fitted.stderr) == (0, "")
    assert f"{task} of '{target}'" in fitted.stdout
    assert re.search(r"Read 150 rows in .* s \([\d,]+ a second\) and wrote m.pnml\.", fitted.stdout)
    scored = installed("score", "m.pnml", new, "-o", "s.csv")
    assert (scored.returncode, scored.stderr) == (0, "")
    assert "40 rows were scored" in scored.stdout
    table = pd.read_csv("s.csv")
    added = REGRESSION if task == "regression" else CLASSIFICATION
    given = pd.read_csv(new)
    assert list(table.columns) == [*given.columns, *added]
    pd.testing.assert_frame_equal(table[given.columns], given)
    reported = installed("report", "m.pnml", new, "-o", "r.html")
    assert (reported.returncode, reported.stderr) == (0, "")
    page = Path("r.html").read_text(encoding="utf-8")
    assert page.lower().startswith("<!doctype html>")
    inspected = installed("inspect", "m.pnml")
    assert inspected.returncode == 0
    for name in given.columns:
        assert name in inspected.stdout
    assert sorted(p.name for p in here.glob(".*")) == []


def test_auto_says_what_was_tried_and_why_it_was_taken(here, call):
    out = " ".join(call("fit", "train.csv", "-t", "y", "-o", "m.pnml").out.split())
    tried = re.search(r"least log-loss on rows left out \((.*?) nats", out)[1]
    losses = {float(loss): name for name, loss in map(str.split, tried.split(", "))}
    best = {"pnml": "PNMLRegressor", "lpnml": "LpNMLRegressor", "kernel": "KernelPNMLRegressor"}
    assert list(losses.values())[:3] == list(best)
    assert f"learner {(best | {'boosting': 'TrustedRegressor'})[losses[min(losses)]]}" in out
    assert "mean alone" in out


def test_metrics_side_by_side_are_those_of_the_scored_file(here, call):
    call("fit", "train.csv", "-t", "y", "--learner", "pnml", "-o", "m.pnml")
    done = call("score", "m.pnml", "new.csv", "-o", "s.parquet", "--coverage", "0.8")
    told = side_by_side(done.out)
    table = pd.read_parquet("s.parquet")
    for name, rows in {
        "trusted": table[table.trusted],
        "not trusted": table[~table.trusted],
        "all rows": table,
    }.items():
        if not len(rows):
            continue
        inside = (rows.lower <= rows.y) & (rows.y <= rows.upper)
        sd = (rows.upper - rows.lower) / 2 / norm.ppf(0.9)  # of a normal distribution
        log_loss = -norm.logpdf(rows.y, rows.prediction, sd).mean()
        error = np.sqrt(np.mean((rows.y - rows.prediction) ** 2))
        count, covered, loss, rmse = told[name]
        assert count == len(rows)
        assert covered == pytest.approx(100 * inside.mean(), abs=0.06)
        assert loss == pytest.approx(log_loss, rel=1e-3)
        assert rmse == pytest.approx(error, rel=1e-3)


def test_metrics_of_classes_are_those_of_the_scored_file(here, call):
    done = call("score", "classes.pnml", "new-kinds.csv", "-o", "s.parquet")
    told = side_by_side(done.out)
    table = pd.read_parquet("s.parquet")
    p = np.array([row[f"probability_{row.kind}"] for _, row in table.iterrows()])
    np.testing.assert_allclose(table[CLASSES].sum(axis=1), 1.0)
    best = table[CLASSES].to_numpy().argmax(axis=1)
    assert table.prediction.tolist() == np.array(["high", "low", "middle"])[best].tolist()
    for name, mask in {"trusted": table.trusted, "all rows": table.trusted | True}.items():
        count, loss, wrong = told[name]
        assert count == mask.sum()
        assert loss == pytest.approx(-np.log(p[mask]).mean(), rel=1e-3)
        share = (table.prediction != table.kind)[mask].mean()
        assert wrong == pytest.approx(100 * share, abs=0.06)


def test_json_is_all_there_is_on_standard_output(here, installed, call):
    done = installed("score", "model.pnml", "new.csv", "-o", "s.csv", "--json")
    assert done.stderr == ""
    scored = json.loads(done.stdout)
    table = pd.read_csv("s.csv")
    assert scored["rows"] == 40
    assert scored["trusted"] == table.trusted.sum()
    assert scored["mean_regret"] == pytest.approx(table.regret.mean())
    groups = {group["name"]: group for group in scored["groups"]}
    error = np.sqrt(np.mean((table.y - table.prediction) ** 2))
    assert groups["all rows"]["error"] == pytest.approx(error)
    for arguments in (
        ["fit", "train.csv", "-t", "y", "-o", "m.pnml"],
        ["report", "model.pnml", "new.csv", "-o", "r.html"],
        ["inspect", "model.pnml"],
        ["doctor"],
    ):
        done = call(*arguments, "--json")
        assert done.code == 0
        assert isinstance(json.loads(done.out), dict)
        assert done.err == ""


def test_json_has_words_for_what_is_not_finite(here, call):
    call("fit", "train.csv", "-t", "y", "--learner", "ols", "-o", "m.pnml")
    table = replaced(mixed(40, seed=1), "city", ["Atlantis"] * 40)
    pyarrow.csv.write_csv(table, "odd.csv")

    def refuse(name):
        raise AssertionError(f"{name} is no JSON")

    scored = json.loads(
        call("score", "m.pnml", "odd.csv", "-o", "s.csv", "--json").out, parse_constant=refuse
    )
    assert scored["infinite_regret"] == 40
    assert scored["never_seen"] == 40
    assert scored["mean_regret"] == "inf"


# ---- kinds of files


def compressed(table, path):
    with gzip.open(path, "wb") as file:
        pyarrow.csv.write_csv(table, file)


WRITERS = {
    "t.csv": pyarrow.csv.write_csv,
    "t.tsv": lambda table, path: pyarrow.csv.write_csv(
        table, path, pyarrow.csv.WriteOptions(delimiter="\t")
    ),
    "t.csv.gz": compressed,
    "t.parquet": pyarrow.parquet.write_table,
    "t.arrow": lambda table, path: pyarrow.feather.write_feather(
        table, path, compression="uncompressed"
    ),
    "t.feather": pyarrow.feather.write_feather,
}


def read_back(path):
    path = str(path)
    if path.endswith((".parquet", ".pq")):
        return pyarrow.parquet.read_table(path)
    if path.endswith((".arrow", ".feather", ".ipc")):
        return pyarrow.feather.read_table(path)
    mark = "\t" if ".tsv" in path else ","
    options = pyarrow.csv.ParseOptions(delimiter=mark)
    return pyarrow.csv.read_csv(path, parse_options=options)


@pytest.mark.parametrize("name", WRITERS)
def test_every_kind_of_file_teaches_and_scores_alike(name, here, call):
    for folder, table in {"train": mixed(150), "new": mixed(40, seed=1, shift=0.5)}.items():
        Path(folder).mkdir()
        WRITERS[name](table, f"{folder}/{name}")
    assert call("fit", f"train/{name}", "-t", "y", "-o", "m.pnml").code == 0
    done = call("score", "m.pnml", f"new/{name}", "-o", f"s-{name}")
    assert done.code == 0, done.err
    call("score", "model.pnml", "new.csv", "-o", "expected.parquet")
    expected, found = read_back("expected.parquet"), read_back(f"s-{name}")
    for column in REGRESSION:
        a, b = (np.array(table[column].to_pylist()) for table in (expected, found))
        if a.dtype.kind == "f":
            np.testing.assert_allclose(a, b, rtol=1e-9)
        else:
            assert (a == b).all()


def test_folders_patterns_and_pipes_are_tables_too(here, call, installed):
    train, new = mixed(150), mixed(40, seed=1, shift=0.5)
    for folder, table in {"train": train, "new": new}.items():
        Path(folder).mkdir()
        for part in range(3):
            third = table.slice(part * 60, 60) if folder == "train" else table.slice(part * 15, 15)
            pyarrow.csv.write_csv(third, f"{folder}/part-{part}.csv")
    call("score", "model.pnml", "new.csv", "-o", "expected.csv")
    assert call("fit", "train", "-t", "y", "-o", "folder.pnml").code == 0
    assert call("score", "folder.pnml", "new/part-*.csv", "-o", "folder.csv").code == 0
    with Path("train.csv").open("rb") as file:
        piped = installed("fit", "-", "-t", "y", "-o", "pipe.pnml", stdin=file)
    assert (piped.returncode, piped.stderr) == (0, "")
    with Path("new.csv").open("rb") as file:
        piped = installed("score", "pipe.pnml", "-", "-o", "-", stdin=file)
    assert (piped.returncode, piped.stderr) == (0, "")
    expected = Path("expected.csv").read_text()
    assert piped.stdout == expected
    pd.testing.assert_frame_equal(pd.read_csv("folder.csv"), pd.read_csv("expected.csv"))


def test_a_reader_that_leaves_early_gets_no_traceback(here, installed):
    pyarrow.parquet.write_table(pa.concat_tables([mixed(2000)] * 10), "long.parquet")
    command = f"{installed.command} score model.pnml long.parquet -o - | head -1"
    done = child.run(["sh", "-c", command], seconds=120)
    assert done.stdout.startswith('"size","age"')
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


# ---- real data, whose shift is known


@pytest.mark.data
def test_red_wine_is_told_from_the_white_it_was_trained_on(data_dir, here, call):
    data = np.load(data_dir / "shift" / "wine.npz")
    for part, name in (("train", "white.csv"), ("test", "red.csv")):
        X, y = data[f"X_{part}"], data[f"y_{part}"].ravel()
        columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
        pyarrow.csv.write_csv(pa.table(columns | {"quality": y}), name)
    assert (
        call("fit", "white.csv", "-t", "quality", "--task", "regression", "-o", "w.pnml").code == 0
    )
    done = call("score", "w.pnml", "red.csv", "-o", "s.parquet")
    regrets = load("w.pnml").estimator.reference_.regrets
    table = pd.read_parquet("s.parquet")
    assert table.regret.mean() > np.quantile(regrets, 0.9)
    said = " ".join(done.out.split())
    assert re.search(r"larger than (9\d(\.\d+)? %|all [\d,]+) of the training rows'", said)
    assert "this table does not come from where the training rows came" in said
    reported = call("report", "w.pnml", "red.csv", "-o", "r.html")
    assert reported.code == 0
    page = " ".join(Path("r.html").read_text(encoding="utf-8").split())
    assert "this table does not come from where the training rows came" in page
    white = call("score", "w.pnml", "white.csv", "-o", "s.parquet")
    assert "looks like the training rows" in " ".join(white.out.split())


# ---- a bar where someone watches, silence elsewhere


@pytest.mark.skipif(os.name != "posix", reason="terminals are those of POSIX")
def test_a_bar_is_drawn_on_a_terminal_and_nowhere_else(here, installed):
    import pty

    ours, theirs = pty.openpty()
    with child.started(
        [installed.command, "score", "model.pnml", "new.csv", "-o", "s.csv"],
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"},
    ) as process:
        os.close(theirs)
        seen = b""
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:
                break
            if not piece:
                break
            seen += piece
        out, _ = process.communicate(timeout=60)
    os.close(ours)
    assert process.returncode == 0
    assert b"Scoring" in seen
    assert "40 rows were scored" in out
    assert "\x1b" not in out


def test_warnings_are_notes_of_one_line(here, installed):
    x = np.linspace(0, 1, 3300)
    columns = {f"x{k}": x**k for k in range(1, 12)}
    code = """
import sys
import pnml.tables.fitting as fitting
fitting.MOST_ROWS = 1000
sys.argv = ["pnml", "fit", "steep", "-t", "y", "--learner", "ols", "-o", "m.pnml"]
from pnml.cli import main
main()
"""
    Path("steep").mkdir()
    table = pa.table(columns | {"y": np.sin(9 * x)})
    for part in range(3):
        pyarrow.csv.write_csv(table.slice(1100 * part, 1100), f"steep/{part}.csv")
    done = child.python(code)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("Note: The streamed rows have condition number")
    assert done.stderr.count("\n") == 1


def test_classes_of_new_rows_that_training_never_had_are_wrong_not_an_error(here, call):
    table = replaced(classes(40, seed=1), "kind", ["huge"] * 40)
    pyarrow.csv.write_csv(table, "huge.csv")
    done = call("score", "classes.pnml", "huge.csv", "-o", "s.csv", "--json")
    (whole,) = (g for g in json.loads(done.out)["groups"] if g["name"] == "all rows")
    assert whole["error"] == 1
    assert whole["log_loss"] == "inf"
