"""Wherever a table comes from, model and scores are those of the command on a CSV file."""

from __future__ import annotations

import sqlite3

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import pnml
from pnml import fit_table

ADDED = ["prediction", "lower", "upper", "expected_error", "regret", "trusted", "because"]


def csv(table, name):
    pyarrow.csv.write_csv(table, f"{name}.csv")
    return f"{name}.csv"


def parts(table, name):
    """Two files of one table, and the pattern that finds them."""
    half = table.num_rows // 2
    pyarrow.parquet.write_table(table.slice(0, half), f"{name}-1.parquet")
    pyarrow.parquet.write_table(table.slice(half), f"{name}-2.parquet")
    return f"{name}-*.parquet"


def sqlite(table, name):
    frame = table.to_pandas()
    frame["day"] = frame["day"].astype(str)
    connection = sqlite3.connect(f"{name}.db")
    frame.to_sql("rows", connection, index=False)
    connection.close()
    return f"sqlite:///{name}.db?table=rows"


def relation(table, name):
    duckdb = pytest.importorskip("duckdb")
    return duckdb.connect().from_arrow(table)


# What makes the source of a table, and the class of the scored rows.
SOURCES = {
    "pandas": (lambda table, _: table.to_pandas(), pd.DataFrame),
    "polars": (lambda table, _: pl.from_arrow(table), pl.DataFrame),
    "lazy polars": (lambda table, _: pl.from_arrow(table).lazy(), pl.DataFrame),
    "pyarrow": (lambda table, _: table, pa.Table),
    "reader": (lambda table, _: table.to_reader(), pa.Table),
    "duckdb": (relation, pa.Table),
    "csv": (csv, pd.DataFrame),
    "parquet": (parts, pd.DataFrame),
    "sqlite": (sqlite, pd.DataFrame),
}


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_gives_the_model_and_the_scores_of_the_command(
    source, train, new, call, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    csv(train, "a")
    csv(new, "b")
    assert call("fit", "a.csv", "-t", "y", "--learner", "pnml", "-o", "m.pnml").code == 0
    assert call("score", "m.pnml", "b.csv", "-o", "s.parquet").code == 0
    truth = pd.read_parquet("s.parquet")
    make, kind = SOURCES[source]
    model = fit_table(make(train, "train"), target="y", learner="pnml")
    assert model.encoder.names == pnml.load("m.pnml").encoder.names
    scored = model.score(make(new, "new"))
    assert isinstance(scored, kind)
    to_arrow = {pa.Table: pa.table, pl.DataFrame: pl.DataFrame.to_arrow}
    table = to_arrow.get(kind, pa.Table.from_pandas)(scored)
    assert table.column_names[-7:] == ADDED
    assert table["trusted"].to_pylist() == truth["trusted"].tolist()
    assert not all(truth["trusted"])
    assert table["because"].to_pylist() == truth["because"].tolist()
    for name in ADDED[:5]:
        # the same sums of the same rows, perhaps by kernels for memory that is aligned otherwise
        np.testing.assert_allclose(table[name].to_numpy(), truth[name], rtol=1e-8, atol=1e-10)


INDICES = {
    "words": lambda n: pd.Index([f"row {i}" for i in range(n)], name="who"),
    "duplicates": lambda n: pd.Index([7] * n),
    "two levels": lambda n: pd.MultiIndex.from_arrays(
        [["a", "b"] * (n // 2), [1] * n], names=["k", "l"]
    ),
    "dates": lambda n: pd.date_range("2024-01-01", periods=n, tz="Europe/Rome"),
}


@pytest.mark.parametrize("index", INDICES)
def test_pandas_rows_keep_their_index(index, model, new):
    frame = new.to_pandas()
    plain = model.score(frame)
    frame.index = INDICES[index](len(frame))
    scored = model.score(frame)
    pd.testing.assert_index_equal(scored.index, frame.index)
    pd.testing.assert_frame_equal(scored.reset_index(drop=True), plain)


def odd_types(frame):
    n = len(frame)
    return frame.assign(
        city=frame["city"].astype("category"),
        whole=pd.array([1, None] * (n // 2), dtype="Int64"),
        maybe=pd.array([True, None] * (n // 2), dtype="boolean"),
        small=np.float32(1) / 3,
        either=pd.Series([1, "a"] * (n // 2), dtype=object, index=frame.index),
        when=pd.Timestamp("2024-01-01", tz="Europe/Rome"),
    )


def test_columns_of_pandas_come_back_as_they_are_and_the_frame_stays(train, new, model):
    rows = odd_types(new.to_pandas())
    before = rows.copy(deep=True)
    scored = model.score(rows)
    model.findings(rows)
    pd.testing.assert_frame_equal(rows, before)
    pd.testing.assert_frame_equal(scored[before.columns], before)
    frame = odd_types(train.to_pandas())
    before = frame.copy(deep=True)
    fit_table(frame, target="y", drop="either", learner="pnml")
    pd.testing.assert_frame_equal(frame, before)


def test_columns_of_polars_come_back_as_they_are_and_the_frame_stays(new, model):
    rows = pl.from_arrow(new).with_columns(pl.col("city").cast(pl.Categorical))
    before = rows.clone()
    scored = model.score(rows)
    assert rows.equals(before)
    assert scored.select(before.columns).equals(before)
    assert scored.select(before.columns).schema == before.schema


def test_whole_numbers_name_columns_of_pandas(rng):
    frame = pd.DataFrame(rng.normal(size=(60, 3)))
    frame[2] += frame[0]
    model = fit_table(frame, target=2, drop=[1], learner="pnml")
    assert model.encoder.names == ("0",)
    assert model.score(frame).columns.tolist() == [0, 1, 2, *ADDED]


@pytest.mark.parametrize("target", ["y", "city"])
def test_a_saved_model_scores_the_same_to_the_bit(target, train, new, tmp_path):
    learner = "pnml" if target == "y" else "logistic"
    model = fit_table(train, target=target, learner=learner)
    model.save(tmp_path / "m.pnml")
    pnml.save(model, tmp_path / "n.pnml")
    assert (tmp_path / "m.pnml").read_bytes() == (tmp_path / "n.pnml").read_bytes()
    again = pnml.load(tmp_path / "m.pnml")
    assert isinstance(again, pnml.TableModel)
    assert again.score(new).equals(model.score(new))
    assert str(again) == str(model)
    assert (again.target, again.task, again.classes, again.rows) == (
        model.target,
        model.task,
        model.classes,
        model.rows,
    )


def test_a_boosted_model_scores_the_same_after_a_file(train, new, tmp_path):
    model = fit_table(train, target="y", learner="boosting")
    model.save(tmp_path / "m.pnml")
    assert pnml.load(tmp_path / "m.pnml").score(new).equals(model.score(new))


def test_a_model_of_a_table_is_exported(model, tmp_path):
    pytest.importorskip("onnx")
    pnml.export_onnx(model, tmp_path / "a.onnx")
    pnml.export_onnx(model.fitted, tmp_path / "b.onnx")
    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()


def test_a_report_has_the_findings(model, new, tmp_path):
    found = model.report(new, tmp_path / "r.html")
    scored = model.score(new)
    assert (found.rows, found.trusted) == (40, sum(scored["trusted"].to_pylist()))
    assert "city never seen in training" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_a_model_says_in_words_what_it_is(model):
    said = str(model)
    for words in ("regression of 'y'", "ridge regression", "always guessing the mean", "150"):
        assert words in said
