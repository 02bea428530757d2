"""A column that is dropped, or that the model does not know, never stops the job."""

from __future__ import annotations

import datetime as dt
import sqlite3

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from pnml import InputError, fit_table

N = 40
ODD = {
    "lists": [[k, k + 1] for k in range(N)],
    "lists of several kinds": [[1], {"a": 2}] * (N // 2),
    "bytes": [b"\x00\xff"] * N,
    "objects": [object() for _ in range(N)],
    "complex numbers": [complex(k, 1) for k in range(N)],
    "time zones": [
        dt.datetime(2024, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=k % 3))) for k in range(N)
    ],
    "numbers and words": [1.5, "x"] * (N // 2),
    "impossible dates": ["2024-01-01", "2024-02-30"] * (N // 2),
    "infinite numbers": [np.inf, 1.0] * (N // 2),
}


def columns():
    x = np.linspace(0, 1, N)
    return {"x": x, "y": 3 * x + 0.1 * np.sin(99 * x)}


@pytest.mark.parametrize("case", ODD)
def test_a_dropped_column_of_a_pandas_frame_may_hold_anything(case):
    frame = pd.DataFrame(columns() | {"odd": pd.Series(ODD[case], dtype=object)})
    model = fit_table(frame, "y", learner="pnml", drop="odd")
    assert ("odd", "as asked") in [(role.column, role.remark) for role in model.roles]
    scored = model.score(frame)
    assert list(scored.columns[:3]) == ["x", "y", "odd"]
    assert scored["odd"].tolist() == frame["odd"].tolist()
    pd.testing.assert_frame_equal(
        scored.drop(columns="odd"), model.score(frame.drop(columns="odd")), check_exact=True
    )
    assert model.findings(frame).rows == N


LISTS = pa.array(ODD["lists"])
KINDS = {
    "pyarrow": lambda: pa.table(columns() | {"odd": LISTS}),
    "structs": lambda: pa.table(columns() | {"odd": pa.array([{"a": 1}] * N)}),
    "polars": lambda: pl.DataFrame(columns() | {"odd": ODD["lists"]}),
    "polars objects": lambda: pl.DataFrame(
        columns() | {"odd": pl.Series(ODD["objects"], dtype=pl.Object)}
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_dropped_column_of_any_frame_comes_back_as_it_was(kind):
    frame = KINDS[kind]()
    model = fit_table(frame, "y", learner="pnml", drop="odd")
    scored = model.score(frame)
    assert type(scored) is type(frame)
    mine, theirs = (list(each["odd"]) for each in (scored, frame))
    assert len(mine) == N
    assert all(
        a is b if kind == "polars objects" else str(a) == str(b)
        for a, b in zip(mine, theirs, strict=True)
    )
    with pytest.raises(InputError, match="odd"):
        fit_table(frame, "y", learner="pnml")


def test_streams_databases_and_files_may_have_such_columns_too(tmp_path):
    table = pa.table(columns() | {"odd": LISTS})

    class Stream:
        def __arrow_c_stream__(self, schema=None):
            return table.__arrow_c_stream__(schema)

    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    with sqlite3.connect(tmp_path / "t.db") as database:
        database.execute("create table t (x real, y real, odd blob)")
        rows = zip(*columns().values(), ODD["bytes"], strict=True)
        database.executemany("insert into t values (?, ?, ?)", rows)
    database.close()
    for source in (Stream(), tmp_path / "t.parquet", f"sqlite:///{tmp_path}/t.db?table=t"):
        model = fit_table(source, "y", learner="pnml", drop="odd")
        assert model.encoder.names == ("x",)
        assert len(model.score(source)) == N


def test_a_column_that_the_model_needs_is_still_refused():
    frame = pd.DataFrame(columns())
    model = fit_table(frame, "y", learner="pnml")
    lists = frame.assign(x=ODD["lists"])
    for what in (lambda: model.score(lists), lambda: fit_table(lists, "y")):
        with pytest.raises(InputError, match="Column 'x' of DataFrame holds a list"):
            what()
