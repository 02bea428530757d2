"""Bad input: one sentence, exit code 2, no partial file, the old file whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from made_tables import classes, mixed, replaced
from pnml import PNMLRegressor, save
from sentences import assert_one_sentence, state

TABLE = mixed(30)


def text(table=TABLE, **options):
    """A table as the bytes of a CSV file."""
    sink = pa.BufferOutputStream()
    pyarrow.csv.write_csv(table, sink, pyarrow.csv.WriteOptions(**options))
    return sink.getvalue().to_pybytes()


def with_column(name, cells):
    return text(TABLE.append_column(name, pa.array(cells)))


def ragged():
    lines = text().decode().splitlines()
    return "\n".join([*lines[:5], lines[5] + ",7", *lines[6:]]).encode()


def mixed_types():
    return replaced(TABLE.drop_columns("size"), "city", ["1", "2", "three"] * 10)


def fit(table, *more, target="y"):
    return ["fit", table, "--target", target, "-o", "old.pnml", *more]


def score(table, *more, model="model.pnml", output="old.csv"):
    return ["score", model, table, "-o", output, *more]


def report(table, *more, model="model.pnml"):
    return ["report", model, table, "-o", "old.html", *more]


# Files by name; those that need the saved models are made in `bad` below.
FILES = {
    "empty.csv": b"",
    "header.csv": text().split(b"\n")[0] + b"\n",
    "one.csv": text(TABLE.slice(0, 1)),
    "ragged.csv": ragged(),
    "bars.csv": text(delimiter="|"),
    "mixed.csv": text(mixed_types()),
    "words.csv": text(
        replaced(TABLE.drop_columns("city"), "age", TABLE["age"].to_pylist())
    ).replace(b"\n", b"\nbad", 1),
    "latin.csv": text(replaced(TABLE, "city", ["Zürich"] * 30)).decode().encode("latin-1"),
    "constant.csv": text(pa.table({"same": [3] * 30, "y": TABLE["y"]})),
    "one-class.csv": text(replaced(classes(30), "kind", ["only"] * 30)),
    "many-classes.csv": text(replaced(classes(30), "kind", [f"k{i}" for i in range(30)])),
    "constant-target.csv": text(replaced(TABLE, "y", [2.5] * 30)),
    "no-target.csv": text(replaced(TABLE, "y", [None] * 30)),
    "infinite.csv": text(replaced(TABLE, "size", [np.inf] + [0.5] * 29)),
    "lacking.csv": text(TABLE.drop_columns(["age", "city"])),
    "renamed.csv": text(TABLE.rename_columns(["size", "Age", "city", "member", "day", "y"])),
    "scored.csv": with_column("prediction", [1.0] * 30),
    "twice.csv": text(TABLE).replace(b'"age"', b'"size"', 1),
    "weights.csv": with_column("w", [-1.0] + [1.0] * 29),
    "identifiers.csv": text(pa.table({"id": [f"P{i}" for i in range(30)], "y": TABLE["y"]})),
    "text-target.csv": text(
        TABLE.drop_columns("y").append_column("y", pa.array(["1.5", "n/k", "2"] * 10))
    ),
    "not.parquet": text(),
    "notes.txt.docx": b"PK\x03\x04",
}

# What is typed, and what the sentence must name.
CASES = {
    # files
    "fit: missing file": (fit("trian.csv"), ["trian.csv", "train.csv"]),
    "score: missing file": (score("nowhere.csv"), ["nowhere.csv"]),
    "report: missing file": (report("nowhere.csv"), ["nowhere.csv"]),
    "score: missing model": (score("new.csv", model="nowhere.pnml"), ["nowhere.pnml"]),
    "report: missing model": (report("new.csv", model="nowhere.pnml"), ["nowhere.pnml"]),
    "inspect: missing model": (["inspect", "nowhere.pnml"], ["nowhere.pnml"]),
    "fit: folder without tables": (fit("bare"), ["bare", "no tables"]),
    "score: folder without tables": (score("bare"), ["bare", "no tables"]),
    "fit: no match": (fit("part-*.csv"), ["part-*.csv"]),
    "fit: empty file": (fit("empty.csv"), ["empty.csv", "empty"]),
    "score: empty file": (score("empty.csv"), ["empty.csv", "empty"]),
    "fit: header only": (fit("header.csv"), ["header.csv", "no rows"]),
    "score: header only": (score("header.csv"), ["header.csv", "no rows"]),
    "report: header only": (report("header.csv"), ["header.csv", "no rows"]),
    "fit: not what its ending says": (fit("not.parquet"), ["not.parquet"]),
    # targets
    "fit: no such target": (fit("train.csv", target="yy"), ["'yy'", "'y'"]),
    "fit: text in regression": (
        fit("text-target.csv", "--task", "regression"),
        ["'y'", "'n/k'", "--task classification"],
    ),
    "fit: words in regression": (
        fit("kinds.csv", "--task", "regression", target="kind"),
        ["'kind'", "numbers"],
    ),
    "fit: one class only": (fit("one-class.csv", target="kind"), ["'kind'", "'only'"]),
    "fit: a class for each row": (fit("many-classes.csv", target="kind"), ["'kind'", "30"]),
    "fit: constant target": (fit("constant-target.csv"), ["'y'", "2.5"]),
    "fit: no target value": (fit("no-target.csv"), ["'y'"]),
    # cells
    "fit: ragged": (fit("ragged.csv"), ["Row 6", "ragged.csv", "7 cells"]),
    "score: ragged": (score("ragged.csv"), ["Row 6", "ragged.csv", "7 cells"]),
    "report: ragged": (report("ragged.csv"), ["Row 6", "ragged.csv", "7 cells"]),
    "fit: wrong delimiter": (fit("bars.csv"), ["bars.csv", "--delimiter '|'"]),
    "score: wrong delimiter": (score("bars.csv"), ["--delimiter '|'"]),
    "fit: delimiter of the wrong file": (
        fit("train.csv", "--delimiter", ";"),
        ["'y'", "no such column"],
    ),
    "fit: delimiter of two letters": (fit("train.csv", "--delimiter", "::"), ["'::'"]),
    "fit: mixed types": (fit("mixed.csv"), ["'city'", "'three'", "--missing"]),
    "score: text among numbers": (
        score("words.csv", "--strict", model="plain.pnml"),
        ["'size'", "row 2"],
    ),
    "fit: infinite number": (fit("infinite.csv"), ["'size'", "inf"]),
    "fit: constant columns only": (fit("constant.csv"), ["Nothing can be learnt", "'y'"]),
    "fit: identifiers only": (fit("identifiers.csv"), ["No column is left"]),
    "fit: one row": (fit("one.csv"), ["one.csv", "1 row"]),
    "fit: not UTF-8": (fit("latin.csv"), ["latin.csv", "row 2", "--encoding latin-1"]),
    "score: not UTF-8": (score("latin.csv"), ["latin.csv", "row 2", "--encoding latin-1"]),
    "fit: unknown encoding": (fit("latin.csv", "--encoding", "klingon"), ["'klingon'"]),
    "fit: two columns of one name": (fit("twice.csv"), ["'size'", "more than one"]),
    "score: two columns of one name": (score("twice.csv"), ["'size'", "more than one"]),
    # columns
    "score: lacking columns": (score("lacking.csv"), ["'age'", "'city'", "2 columns"]),
    "report: lacking columns": (report("lacking.csv"), ["'age'", "'city'", "2 columns"]),
    "score: renamed column": (score("renamed.csv"), ["'age'", "'Age'"]),
    "score: scored already": (score("scored.csv"), ["'prediction'", "--prefix"]),
    "fit: no such column": (fit("train.csv", "--drop", "sise"), ["--drop", "'sise'", "'size'"]),
    "fit: two roles": (fit("train.csv", "--id", "y"), ["'y'", "--target", "--id"]),
    "fit: negative weight": (fit("weights.csv", "--weight", "w"), ["'w'", "-1"]),
    "fit: words as weights": (fit("train.csv", "--weight", "city"), ["'city'", "numbers"]),
    # one thing in place of another
    "fit: a model in place of a table": (fit("model.pnml"), ["model.pnml", "not a table"]),
    "score: a model in place of a table": (score("model.pnml"), ["model.pnml", "not a table"]),
    "report: a model in place of a table": (report("model.pnml"), ["model.pnml", "not a table"]),
    "score: a table in place of a model": (
        score("new.csv", model="new.csv"),
        ["new.csv", "not a model"],
    ),
    "report: a table in place of a model": (
        report("new.csv", model="train.csv"),
        ["train.csv", "not a model"],
    ),
    "inspect: a table": (["inspect", "train.csv"], ["train.csv", "not a model"]),
    "score: both the wrong way round": (
        score("model.pnml", model="new.csv"),
        ["new.csv", "model.pnml", "give the model first"],
    ),
    "score: truncated model": (score("new.csv", model="cut.pnml"), ["cut.pnml"]),
    "report: truncated model": (report("new.csv", model="cut.pnml"), ["cut.pnml"]),
    "inspect: truncated model": (["inspect", "cut.pnml"], ["cut.pnml"]),
    "score: tampered model": (score("new.csv", model="changed.pnml"), ["changed.pnml"]),
    "inspect: tampered model": (["inspect", "changed.pnml"], ["changed.pnml"]),
    "score: a model that knows no columns": (
        score("new.csv", model="estimator.pnml"),
        ["estimator.pnml", "PNMLRegressor", "columns"],
    ),
    # outputs
    "fit: folder that is not there": (fit("train.csv", "-o", "no/m.pnml"), ["no", "m.pnml"]),
    "score: folder that is not there": (score("new.csv", output="no/s.csv"), ["no", "s.csv"]),
    "report: folder that is not there": (report("new.csv", "-o", "no/r.html"), ["no", "r.html"]),
    "fit: below a file": (fit("train.csv", "-o", "new.csv/m.pnml"), ["new.csv"]),
    "score: below a file": (score("new.csv", output="train.csv/s.csv"), ["train.csv"]),
    "demo: below a file": (["demo", "--folder", "train.csv/demo"], ["train.csv/demo"]),
    "fit: a folder as output": (fit("train.csv", "-o", "bare.pnml"), ["bare.pnml", "folder"]),
    "fit: ending": (fit("train.csv", "-o", "model.bin"), ["model.bin", ".pnml"]),
    "score: ending": (score("new.csv", output="s.xlsx"), ["s.xlsx", ".csv"]),
    "report: ending": (report("new.csv", "-o", "r.pdf"), ["r.pdf", ".html"]),
    "score: output equal to input": (score("new.csv", output="new.csv"), ["new.csv"]),
    "score: output a link to the input": (score("new.csv", output="link.csv"), ["link.csv"]),
    "score: output equal to input by another path": (
        score("new.csv", output="./bare/../new.csv"),
        ["new.csv"],
    ),
    "score: output among the inputs": (score("new.*", output="new.csv"), ["new.csv", "to read"]),
    "score: output equal to the model": (
        score("new.csv", model="model.csv", output="model.csv"),
        ["model.csv"],
    ),
    "fit: output a link to the input": (fit("train.csv", "-o", "link.pnml"), ["link.pnml"]),
    "report: output a link to the input": (report("new.csv", "-o", "link.html"), ["link.html"]),
    "score: two things to standard output": (score("new.csv", "--json", output="-"), ["--json"]),
    # options
    "unknown command": (["fitt"], ["'fitt'", "'fit'"]),
    "unknown option": (fit("train.csv", "--targte", "y"), ["--targte"]),
    "no target": (["fit", "train.csv"], ["--target"]),
    "no table": (["fit", "--target", "y"], ["train"]),
    "no output": (["score", "model.pnml", "new.csv"], ["--output"]),
    "one thing too many": (["inspect", "model.pnml", "model.pnml"], ["model.pnml"]),
    "unknown learner": (fit("train.csv", "--learner", "oracle"), ["'oracle'", "lpnml"]),
    "unknown task": (fit("train.csv", "--task", "ranking"), ["'ranking'", "regression"]),
    "learner of the other task": (
        fit("train.csv", "--learner", "logistic"),
        ["logistic", "regression"],
    ),
    "learner without weights": (
        fit("train.csv", "--learner", "kernel", "--weight", "age"),
        ["kernel", "--weight"],
    ),
    "coverage 2": (score("new.csv", "--coverage", "2"), ["--coverage", "2"]),
    "coverage 1": (report("new.csv", "--coverage", "1"), ["--coverage", "1"]),
    "coverage nan": (score("new.csv", "--coverage", "nan"), ["--coverage", "nan"]),
    "coverage in words": (score("new.csv", "--coverage", "high"), ["--coverage", "number"]),
    "level 0": (score("new.csv", "--level", "0"), ["--level", "0"]),
    "level 1.5": (report("new.csv", "--level", "1.5"), ["--level", "1.5"]),
    "inspect: level -1": (["inspect", "model.pnml", "--level", "-1"], ["--level", "-1"]),
}

# Of each kind of failure one through the installed command.
INSTALLED = [
    "fit: missing file",
    "fit: no such target",
    "score: ragged",
    "score: lacking columns",
    "report: truncated model",
    "fit: one class only",
    "score: output a link to the input",
    "unknown command",
    "unknown learner",
    "coverage 2",
    "demo: below a file",
]


@pytest.fixture
def bad(here):
    """The folder with good and bad files, and old outputs that must survive."""
    for name, data in FILES.items():
        Path(name).write_bytes(data)
    model = Path("model.pnml").read_bytes()
    Path("cut.pnml").write_bytes(model[: len(model) // 2])
    Path("changed.pnml").write_bytes(model[:-9] + bytes([model[-9] ^ 1]) + model[-8:])
    Path("model.csv").write_bytes(model)
    save(PNMLRegressor().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.5]), "estimator.pnml")
    Path("words.csv").write_bytes(b"size,age,city,member,day\nbig,40,Oslo,true,2024-01-01\n")
    Path("plain.pnml").write_bytes(model)
    Path("bare").mkdir()
    Path("bare", "notes.md").write_text("nothing here")
    Path("bare.pnml").mkdir()
    for name in ("link.csv", "link.pnml", "link.html"):
        Path(name).symlink_to("train.csv" if name == "link.pnml" else "new.csv")
    for name in ("old.pnml", "old.csv", "old.html"):
        Path(name).write_bytes(b"old and whole")
    return here


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_refused_in_one_sentence_and_nothing_changes(name, bad, call):
    arguments, named = CASES[name]
    before = state(bad)
    done = call(*arguments)
    assert_one_sentence(done.code, done.out, done.err, named)
    assert state(bad) == before


@pytest.mark.parametrize("name", INSTALLED)
def test_the_installed_command_refuses_alike(name, bad, installed):
    arguments, named = CASES[name]
    before = state(bad)
    done = installed(*arguments)
    assert_one_sentence(done.returncode, done.stdout, done.stderr, named)
    assert state(bad) == before


def test_bad_standard_input_is_refused_too(here, installed):
    for data, named in [("", "empty"), ("size,y\n1,2\n", "1 row"), ("\0\0", "NUL")]:
        done = installed("fit", "-", "--target", "y", "-o", "out.pnml", stdin_text=data)
        assert_one_sentence(done.returncode, done.stdout, done.stderr, [named])
    assert not Path("out.pnml").exists()
