"""A table goes out whole or not at all, and comes back as it was."""

from __future__ import annotations

import datetime as dt
import errno
import io
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import child
from examples import examples
from pnml import InputError
from pnml.readers import check_output, open_table, table_writer
from pnml.readers.sinks import SINKS, sink_ending

BATCH = pa.record_batch({"x": [1.5, None], "s": ["a", 'b"\n,;\t'], "ok": [True, False]})


def write(path, *batches, schema=None):
    with table_writer(path, schema) as writer:
        for batch in batches:
            writer.write(batch)


def write_and_fail(path, failure):
    with table_writer(path) as writer:
        writer.write(BATCH)
        raise failure


def read(path):
    return open_table(path).read(lambda batches: pa.Table.from_batches(list(batches)))


def threads():
    return [t for t in threading.enumerate() if t.name.startswith("pnml-table")]


@pytest.mark.parametrize("ending", SINKS)
def test_every_kind_of_file_comes_back_as_it_was(ending, tmp_path):
    path = tmp_path / f"t{ending}"
    write(path, BATCH, BATCH)
    assert read(path).equals(pa.Table.from_batches([BATCH, BATCH]))
    assert [found.name for found in tmp_path.iterdir()] == [path.name]
    assert not threads()


WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)
CELLS = {
    "word": WORDS | st.text(st.sampled_from('",;\t\n\r é='), max_size=6),
    "whole": st.integers(-(2**63), 2**63 - 1),
    "number": st.floats(),
    "yes": st.booleans(),
    "day": st.dates(),
    "moment": st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1)),
}
TYPES = {
    "word": pa.string(),
    "whole": pa.int64(),
    "number": pa.float64(),
    "yes": pa.bool_(),
    "day": pa.date32(),
    "moment": pa.timestamp("us"),
}


@st.composite
def tables(draw):
    rows = draw(st.integers(1, 8))
    columns = {
        name: draw(st.lists(st.none() | cells, min_size=rows, max_size=rows))
        for name, cells in CELLS.items()
    }
    return pa.table({name: pa.array(cells, TYPES[name]) for name, cells in columns.items()})


def as_text_keeps(table):
    """What is left of a table that was text: no empty words, no words that mean missing."""
    words = [
        None if word in pyarrow.csv.ConvertOptions().null_values else word
        for word in table["word"].to_pylist()
    ]
    numbers = [None if x is None or np.isnan(x) else x for x in table["number"].to_pylist()]
    table = table.set_column(0, "word", pa.array(words, pa.string()))
    return table.set_column(2, "number", pa.array(numbers, pa.float64()))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(50))
@pytest.mark.parametrize("ending", [".csv", ".tsv.gz", ".parquet", ".arrow", ".feather"])
@given(table=tables())
def test_any_table_comes_back_as_it_was(ending, table, tmp_path):
    path = tmp_path / f"t{ending}"
    write(path, *table.to_batches())
    found = read(path)
    if "sv" in ending:  # text keeps no types, so each column is narrowed to what its cells need
        text = [name for name in table.column_names if name == "word"]
        found = open_table(path).read(
            lambda batches: pa.Table.from_batches(list(batches)), text=text
        )
        table = as_text_keeps(table)
        found = pa.table({name: found[name].cast(TYPES[name]) for name in table.column_names})
    assert found.drop_columns("number").equals(table.drop_columns("number"))
    np.testing.assert_array_equal(
        found["number"].to_numpy(), table["number"].to_numpy(), strict=True
    )


def test_columns_that_may_hold_nothing_and_columns_that_must_not_are_written_alike(tmp_path):
    schema = pa.schema([pa.field("x", pa.int64(), nullable=False, metadata={"a": "b"})])
    batch = pa.record_batch([pa.array([1, 2])], schema=schema)
    for ending in SINKS:
        write(tmp_path / f"t{ending}", batch, schema=schema)
        assert read(tmp_path / f"t{ending}").to_pydict() == {"x": [1, 2]}


def test_csv_is_plain(tmp_path):
    numbers = pa.array([0.1, 1e300, float("inf"), None])
    words = pa.array(["=1+1", 'a "quote"', "two\nlines", None])
    batch = pa.record_batch({"n": numbers, "w": words, "b": pa.array([True, False, None, True])})
    write(tmp_path / "t.csv", batch)
    assert (tmp_path / "t.csv").read_text() == (
        '"n","w","b"\n0.1,"=1+1",true\n1e+300,"a ""quote""",false\ninf,"two\nlines",\n,,true\n'
    )


@pytest.mark.parametrize("ending", SINKS)
def test_categories_are_written_as_their_values(ending, tmp_path):
    path = tmp_path / f"t{ending}"
    first, second = (pa.array(words).dictionary_encode() for words in (["a", "b"], ["c", "a"]))
    write(path, pa.record_batch({"c": first}), pa.record_batch({"c": second}))
    assert read(path).to_pydict() == {"c": ["a", "b", "c", "a"]}


@pytest.mark.parametrize(
    ("ending", "values", "kind"),
    [
        (".csv", [[1, 2]], pa.list_(pa.int64())),
        (".tsv.gz", [{"a": 1}], pa.struct([("a", pa.int64())])),
        (".csv", [b"a"], pa.binary()),
        (".parquet", [None], pa.month_day_nano_interval()),
    ],
)
def test_columns_that_a_file_cannot_hold_are_refused_by_name(ending, values, kind, tmp_path):
    batch = pa.record_batch({"fine": [1], "odd": pa.array(values, kind)})
    with pytest.raises(InputError, match="Column 'odd' is of type"):
        write(tmp_path / f"t{ending}", batch)
    assert list(tmp_path.iterdir()) == []


def test_a_schema_without_rows_gives_a_header_and_nothing_at_all_is_refused(tmp_path):
    write(tmp_path / "t.csv", schema=BATCH.schema)
    assert (tmp_path / "t.csv").read_text() == '"x","s","ok"\n'
    with pytest.raises(InputError, match="no rows to write"):
        write(tmp_path / "u.csv")
    with pytest.raises(InputError, match="have the columns 'x', but"):
        write(tmp_path / "u.csv", BATCH, BATCH.select(["x"]))
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


@pytest.mark.parametrize("ending", SINKS)
@pytest.mark.parametrize("failure", [RuntimeError("mine"), OSError(5, "mine"), KeyboardInterrupt()])
def test_an_exception_in_the_block_passes_and_leaves_the_old_file(ending, failure, tmp_path):
    path = tmp_path / f"t{ending}"
    path.write_bytes(b"old")
    with pytest.raises(type(failure)) as caught:
        write_and_fail(path, failure)
    assert caught.value is failure
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
    assert not threads()


@pytest.mark.parametrize("path", ["t.xlsx", "t", "t.json", ".csv", "t.gz", ""])
def test_an_unknown_ending_is_refused_before_any_work(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for refuse in (lambda: check_output(path, []), lambda: table_writer(path)):
        with pytest.raises(InputError, match=r"end it in one of \.csv, .*\.feather"):
            refuse()
    assert sink_ending("T.CSV.GZ") == ".csv.gz"


def test_outputs_that_would_harm_or_cannot_be_are_refused_early(tmp_path):
    source, folder = tmp_path / "in.csv", tmp_path / "f.csv"
    source.write_text("a\n1\n")
    folder.mkdir()
    (tmp_path / "hard.csv").hardlink_to(source)
    (tmp_path / "soft.csv").symlink_to(source)
    for name in ("in.csv", "hard.csv", "soft.csv", "f.csv/../in.csv"):
        with pytest.raises(InputError, match="is one of the files to read"):
            check_output(tmp_path / name, [source])
    with pytest.raises(InputError, match="is a folder; name a file in it"):
        check_output(folder, [source])
    for name in ("no/such/out.csv", "in.csv/out.csv"):
        with pytest.raises(InputError, match="There is no folder"):
            check_output(tmp_path / name, [source])
        with pytest.raises(InputError):
            write(tmp_path / name, BATCH)
    with pytest.raises(InputError, match="is not a file"):
        write(folder, BATCH)
    check_output(str(tmp_path / "out.parquet"), [source])
    check_output(tmp_path / "out.parquet", [tmp_path / "gone.csv"])


def test_standard_output_gets_csv_only_when_all_is_well(monkeypatch):
    out = SimpleNamespace(buffer=io.BytesIO())
    monkeypatch.setattr(sys, "stdout", out)
    with pytest.raises(RuntimeError):
        write_and_fail("-", RuntimeError())
    assert out.buffer.getvalue() == b""
    write("-", pa.record_batch({"a": [1]}))
    assert out.buffer.getvalue() == b'"a"\n1\n'


@pytest.mark.parametrize("ending", SINKS)
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_a_disk_that_fails_at_the_end_is_told_in_one_sentence(ending, code, tmp_path, monkeypatch):
    def fail(_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(InputError, match=r"no room to write|cannot be written"):
        write(tmp_path / f"t{ending}", BATCH)
    assert list(tmp_path.iterdir()) == []


FULL = """
    import os, sys
    import numpy as np, pyarrow as pa
    from pnml import InputError
    from pnml.readers import table_writer
    {limit}
    batch = pa.record_batch({{"x": np.random.default_rng(0).normal(size=20_000)}})
    try:
        with table_writer(sys.argv[1]) as writer:
            for _ in range(50):
                writer.write(batch)
    except InputError as error:
        print(error)
"""
LIMIT = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))"


def run(code, *args):
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, args)]
    return child.run(command)


@pytest.mark.skipif(os.name != "posix", reason="limits on files are those of POSIX")
@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet", ".arrow"])
def test_a_file_that_may_not_grow_is_told_and_the_old_one_stays(ending, tmp_path):
    path = tmp_path / f"t{ending}"
    path.write_bytes(b"old")
    done = run(FULL.format(limit=LIMIT), path)
    assert done.stdout.startswith(f"There is no room to write {path} (File too large)")
    assert done.stderr == ""
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.fixture
def tiny_disk(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(folder)]
    if child.run(command).returncode:
        pytest.skip("this user may not mount a small disk")
    yield folder
    child.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_full_disk_is_told_and_the_old_file_stays(ending, tiny_disk):
    path = tiny_disk / f"t{ending}"
    path.write_bytes(b"old")
    done = run(FULL.format(limit=""), path)
    assert done.stdout.startswith(f"There is no room to write {path} (No space left on device)")
    assert path.read_bytes() == b"old"
    assert list(tiny_disk.iterdir()) == [path]


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
def test_a_folder_without_permission_is_refused_early_and_late(open_folder):
    closed = open_folder / "closed"
    closed.mkdir(0o555)
    code = """
        import os, sys
        import pyarrow as pa
        from pnml import InputError
        from pnml.readers import check_output, table_writer
        if os.geteuid() == 0:
            os.setuid(65534)
        path = sys.argv[1]
        for work in (lambda: check_output(path, []), lambda: table_writer(path).__enter__()):
            try:
                work()
            except InputError as error:
                print(error)
    """
    lines = run(code, closed / "t.csv").stdout.splitlines()
    assert len(lines) == 2
    assert f"The folder {closed} may not be written to" in lines[0]
    assert f"{closed / 't.csv'} may not be written" in lines[1]


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as POSIX does")
@pytest.mark.parametrize("ending", [".csv.gz", ".parquet"])
def test_ctrl_c_ends_a_writing_at_once_and_the_old_file_stays(ending, tmp_path):
    path = tmp_path / f"t{ending}"
    path.write_bytes(b"old")
    code = """
        import sys, threading
        import numpy as np, pyarrow as pa
        from pnml.readers import table_writer
        batch = pa.record_batch({"x": np.random.default_rng(0).normal(size=100_000)})
        try:
            with table_writer(sys.argv[1]) as writer:
                print("writing", flush=True)
                while True:
                    writer.write(batch)
        except KeyboardInterrupt:
            print("stopped", [t for t in threading.enumerate() if "pnml" in t.name], flush=True)
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(path)]
    with child.started(command, seconds=60, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "writing\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate()
    assert rest == "stopped []\n"
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


FORMULAS = ["=1+1", "+1", "-1", "@sum(a)", "\tx", "\rx", "a=b", "", None, "1-2"]


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".csv.gz"])
def test_cells_that_a_spreadsheet_would_run_are_escaped_where_that_is_asked(ending, tmp_path):
    batch = pa.record_batch(
        {
            "=name": FORMULAS,
            "n": list(range(-5, 5)),
            "kind": pa.array(["@a", "b"] * 5).dictionary_encode(),
        }
    )
    path = tmp_path / f"t{ending}"
    with table_writer(path, escape_formulas=True) as writer:
        writer.write(batch)
    back = read(path)
    assert back.column_names == ["'=name", "n", "kind"]
    begins = ("=", "+", "-", "@", "\t", "\r")
    wanted = [f"'{x}" if (x or "").startswith(begins) else x or None for x in FORMULAS]
    assert back["'=name"].to_pylist() == wanted
    assert back["n"].to_pylist() == list(range(-5, 5))
    assert back["kind"].to_pylist() == ["'@a", "b"] * 5
    write(path, batch)
    assert read(path).column_names[0] == "=name"


def test_formulas_are_escaped_in_text_only(tmp_path):
    with pytest.raises(InputError, match=r"--escape-formulas is for \.csv and \.tsv"):
        table_writer(tmp_path / "t.parquet", escape_formulas=True)


def test_a_link_into_a_missing_folder_names_that_folder(tmp_path):
    link = tmp_path / "link.csv"
    link.symlink_to(tmp_path / "missing" / "t.csv")
    with pytest.raises(InputError, match=rf"There is no folder {tmp_path}/missing to write t\.csv"):
        check_output(link, [])
