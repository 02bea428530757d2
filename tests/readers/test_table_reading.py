"""Tables come in batch by batch, the same whatever file, folder or pipe they lie in."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
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
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import child
from examples import examples
from pnml import InputError
from pnml.readers import ReadOptions, open_table
from pnml.readers.batches import LEAST_ROWS, MOST_ROWS
from pnml.readers.csv_text import blocks, last_row_end, row_ends
from pnml.readers.prefetch import prefetch
from read_tables import whole


def sample(rows=500):
    rng = np.random.default_rng(1)
    return pa.table(
        {
            "number": rng.normal(size=rows),
            "count": rng.integers(0, 9, size=rows),
            "word": [f'say "{k % 7}",\n{"é" * (k % 3)}!' for k in range(rows)],
            "day": pa.array(np.arange(rows), pa.int32()).cast(pa.date32()),
            "yes": [k % 2 == 0 for k in range(rows)],
        }
    )


def write_csv(table, path, opener=open, **options):
    with opener(path, "wb") as file:
        pyarrow.csv.write_csv(table, file, pyarrow.csv.WriteOptions(**options))


WRITERS = {
    "t.csv": write_csv,
    "t.txt": write_csv,
    "t": write_csv,
    "t.tsv": lambda t, path: write_csv(t, path, delimiter="\t"),
    "t.csv.gz": lambda t, path: write_csv(t, path, gzip.open),
    "t.csv.bz2": lambda t, path: write_csv(t, path, bz2.open),
    "t.csv.xz": lambda t, path: write_csv(t, path, lzma.open),
    "t.csv.zst": lambda t, path: write_csv(
        t, path, lambda path, _: pa.CompressedOutputStream(pa.OSFile(str(path), "wb"), "zstd")
    ),
    "t.parquet": pyarrow.parquet.write_table,
    "t.pq": pyarrow.parquet.write_table,
    "parquet.csv": pyarrow.parquet.write_table,
    "parquet": pyarrow.parquet.write_table,
    "t.feather": lambda t, path: pyarrow.feather.write_feather(t, str(path), "zstd"),
    "t.arrow": lambda t, path: write_arrow(t, path, pa.ipc.new_file),
    "t.ipc": lambda t, path: write_arrow(t, path, pa.ipc.new_stream),
}


def write_arrow(table, path, new):
    with new(str(path), table.schema) as writer:
        writer.write_table(table, max_chunksize=130)


@pytest.mark.parametrize("name", WRITERS)
def test_every_kind_of_file_gives_the_same_table(name, tmp_path):
    WRITERS[name](sample(), tmp_path / name)
    assert whole(tmp_path / name).equals(sample())


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.tsv"])
def test_blocks_are_cut_between_rows_and_not_within_quotes(name, tmp_path, small_pieces):
    WRITERS[name](sample(), tmp_path / name)
    assert whole(tmp_path / name).equals(sample())


CELLS = st.text(st.sampled_from('ab",\n;é '), max_size=5)
QUOTED = CELLS.map(lambda text: '"' + text.replace('"', '""') + '"')
BARE = st.from_regex(r'[ab][ab"é ]{0,4}', fullmatch=True)  # marks within are letters


@given(
    cells=st.lists(st.tuples(QUOTED | BARE, QUOTED | BARE), min_size=1, max_size=8),
    cut=st.integers(0, 100),
)
@settings(max_examples=examples(400))
def test_rows_end_where_they_were_put_together(cells, cut):
    rows = [f"{a},{b}\n".encode() for a, b in cells]
    ends = np.cumsum([len(row) for row in rows]).tolist()
    data = b"".join(rows)
    assert row_ends(data, ",").tolist() == ends
    assert last_row_end(data[:cut], ",") == max((end for end in ends if end <= cut), default=0)


@given(
    cells=st.lists(st.tuples(QUOTED | BARE, QUOTED | BARE), min_size=1, max_size=20),
    newline=st.sampled_from(["\n", "\r\n"]),
    ended=st.booleans(),
    size=st.integers(1, 40),
)
def test_cutting_text_anywhere_gives_the_rows_of_the_whole(cells, newline, ended, size):
    data = (newline.join(f"{a},{b}" for a, b in cells) + newline * ended).encode()
    cut = iter((data[k : k + size], k) for k in range(0, len(data), size))

    def rows(text):
        return pyarrow.csv.read_csv(
            io.BytesIO(text),
            pyarrow.csv.ReadOptions(column_names=["a", "b"], block_size=10_000),
            pyarrow.csv.ParseOptions(newlines_in_values=True),
            pyarrow.csv.ConvertOptions(column_types={"a": pa.string(), "b": pa.string()}),
        ).to_pylist()

    found = [row for block in blocks(cut, ",", "text") for row in rows(block.data)]
    assert found == rows(data)


@pytest.mark.parametrize(
    ("early", "late", "kind"),
    [
        ("1", "2.5", pa.float64()),
        ("1", "abc", pa.string()),
        ("7", "x", pa.string()),
        ("7", "007", pa.string()),
        ("", "5", pa.int64()),
        ("", "abc", pa.string()),
        ("1.5", "x", pa.string()),
        ("2020-01-01", "x", pa.string()),
        ("2020-01-01", "7", pa.string()),
        ("2020-01-01", "2020-01-01 10:00:00", pa.timestamp("s")),
        ("2020-01-01 10:00:00", "2020-01-01 10:00:00.5", pa.timestamp("ns")),
        ("2020-01-01 10:00:00.5", "1500-01-01", pa.string()),
        ("true", "maybe", pa.string()),
        ("true", "7", pa.string()),
        ("9223372036854775807", "9223372036854775808", pa.float64()),
    ],
)
def test_a_later_cell_widens_its_column_and_all_rows_come_again(
    early, late, kind, tmp_path, small_pieces
):
    path = tmp_path / "t.csv"
    rows = [early] * 80 + [late] + [early] * 20
    path.write_text("a,b\n" + "".join(f"{cell},{k}\n" for k, cell in enumerate(rows)))
    calls = []

    def consume(batches):
        calls.append("begun")
        return pa.Table.from_batches(list(batches))

    found = open_table(path).read(consume)
    assert found.schema.field("a").type == kind
    assert found["b"].to_pylist() == list(range(101))
    expected = pa.array([cell or None for cell in rows])
    if kind != pa.string():
        expected = expected.cast(kind)
    assert found["a"].combine_chunks().equals(expected)
    assert calls == ["begun", "begun"]


def test_many_changes_of_type_cost_one_more_reading(tmp_path, small_pieces):
    path = tmp_path / "t.csv"
    lines = [",".join("x" if k == 10 * j + 30 else "1" for j in range(8)) for k in range(200)]
    path.write_text("\n".join([",".join("abcdefgh"), *lines]))
    calls = []
    found = open_table(path).read(lambda batches: calls.append(1) or sum(1 for _ in batches))
    assert found
    assert len(calls) == 2


def test_columns_named_text_keep_zeros_and_those_named_numeric_are_numbers(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("code,size,none,when\n007,1,,5\n010,,,6\n")
    found = whole(path, numeric=["none", "when", "not there"], text={"code", "size"})
    assert found["code"].to_pylist() == ["007", "010"]
    assert found["size"].to_pylist() == ["1", None]
    assert found.schema.types == [pa.string(), pa.string(), pa.float64(), pa.int64()]


def test_words_for_missing_add_to_those_known(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,x\n?,?\nNA,NA\n,\n")
    found = whole(path, ReadOptions(missing=("?",)))
    assert found.to_pydict() == {"a": [1, None, None, None], "b": ["x", None, None, None]}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16", "utf-16-le"])
def test_encodings_and_their_marks_leave_no_trace(encoding, tmp_path, small_pieces):
    path = tmp_path / "t.csv"
    path.write_bytes(("name,n\n" + "Zoë,1\n" * 100).encode(encoding))
    given_encoding = "utf-8" if encoding == "utf-8-sig" else encoding
    found = whole(path, ReadOptions(encoding=given_encoding))
    assert found.to_pydict() == {"name": ["Zoë"] * 100, "n": [1] * 100}


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("end", ["", "\n", "\n\n\n"])
def test_line_ends_and_blank_lines_do_not_matter(newline, end, tmp_path, small_pieces):
    text = "\n\na,b\n" + "\n".join(f"{k},x" for k in range(50)) + "\n\n7,y" + end
    path = tmp_path / "t.csv"
    path.write_bytes(text.replace("\n", newline).encode())
    found = whole(path)
    assert found["a"].to_pylist() == [*range(50), 7]
    assert found["b"].to_pylist() == ["x"] * 50 + ["y"]


def test_a_column_without_a_name_is_named_by_its_place(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(",a, b \n0,1,2\n")
    assert whole(path).column_names == ["unnamed 1", "a", "b"]


def test_a_delimiter_may_be_named(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b\n1,5;2\n")
    assert whole(path, ReadOptions(delimiter=";")).to_pydict() == {"a": ["1,5"], "b": [2]}


def test_a_folder_is_one_table_in_the_order_of_names(tmp_path):
    (tmp_path / "b.csv").write_text("y,x\n2.5,3\n")
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "c.csv").write_text("x,y\n")
    for hidden in (".hidden.csv", "_SUCCESS.csv", "notes.md"):
        (tmp_path / hidden).write_text("nothing\n")
    (tmp_path / "sub.csv").mkdir()
    found = whole(tmp_path)
    assert found.to_pydict() == {"x": [1, 3], "y": [2.0, 2.5]}
    assert whole(str(tmp_path / "*.csv").replace("*", "[ab]")).equals(found)
    table = open_table(tmp_path)
    assert [path.name for path in table.files] == ["a.csv", "b.csv", "c.csv"]
    assert table.size == sum(path.stat().st_size for path in table.files)


def test_typed_files_of_a_folder_share_the_widest_types(tmp_path):
    first = {"n": pa.array([1], pa.int32()), "s": pa.array(["a"]).dictionary_encode()}
    second = {"s": pa.array(["b"]), "n": pa.array([0.5], pa.float32())}
    pyarrow.parquet.write_table(pa.table(first), tmp_path / "a.parquet")
    pyarrow.parquet.write_table(pa.table(second), tmp_path / "b.parquet")
    found = whole(tmp_path)
    assert found.schema.types == [pa.float64(), pa.string()]
    assert found.to_pydict() == {"n": [1.0, 0.5], "s": ["a", "b"]}


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.arrow", "t.ipc"])
def test_standard_input_is_kept_on_disk_only_while_it_is_open(name, tmp_path, monkeypatch):
    WRITERS[name](sample(), tmp_path / name)
    stream = SimpleNamespace(
        buffer=io.BytesIO((tmp_path / name).read_bytes()), isatty=lambda: False
    )
    monkeypatch.setattr(sys, "stdin", stream)
    with open_table("-") as table:
        assert table.name == "standard input"
        for _ in range(2):
            assert table.read(lambda b: pa.Table.from_batches(list(b))).equals(sample())
        (kept,) = table.files
        assert kept.exists()
    assert not kept.exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_named_pipe_is_read_like_standard_input(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    thread = threading.Thread(target=lambda: pipe.write_text("a,b\n1,2\n"))
    thread.start()
    assert whole(pipe).to_pydict() == {"a": [1], "b": [2]}
    thread.join()


def test_batches_are_neither_tiny_nor_giant(tmp_path):
    many = pa.table({"x": np.arange(300_000)})
    with pa.ipc.new_file(str(tmp_path / "giant.arrow"), many.schema) as writer:
        writer.write_table(many)
    with pa.ipc.new_file(str(tmp_path / "tiny.arrow"), many.schema) as writer:
        writer.write_table(many.slice(0, 20_000), max_chunksize=10)
    write_csv(many, tmp_path / "t.csv")
    for name, rows in (("giant.arrow", 300_000), ("tiny.arrow", 20_000), ("t.csv", 300_000)):
        sizes = open_table(tmp_path / name).read(lambda b: [batch.num_rows for batch in b])
        assert sum(sizes) == rows
        assert min(sizes[:-1]) >= LEAST_ROWS
        assert max(sizes) <= MOST_ROWS


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet", "t.arrow", "t.ipc"])
def test_progress_goes_up_to_all_bytes(name, tmp_path, small_pieces):
    WRITERS[name](sample(), tmp_path / name)
    seen = []
    table = open_table(tmp_path / name)
    table.read(lambda batches: list(batches), progress=lambda *now: seen.append(now))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert {total for _, total in seen} == {table.size}
    assert seen[-1][0] == pytest.approx(table.size, rel=0.1)


def test_exceptions_of_the_consumer_pass_unchanged_and_no_thread_is_left(tmp_path, small_pieces):
    WRITERS["t.csv"](sample(), tmp_path / "t.csv")
    error = pa.ArrowInvalid("my own")

    def consume(batches):
        next(batches)
        raise error

    with pytest.raises(pa.ArrowInvalid) as caught:
        open_table(tmp_path / "t.csv").read(consume)
    assert caught.value is error
    assert open_table(tmp_path / "t.csv").read(lambda batches: next(batches).num_rows)
    assert not [t for t in threading.enumerate() if t.name.startswith("pnml-table")]


def test_work_ahead_keeps_the_order_and_the_place_of_errors():
    def items():
        yield from range(10)
        raise InputError("no more")

    def slow(n):
        time.sleep(0.01 * (n % 3))
        return n

    results = prefetch(items(), slow, 3)
    assert [next(results) for _ in range(10)] == list(range(10))
    with pytest.raises(InputError, match="no more"):
        next(results)


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as POSIX does")
def test_ctrl_c_ends_a_reading_at_once(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "1,2\n" * 2_000_000)
    code = """
        import sys, time, threading
        from pnml.readers import open_table
        def consume(batches):
            for _ in batches:
                print("reading", flush=True)
                time.sleep(0.5)
        try:
            open_table(sys.argv[1]).read(consume)
        except KeyboardInterrupt:
            left = [t.name for t in threading.enumerate() if t.name.startswith("pnml-table")]
            print("stopped", left, flush=True)
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(path)]
    with child.started(command, seconds=60, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "reading\n"
        process.send_signal(signal.SIGINT)
        begun = time.monotonic()
        rest, _ = process.communicate()
    assert "stopped []" in rest
    assert time.monotonic() - begun < 10
