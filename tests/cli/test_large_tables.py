"""``pnml fit`` on many files: addresses, bad files, and a kill half-way."""

from __future__ import annotations

import os
import signal
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

import child
from made_tables import mixed, numbers
from pnml import load
from sentences import assert_one_sentence, state
from written_files import same_statistic, write


def test_a_bad_file_is_named_or_left_out(here, call):
    write(mixed(400), here / "t")
    bad = here / "t" / "part-1.parquet"
    bad.write_bytes(bad.read_bytes()[:-20])
    before = state(here)
    done = call("fit", "t", "--target", "y", "-o", "m.pnml")
    assert_one_sentence(done.code, done.out, done.err, ["part-1.parquet"])
    assert state(here) == before
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        done = call("fit", "t", "--target", "y", "-o", "m.pnml", "--skip-bad")
    assert done.code == 0
    assert done.err.startswith("Note: 1 file was left out: t/part-1.parquet is damaged")
    assert load("m.pnml").rows == 300


def test_a_fit_that_a_bad_file_has_ended_goes_on_without_it(here, call, monkeypatch):
    """Of its first pieces, which were counted before the bad one came, nothing stays."""
    monkeypatch.setattr("pnml.scale.resumable_pass.EVERY", 0.0)
    monkeypatch.setattr("pnml.tables.fitting.MOST_ROWS", 300)
    monkeypatch.setattr("pnml.readers.parquet_or_arrow_file._PARQUET_ROWS", 100)
    table = mixed(4000, seed=3)
    (here / "t").mkdir()
    for part in range(4):
        rows, path = table.slice(1000 * part, 1000), here / "t" / f"{part}.parquet"
        pyarrow.parquet.write_table(rows, path, row_group_size=100, write_page_checksum=True)
    bad = here / "t" / "2.parquet"
    place = pyarrow.parquet.ParquetFile(bad).metadata.row_group(9).column(0)
    data = bytearray(bad.read_bytes())
    data[place.data_page_offset + place.total_compressed_size - 9] ^= 255
    bad.write_bytes(data)
    arguments = ["fit", "t", "--target", "y", "--learner", "pnml", "-o", "m.pnml"]
    done = call(*arguments)
    assert_one_sentence(done.code, done.out, done.err, ["2.parquet"])
    assert Path("m.pnml.part").exists()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        done = call(*arguments, "--skip-bad")
    assert done.code == 0, done.err
    assert load("m.pnml").rows == 3000
    bad.unlink()
    assert call(*arguments[:-1], "others.pnml").code == 0
    ours, theirs = (load(name).estimator for name in ("m.pnml", "others.pnml"))
    np.testing.assert_allclose(ours._statistic.yy, theirs._statistic.yy, rtol=1e-12)


def test_addresses_are_tables_too(here, call):
    pytest.importorskip("fsspec")
    write(numbers(300, 3), here / "t")
    assert call("fit", f"file://{here}/t/*.parquet", "--target", "y", "-o", "a.pnml").code == 0
    assert call("fit", "t", "--target", "y", "-o", "b.pnml").code == 0
    assert load("a.pnml").losses == load("b.pnml").losses
    assert call("score", "a.pnml", f"file://{here}/t", "-o", "scored.csv").code == 0


COMMAND = """
import sys
import pnml.scale.resumable_pass, pnml.tables.fitting
from pnml.cli import main
pnml.scale.resumable_pass.EVERY = 0.0
pnml.tables.fitting.MOST_ROWS = 300
sys.argv = ["pnml", *sys.argv[1:]]
main()
"""


@pytest.mark.skipif(os.name != "posix", reason="kills as POSIX does")
def test_a_killed_fit_goes_on_when_it_is_started_again(here, call, monkeypatch):
    monkeypatch.setattr("pnml.tables.fitting.MOST_ROWS", 300)
    write(mixed(6000, seed=1), here / "t", parts=30)
    arguments = ["fit", "t", "--target", "y", "-o", "a.pnml"]
    kept = Path("a.pnml.part")
    with child.started([sys.executable, "-c", COMMAND, *arguments]) as process:
        while not kept.exists() and process.poll() is None:
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert not Path("a.pnml").exists()
    other = call(*arguments, "--drop", "age")
    words = ["a.pnml.part", "other columns (drop)", "delete it"]
    assert_one_sentence(other.code, other.out, other.err, words)
    assert kept.exists()
    for out in ("a.pnml", "b.pnml"):
        assert call(*arguments[:-1], out).code == 0
    assert same_statistic(load("a.pnml").estimator._statistic, load("b.pnml").estimator._statistic)
    assert not list(here.glob("*.part"))
