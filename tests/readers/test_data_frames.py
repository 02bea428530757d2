"""Data frames are tables like files: the same rows, the same sentences, and nothing is changed."""

from __future__ import annotations

import datetime as dt
import sys
from decimal import Decimal
from pathlib import Path

import dask.dataframe
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import child
from pnml.readers import UNREADABLE, FrameKind, as_kind, kind_of, open_table
from pnml.readers.file_pass import Mark, Read
from read_tables import refused, whole

ROWS = {"n": [1, 2, 3], "x": [0.5, None, 2.5], "w": ["a", None, "c"], "yes": [True, False, True]}


class Stream:
    """What any library with the Arrow stream interface gives."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


SOURCES = {
    "pandas": lambda: pd.DataFrame(ROWS, index=["i", "j", "k"]),
    "pandas of arrow": lambda: pa.table(ROWS).to_pandas(types_mapper=pd.ArrowDtype),
    "nullable pandas": lambda: pd.DataFrame(ROWS).convert_dtypes(),
    "polars": lambda: pl.DataFrame(ROWS),
    "lazy polars": lambda: pl.LazyFrame(ROWS),
    "pyarrow": lambda: pa.table(ROWS),
    "record batch": lambda: pa.record_batch(ROWS),
    "reader": lambda: pa.table(ROWS).to_reader(),
    "stream": lambda: Stream(pa.table(ROWS)),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_every_kind_of_frame_gives_the_same_rows_as_often_as_asked(kind):
    with open_table(SOURCES[kind]()) as table:
        for _ in range(2):
            found = table.read(lambda batches: pa.Table.from_batches(list(batches)))
            assert found.to_pydict() == ROWS
        assert table.schema.names == list(ROWS)
        assert not table.bad
        assert not table.codes()
        assert table.size > 0
    assert whole(SOURCES[kind](), columns=["w", "n"]).column_names == ["n", "w"]


def test_a_relation_of_duckdb_is_a_table():
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.connect().sql("SELECT range AS n, 'w' || range AS w FROM range(3)")
    assert whole(relation).to_pydict() == {"n": [0, 1, 2], "w": ["w0", "w1", "w2"]}
    assert isinstance(as_kind(pa.table(ROWS), relation), pa.Table)


def test_a_frame_is_not_changed_by_being_read():
    frame = pd.DataFrame(ROWS, index=pd.MultiIndex.from_tuples([(1, 2), (1, 3), (2, 2)]))
    copy = frame.copy(deep=True)
    whole(frame)
    pd.testing.assert_frame_equal(frame, copy)


def test_pieces_are_resumed_where_they_were_left():
    frame = pa.table({"x": np.arange(300_000)})
    with open_table(frame) as table:
        events = list(table.passing(table.wanted(), lambda batch, _: batch["x"][0].as_py()))
        reads = [event for event in events if isinstance(event, Read)]
        assert sum(read.rows for read in reads) == 300_000
        assert len(reads) > 2
        rest = table.passing(table.wanted(), lambda b, _: b["x"][0].as_py(), start=Mark(0, 2))
        again = [event.result for event in rest if isinstance(event, Read)]
        assert again == [read.result for read in reads[2:]]


def test_the_identity_of_a_frame_is_that_of_its_cells():
    def identity(**changed):
        with open_table(pd.DataFrame(ROWS | changed)) as table:
            return table.identity

    assert identity() == identity()
    assert identity() != identity(n=[1, 2, 4])
    assert identity() != identity(n=[1.0, 2.0, 3.0])


ZONE = dt.timezone(dt.timedelta(hours=2))
COLUMNS = {
    "mixed": (["a", 1, 2.5, None], pa.string(), ["a", "1", "2.5", None]),
    "whole": ([1, np.int8(2), None], pa.int64(), [1, 2, None]),
    "long": ([2**70, None], pa.float64(), [2.0**70, None]),
    "amounts": ([1, 2.5, Decimal("0.5"), float("nan")], pa.float64(), [1.0, 2.5, 0.5, None]),
    "decimals": ([Decimal("1.25"), None], pa.float64(), [1.25, None]),
    "truth": ([True, None, np.bool_(False)], pa.bool_(), [True, None, False]),
    "truth and numbers": ([True, 2], pa.string(), ["True", "2"]),
    "days": ([dt.date(2024, 1, 2), None], pa.date32(), [dt.date(2024, 1, 2), None]),
    "moments": (
        [dt.datetime(2024, 1, 2, 3), dt.date(2024, 1, 3)],
        pa.timestamp("us"),
        [dt.datetime(2024, 1, 2, 3), dt.datetime(2024, 1, 3)],
    ),
    "moments in a zone": (
        [dt.datetime(2024, 1, 2, 3, tzinfo=ZONE)],
        pa.timestamp("us", "UTC"),
        [dt.datetime(2024, 1, 2, 3, tzinfo=ZONE)],
    ),
    "times": ([dt.time(1, 2), None], pa.time64("us"), [dt.time(1, 2), None]),
    "durations": ([dt.timedelta(1), None], pa.duration("us"), [dt.timedelta(1), None]),
    "nothing": ([None, float("nan"), pd.NA, pd.NaT], pa.null(), [None] * 4),
}


@pytest.mark.parametrize("column", COLUMNS)
def test_objects_of_pandas_become_the_type_that_holds_them(column):
    cells, kind, expected = COLUMNS[column]
    found = whole(pd.DataFrame({"c": pd.Series(cells, dtype=object)}))["c"]
    assert found.type == kind
    assert found.to_pylist() == expected


@pytest.mark.parametrize(
    ("series", "expected"),
    [
        (pd.Categorical(["x", None, "y"]), ["x", None, "y"]),
        (pd.Categorical([3, 4, 3]), [3, 4, 3]),
        (pd.array([1, None], dtype="Int64"), [1, None]),
        (pd.array([True, None], dtype="boolean"), [True, None]),
        (pd.array(["a", None], dtype="string"), ["a", None]),
        (pd.arrays.SparseArray([0.0, 1.5]), [0.0, 1.5]),
        (pd.interval_range(0, 2), ["(0, 1]", "(1, 2]"]),
        (
            pd.period_range("2024-01", periods=2, freq="M"),
            [dt.datetime(2024, 1, 1), dt.datetime(2024, 2, 1)],
        ),
        (
            pd.to_datetime(["2024-01-01", None]).tz_localize("Europe/Berlin"),
            [pd.Timestamp("2024-01-01", tz="Europe/Berlin"), None],
        ),
    ],
)
def test_the_own_types_of_pandas_are_read(series, expected):
    assert whole(pd.DataFrame({"c": series}))["c"].to_pylist() == expected


def of_columns(*names):
    return pd.DataFrame([range(len(names))], columns=pd.Index(names, dtype=object))


REFUSED = {
    "twice": (lambda: of_columns("a", "b", "a"), "more than one column named 'a'"),
    "twice as text": (lambda: of_columns(1, "1"), "more than one column named '1'"),
    "levels": (
        lambda: pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")])),
        "2 levels of column names",
    ),
    "half": (lambda: of_columns("a", 1.5), "a column named 1.5, which is neither text nor"),
    "truth": (lambda: of_columns(True), "a column named True, which is neither"),
    "lists": (lambda: pd.DataFrame({"a": [[1]]}), "'a' of DataFrame holds a list, [1], which is"),
    "dicts": (lambda: pd.DataFrame({"a": [{"b": 1}]}), "holds a dict, {'b': 1}, which is no sing"),
    "bytes": (lambda: pd.DataFrame({"a": [b"x"]}), "holds a bytes, b'x', which is no single"),
    "nested": (lambda: pl.DataFrame({"a": [[1]]}), "'a' of DataFrame holds cells of type large_l"),
    "nested stream": (lambda: Stream(pa.table({"a": [[1]]})), "'a' of Stream holds cells of type"),
    "objects": (lambda: pd.DataFrame({"a": [Path()]}), "'a' of DataFrame holds a"),
    "complex": (lambda: pd.DataFrame({"a": [1j]}), "'a' of DataFrame has the type complex128"),
    "zones": (
        lambda: pd.DataFrame({"a": [pd.Timestamp(0, tz="UTC"), pd.Timestamp(0, tz="Asia/Tokyo")]}),
        "Column 'a' of DataFrame mixes time zones (Asia/Tokyo and UTC)",
    ),
    "zone and none": (
        lambda: pd.DataFrame({"a": [pd.Timestamp(0, tz="UTC"), pd.Timestamp(0)]}),
        "mixes time zones (UTC and none)",
    ),
    "no columns": (lambda: pd.DataFrame(), "DataFrame has no columns"),
    "no columns in polars": (lambda: pl.DataFrame(), "DataFrame has no columns"),
    "no rows": (lambda: pd.DataFrame({"a": []}), "DataFrame has columns but no rows"),
    "dask": (
        lambda: dask.dataframe.from_pandas(pd.DataFrame(ROWS), npartitions=1),
        "A Dask DataFrame lies in several processes",
    ),
    "series": (lambda: pd.Series([1]), "A pandas Series is one column and no table"),
    "polars series": (lambda: pl.Series([1]), "A polars Series is one column and no table"),
    "none": (lambda: None, "There is no table, only None; give a path"),
    "number": (lambda: 5, "No table can be read from an int; give a path"),
    "array": (lambda: np.ones((2, 2)), "No table can be read from a ndarray"),
    "column": (lambda: pa.chunked_array([[1]]), "ChunkedArray cannot be read as a table"),
    "broken plan": (lambda: pl.LazyFrame(ROWS).select("z"), "LazyFrame cannot be read as a table"),
    "same names": (lambda: pa.table([[1], [2]], ["a", "a"]), "Table has more than one column"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_table_is_refused_in_one_sentence(case):
    make, expected = REFUSED[case]
    assert expected in refused(make())


def test_whole_numbers_as_names_are_text_and_come_back_as_they_were():
    frame = pd.DataFrame({0: [1.0, 2.0], 1: [3.0, 4.0]}, index=["a", "b"])
    table = whole(frame)
    assert table.column_names == ["0", "1"]
    back = as_kind(table.append_column("score", [[5, 6]]), frame)
    pd.testing.assert_frame_equal(back, frame.assign(score=[5, 6]))


@pytest.mark.parametrize(
    ("like", "kind", "given"),
    [
        (pd.DataFrame(ROWS), FrameKind.PANDAS, pd.DataFrame),
        (pl.DataFrame(ROWS), FrameKind.POLARS, pl.DataFrame),
        (pl.LazyFrame(ROWS), FrameKind.POLARS, pl.DataFrame),
        (pa.table(ROWS), FrameKind.ARROW, pa.Table),
        (pa.record_batch(ROWS), FrameKind.ARROW, pa.Table),
        (Stream(pa.table(ROWS)), FrameKind.STREAM, pa.Table),
        ("new.csv", FrameKind.FILES, pd.DataFrame),
        (Path("new.csv"), FrameKind.FILES, pd.DataFrame),
    ],
)
def test_an_answer_comes_back_as_the_kind_that_came_in(like, kind, given):
    assert kind_of(like) is kind
    back = as_kind(pa.table({"a": [1, 2]}), like)
    assert isinstance(back, given)
    assert list(back["a"]) == [1, 2] or back["a"].to_pylist() == [1, 2]


def test_reading_a_file_needs_neither_pandas_nor_polars(tmp_path):
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(pa.table({"a": [1]}), path)
    code = (
        "import sys; sys.modules['pandas'] = sys.modules['polars'] = None\n"
        "from pnml.readers import open_table\n"
        f"print(open_table({str(path)!r}).read(lambda b: next(b).num_rows))"
    )
    assert child.python(code).stdout == "1\n"
    assert "pandas" in sys.modules


def test_texts_with_an_offset_are_read_as_the_dates_that_are_expected():
    """A date without one among them is another moment in every zone, and is not read."""
    zoned = ["2024-01-01T10:00:00Z", "2024-01-01 10:00:00+02:00", "2024-01-02T00:00:00Z"]
    texts = [*zoned, "2024-01-02", "soon"]
    with open_table(pa.table({"when": texts})) as table:
        found = table.read(
            lambda batches: pa.Table.from_batches(list(batches)), dates=["when"], lenient=True
        )
    days = [dt.datetime(2024, 1, 1, 10), dt.datetime(2024, 1, 1, 8), dt.datetime(2024, 1, 2)]
    assert found["when"].to_pylist() == [*days, None, None]
    assert found[UNREADABLE + "when"].to_pylist() == [None, None, None, "2024-01-02", "soon"]
