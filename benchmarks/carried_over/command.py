"""Every sub-command on small tables, with each learner and each option."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.csv
import pyarrow.parquet
import torch

from benchmarks.carried_over.calling import call, record_call, record_output
from benchmarks.carried_over.graphs import record_file
from benchmarks.carried_over.models import LEARNERS
from benchmarks.carried_over.rows import inputs, kinds, mixed, network, odd
from pnml import PNMLRegressor, save
from pnml.nn import LastLayerPNML

COMMANDS = ("fit", "score", "report", "inspect", "merge", "export", "doctor", "demo", "reproduce")


def probe(record):
    folder = record.scratch / "command"
    folder.mkdir(exist_ok=True)
    os.chdir(folder)
    os.environ |= {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    tables()
    record_call(record, "command/help/pnml", ["--help"])
    record_call(record, "command/version", ["--version"], versions=False)
    record_call(record, "command/bare", [])
    for name in COMMANDS:
        record_call(record, f"command/help/{name}", [name, "--help"])
    record_call(record, "command/doctor", ["doctor"], versions=False)
    record_call(record, "command/doctor json", ["doctor", "--json"], versions=False)
    for learner in LEARNERS:
        chain(record, learner)
    options(record)
    old_models(record)
    merging(record)
    networks(record)
    demo(record)
    os.chdir(record.scratch)


def tables():
    for name, table in {
        "train": mixed(150),
        "few": mixed(40),
        "kinds": kinds(60),
        "odd": odd(),
        "odd-kinds": kinds(24, seed=7, shift=1.0),
        "first": mixed(90, seed=5),
        "second": mixed(60, seed=6),
    }.items():
        pyarrow.csv.write_csv(table, f"{name}.csv")
        pyarrow.parquet.write_table(table, f"{name}.parquet")


def chain(record, learner):
    """Fit, inspect, score, report and export."""
    key, classes = f"command/{learner}", LEARNERS[learner]
    target, train, new = ("kind", "kinds", "odd-kinds") if classes else ("y", "few", "odd")
    model = f"{learner}.pnml"
    fit = ["fit", f"{train}.csv", "-t", target, "--learner", learner, "-o", model]
    record_call(record, f"{key}/fit", fit, [model])
    record_call(record, f"{key}/fit json", [*fit, "--json"])
    record_call(record, f"{key}/inspect", ["inspect", model])
    record_call(record, f"{key}/inspect json", ["inspect", model, "--json"])
    for ending in ("csv", "parquet"):
        out = f"scored.{ending}"
        score = ["score", model, f"{new}.{ending}", "-o", out, "--json"]
        record_call(record, f"{key}/score {ending}", score, [out])
    record_call(record, f"{key}/score", ["score", model, f"{new}.csv", "-o", "-"])
    report = ["report", model, f"{new}.csv", "-o", "report.html"]
    record_call(record, f"{key}/report", report, ["report.html"])
    for dtype in ("float64", "float32"):
        export = ["export", model, "-o", "m.onnx", "--dtype", dtype, "--json"]
        record_call(record, f"{key}/export {dtype}", export, ["m.onnx"])
        if Path("m.onnx").exists():
            record_file(record, f"{key}/graph {dtype}", "m.onnx", feeds(new, dtype))


def feeds(table, dtype):
    """Columns as the inputs of a graph, with empty text where a word is missing."""
    frame = pd.read_csv(f"{table}.csv")
    found = {name: frame[name].to_numpy(dtype)[:, None] for name in ("size", "age")}
    city = frame["city"].fillna("").to_numpy(dtype=object)[:, None]
    member = frame["member"].map({True: "true", False: "false"}).to_numpy(dtype=object)[:, None]
    days = pd.to_datetime(frame["day"]).to_numpy("datetime64[D]").astype(np.int64)
    return found | {"city": city, "member": member, "day": days[:, None]}


def options(record):
    fit = ["fit", "train.csv", "-t", "y", "-o", "m.pnml"]
    for name, more in {
        "drop": ["--drop", "day", "--drop", "city"],
        "id": ["--id", "day"],
        "weight": ["--weight", "age"],
        "categorical": ["--categorical", "day"],
        "task": ["--task", "regression"],
        "missing": ["--missing", "Oslo"],
        "skip": ["--skip-constant"],
    }.items():
        record_call(record, f"command/fit/{name}", [*fit, *more, "--json"], ["m.pnml"])
        score = ["score", "m.pnml", "odd.csv", "-o", "s.csv"]
        record_call(record, f"command/fit/{name}/score", score, ["s.csv"])
    score = ["score", "pnml.pnml", "odd.csv", "-o", "s.csv"]
    for name, more in {
        "coverage": ["--coverage", "0.5"],
        "level": ["--level", "0.8"],
        "prefix": ["--prefix", "pnml_"],
        "missing": ["--missing", "Rome"],
    }.items():
        record_call(record, f"command/score/{name}", [*score, *more], ["s.csv"])
    report = ["report", "pnml.pnml", "odd.csv", "-o", "r.html", "--level", "0.8"]
    record_call(record, "command/report/level", report, ["r.html"])
    inspect = ["inspect", "pnml.pnml", "--level", "0.8"]
    record_call(record, "command/inspect/level", inspect)
    bare = mixed(12, seed=3).drop_columns("y")
    pyarrow.csv.write_csv(bare, "bare.csv")
    record_call(record, "command/score/bare", ["score", "pnml.pnml", "bare.csv", "-o", "s.csv"])
    text = Path("train.csv").read_text(encoding="utf-8").replace("Bern", "Zürich")
    Path("latin.txt").write_text(text.replace(",", ";"), encoding="latin-1")
    latin = ["fit", "latin.txt", "-t", "y", "-o", "m.pnml", "--delimiter", ";"]
    record_call(record, "command/fit/latin", [*latin, "--encoding", "latin-1", "--json"])
    record_call(record, "command/fit/many", ["fit", "*.csv", "-t", "y", "-o", "m.pnml"])
    frozen = ["fit", "first.parquet", "-t", "y", "-o", "m.pnml", "--json"]
    record_call(record, "command/fit/parquet", frozen)


def old_models(record):
    """Models of tables that version 0.1 has written."""
    for learner, classes in LEARNERS.items():
        path = record.files / f"table-{learner}.pnml"
        if not path.exists():
            path.write_bytes(Path(f"{learner}.pnml").read_bytes())
        new = "odd-kinds.csv" if classes else "odd.csv"
        key = f"command/old/{learner}"
        record_call(record, key, ["score", path, new, "-o", "s.csv"], ["s.csv"])
        record_call(record, f"{key}/inspect", ["inspect", path, "--json"])


def merging(record):
    for name in ("first", "second"):
        call("fit", f"{name}.csv", "-t", "y", "-o", f"{name}.pnml")
    merge = ["merge", "first.pnml", "second.pnml", "-o", "both.pnml"]
    record_call(record, "command/merge", merge, ["both.pnml"])
    record_call(record, "command/merge json", [*merge, "--json"])
    score = ["score", "both.pnml", "odd.csv", "-o", "s.csv"]
    record_call(record, "command/merge/score", score, ["s.csv"])
    refused = ["merge", "first.pnml", "logistic.pnml", "-o", "both.pnml"]
    record_call(record, "command/merge/refused", refused)
    for learner in ("auto", "pnml", "lpnml"):
        path = record.scratch / f"mixed-csv-{learner}.pnml"
        if path.exists():
            score = ["score", path, "odd.csv", "-o", "s.csv"]
            record_call(record, f"command/of files/{learner}", score, ["s.csv"])


def networks(record):
    save(LastLayerPNML(network(), alpha=2.0).fit(inputs()), "net.pnml")
    save(LastLayerPNML(torch.nn.Linear(6, 3).requires_grad_(False)).fit(inputs()), "head.pnml")
    save(PNMLRegressor().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.5]), "plain.pnml")
    for name in ("net", "head", "plain"):
        key = f"command/{name}"
        record_call(record, f"{key}/inspect", ["inspect", f"{name}.pnml"])
        if name != "head":
            record_call(record, f"{key}/json", ["inspect", f"{name}.pnml", "--json"])
        score = ["score", f"{name}.pnml", "odd.csv", "-o", "s.csv"]
        record_call(record, f"{key}/score", score)
        record_call(record, f"{key}/export", ["export", f"{name}.pnml", "-o", "m.onnx"])


def demo(record):
    record_call(record, "command/demo", ["demo", "--folder", "shown"])
    for path in sorted(Path("shown").iterdir()):
        record_output(record, f"command/demo/{path.name}", path)
