"""From cells to numbers: what training saw is written the same again, the rest stands out."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import Decimal
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from made_tables import classes, in_batches, mixed, one_batch, replaced
from pnml.errors import InputError
from pnml.tables.encoder import NEVER_SEEN, CategoryColumn, ConstantColumn, NumberColumn
from pnml.tables.encoder_builder import EncoderBuilder
from pnml.tables.fitting import fit_table
from pnml.tables.learners import LEARNERS
from pnml.tables.roles import Request, Role

# Boosted models of other libraries get the same rows as scikit-learn's.
OTHERS = ("lightgbm", "xgboost", "catboost")
OWN = [name for name in LEARNERS if not name.startswith(OTHERS)]

FLOATS = st.none() | st.floats(-1e6, 1e6).map(lambda v: round(v, 3))
WORDS = st.none() | st.sampled_from(["a", "b", "c", "long word", "ü"])


@st.composite
def tables(draw):
    """Two columns of numbers, two of words, with missing cells, and places to cut the rows at."""
    n = draw(st.integers(2, 25))
    column = lambda cells: st.lists(cells, min_size=n, max_size=n)  # noqa: E731
    table = pa.table(
        {
            "u": pa.array(draw(column(FLOATS)), pa.float64()),
            "v": pa.array(draw(column(FLOATS)), pa.float64()),
            "a": pa.array(draw(column(WORDS)), pa.string()),
            "b": pa.array(draw(column(WORDS)), pa.string()),
        }
    )
    return table, draw(st.lists(st.integers(1, n - 1), max_size=4))


ROLES = [Role("u", "number"), Role("a", "category"), Role("v", "number"), Role("b", "category")]


def built(batches, look=None, recentre=False):
    """Rows as a stream counts them, in their final units, and the encoder."""
    look = pa.Table.from_batches(batches[:1]) if look is None else look
    builder = EncoderBuilder(ROLES, look, None)
    parts = [builder.encode(batch, None) for batch in batches]
    rows = [np.pad(X, ((0, 0), (0, builder.width - X.shape[1]))) for X in parts]
    encoder, terms = builder.finish(recentre=recentre)
    return terms.rows(np.vstack(rows)), encoder


@given(tables(), st.booleans())
def test_the_encoder_writes_training_rows_as_they_were_learnt_however_they_came(drawn, recentre):
    table, cuts = drawn
    X, encoder = built(in_batches(table, cuts), recentre=recentre)
    encoded = encoder.encode(one_batch(table))
    np.testing.assert_allclose(encoded.X, X, rtol=1e-9, atol=1e-9 * np.abs(X).max())
    assert not encoded.never_seen.any()
    assert (encoded.X[:, NEVER_SEEN] == 0).all()


@given(tables(), st.permutations(["u", "v", "a", "b"]))
def test_the_order_of_the_columns_does_not_matter(drawn, order):
    table, cuts = drawn
    _, encoder = built(in_batches(table, cuts))
    same = encoder.encode(one_batch(table.select(order))).X
    assert (same == encoder.encode(one_batch(table)).X).all()


@given(tables())
def test_numbers_have_mean_0_and_spread_1_where_they_are_observed(drawn):
    table, cuts = drawn
    X, encoder = built(in_batches(table, cuts), recentre=True)
    for column in encoder.columns:
        if isinstance(column, NumberColumn):
            cells = table[column.name].to_numpy(zero_copy_only=False).astype(float)
            z = X[~np.isnan(cells), column.value]
            if np.unique(cells[~np.isnan(cells)]).size > 1:
                assert z.mean() == pytest.approx(0, abs=1e-9)
                assert z.std() == pytest.approx(1, abs=1e-9)
            assert (X[np.isnan(cells), column.value] == 0).all()


@given(tables())
def test_every_row_has_one_word_of_each_column_and_an_indicator_for_what_is_missing(drawn):
    table, cuts = drawn
    X, encoder = built(in_batches(table, cuts))
    for column in encoder.columns:
        missing = table[column.name].is_null().to_numpy()
        if isinstance(column, CategoryColumn):
            assert len(column.levels) > 1 or column.missing is not None
            assert (X[:, list(column.places)].sum(axis=1) == 1).all()
            word_at = dict(zip(column.level_places, column.levels, strict=True))
            for row, cell in zip(X, table[column.name].to_pylist(), strict=True):
                if cell is not None:
                    assert [word_at[p] for p in column.level_places if row[p]] == [cell]
        if isinstance(column, ConstantColumn):
            assert missing.all() == (column.kind == "gap")
        elif column.missing is None:
            assert not missing.any()
        else:
            assert (X[:, column.missing] == missing).all()


@given(tables())
def test_the_places_of_a_row_are_filled_once_each(drawn):
    table, cuts = drawn
    _, encoder = built(in_batches(table, cuts))
    places = [place for column in encoder.columns for place in column.places]
    assert sorted(places) == list(range(1, encoder.width))


def encoded_column(cells, kind, new=None):
    """The encoder of one column, and what it makes of the same or of other cells."""
    look = pa.table({"c": cells})
    builder = EncoderBuilder([Role("c", kind)], look, None)
    builder.encode(look, None)
    encoder = builder.finish().encoder
    return encoder, encoder.encode(one_batch(pa.table({"c": cells if new is None else new})))


DAY = dt.datetime(2024, 1, 1)
AMOUNTS = {
    "int8": (pa.array([1, 2, 4], pa.int8()), [1, 2, 4]),
    "uint16": (pa.array([1, 2, 4], pa.uint16()), [1, 2, 4]),
    "int64": (pa.array([1, 2, 2**60], pa.int64()), [1, 2, 2.0**60]),
    "float32": (pa.array([1.5, 2, 4], pa.float32()), [1.5, 2, 4]),
    "decimal": (pa.array([Decimal("1.25"), Decimal("2"), Decimal("4")]), [1.25, 2, 4]),
    "time": (pa.array([dt.time(0, 1), dt.time(1), dt.time(2)]), [60, 3600, 7200]),
    "duration": (pa.array([dt.timedelta(hours=h) for h in (1, 2, 4)]), [3600, 7200, 14400]),
    "missing": (pa.array([1.0, None, 4.0]), [1, np.nan, 4]),
    "NaN": (pa.array([1.0, np.nan, 4.0]), [1, np.nan, 4]),
}
DATES = {
    "date32": pa.array([DAY.date(), dt.date(2024, 1, 3), dt.date(2024, 1, 8)]),
    "date64": pa.array([DAY.date(), dt.date(2024, 1, 3), dt.date(2024, 1, 8)], pa.date64()),
    "seconds": pa.array([DAY, dt.datetime(2024, 1, 3), dt.datetime(2024, 1, 8)]).cast(
        pa.timestamp("s")
    ),
    "nanoseconds": pa.array(
        [DAY, dt.datetime(2024, 1, 3), dt.datetime(2024, 1, 8)], pa.timestamp("ns")
    ),
    "zone": pa.array(
        [dt.datetime(2024, 1, d, tzinfo=dt.UTC) for d in (1, 3, 8)],
        pa.timestamp("us", tz="Europe/Oslo"),
    ),
    "texts with offsets": pa.array(
        ["2024-01-01T00:00:00Z", "2024-01-03 02:00:00+02:00", "2024-01-07T19:00-0500"]
    ),
    "texts without offsets": pa.array(["2024-01-01", "2024-01-03T00:00:00", " 2024-01-08 00:00"]),
}


def standardised(values):
    values = np.array(values, dtype=float)
    there = values[~np.isnan(values)]
    return np.nan_to_num((values - there.mean()) / there.std())


@pytest.mark.parametrize("name", AMOUNTS)
def test_amounts_of_every_type_are_their_value(name):
    cells, values = AMOUNTS[name]
    encoder, encoded = encoded_column(cells, "number")
    np.testing.assert_allclose(encoded.X[:, encoder.columns[0].value], standardised(values))


@pytest.mark.parametrize("name", DATES)
def test_dates_of_every_type_are_days(name):
    encoder, encoded = encoded_column(DATES[name], "date")
    z = encoded.X[:, encoder.columns[0].value]
    np.testing.assert_allclose(z, standardised([0, 2, 7]), rtol=1e-9)
    assert encoder.columns[0].scale == pytest.approx(np.std([0, 2, 7]))


ZONED = ("zone", "texts with offsets")


@pytest.mark.parametrize("old", ["date64", "texts without offsets", *ZONED])
@pytest.mark.parametrize("new", ["date32", "nanoseconds", "texts without offsets", *ZONED])
def test_a_date_is_the_same_day_in_another_type_and_bad_with_or_without_a_zone(old, new):
    encoder, encoded = encoded_column(DATES[old], "date", DATES[new])
    if (old in ZONED) != (new in ZONED):
        assert encoded.bad_cells.all()
        assert encoded.never_seen.all()
        return
    assert not encoded.bad_cells.any()
    np.testing.assert_allclose(
        encoded.X[:, encoder.columns[0].value], standardised([0, 2, 7]), rtol=1e-9
    )


def test_a_missing_date_is_none_of_the_bad_ones():
    texts = pa.array(["2024-01-01", "2024-01-03", None])
    encoder, encoded = encoded_column(DATES["date64"], "date", texts)
    np.testing.assert_allclose(
        encoded.X[:2, encoder.columns[0].value], standardised([0, 2, 7])[:2], rtol=1e-9
    )
    assert not encoded.bad_cells.any()


BAD = {
    "words among numbers": ("number", [1.0, 2.0], ["1", "x", None], [False, True, False]),
    "dates for numbers": ("number", [1.0, 2.0], DATES["date32"], [True, True, True]),
    "numbers for dates": ("date", DATES["date32"], [20240101, None], [True, False]),
    "words for dates": ("date", DATES["date32"], ["2024-01-01", "soon"], [False, True]),
    "an impossible date": ("date", DATES["date32"], ["2024-02-30", "2024-02-28"], [True, False]),
    "blanks and signs": ("number", [1.0, 2.0], [" 1 ", "+2", "", "1_0"], [False] * 3 + [True]),
    "coded words": ("number", [1.0, 2.0], pa.array(["1", "x"]).dictionary_encode(), [False, True]),
}


@pytest.mark.parametrize("name", BAD)
def test_a_cell_that_is_no_number_was_never_seen_and_stops_nothing(name):
    kind, cells, new, bad = BAD[name]
    new = new if isinstance(new, pa.Array) else pa.array(new)
    encoder, encoded = encoded_column(pa.array(cells), kind, new)
    assert encoded.bad_cells[:, 0].tolist() == bad
    assert encoded.strange_cells[:, 0].tolist() == bad
    assert not (encoded.missing[:, 0] & bad).any()
    assert (encoded.X[bad, encoder.columns[0].value] == 0).all()
    good = ~np.array(bad) & ~encoded.missing[:, 0]
    values = [
        float(str(cell))
        for cell in new.take(pa.array(np.flatnonzero(good))).to_pylist()
        if kind == "number"
    ]
    z = encoded.X[good, encoder.columns[0].value]
    if kind == "number":
        np.testing.assert_allclose(z, (np.array(values) - 1.5) / 0.5)


def test_cells_that_a_reader_could_not_read_were_never_seen():
    look = pa.table({"c": [1.0, None, 3.0]})
    builder = EncoderBuilder([Role("c", "number")], look, None)
    builder.encode(look, None)
    encoder = builder.finish().encoder
    batch = pa.RecordBatch.from_arrays(
        [pa.array([1.0, None, None]), pa.array([None, "abc", None], pa.string())],
        names=["c", "\0unreadable:c"],
    )
    encoded = encoder.encode(batch)
    assert encoded.bad_cells[:, 0].tolist() == [False, True, False]
    assert encoded.missing[:, 0].tolist() == [False, False, True]
    assert encoded.never_seen.tolist() == [False, True, False]
    assert encoded.X[:, encoder.columns[0].missing].tolist() == [0, 0, 1]


SAME_WORDS = {
    "strings": pa.array(["a", "b", None, "a"]),
    "large": pa.array(["a", "b", None, "a"], pa.large_string()),
    "coded": pa.array(["a", "b", None, "a"]).dictionary_encode(),
    "coded otherwise": pa.DictionaryArray.from_arrays(
        pa.array([2, 0, None, 2]), pa.array(["b", "unused", "a"])
    ),
    "coded with a missing code": pa.DictionaryArray.from_arrays(
        pa.array([1, 2, 0, 1], pa.int8()), pa.array([None, "a", "b"])
    ),
}


@pytest.mark.parametrize("new", SAME_WORDS)
@pytest.mark.parametrize("old", SAME_WORDS)
def test_words_are_the_same_in_whatever_type(old, new):
    encoder, encoded = encoded_column(SAME_WORDS[old], "category", SAME_WORDS[new])
    (column,) = encoder.columns
    place = dict(zip(column.levels, column.level_places, strict=True))
    assert set(place) == {"a", "b"}
    a, b, missing = place["a"], place["b"], column.missing
    assert encoded.X[:, [a, b, missing]].tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]]
    assert not encoded.never_seen.any()


@pytest.mark.parametrize("new", [[True, False], ["True", "False"], ["TRUE", "false"]])
def test_a_truth_value_is_the_same_however_it_is_spelt(new):
    _, encoded = encoded_column(pa.array([True, False]), "category", pa.array(new))
    assert not encoded.never_seen.any()
    assert (encoded.X[0] != encoded.X[1]).any()


def test_other_words_keep_their_case():
    _, encoded = encoded_column(pa.array(["yes", "no"]), "category", pa.array(["Yes", "no"]))
    assert encoded.never_seen.tolist() == [True, False]


def test_codes_that_are_numbers_are_words_and_nan_among_them_is_missing():
    encoder, encoded = encoded_column(pa.array([1.0, 2.0, np.nan]), "category")
    assert encoder.columns[0].levels == ("1", "2")
    assert encoded.missing[:, 0].tolist() == [False, False, True]
    _, encoded = encoded_column(pa.array([1.0, 2.0]), "category", pa.array([2, 3]))
    assert encoded.never_seen.tolist() == [False, True]


@pytest.mark.parametrize("cells", [[1.0, np.inf, 2.0], [1.0, 1e300, 2.0]])
def test_numbers_without_a_square_teach_nothing(cells):
    with pytest.raises(InputError, match=r"'c' holds numbers as large as (inf|1e\+300)"):
        encoded_column(pa.array(cells), "number")


# ---- what training has never seen, for every learner

NOVELTIES = {
    "a word": {"city": "Atlantis"},
    "a missing cell of a column that never missed one": {"size": None},
    "an infinite number": {"size": np.inf},
    "a number without a square": {"size": 1e300},
    "a missing date": {"day": None},
    "columns that were never missing together": {"age": None, "city": None},
    "two words at once": {"city": "Atlantis", "member": None},
}


def training(n=150):
    """Mixed rows in which age and city are never missing together."""
    table = mixed(n)
    both = table["age"].is_null().to_numpy() & table["city"].is_null().to_numpy()
    return table.filter(pa.array(~both))


@cache
def model_of(learner):
    table = training({"lpnml-l1": 40}.get(learner, 80 if LEARNERS[learner].rows <= 2000 else 150))
    target = "y"
    if LEARNERS[learner].task == "classification":
        table, target = classes(150), "kind"
        both = table["age"].is_null().to_numpy() & table["city"].is_null().to_numpy()
        table = table.filter(pa.array(~both))
    return fit_table(table.to_batches(), Request(target=target), learner, "t.csv")


@pytest.mark.parametrize("learner", OWN)
@pytest.mark.parametrize("name", NOVELTIES)
def test_what_was_never_seen_raises_the_regret_and_is_never_trusted(learner, name):
    model = model_of(learner)
    rows = mixed(12, seed=5).drop_columns("y")
    for column in ("age", "city"):
        rows = replaced(rows, column, rows[column].fill_null(rows[column].drop_null()[0]))
    new = rows
    for column, cell in NOVELTIES[name].items():
        new = replaced(new, column, [cell] * 12)
    encoded = model.encoder.encode(one_batch(new))
    assert encoded.never_seen.all()
    assert (encoded.X[:, NEVER_SEEN] > 0).all()
    bare = encoded.X.copy()
    bare[:, NEVER_SEEN] = 0.0
    bare = model.rows_of(replace(encoded, X=bare))
    for level in (0.5, 0.99, 1.0):
        scores = model.score(one_batch(new), 0.9, level)
        assert not scores.trusted.any()
    if learner == "ols":
        assert np.isinf(scores.answer.regret).all()
    else:
        assert np.isfinite(scores.answer.regret).all()
        assert (scores.answer.regret > model.estimator.regret(bare) + 1e-6).all()
    assert scores.never_seen.all()
    for text in scores.because.to_pylist():
        assert "never" in text
        assert any(column in text for column in NOVELTIES[name])


@pytest.mark.parametrize("learner", OWN)
def test_familiar_rows_are_not_called_strange(learner):
    model = model_of(learner)
    scores = model.score(one_batch(training(40)), 0.9, 0.99)
    assert not scores.never_seen.any()
    assert scores.trusted.mean() > 0.8
    assert not any("never" in text for text in scores.because.to_pylist())


def test_more_that_is_strange_raises_the_regret_more():
    model = model_of("pnml")
    row = mixed(1, seed=5).drop_columns("y")
    one = replaced(row, "city", ["Atlantis"])
    two = replaced(one, "size", [np.inf])
    regrets = [model.score(one_batch(t), 0.9, 0.99).answer.regret[0] for t in (one, two)]
    assert regrets[1] > regrets[0]


def test_where_patterns_were_too_many_to_keep_a_first_missing_cell_still_stands_out(monkeypatch):
    monkeypatch.setattr("pnml.tables.encoder_builder._MOST_PATTERNS", 1)
    model = fit_table(training().to_batches(), Request(target="y"), "pnml", "t.csv")
    assert model.encoder.patterns.seen is None
    rows = mixed(6, seed=5).drop_columns("y")
    scores = model.score(one_batch(replaced(rows, "size", [None] * 6)), 0.9, 1.0)
    assert scores.never_seen.all()
    assert not scores.trusted.any()
    both = replaced(replaced(rows, "age", [None] * 6), "city", [None] * 6)
    assert not model.score(one_batch(both), 0.9, 1.0).never_seen.any()


@settings(max_examples=examples(30))
@given(st.lists(st.lists(st.booleans(), min_size=9, max_size=9), min_size=1, max_size=12))
def test_a_pattern_is_strange_exactly_where_no_training_row_has_it(masks):
    half = len(masks) // 2 + 1
    names = [f"c{j}" for j in range(9)]
    table = pa.table(
        {
            name: pa.array([None if mask[j] else float(i) for i, mask in enumerate(masks)])
            for j, name in enumerate(names)
        },
        schema=pa.schema([(name, pa.float64()) for name in names]),
    )
    builder = EncoderBuilder([Role(name, "number") for name in names], table, None)
    builder.encode(table.slice(0, half), None)
    known = {tuple(mask) for mask in masks[:half]}
    encoder = builder.finish().encoder
    # every column has two numbers or a gap among its first rows, or it is constant
    strange = encoder.encode(one_batch(table)).strange_pattern
    assert strange.tolist() == [tuple(mask) not in known for mask in masks]


def test_a_far_row_is_not_trusted_though_a_classifier_is_sure_of_it():
    model = model_of("logistic")
    far = mixed(5, seed=5, shift=60.0)
    scores = model.score(one_batch(far), 0.9, 0.99)
    assert (scores.answer.strength > 0.99).all()
    assert not scores.trusted.any()


@pytest.mark.parametrize("gap", [[], [None]])
def test_a_constant_computed_in_another_order_is_the_same_constant(gap):
    training = pa.array([0.1 + 0.2] * 3 + gap)
    _, encoded = encoded_column(training, "number", pa.array([0.3, 0.3 + 1e-9]))
    assert encoded.outside[:, 0].tolist() == [False, True]
    assert encoded.never_seen.tolist() == [False, True]
    assert np.abs(encoded.X[0]).max(initial=0.0) < 1e-6  # rounding is no unit
