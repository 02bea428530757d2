"""However a pass goes, every row of a good file counts once, in two passes at most."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import child
from made_tables import mixed, numbers
from pnml import InputError, PNMLRegressor
from pnml.readers.csv_file import CsvFile
from pnml.scale import fit_files, fit_mixed_files
from pnml.scale.checkpoint import LeftOutWarning
from written_files import WRITERS, same_statistic, write


@pytest.fixture
def small_pieces(monkeypatch):
    """Files of some kilobytes come in several pieces, and tables of some hundred rows are long."""
    monkeypatch.setattr("pnml.readers.parquet_or_arrow_file._PARQUET_ROWS", 100)
    monkeypatch.setattr("pnml.readers.encoding_and_compression.PIECE_BYTES", 2**11)
    monkeypatch.setattr("pnml.tables.fitting.MOST_ROWS", 300)


def break_near_the_end(path):
    """Turn bytes over in the last pages of a Parquet file, whose pages have checksums."""
    data = bytearray(path.read_bytes())
    place = pyarrow.parquet.ParquetFile(path).metadata
    group = place.row_group(place.num_row_groups - 1).column(0)
    at = group.data_page_offset + group.total_compressed_size - 16
    data[at : at + 8] = bytes(255 - byte for byte in data[at : at + 8])
    path.write_bytes(data)


def checked_files(table, folder, parts=4, rows=100):
    """Parquet files of several row groups with checksums."""
    folder.mkdir()
    step = table.num_rows // parts
    for i in range(parts):
        piece = table.slice(i * step, step)
        path = folder / f"part-{i}.parquet"
        pyarrow.parquet.write_table(piece, path, row_group_size=rows, write_page_checksum=True)
    return folder


FITS = {
    "numbers": lambda folder, **asked: fit_files(PNMLRegressor(), folder, "y", **asked),
    "mixed": lambda folder, **asked: (
        fit_mixed_files(folder, "y", learner="pnml", **asked).estimator
    ),
}


@pytest.mark.parametrize("kind", FITS)
def test_files_may_be_left_out_by_who_takes_up_a_pass_that_they_ended(kind, tmp_path, small_pieces):
    """Rows of a file that were counted before it broke go out again; no others do."""
    fit, table = FITS[kind], mixed(4000) if kind == "mixed" else numbers(4000, 3)
    folder = checked_files(table, tmp_path / "t")
    break_near_the_end(folder / "part-2.parquet")
    asked = {"checkpoint": tmp_path / "kept", "checkpoint_seconds": 0.0, "threads": 1}
    with pytest.raises(InputError, match=r"part-2.parquet is damaged"):
        fit(folder, **asked)
    assert asked["checkpoint"].exists()
    seen = []
    with pytest.warns(LeftOutWarning, match="part-2.parquet"):
        rest = fit(folder, skip_bad=True, progress=lambda *n: seen.append(n[2]), **asked)
    assert seen[0] > 2000, "it began anew"
    (folder / "part-2.parquet").unlink()
    others = fit(folder)
    assert rest._statistic.rows == others._statistic.rows == 3000
    np.testing.assert_allclose(rest._statistic.xx, others._statistic.xx, rtol=1e-12, atol=1e-9)


def test_a_pass_that_left_files_out_is_not_taken_up_by_one_that_may_not(tmp_path, small_pieces):
    folder = checked_files(numbers(4000, 3), tmp_path / "t")
    break_near_the_end(folder / "part-1.parquet")
    asked = {"checkpoint": tmp_path / "kept", "checkpoint_seconds": 0.0}

    def stop(_done, _total, rows):
        if rows >= 2500:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit_files(PNMLRegressor(), folder, "y", skip_bad=True, progress=stop, **asked)
    with pytest.raises(InputError, match=r"has left .*part-1.parquet out.* delete the checkpoint"):
        fit_files(PNMLRegressor(), folder, "y", **asked)
    assert asked["checkpoint"].exists()


@pytest.mark.parametrize("kind", FITS)
def test_a_file_that_breaks_in_its_last_piece_costs_no_row_of_the_others(
    kind, tmp_path, small_pieces
):
    fit, table = FITS[kind], mixed(4000) if kind == "mixed" else numbers(4000, 3)
    folder = checked_files(table, tmp_path / "t")
    for number in (1, 3):  # one in the middle and the last
        break_near_the_end(folder / f"part-{number}.parquet")
    for threads in (1, 3):
        with pytest.warns(LeftOutWarning, match=r"2 files were left out \(and 1 more\): .*part-1"):
            rest = fit(folder, skip_bad=True, threads=threads)
        assert rest._statistic.rows == 2000
    for number in (1, 3):
        (folder / f"part-{number}.parquet").unlink()
    np.testing.assert_allclose(rest._statistic.xx, fit(folder)._statistic.xx, rtol=1e-12, atol=1e-9)


FIT = """
import sys
import pnml.readers.parquet_or_arrow_file
from pnml import PNMLRegressor
from pnml.scale import fit_files
pnml.readers.parquet_or_arrow_file._PARQUET_ROWS = 100
fit_files(PNMLRegressor(), sys.argv[1], "y", checkpoint=sys.argv[2], checkpoint_seconds=0.0)
"""


@pytest.mark.skipif(os.name != "posix", reason="kills as POSIX does")
def test_kills_again_and_again_do_not_change_a_bit(tmp_path, small_pieces):
    """SIGKILL at whatever moment, some of them while a checkpoint is being written."""
    folder, kept = checked_files(numbers(12_000, 5), tmp_path / "t"), tmp_path / "kept"
    command = [sys.executable, "-c", FIT, str(folder), str(kept)]
    kills = 0
    for _ in range(2):
        old = kept.stat().st_mtime_ns if kept.exists() else 0
        with child.started(command) as process:
            while process.poll() is None:
                if kept.exists() and kept.stat().st_mtime_ns != old:
                    time.sleep(0.0137)
                    process.send_signal(signal.SIGKILL)
                    break
                time.sleep(0.001)
        kills += process.returncode == -signal.SIGKILL
    assert kills == 2, "it was done before it could be killed"
    seen = []
    asked = {"checkpoint": kept, "progress": lambda *news: seen.append(news[2])}
    again, whole = (fit_files(PNMLRegressor(), folder, "y", **more) for more in (asked, {}))
    assert seen[0] > 100, "it began anew"
    assert same_statistic(again._statistic, whole._statistic)


@pytest.mark.parametrize("row", [150, 900])
def test_text_whose_later_pieces_are_wider_is_read_twice_at_most(
    row, tmp_path, monkeypatch, small_pieces
):
    """Many pieces need other types, from within the first look on or from behind it."""
    n, rng = 12_000, np.random.default_rng(0)
    whole = rng.integers(0, 9, size=n)
    cells = [str(v) if i < row else f"{v}.5" for i, v in enumerate(whole)]
    z, y = rng.normal(size=n), rng.normal(size=n)
    lines = [f"{c},{a:.9f},{b:.9f}" for c, a, b in zip(cells, z, y, strict=True)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["x,z,y", *lines]) + "\n")
    read = []
    pieces = CsvFile.pieces

    def noted(self, skip=0):
        for block in pieces(self, skip):
            read.append(len(block.data))
            yield block

    monkeypatch.setattr(CsvFile, "pieces", noted)
    model = fit_mixed_files(path, "y", learner="ols", threads=1)
    assert model.rows == n
    assert sum(read) <= 2.6 * path.stat().st_size  # two passes, and looks at the first rows
    x = np.array([float(cell) for cell in cells])
    truth = PNMLRegressor().fit(np.column_stack([x, z]), y)
    new = pa.record_batch({"x": x[:40], "z": z[:40]})
    np.testing.assert_allclose(
        model.score(new, 0.9, 0.99).answer.prediction,
        truth.predict(np.column_stack([x, z])[:40]),
        rtol=1e-6,
    )


MEASURED = """
import re, sys
from pathlib import Path
import pnml.cli, pnml.scale.number_files, pnml.readers
def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024
sys.argv = ["pnml", "fit", sys.argv[1], "--target", "y", "-o", sys.argv[2], "--learner", "pnml"]
try:
    pnml.cli.main()
finally:
    print(peak(), file=sys.stderr)
"""


def peak_of_fit(folder, model):
    """Peak memory of a fit in bytes: the least of three, as the system decides what waits."""
    peaks = []
    for _ in range(3):
        done = child.run([sys.executable, "-c", MEASURED, str(folder), str(model)], check=True)
        peaks.append(int(re.findall(r"^\d+$", done.stderr, re.M)[-1]))
    return min(peaks)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is told by Linux")
@pytest.mark.parametrize("ending", ["parquet", pytest.param("csv", marks=pytest.mark.slow)])
def test_the_memory_of_a_fit_does_not_grow_with_the_table(ending, tmp_path):
    """A table three times as long, by 100 MB of numbers and more, takes next to no more."""
    rng, peaks = np.random.default_rng(0), []
    X = rng.normal(size=(60_000, 28)).round(3)
    table = pa.table({f"x{j}": X[:, j] for j in range(28)} | {"y": X.sum(axis=1).round(3)})
    WRITERS[ending](table, tmp_path / "part")
    for times in (1, 3):
        folder = tmp_path / f"{times}"
        folder.mkdir()
        for part in range(4 * times):
            (folder / f"{part}.{ending}").hardlink_to(tmp_path / "part")
        peaks.append(peak_of_fit(folder, tmp_path / "m.pnml"))
    assert peaks[1] - peaks[0] < 40e6, peaks


def test_a_worse_file_after_a_retyped_one_is_still_named(tmp_path, small_pieces):
    folder = write(numbers(4000, 2), tmp_path / "t", ending="csv")
    path = folder / "part-3.csv"
    path.write_text(path.read_text() + "1,2\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputError, match=r"part-3.csv has 2 cells"):
            fit_mixed_files(folder, "y", learner="pnml")
