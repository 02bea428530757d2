"""Laws of the encoder: what training had is never strange, and every source means the same."""

from __future__ import annotations

import datetime as dt
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import child
from pnml.columns import ColumnEncoder
from pnml.columns.levels import MOST_FEATURES
from pnml.core.leaves.cells import Cells
from pnml.errors import InputError

NAN = float("nan")
TRAINING = [
    [0.2, "red", 5, 1.0, True],
    [1.0, "blue", 5, None, False],
    [0.5, None, 5, 3.0, True],
    [0.7, "red", 5, 2.0, True],
]
NAMES = ["carat", "colour", "always", "depth", "sold"]
NEW = [
    [1.52, "green", 5, None, False],
    [None, None, 6, 2.0, True],
    [0.2, "blue", 5, 3.0, None],
]


def frame(rows, **kinds):
    X = pd.DataFrame(np.array(rows, dtype=object), columns=NAMES)
    return X.astype({"carat": float, "always": int, "depth": "Float64", "sold": "boolean", **kinds})


def polars(rows):
    return pytest.importorskip("polars").DataFrame(rows, schema=NAMES, orient="row")


def array(rows):
    return np.array(rows, dtype=object)


SOURCES = {
    "list": list,
    "array": array,
    "frame": frame,
    "category": lambda rows: frame(rows, colour="category"),
    "polars": polars,
}


def assert_equal(a, b):
    np.testing.assert_array_equal(a.columns.numbers, b.columns.numbers)
    np.testing.assert_array_equal(a.columns.words, b.columns.words)
    np.testing.assert_array_equal(a.Z, b.Z)
    np.testing.assert_array_equal(a.never_seen, b.never_seen)


def test_the_encoding_of_a_small_table():
    encoder = ColumnEncoder.of(frame(TRAINING))
    encoded = encoder.encode(frame(NEW))
    assert encoder.names == tuple(NAMES)
    assert encoder.word_count == 3  # blue, red and the gap
    assert encoder.places.tolist() == [0, 2, 3, 4, 1]
    assert [group.stop - group.start for group in encoder.groups] == [1, 3, 0, 2, 1]
    assert encoder.width == encoded.Z.shape[1] == 7
    assert encoded.columns.words.tolist() == [[-1], [2], [0]]
    np.testing.assert_array_equal(encoded.columns.numbers[:, 0], [1.52, NAN, 0.2])
    assert encoded.never_seen.tolist() == [
        [False, True, False, False, False],
        [True, False, True, False, False],
        [False, False, False, False, True],
    ]
    carat = np.array([0.2, 1.0, 0.5, 0.7])
    z = (np.array([1.52, carat.mean(), 0.2]) - carat.mean()) / carat.std()
    np.testing.assert_allclose(encoded.Z[:, 0], z, atol=1e-12)
    np.testing.assert_array_equal(encoded.Z[:, 1:4], [[0, 0, 0], [0, 0, 1], [1, 0, 0]])
    np.testing.assert_allclose(encoded.Z[:, 4], [0, 0, 1 / np.std([1, 2, 3])], atol=1e-12)
    np.testing.assert_array_equal(encoded.Z[:, 5], [1, 0, 0])
    assert encoded.Z[2, 6] == 0


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_gives_the_same_encoding(source):
    encoder = ColumnEncoder.of(SOURCES[source](TRAINING))
    reference = ColumnEncoder.of(TRAINING)
    assert_equal(encoder.encode(SOURCES[source](NEW)), reference.encode(NEW))
    assert_equal(encoder.encode(NEW), reference.encode(SOURCES[source](NEW)))


@pytest.mark.parametrize("source", SOURCES)
def test_row_by_row_equals_the_batch(source):
    make = SOURCES[source]
    encoder = ColumnEncoder.of(make(TRAINING))
    whole = encoder.encode(make(NEW))
    for i, row in enumerate(NEW):
        one = encoder.encode(make([row]))
        np.testing.assert_array_equal(one.Z[0], whole.Z[i])
        np.testing.assert_array_equal(one.columns.words[0], whole.columns.words[i])
        np.testing.assert_array_equal(one.never_seen[0], whole.never_seen[i])


CELLS = {
    "number": st.none() | st.floats(-1e6, 1e6),
    "integer": st.integers(-5, 5),
    "word": st.none() | st.sampled_from(["a", "b", "", "é", "1"]),
    "truth": st.none() | st.booleans(),
    "mixed": st.none() | st.sampled_from(["a", 1, 2.5, True, "1"]),
    "gap": st.none(),
    "constant": st.just(0.1),
    "date": st.none() | st.datetimes(),
    "duration": st.timedeltas(dt.timedelta(-9999), dt.timedelta(9999)),
}


@st.composite
def mixed_rows(draw):
    kinds = draw(st.lists(st.sampled_from(sorted(CELLS)), min_size=1, max_size=5))
    row = st.tuples(*(CELLS[kind] for kind in kinds))
    return [list(row) for row in draw(st.lists(row, min_size=1, max_size=8))]


@given(rows=mixed_rows())
def test_training_rows_are_never_strange_from_any_source(rows):
    pl = pytest.importorskip("polars")
    frames = [rows, pd.DataFrame(rows), pd.DataFrame(rows, dtype=object)]
    if not any(
        len({type(cell) for cell in column} - {type(None)}) > 1
        for column in zip(*rows, strict=True)
    ):
        frames.append(pl.DataFrame(rows, orient="row", strict=False))
    reference = None
    for X in frames:
        encoder = ColumnEncoder.of(X)
        encoded = encoder.encode(X)
        assert not encoded.never_seen.any()
        assert np.isfinite(encoded.Z).all()
        assert (encoded.columns.words >= 0).all()
        assert (encoded.columns.words < max(encoder.word_count, 1)).all()
        reference = reference or encoded
        assert_equal(encoded, reference)
        assert_equal(encoded, encoder.encode(rows))
    for i, row in enumerate(rows):
        np.testing.assert_array_equal(encoder.encode([row]).Z[0], reference.Z[i])
        for j in range(len(row)):
            assert all(reference.describe(i, j))


@given(
    values=st.lists(st.none() | st.integers(-1000, 1000), min_size=2, max_size=9),
    unit=st.sampled_from([1e-12, 0.1, 3.0, 1e9]),
    offset=st.sampled_from([0.0, 7.0, -1e4]),
)
def test_units_and_offsets_change_nothing_but_the_units(values, unit, offset):
    X = np.array(values, dtype=float)[:, None]
    new = np.array([[5000.0], [NAN], [X[0, 0]]])
    one = ColumnEncoder.of(X).encode(new)
    other = ColumnEncoder.of((X + offset) * unit).encode((new + offset) * unit)
    np.testing.assert_array_equal(one.never_seen, other.never_seen)
    np.testing.assert_allclose(one.Z, other.Z, rtol=1e-9, atol=1e-9)


def test_the_order_of_columns_moves_features_and_nothing_else():
    order = [3, 1, 4, 0, 2]
    X, new = array(TRAINING), array(NEW)
    one, other = ColumnEncoder.of(X), ColumnEncoder.of(X[:, order])
    a, b = one.encode(new), other.encode(new[:, order])
    np.testing.assert_array_equal(a.never_seen[:, order], b.never_seen)
    features = np.concatenate([np.arange(one.width)[one.groups[j]] for j in order])
    np.testing.assert_array_equal(a.Z[:, features], b.Z)


def test_a_weight_is_that_many_copies_and_a_row_of_weight_0_is_not_seen():
    X, new = array(TRAINING), array(NEW)
    weighted = ColumnEncoder.of(X, np.array([2.0, 0.0, 1.0, 3.0])).encode(new)
    copies = ColumnEncoder.of(X[[0, 0, 2, 3, 3, 3]]).encode(new)
    np.testing.assert_allclose(weighted.Z, copies.Z, atol=1e-12)
    np.testing.assert_array_equal(weighted.never_seen, copies.never_seen)
    assert weighted.never_seen[2].tolist() == [False, True, False, False, True]  # blue is unseen
    assert copies.never_seen[0].tolist() == [False, True, False, True, True]


def test_rare_words_share_a_feature():
    words = [f"w{i:02}" for i in range(40)] + [f"w{i:02}" for i in range(5, 40)]
    X = np.array(words, dtype=object)[:, None]
    encoded = ColumnEncoder.of(X).encode(X)
    assert encoded.Z.shape[1] == MOST_FEATURES + 1
    np.testing.assert_array_equal(encoded.Z.sum(axis=1), 1)
    assert encoded.Z[:5, -1].all()  # the five that come once
    assert len(set(encoded.columns.words[:40, 0].tolist())) == 40


def test_a_constant_column_has_no_feature_and_may_not_change():
    X = np.array([[0.1 + 0.2, 1.0], [0.3, 2.0]])  # equal up to round-off
    encoder = ColumnEncoder.of(X)
    encoded = encoder.encode(np.array([[0.3, 1.0], [0.300001, 1.0], [NAN, 1.0]]))
    assert encoder.width == 1
    assert encoded.never_seen[:, 0].tolist() == [False, True, True]
    only = ColumnEncoder.of(X[:, :1]).encode(X[:, :1])
    assert only.Z.shape == (2, 0)
    assert not only.never_seen.any()


def test_a_column_without_a_value_takes_any_value_as_never_seen():
    encoder = ColumnEncoder.of([[None, 1.0], [None, 2.0]])
    encoded = encoder.encode([[None, 1.0], [3, 1.0], ["a", 1.0]])
    assert encoded.never_seen[:, 0].tolist() == [False, True, True]
    assert encoder.width == 1


def test_infinite_numbers_are_refused_in_training_and_never_seen_later():
    with pytest.raises(InputError, match="'x1' holds inf in row 1 "):
        ColumnEncoder.of([[1.0, 2.0], [2.0, np.inf], [3.0, 1.0]])
    ColumnEncoder.of([[1.0], [np.inf], [2.0]], np.array([1.0, 0.0, 1.0]))
    encoded = ColumnEncoder.of([[1.0], [2.0]]).encode([[np.inf], [-1e300], [1.5]])
    assert encoded.never_seen[:, 0].tolist() == [True, True, False]
    assert encoded.Z[:, 0].tolist() == [1e100, -1e100, 0.0]


@pytest.mark.parametrize("size", [1e-300, 1e99])
def test_tiny_and_huge_numbers_have_a_spread(size):
    encoded = ColumnEncoder.of([[-size], [size]]).encode([[-size], [size]])
    np.testing.assert_allclose(encoded.Z[:, 0], [-1, 1])


def test_the_cells_of_leaves_take_the_codes():
    encoder = ColumnEncoder.of(frame(TRAINING))
    columns = encoder.encode(frame(TRAINING)).columns
    leaf = np.zeros((4, 1), dtype=np.int64)
    cells = Cells.of(leaf, columns, 1, encoder.word_count)
    assert not cells.empty(leaf, columns).any()
    new = encoder.encode(frame(NEW)).columns
    assert cells.outside(leaf[:3], new)[:, 0].tolist() == [
        [True, False, False, False, True],
        [True, True, False, False, False],
        [False, False, False, True, False],
    ]


def test_numbers_for_words_are_compared_as_words():
    encoder = ColumnEncoder.of(pd.DataFrame({"zone": pd.Categorical([3, 1, 3])}))
    encoded = encoder.encode(np.array([[3.0], [2.0]]))
    assert encoded.columns.words.tolist() == [[1], [-1]]
    assert encoder.encode(pd.DataFrame({"zone": [1]})).columns.words.tolist() == [[0]]


def test_cells_are_described_in_words():
    encoded = ColumnEncoder.of(frame(TRAINING)).encode(frame(NEW))
    assert encoded.describe(0, 0) == ("carat 1.52", "0.2–1")
    assert encoded.describe(1, 0) == ("carat missing", "0.2–1")
    assert encoded.describe(0, 1) == ("colour 'green'", "one of 2 words or missing")
    assert encoded.describe(1, 2) == ("always 6", "always 5")
    assert encoded.describe(0, 3) == ("depth missing", "1–3 or missing")
    assert encoded.describe(0, 4) == ("sold False", "False to True")
    days = pd.DataFrame({"day": pd.to_datetime(["2024-01-01", "2024-03-01"])})
    new = pd.DataFrame({"day": pd.to_datetime(["2024-03-01 00:00:01"])})
    assert ColumnEncoder.of(days).encode(new).describe(0, 0) == (
        "day 2024-03-01 00:00:01",
        "2024-01-01 00:00:00 to 2024-03-01 00:00:00",
    )


def refused():
    named = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})
    day = pd.DataFrame({"t": pd.to_datetime(["2024-01-01", "2024-01-02"])})
    yield named, named[["b", "a"]], "X has the columns of the training rows in another order; "
    yield named, named[["a"]], "X lacks the column 'b'; "
    yield named, named.rename(columns={"b": "c"}), "X lacks the column 'b' and has the column 'c'"
    yield named, [[1.0]], "X has 1 columns, but the training rows had 2; "
    yield named, [[1.0, "x"], ["oops", "y"]], "Column 'a' holds 'oops' in row 1 (counted from 0), "
    yield named, named.astype(str), "Column 'a' holds '1.0' in row 0 (counted from 0), but numbers"
    yield named, named.astype("category"), "Column 'a' holds '1' in row 0"
    yield day, [["2024-01-01"]], "Column 't' holds '2024-01-01' in row 0"
    yield day, [[3.0]], "Column 't' holds numbers in row 0 (counted from 0), but dates in training"
    yield day, day.assign(t=day.t.dt.tz_localize("UTC")), "holds dates with a time zone in row 0"


@pytest.mark.parametrize(("training", "new", "start"), list(refused()))
def test_other_columns_than_in_training_are_refused(training, new, start):
    encoder = ColumnEncoder.of(training)
    with pytest.raises(InputError) as error:
        encoder.encode(new)
    text = str(error.value)
    assert start in text
    assert text.endswith(".")
    assert "\n" not in text


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [([1.0], "2 rows but"), ([0, 0], "not all zero"), ([1, -1], "neg"), ([1, NAN], "finite")],
)
def test_weights_that_mean_nothing_are_refused(weights, sentence):
    with pytest.raises(InputError, match=sentence):
        ColumnEncoder.of([[1.0], [2.0]], np.array(weights))


def test_numpy_alone_is_loaded():
    code = "import json, sys, pnml.columns; print(json.dumps(list(sys.modules)))"
    loaded = set(json.loads(child.python(code, check=True).stdout))
    assert not {"pandas", "polars", "pyarrow", "sklearn"} & loaded


@pytest.mark.slow
def test_numbers_are_encoded_in_under_50_milliseconds_a_hundred_thousand_rows(rng):
    from time import process_time

    X = rng.normal(size=(100_000, 20))
    encoder = ColumnEncoder.of(X)
    seconds = []
    for _ in range(5):
        start = process_time()
        encoder.encode(X)
        seconds.append(process_time() - start)
    assert min(seconds) < 0.05
