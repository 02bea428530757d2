"""No table takes the machine down: neither its columns, nor links, nor somebody who cuts it."""

from __future__ import annotations

import gzip
import os
import textwrap

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import child
from pnml import InputError
from pnml.readers import ReadOptions, open_table

GIB = 2**30
# Runs the code below under limits of memory and of processor time, and prints the sentence.
LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]), int(sys.argv[1])))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
from pnml import InputError
from pnml.readers import open_table
try:
    table = open_table(sys.argv[2])
    rows = table.read(lambda batches: sum(look(batch) for batch in batches))
    print(rows, "rows of", len(table.files), "files")
except InputError as error:
    print(error)
print(most_memory())
"""
COUNT = "def look(batch):\n    return batch.num_rows\n"


def limited(source, memory=4 * GIB, look=COUNT):
    """What a limited process says of a table, and the most memory that it had."""
    code = child.MOST_MEMORY + textwrap.dedent(look) + LIMITED
    done = child.python(code, memory, source, check=True)
    said, peak = done.stdout.splitlines()
    return said, int(peak)


@pytest.mark.skipif(os.name != "posix", reason="limits are those of POSIX")
def test_a_small_archive_of_commas_costs_little_memory(tmp_path):
    path = tmp_path / "commas.csv.gz"
    path.write_bytes(gzip.compress(b"," * 30_000_000 + b"\n"))
    assert path.stat().st_size < 40_000
    said, peak = limited(path)
    assert "has 30,000,001 columns, but at most 20,000 are read" in said
    assert peak < GIB / 2  # the row itself takes 30 MB, a few times; its names took 4.6 GB


def frames(width):
    """Tables of this many columns in every form that can be read."""
    columns = {f"c{i}": [1.0, 2.0] for i in range(width)}
    table = pa.table(columns)
    return {
        "pandas": pd.DataFrame(columns),
        "polars": pl.DataFrame(columns),
        "lazy": pl.LazyFrame(columns),
        "arrow": table,
        "stream": Stream(table),
    }


class Stream:
    """Anything with an Arrow stream."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


def files(width, folder):
    """The same as files."""
    table = pa.table({f"c{i}": [1.0, 2.0] for i in range(width)})
    quoted = ",".join(f'"c,{i}"' for i in range(width))
    (folder / "t.csv").write_text(f"{quoted}\n" + ",".join("1" * width) + "\n")
    (folder / "t.tsv").write_text("\t".join(table.column_names) + "\n" + "\t".join("1" * width))
    pyarrow.parquet.write_table(table, folder / "t.parquet")
    with pa.ipc.new_file(folder / "t.arrow", table.schema) as writer:
        writer.write_table(table)
    return {path.name: path for path in sorted(folder.iterdir())}


def test_the_limit_of_columns_holds_for_every_form_of_a_table_and_can_be_raised(tmp_path):
    sources = files(5, tmp_path) | frames(5)
    assert len(sources) == 9
    for source in sources.values():
        with pytest.raises(InputError, match=r"has 5 columns, but at most 4 are read.*max-columns"):
            open_table(source, ReadOptions(max_columns=4))
        assert len(open_table(source, ReadOptions(max_columns=5)).schema) == 5
    with pytest.raises(InputError, match="max_columns is 0, but it is a number of columns"):
        ReadOptions(max_columns=0)


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="there are no links")
def test_links_that_go_round_in_circles_are_followed_once(tmp_path):
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    for n in range(8):  # eight ways back at every step: without end in practice
        (inner / f"up{n}").symlink_to("..")
    (inner / "itself").symlink_to("itself")
    (inner / "t.csv").write_text("x\n1\n2\n")
    (tmp_path / "a" / "t.csv").write_text("x\n3\n")
    said, _ = limited(tmp_path / "**" / "*.csv")
    assert said == "3 rows of 2 files"


def test_two_stars_stand_for_folders_at_any_depth(tmp_path, monkeypatch):
    for name in ("t.csv", "a/t.csv", "a/b/t.csv", "a/b/u.txt", ".hidden/t.csv", "c/b/t.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x\n1\n")
    monkeypatch.chdir(tmp_path)
    for pattern, names in {
        "**/*.csv": ["a/b/t.csv", "a/t.csv", "c/b/t.csv", "t.csv"],
        "a/**/t.csv": ["a/b/t.csv", "a/t.csv"],
        "**/b/**": ["a/b/t.csv", "a/b/u.txt", "c/b/t.csv"],
        "?/**/b/*.csv": ["a/b/t.csv", "c/b/t.csv"],
    }.items():
        assert [str(path) for path in open_table(pattern).files] == names


@pytest.mark.skipif(os.name != "posix", reason="elsewhere an open file cannot be cut")
@pytest.mark.parametrize("ending", ["arrow", "parquet", "csv"])
def test_a_file_cut_short_while_it_is_read_is_told_of(ending, tmp_path):
    """A map of the file would end the process by SIGBUS."""
    path = tmp_path / f"t.{ending}"
    table = pa.table({f"x{i}": np.random.default_rng(i).normal(size=400_000) for i in range(3)})
    if ending == "arrow":
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=20_000)
    elif ending == "parquet":
        pyarrow.parquet.write_table(table, path, row_group_size=20_000)
    else:
        pyarrow.csv.write_csv(table, path)
    cut = """
        import os, sys
        def look(batch):
            os.truncate(sys.argv[2], 20_000)
            return batch.num_rows
    """
    said, _ = limited(path, look=cut)
    assert said == f"{path} was changed while it was being read; start again when it is at rest."


def test_only_the_columns_asked_for_are_read_from_an_arrow_file(tmp_path):
    table = pa.table({"x": [1, 2], "s": ["a", "b"], "y": [3.0, 4.0]})
    for name, opened in (("f.arrow", pa.ipc.new_file), ("s.arrow", pa.ipc.new_stream)):
        with opened(tmp_path / name, table.schema) as writer:
            writer.write_table(table)
        source = open_table(tmp_path / name, columns=["y", "s"])
        read = source.read(lambda batches: pa.Table.from_batches(list(batches)))
        assert read.equals(table.select(["s", "y"]))


def test_control_characters_of_names_do_not_reach_a_message(tmp_path):
    name = "a\x1b[31m\x07\u202eb"
    path = tmp_path / "t.csv"
    path.write_text(f"{name},{name}\n1,2\n")
    with pytest.raises(InputError) as raised:
        open_table(path)
    assert str(raised.value).isprintable()
    assert "a␛[31m␇" in str(raised.value)
    with pytest.raises(InputError) as raised:
        open_table(tmp_path / "no\x1b]0;title\x07such.csv")
    assert str(raised.value).isprintable()
