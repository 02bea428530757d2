"""A table that cannot be read is refused in one sentence that names it."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import re
import sqlite3
import sys
import textwrap
import zipfile
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import child
from examples import examples
from pnml import InputError, PNMLRegressor, save
from pnml.readers import ReadOptions, open_table
from pnml.readers.csv_text import blocks
from read_tables import refused


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def text_file(content, name="new.csv"):
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return name


def append_row(name):
    with Path(name).open("ab") as file:
        file.write(b"1,2\n")


ROWS = "a,b\n" + "".join(f"{k},{k}\n" for k in range(2, 100))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "new.csv is empty"),
        ("\n\r\n\n", "new.csv is empty"),
        ("a,b\n", "new.csv has a header but no rows"),
        ("a,b", "new.csv has a header but no rows"),
        ("a,b\n\n\n", "new.csv has a header but no rows"),
        ("a,b\n1,2\n3\n", "Row 3 of new.csv has 1 cell, but its header has 2"),
        ("a,b\n1,2,3\n", "Row 2 of new.csv has 3 cells, but its header has 2"),
        (ROWS + "1,2,3\n" + "5,5\n" * 50, "Row 100 of new.csv has 3 cells, but its header has 2"),
        ("a|b|c\n1|2|3\n", "new.csv has one column, 'a|b|c'; it looks separated by '|': pass "),
        ("a|b\n1|2\n", "it looks separated by '|': pass --delimiter '|'"),
        ("a,b,a,b\n1,2,3,4\n", "new.csv has more than one column named 'a', 'b'"),
        (b"a,b\n1,2\n1,\xe9\n", "new.csv is not UTF-8 text (see its row 3); save it as UTF-8 or"),
        (b"a,\xe9\n1,2\n", "new.csv is not UTF-8 text (see its row 1)"),
        (ROWS.encode() + b"1,\xff\n", "new.csv is not UTF-8 text (see its row 100)"),
        ("a,b\n1,2\n".encode("utf-16"), "new.csv is UTF-16 text, not UTF-8; save it as UTF-8 or"),
        (b"a,b\n1,2\n\0,3\n", "new.csv holds NUL bytes"),
        ('a,b\n1,"2\n3,4\n', "new.csv opens a quotation mark in one of its last rows"),
        ('{"a": 1}\n', None),
    ],
)
def test_odd_text_is_refused(content, expected, here, small_pieces):
    name = text_file(content)
    if expected is None:
        name = text_file(content, "new.json")
        expected = "new.json is JSON, not a table"
    assert expected in refused(name)


def test_a_wrong_delimiter_is_no_error_once_it_is_named(here):
    text_file("a:b\n10:30\n")
    found = open_table("new.csv", ReadOptions(delimiter=",")).read(lambda b: next(b).to_pydict())
    assert list(found) == ["a:b"]


@pytest.mark.parametrize(
    ("cell", "shown"), [("abc", "'abc'"), ("true", "'true'"), ("2020-01-01", "'2020-01-01'")]
)
def test_text_among_numbers_is_refused_with_its_row(cell, shown, here, small_pieces):
    text_file(ROWS + f"{cell},7\n")
    sentence = refused("new.csv", numeric=["a"])
    assert sentence.startswith(f"Column 'a' of new.csv holds {shown} in row 100, but ")
    text_file(f"a,b\n{cell},7\n")
    assert f"holds {shown} in row 2" in refused("new.csv", numeric=["a"])


def test_a_row_without_an_end_is_refused_before_it_fills_the_memory():
    pieces = iter([(b"x" * 100, 0)] * 10)
    with pytest.raises(InputError, match="opened and never closed"):
        list(blocks(pieces, ",", "new.csv", most=500))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"delimiter": ""}, "The delimiter '' is not one plain character"),
        ({"delimiter": ";;"}, "The delimiter ';;' is not one plain character"),
        ({"delimiter": '"'}, "is not one plain character"),
        ({"encoding": "klingon"}, "The encoding 'klingon' is not known"),
        ({"encoding": "base64"}, "The encoding 'base64' is not known"),
        ({"encoding": "a\0b"}, "is not known"),
    ],
)
def test_what_is_said_about_text_is_checked_at_once(options, expected):
    with pytest.raises(InputError, match=re.escape(expected)):
        ReadOptions(**options)


def test_text_in_another_encoding_than_said_is_refused(here):
    text_file("a,b\n1,é")
    for encoding in ("utf-16", "utf-32"):
        expected = f"new.csv is not text in the encoding {encoding}"
        assert expected in refused("new.csv", ReadOptions(encoding=encoding))


def test_a_missing_file_is_named_with_its_nearest_neighbour(here):
    text_file("a,b\n1,2\n", "train.csv")
    assert refused("trian.csv") == "trian.csv is not there; did you mean train.csv?"
    assert refused("other.parquet") == "other.parquet is not there; check the path."
    assert "no/such.csv is not there, nor is its folder" in refused("no/such.csv")
    assert "train.csv/x.csv is not there" in refused("train.csv/x.csv")
    assert "cannot be read" in refused("a\0b.csv")
    assert "No file matches *.parquet" in refused("*.parquet")


def test_folders_must_hold_tables_of_one_kind_and_the_same_columns(here):
    folder = here / "parts"
    folder.mkdir()
    assert "The folder parts holds no tables" in refused("parts")
    (folder / "a.csv").write_text("x,y\n1,2\n")
    (folder / "b.csv").write_text("x,z\n1,2\n")
    expected = "parts/b.csv lacks 'y' and also has 'z' as against parts/a.csv"
    assert expected in refused("parts")
    (folder / "b.csv").write_text("x,y\n1,2,3\n")
    assert "Row 2 of parts/b.csv has 3 cells" in refused("parts")
    (folder / "b.csv").write_text("y,x\n1,no\n")
    assert "Column 'x' of parts/b.csv holds 'no' in row 2" in refused("parts", numeric=["x"])
    (folder / "b.csv").write_text("")
    assert "parts/b.csv is empty" in refused("parts")
    (folder / "b.csv").unlink()
    pyarrow.parquet.write_table(pa.table({"x": [1], "y": [2]}), folder / "b.parquet")
    assert "mixes kinds of tables, CSV in parts/a.csv and Parquet in parts/b" in refused("parts")
    (folder / "a.csv").unlink()
    pyarrow.parquet.write_table(pa.table({"x": ["1"], "y": [2]}), folder / "c.parquet")
    expected = "Column 'x' is string in parts/c.parquet but int64 in parts/b.parquet"
    assert expected in refused("parts")


def excel(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")


def database(path):
    connection = sqlite3.connect(path)
    connection.execute("create table t (a)")
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    ("name", "make", "expected"),
    [
        ("t.xlsx", excel, "t.xlsx is an Excel workbook, not a table; save it as CSV"),
        ("t.csv", excel, "t.csv is an Excel workbook"),
        ("t.zip", lambda p: zipfile.ZipFile(p, "w").writestr("a.csv", ""), "is a "),
        ("t.db", database, "t.db is an SQLite database"),
        ("t.pkl", lambda p: p.write_bytes(pickle.dumps([1])), "t.pkl is a Python pickle"),
        ("t.npy", lambda p: np.save(p, np.ones(3)), "t.npy is a NumPy file"),
        ("t.arrow", lambda p: p.write_bytes(b"FEA1" + bytes(20)), "is a Feather file of version 1"),
        ("t.parquet", lambda p: p.write_bytes(b"a,b\n1,2\n"), "does not begin as Parquet files do"),
        ("t.bin", lambda p: p.write_bytes(bytes(range(1, 255)) * 9), "t.bin is not UTF-8 text"),
        ("t.bin", lambda p: p.write_bytes(bytes(100)), "t.bin holds NUL bytes"),
    ],
)
def test_what_is_no_table_is_called_what_it_is(name, make, expected, here):
    make(here / name)
    assert expected in refused(name)


def test_a_model_is_no_table(here):
    saved = Path("model.pnml")
    save(PNMLRegressor().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.5]), saved)
    assert "model.pnml is a model, not a table; give a table there" in refused("model.pnml")
    saved.rename(saved.with_name("new.csv"))
    assert "new.csv is a model, not a table" in refused("new.csv")


def test_a_typed_table_needs_columns_with_names_of_their_own_and_rows(here):
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    pyarrow.parquet.write_table(twice, "t.parquet")
    assert "t.parquet has more than one column named 'a'" in refused("t.parquet")
    pyarrow.parquet.write_table(pa.table({"a": pa.array([], pa.int64())}), "t.parquet")
    assert "t.parquet has columns but no rows" in refused("t.parquet")
    pyarrow.feather.write_feather(pa.table({}), "t.feather")
    assert "t.feather has no columns" in refused("t.feather")


def stored(kind):
    rng = np.random.default_rng(0)
    table = pa.table({"x": rng.normal(size=300), "s": [f"word {k}" for k in range(300)]})
    if kind == "t.parquet":
        pyarrow.parquet.write_table(table, kind, write_page_checksum=True)
    elif kind == "t.feather":
        pyarrow.feather.write_feather(table, kind, "lz4")
    elif kind == "t.csv.gz":
        with gzip.open(kind, "wb") as file:
            pyarrow.csv.write_csv(table, file)
    else:
        with pa.ipc.new_file(kind, table.schema) as writer:
            writer.write_table(table)
    return Path(kind).read_bytes()


@pytest.mark.parametrize("kind", ["t.parquet", "t.feather", "t.arrow", "t.csv.gz"])
@pytest.mark.parametrize("kept", [0.1, 0.5, 0.9, 0.999])
def test_a_file_cut_short_is_refused(kind, kept, here):
    data = stored(kind)
    text_file(data[: int(kept * len(data))], kind)
    assert re.search(r"cut short", refused(kind))


@pytest.mark.parametrize("kind", ["t.parquet", "t.feather", "t.arrow", "t.csv.gz"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(60))
@given(place=st.floats(0, 1, exclude_max=True), bits=st.integers(1, 255))
def test_a_damaged_file_is_read_or_refused_but_nothing_else(kind, place, bits, here):
    data = bytearray(stored(kind))
    data[int(place * len(data))] ^= bits
    text_file(bytes(data), kind)
    with suppress(InputError), open_table(kind) as table:
        table.read(lambda batches: [batch.to_pydict() for batch in batches])


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.arrow"])
def test_a_file_that_changes_or_goes_after_the_first_look_is_refused(name, here):
    if name == "t.csv":
        text_file("a,b\n1,2\n", name)
    else:
        stored(name)
    table, other = open_table(name), open_table(name)
    append_row(name)
    with pytest.raises(InputError, match=f"{name} was changed while it was being read"):
        table.read(list)
    Path(name).unlink()
    with pytest.raises(InputError, match=f"{name} is no longer there"):
        other.read(list)


def test_a_file_that_changes_during_the_reading_is_refused(here, small_pieces):
    text_file("a,b\n" + "1,2\n" * 1000)

    def consume(batches):
        append_row("new.csv")
        return list(batches)

    with pytest.raises(InputError, match="was changed while it was being read"):
        open_table("new.csv").read(consume)


def test_a_terminal_and_an_empty_pipe_are_no_tables(monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True))
    assert "Standard input is a terminal" in refused("-")
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: False, buffer=io.BytesIO()))
    assert "standard input is empty" in refused("-")


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
def test_a_file_without_permission_is_refused(open_folder):
    path = open_folder / "t.csv"
    path.write_text("a,b\n1,2\n")
    path.chmod(0)
    code = """
        import os, sys
        from pnml import InputError
        from pnml.readers import open_table
        if os.geteuid() == 0:
            os.setuid(65534)
        try:
            open_table(sys.argv[1])
        except InputError as error:
            print(error)
    """
    done = child.python(textwrap.dedent(code), path)
    assert done.stdout == (
        f"{path} may not be read by this user; change its permissions or copy it.\n"
    )


def long_column(folder):
    path = folder / "new.csv"
    path.write_text(f"{'a' * 10**6},{'a' * 10**6}\n1,2\n")
    return path


@pytest.mark.parametrize(
    "read",
    [
        lambda folder: open_table("a" * 10**6),
        lambda folder: open_table(folder / ("a" * 10**4) / "b.csv"),
        lambda folder: open_table(long_column(folder)),
        lambda folder: open_table(folder, ReadOptions(encoding="a" * 10**6)),
        lambda folder: ReadOptions(delimiter="a" * 10**6),
    ],
)
def test_long_names_are_cut_in_messages(tmp_path, read):
    with pytest.raises(InputError) as raised:
        read(tmp_path)
    assert "…" in str(raised.value)
    assert len(str(raised.value)) < 1_000
