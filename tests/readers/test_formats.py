"""Numbers and dates of text are read as they are written, or refused by name, cell and row."""

from __future__ import annotations

import csv
import datetime as dt
import re

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnml import InputError
from pnml.readers import UNREADABLE, ReadOptions, encoding_and_compression, open_table
from pnml.readers.cell_formats import CellFormats
from pnml.readers.leading_zeros import padded_columns
from read_tables import refused, whole

GERMAN = ReadOptions(decimal=",", thousands=".", date_format="%d.%m.%Y")


@pytest.fixture
def file(tmp_path):
    def write(rows, header="a;b", name="t.csv"):
        path = tmp_path / name
        path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
        return path

    return write


@given(value=st.decimals(-(10**9), 10**9, places=2, allow_nan=False))
def test_a_number_comes_back_however_it_is_written(value):
    plain = f"{value:.2f}"
    english = f"{value:,.2f}"
    german = english.translate(str.maketrans(",.", ".,"))
    spaced = english.replace(",", "\N{NO-BREAK SPACE}").replace(".", ",")
    for text, formats in (
        (plain, CellFormats()),
        (english, CellFormats(thousands=",")),
        (german, CellFormats(",", ".")),
        (spaced, CellFormats(",", " ")),
    ):
        for written in (text, f" {text} ", f"{text} %", f"{text}€", f"$ {text}"):
            found = formats.read(pa.array([written]), pa.float64())
            assert found.to_pylist() == [float(plain)]


@pytest.mark.parametrize(
    "text", ["1,5", "1.5.5", "1 5", "$5%", "--5", "5€€", "five", "€", "1.234.5", "0x1F", ""]
)
def test_what_is_no_number_in_the_format_is_none(text):
    assert CellFormats().read(pa.array([text]), pa.float64()).to_pylist() == [None]


@given(day=st.dates(dt.date(1900, 1, 1), dt.date(2099, 12, 31)))
def test_dates_come_back_in_every_format(day):
    for pattern in ("%d.%m.%Y", "%m/%d/%Y", "%Y%m%d", "%d-%b-%Y", "%d.%m.%Y %H:%M:%S"):
        written = day.strftime(pattern)
        found = CellFormats(date_format=pattern).read(pa.array([written]), pa.date32())
        assert found.to_pylist() == [day]


@given(year=st.integers(1900, 2099), month=st.integers(0, 13), day=st.integers(0, 32))
def test_a_day_that_never_was_is_impossible(year, month, day):
    try:
        there = dt.date(year, month, day)
    except ValueError:
        there = None
    formats = CellFormats(date_format="%d.%m.%Y")
    for text in (f"{year:04}-{month:02}-{day:02}", f"{day:02}.{month:02}.{year:04}"):
        assert formats.read(pa.array([text]), pa.date32()).to_pylist() == [there]
        assert formats.impossible_dates(pa.array([text])) == ([] if there else [text])


def test_a_table_of_another_country_is_read_by_its_formats(file, small_pieces):
    rows = [f"{k}.{k:03d},5;{k % 28 + 1:02d}.02.2024;{k},5 %;{k} €" for k in range(1, 100)]
    found = whole(file(rows, "amount;day;share;price"), GERMAN)
    assert found["amount"].to_pylist() == [1000 * k + k + 0.5 for k in range(1, 100)]
    days = [dt.datetime(2024, 2, k % 28 + 1) for k in range(1, 100)]
    assert found["day"].to_pylist() == days
    assert found["share"].to_pylist() == [k + 0.5 for k in range(1, 100)]
    assert found["price"].to_pylist() == list(range(1, 100))


def test_a_later_number_in_the_format_is_one_among_plain_numbers(file, small_pieces):
    rows = [f"{k};x" for k in range(200, 300)] + ["1.234;x", "5 €;x"]
    found = whole(file(rows), ReadOptions(decimal=",", thousands="."))
    assert found["a"].to_pylist() == [*range(200, 300), 1234, 5]
    found = whole(file([*rows, "7,5;x"]), ReadOptions(decimal=",", thousands="."))
    assert found["a"].to_pylist() == [*range(200, 300), 1234, 5, 7.5]


def test_amounts_in_two_currencies_are_not_taken_for_numbers(file):
    path = file(["5 €;x", "$6;y"])
    assert whole(path).schema.field("a").type == pa.string()
    assert "holds '$6' in row 3, but" in refused(path, numeric=["a"])
    assert "amounts in € and $ are mixed" in refused(path, numeric=["a"])
    found = whole(path, numeric=["a"], lenient=True)
    assert found.to_pydict() == {"a": [5, None], "b": ["x", "y"], f"{UNREADABLE}a": [None, "$6"]}


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_the_delimiter_is_told_by_the_rows(mark, tmp_path):
    rows = [["name, first", "n", "note"], ["Ann", "1", 'say "a, b"'], ["Bob", "2", "c; d"]]
    path = tmp_path / "t.csv"
    with path.open("w", newline="", encoding="utf-8") as out:
        csv.writer(out, delimiter=mark).writerows(rows)
    found = whole(path)
    assert [found.column_names, *map(list, zip(*found.to_pydict().values(), strict=True))] == [
        rows[0],
        *([a, int(n), b] for a, n, b in rows[1:]),
    ]


def test_one_column_with_semicolons_in_some_rows_stays_one(file):
    found = whole(file(["Doe; John", "Roe"], "name"))
    assert found.to_pydict() == {"name": ["Doe; John", "Roe"]}


def test_a_decimal_comma_among_expected_numbers_is_explained(file):
    path = file(["1,5;x", "2,5;y"])
    assert "pass --decimal ','" in refused(path, numeric=["a"])
    assert whole(path, ReadOptions(decimal=","), numeric=["a"])["a"].to_pylist() == [1.5, 2.5]
    assert "--decimal" not in refused(file(["one;x"]), numeric=["a"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"decimal": ";"}, "decimal mark ';' is neither"),
        ({"decimal": ",", "thousands": ","}, "are both ','"),
        ({"thousands": "x"}, "mark of thousands 'x' is not known"),
        ({"date_format": "%d.%m"}, "date format '%d.%m' does not tell day, month and year"),
        ({"date_format": "dd.mm.yyyy"}, "does not tell day, month and year"),
    ],
)
def test_formats_are_checked_at_once(options, words):
    with pytest.raises(InputError, match=re.escape(words)):
        ReadOptions(**options)


CODES = st.from_regex(r" ?-?0?[0-9]{1,4} ?", fullmatch=True)


@pytest.mark.parametrize("mark", [",", "\t"])
@given(rows=st.lists(st.tuples(CODES, CODES, CODES), min_size=1, max_size=9))
def test_columns_with_leading_zeros_are_found(rows, mark):
    data = "".join(mark.join(row) + "\n" for row in rows).encode()
    expected = {
        place
        for place in range(3)
        if any(str(int(row[place])) != row[place].strip().replace("-0", "0") for row in rows)
    }
    assert padded_columns(data, mark, 3) == expected


@pytest.mark.parametrize("cell", ["007", " 007", "-007", "007 ", '"007"'])
@pytest.mark.parametrize("row", [1, 700, 24_000, 29_999])
def test_a_code_anywhere_in_a_long_file_keeps_its_zeros(row, cell, file, monkeypatch):
    """Blocks of 100 kB: the code is at the end of the first one, or in the midst of a later one."""
    monkeypatch.setattr(encoding_and_compression, "PIECE_BYTES", 100_000)
    codes = [str(100 + k % 900) for k in range(30_000)]
    rows = [f"{code};{k}" for k, code in enumerate(codes)]
    rows[row] = f"{cell};{row}"
    found = whole(file(rows))["a"]
    assert found.type == pa.string()
    assert found[row].as_py() == cell.strip('"')
    assert found[row - 1].as_py() == codes[row - 1]


def test_a_column_that_is_empty_at_first_keeps_the_zeros_that_come_later(file, small_pieces):
    rows = [f";{k}" for k in range(60)] + ["007;1"] + [f"{k};2" for k in range(60)]
    assert whole(file(rows))["a"].to_pylist()[60:63] == ["007", "0", "1"]


def test_codes_with_leading_zeros_stay_words_wherever_they_begin(file, small_pieces):
    for rows in (["007;1", "12;2"], [f"{k};1" for k in range(100, 200)] + ["007;1"]):
        found = whole(file(rows))
        assert found["a"].to_pylist() == [row.split(";")[0] for row in rows]
        assert whole(file(rows), numeric=["a"])["a"].to_pylist()[-1] in (12, 7)
    quoted = whole(file(['"007";1', '"x;y";2'], "a;b"))
    assert quoted["a"].to_pylist() == ["007", "x;y"]
    assert whole(file(["0.5;1", "0;2", "-0.25;3"]))["a"].to_pylist() == [0.5, 0.0, -0.25]
    assert whole(file(["05:30;1", "10:00;2"])).schema.field("a").type == pa.time32("s")


@pytest.mark.parametrize("cell", ["2024-02-30", "2023-13-01", "2024-01-01 25:00:00"])
@pytest.mark.parametrize("before", [0, 1, 60])
def test_an_impossible_date_is_refused_with_column_cell_and_row(cell, before, file, small_pieces):
    rows = [f"2024-01-{k % 28 + 1:02d};{k}" for k in range(before)]
    path = file([*rows, f"{cell};1", "2024-03-01;2", "2024-03-02;2", "2024-03-03;2"])
    sentence = refused(path)
    assert sentence.startswith(
        f"Column 'a' of {path} holds '{cell}' in row {before + 2}, a date that does not exist"
    )
    assert cell in whole(path, text=["a"])["a"].to_pylist()
    assert whole(path, ReadOptions(missing=(cell,)))["a"].null_count == 1


def test_an_impossible_date_in_a_format_is_refused_too(file):
    path = file(["28.02.2024;1", "31.02.2024;2", "01.03.2024;3"])
    assert "holds '31.02.2024' in row 3, a date that does not" in refused(path, GERMAN)


def test_words_among_dates_are_words_and_no_error(file, small_pieces):
    rows = [f"2024-01-{k % 28 + 1:02d};{k}" for k in range(50)] + ["unknown;1"]
    assert whole(file(rows))["a"].to_pylist()[-1] == "unknown"


LENIENT = {"numeric": ["n"], "dates": ["d"], "text": ["w"], "lenient": True}


@pytest.mark.parametrize("early", [0, 80])
def test_lenient_reading_keeps_every_row_and_tells_unreadable_cells(early, file, small_pieces):
    good = [(str(k), f"2024-01-{k % 28 + 1:02d}", "w") for k in range(early)]
    odd = [("x", "2024-02-30", "5"), ("2.5", "soon", "6"), ("", "", "7"), ("9", "2024-05-01", "8")]
    cells = [*good, *odd, *good]
    found = []
    with open_table(file([";".join(row) for row in cells], "n;d;w")) as table:
        table.read(
            lambda batches: found.clear() or [found.extend(b.to_pylist()) for b in batches],
            **LENIENT,
        )
    assert len(found) == len(cells)
    for row, (n, d, w) in zip(found, cells, strict=True):
        number = float(n) if n not in ("", "x") else None
        assert row["n"] == number
        day = None if d in ("", "soon", "2024-02-30") else dt.date.fromisoformat(d)
        assert (row["d"].date() if isinstance(row["d"], dt.datetime) else row["d"]) == day
        assert row["w"] == w
        assert row.get(f"{UNREADABLE}n") == ("x" if n == "x" else None)
        assert row.get(f"{UNREADABLE}d") == (d if d in ("soon", "2024-02-30") else None)


def test_lenient_reading_of_a_clean_table_has_no_further_columns(file):
    found = whole(file(["1;2024-01-01;x"], "n;d;w"), **LENIENT)
    assert found.column_names == ["n", "d", "w"]


def test_lenient_reading_of_typed_tables_reads_their_text(tmp_path):
    table = pa.table({"n": ["1", "two", None], "d": ["2024-01-01", "2024-02-30", None]})
    found = whole(table, **LENIENT)
    assert found["n"].to_pylist() == [1.0, None, None]
    assert found["d"].to_pylist() == [dt.datetime(2024, 1, 1), None, None]
    assert found[f"{UNREADABLE}n"].to_pylist() == [None, "two", None]
    assert found[f"{UNREADABLE}d"].to_pylist() == [None, "2024-02-30", None]


def test_lenient_reading_marks_an_impossible_date_of_any_column(file, small_pieces):
    rows = [f"2024-01-{k % 28 + 1:02d};1" for k in range(50)] + ["2024-02-30;1"]
    for path in (file(rows), file(rows[-3:])):
        found = whole(path, lenient=True)
        assert found["a"].to_pylist()[-1] is None
        assert found[f"{UNREADABLE}a"].to_pylist()[-1] == "2024-02-30"


def test_a_whole_column_with_decimal_commas_is_refused_even_leniently(file):
    path = file(["1,5;x", "2,5;y"])
    assert "pass --decimal ','" in refused(path, numeric=["a"], lenient=True)
    found = whole(file(["1,5;x", "2.5;y"]), numeric=["a"], lenient=True)
    assert found[f"{UNREADABLE}a"].to_pylist() == ["1,5", None]


def test_lenient_reading_knows_times_of_day_and_time_zones(file):
    path = file(["12:30;2024-01-01T10:00:00Z", "25:30;2024-02-30T10:00:00Z"], "t;d")
    found = whole(path, times=["t"], dates=["d"], lenient=True)
    assert found["t"].to_pylist() == [dt.time(12, 30), None]
    assert found["d"].to_pylist() == [dt.datetime(2024, 1, 1, 10, tzinfo=dt.UTC), None]
    assert found[f"{UNREADABLE}t"].to_pylist() == [None, "25:30"]
    assert found[f"{UNREADABLE}d"].to_pylist() == [None, "2024-02-30T10:00:00Z"]
    found = whole(file(["1;12:30", "x;13:30"], "n;t"), numeric=["n"], lenient=True)
    assert found["t"].to_pylist() == [dt.time(12, 30), dt.time(13, 30)]


def test_dates_of_digits_are_dates_and_other_numbers_stay_numbers(file, small_pieces):
    rows = [f"202401{k % 28 + 1:02d};{10115 + k}" for k in range(50)]
    found = whole(file(rows), ReadOptions(date_format="%Y%m%d"))
    assert found["a"].to_pylist() == [dt.datetime(2024, 1, k % 28 + 1) for k in range(50)]
    assert found["b"].to_pylist() == [10115 + k for k in range(50)]
    assert whole(file(rows), ReadOptions(date_format="%y%m%d"))["b"].type == pa.int64()
