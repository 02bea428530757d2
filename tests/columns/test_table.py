"""Tables from arrays, data frames and lists: kinds of columns, gaps, and what is refused."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from pnml.columns import read_columns
from pnml.errors import InputError

NAN = float("nan")
UTC = dt.UTC


def numbers(X):
    return read_columns(X).numbers.T.tolist()


def same(got, expected):
    np.testing.assert_array_equal(np.array(got, dtype=float), np.array(expected, dtype=float))


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int8", "uint64", "bool"])
def test_arrays_of_numbers_are_float64(dtype):
    table = read_columns(np.array([[1, 0], [0, 1]], dtype=dtype))
    assert table.numbers.dtype == np.float64
    assert table.names == ("x0", "x1")
    assert set(table.kinds) == {"truth" if dtype == "bool" else "number"}
    same(table.numbers, [[1, 0], [0, 1]])


def test_infinite_numbers_stay():
    same(numbers(np.array([[np.inf], [-np.inf], [2.0]])), [[np.inf, -np.inf, 2.0]])


def test_lists_of_lists_keep_numbers_beside_words():
    table = read_columns([[1, "a", True], [2.5, None, False]])
    assert table.kinds == ("number", "word", "truth")
    same(table.numbers, [[1, 1], [2.5, 0]])
    assert table.words[0].cells.tolist() == ["a", None]


def test_lists_of_numbers_and_truth_values_keep_their_kinds():
    assert read_columns([[1.5, True], [2, False]]).kinds == ("number", "truth")
    assert read_columns([[1.5], [True]]).kinds == ("number",)


@pytest.mark.parametrize(
    ("dtype", "cell", "kind", "number"),
    [
        ("int64[pyarrow]", 3, "number", 3),
        ("double[pyarrow]", 1.5, "number", 1.5),
        ("bool[pyarrow]", True, "truth", 1),
        ("timestamp[us][pyarrow]", dt.datetime(1970, 1, 2), "date", 1),
        ("timestamp[us, tz=UTC][pyarrow]", dt.datetime(1970, 1, 2, tzinfo=UTC), "instant", 1),
        ("date32[day][pyarrow]", dt.date(1970, 1, 2), "date", 1),
        ("duration[us][pyarrow]", dt.timedelta(seconds=3), "span", 3),
    ],
)
def test_every_pandas_dtype_of_arrow(dtype, cell, kind, number):
    pytest.importorskip("pyarrow")
    table = read_columns(pd.DataFrame({"a": pd.Series([cell, None], dtype=dtype)}))
    assert table.kinds == (kind,)
    same(table.numbers[:, 0], [number, NAN])


def test_a_column_of_gaps_has_no_kind_yet():
    assert read_columns(np.array([[NAN, 1.0], [NAN, 2.0]])).kinds == ("gap", "number")
    assert read_columns([[None, "a"], [None, "b"]]).kinds == ("gap", "word")


SERIES = {
    "int64": (pd.Series([1, 2]), "number", [1, 2]),
    "Int64": (pd.array([1, None], dtype="Int64"), "number", [1, NAN]),
    "Float64": (pd.array([1.5, None], dtype="Float64"), "number", [1.5, NAN]),
    "boolean": (pd.array([True, None], dtype="boolean"), "truth", [1, NAN]),
    "bool": (pd.Series([True, False]), "truth", [1, 0]),
    "sparse": (pd.arrays.SparseArray([1.0, 0.0]), "number", [1, 0]),
    "objects": (pd.Series([1, pd.NA], dtype=object), "number", [1, NAN]),
    "decimals": (pd.Series([Decimal("1.5"), None], dtype=object), "number", [1.5, NAN]),
    "date": (pd.to_datetime(pd.Series(["1970-01-02 12:00", None])), "date", [1.5, NAN]),
    "zone": (
        pd.to_datetime(pd.Series(["1970-01-01 01:00", None])).dt.tz_localize("Europe/Paris"),
        "instant",
        [0, NAN],
    ),
    "duration": (pd.to_timedelta(pd.Series(["90 s", None])), "span", [90, NAN]),
    "python dates": (pd.Series([dt.date(1970, 1, 3), None], dtype=object), "date", [2, NAN]),
    "python instants": (
        pd.Series([dt.datetime(1970, 1, 2, tzinfo=UTC), pd.NaT], dtype=object),
        "instant",
        [1, NAN],
    ),
    "long durations": (
        pd.Series([dt.timedelta.max, None], dtype=object),
        "span",
        [86399999999999.999999, NAN],
    ),
    "nanoseconds": (
        pd.Series([pd.Timestamp(86_400_000_000_001), None], dtype=object),
        "date",
        [1, NAN],
    ),
    "instants in nanoseconds": (
        pd.Series([pd.Timestamp(86_400_000_000_001, tz="Europe/Paris"), None], dtype=object),
        "instant",
        [1, NAN],
    ),
    "duration in nanoseconds": (
        pd.Series([pd.Timedelta(3_000_000_001), np.timedelta64(2, "h")], dtype=object),
        "span",
        [3, 7200],
    ),
    "numpy dates": (
        pd.Series([np.datetime64("1970-01-03"), np.datetime64("NaT")], dtype=object),
        "date",
        [2, NAN],
    ),
    "python durations": (
        pd.Series([dt.timedelta(seconds=3), dt.time(0, 1)], dtype=object),
        "span",
        [3, 60],
    ),
}


@pytest.mark.parametrize("case", SERIES)
def test_every_pandas_dtype_of_numbers(case):
    series, kind, expected = SERIES[case]
    table = read_columns(pd.DataFrame({"a": series}))
    assert table.kinds == (kind,)
    same(table.numbers[:, 0], expected)


@pytest.mark.parametrize("dtype", ["object", "string", "str", "category"])
def test_every_pandas_dtype_of_words(dtype):
    table = read_columns(pd.DataFrame({"a": pd.Series(["x", None, "y"], dtype=dtype)}))
    assert table.kinds == ("word",)
    assert table.words[0].cells.tolist() == ["x", None, "y"]


def test_categories_that_are_numbers_are_words():
    table = read_columns(pd.DataFrame({"a": pd.Categorical([3, 1, None])}))
    assert table.words[0].cells.tolist() == ["3", "1", None]
    table = read_columns(pd.DataFrame({"a": pd.Categorical([1, "1", 2.5])}))
    assert table.words[0].levels == ("1", "2.5")


@pytest.mark.parametrize("unit", ["Y", "M", "D", "h", "s", "ms", "us", "ns"])
def test_every_unit_of_dates_gives_the_same_number(unit):
    X = np.array([["2024-01-01"], ["NaT"]], dtype=f"datetime64[{unit}]")
    same(numbers(X), [[19723, NAN]])


def test_every_polars_dtype():
    pl = pytest.importorskip("polars")
    X = pl.DataFrame(
        {
            "int": [1, None],
            "float": [1.5, NAN],
            "truth": [True, None],
            "date": [dt.date(1970, 1, 2), None],
            "datetime": [dt.datetime(1970, 1, 2, 12), None],
            "instant": [dt.datetime(1970, 1, 2, tzinfo=UTC), None],
            "duration": [dt.timedelta(seconds=3), None],
            "time": [dt.time(0, 1), None],
            "gap": [None, None],
            "word": ["x", None],
        }
    ).with_columns(
        pl.col("word").cast(pl.Categorical).alias("category"),
        pl.col("word").cast(pl.Enum(["y", "x"])).alias("enum"),
        pl.col("int").cast(pl.Decimal(10, 2)).alias("decimal"),
    )
    table = read_columns(X)
    assert table.names == tuple(X.columns)
    assert dict(zip(table.names, table.kinds, strict=True)) == {
        "int": "number",
        "float": "number",
        "decimal": "number",
        "truth": "truth",
        "date": "date",
        "datetime": "date",
        "instant": "instant",
        "duration": "span",
        "time": "span",
        "gap": "gap",
        "word": "word",
        "category": "word",
        "enum": "word",
    }
    first, second = table.numbers
    same(first, [1, 1.5, 1, 1, 1.5, 1, 3, 60, NAN, 1])
    assert np.isnan(second).all()
    assert [words.cells.tolist() for words in table.words] == [["x", None]] * 3


class Dask:
    __dask_graph__ = None


def refused():
    scipy_sparse = pytest.importorskip("scipy.sparse")
    yield "sparse", scipy_sparse.eye(3, format="csr"), ["sparse", "toarray"]
    yield "one dimension", np.zeros(3), ["Expected 2D array", "(3,)", "Reshape your data"]
    yield "three dimensions", np.zeros((2, 2, 2)), ["Expected 2D array", "(2, 2, 2)"]
    yield "complex", np.zeros((2, 2), dtype=complex), ["Complex data not supported"]
    yield "complex cell", [["a", 1j]], ["Complex data not supported", "'x1'"]
    yield "nested", [[[1, 2], "a"], [3, "b"]], ["'x0'", "list"]
    yield "dictionary", np.array([[{"a": 1}], [2]], dtype=object), ["'x0'", "dict"]
    yield "uneven", [[1, 2], [3]], ["of 1 and of 2 cells"]
    yield "no rows", np.zeros((0, 3)), ["0 sample(s)", "(0, 3)", "at least one row"]
    yield "no columns", np.zeros((3, 0)), ["0 feature(s) (shape=(3, 0))"]
    yield "no names", pd.DataFrame(index=[0, 1]), ["0 feature(s)"]
    yield "two names", pd.DataFrame([[1, 2]], columns=["a", "a"]), ["several", "'a'"]
    yield "mixed names", pd.DataFrame([[1, 2]], columns=["a", 3]), ["'a'", "3", "text"]
    yield "series", pd.Series([1, 2]), ["one column", "to_frame"]
    yield "texts", ["a", "bc"], ["Expected 2D array", "(2,)"]
    yield "dictionaries", [{"a": 1}, {}], ["Expected 2D array", "(2,)"]
    yield "text", "hello", ["str"]
    yield "nothing", None, ["NoneType"]
    yield "bytes", np.array([[b"a"]], dtype=object), ["'x0'", "bytes"]
    yield "byte strings", np.array([[b"a"]]), ["'x0'", "dtype"]
    yield "structure", np.zeros((1, 1), dtype=[("a", float)]), ["'x0'", "dtype"]
    yield "masked", np.ma.masked_array([[1.0]], mask=[[True]]), ["mask", "filled"]
    yield "period", pd.DataFrame({"p": pd.PeriodIndex(["2020"], freq="Y")}), ["'p'", "Period"]
    yield "date and word", [[dt.date(2020, 1, 1)], ["a"]], ["mixes dates and words"]
    yield "date and number", [[dt.date(2020, 1, 1)], [3]], ["mixes dates and numbers"]
    yield (
        "zones",
        np.array([[dt.datetime(2020, 1, 1)], [dt.datetime(2020, 1, 1, tzinfo=UTC)]], dtype=object),
        ["with and without a time zone"],
    )
    yield "too large", [[10**400], [1]], ["'x0'", "float64"]
    yield "dask", Dask(), ["Dask", "compute"]
    yield "long name", pd.DataFrame({"n" * 500: [1j]}), ["Complex", "n…n"]


@pytest.mark.parametrize(("what", "X", "named"), list(refused()), ids=lambda v: str(v)[:20])
def test_what_cannot_be_read_is_refused_in_one_sentence(what, X, named):
    with pytest.raises(InputError) as error:
        read_columns(X)
    text = str(error.value)
    assert text.endswith(".")
    assert "\n" not in text
    assert len(text) < 300
    for word in named:
        assert word in text


def test_a_lazy_frame_and_a_polars_series_are_refused():
    pl = pytest.importorskip("polars")
    with pytest.raises(InputError, match=r"LazyFrame.*collect"):
        read_columns(pl.DataFrame({"a": [1]}).lazy())
    with pytest.raises(InputError, match="one column"):
        read_columns(pl.Series([1]))
    with pytest.raises(InputError, match="'a' holds a cell of type ndarray"):
        read_columns(pl.DataFrame({"a": [[1, 2]]}))


def test_an_arrow_table_is_refused():
    pa = pytest.importorskip("pyarrow")
    with pytest.raises(InputError, match="to_pandas"):
        read_columns(pa.table({"a": [1]}))
