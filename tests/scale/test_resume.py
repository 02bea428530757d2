"""A pass that was killed goes on where it was, to the same bits."""

from __future__ import annotations

import os
import signal
import sys
import time

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest

import child
from made_tables import mixed, numbers
from pnml import InputError, PNMLRegressor
from pnml.scale import fit_files, fit_mixed_files
from pnml.scale.checkpoint import _first_difference
from written_files import same_statistic, write


class Stopped(Exception):
    """The end of a pass that something else has ended."""


def stop_after(rows):
    def tell(_done, _total, seen):
        if seen >= rows:
            raise Stopped

    return tell


@pytest.mark.parametrize("ending", ["parquet", "csv", "arrow"])
@pytest.mark.parametrize("skip_bad", [False, True])
def test_a_pass_broken_off_anywhere_ends_with_the_same_bits(ending, skip_bad, tmp_path):
    folder = write(numbers(900, 3), tmp_path / "t", parts=6, ending=ending)
    whole = fit_files(PNMLRegressor(), folder, "y")
    kept = tmp_path / "kept"
    asked = {"checkpoint": kept, "checkpoint_seconds": 0.0, "skip_bad": skip_bad}
    for rows in (150, 450, 750):
        with pytest.raises(Stopped):
            fit_files(PNMLRegressor(), folder, "y", progress=stop_after(rows), **asked)
        assert kept.exists() or rows == 150
    seen = []
    model = fit_files(PNMLRegressor(), folder, "y", progress=lambda *n: seen.append(n[2]), **asked)
    assert seen[0] > 600, "the first files were read again"
    assert same_statistic(model._statistic, whole._statistic)
    assert not kept.exists()


@pytest.mark.parametrize("group", [100, 700, 6000])
def test_a_pass_broken_off_inside_a_file_goes_on_inside_it(group, tmp_path, monkeypatch):
    monkeypatch.setattr("pnml.readers.parquet_or_arrow_file._PARQUET_ROWS", 250)
    path = tmp_path / "one.parquet"
    pyarrow.parquet.write_table(numbers(6000, 2), path, row_group_size=group)
    whole = fit_files(PNMLRegressor(), path, "y")
    asked = {"checkpoint": tmp_path / "kept", "checkpoint_seconds": 0.0}
    with pytest.raises(Stopped):
        fit_files(PNMLRegressor(), path, "y", progress=stop_after(4000), **asked)
    seen = []
    model = fit_files(PNMLRegressor(), path, "y", progress=lambda *n: seen.append(n[2]), **asked)
    assert seen[0] > 3000
    assert seen[-1] == 6000
    assert same_statistic(model._statistic, whole._statistic)


FIT = """
import sys
import pnml.tables.fitting
from pnml import PNMLRegressor
from pnml.scale import fit_files, fit_mixed_files
folder, kept, kind = sys.argv[1:]
pnml.tables.fitting.MOST_ROWS = 500
asked = dict(checkpoint=kept, checkpoint_seconds=0.0)
if kind == "mixed":
    fit_mixed_files(folder, "y", learner="pnml", **asked)
else:
    fit_files(PNMLRegressor(), folder, "y", **asked)
"""


@pytest.mark.skipif(os.name != "posix", reason="kills as POSIX does")
@pytest.mark.parametrize("kind", ["numbers", "mixed"])
def test_sigkill_and_a_second_start_give_the_same_bits(kind, tmp_path, monkeypatch):
    monkeypatch.setattr("pnml.tables.fitting.MOST_ROWS", 500)
    table = mixed(6_000, seed=4) if kind == "mixed" else numbers(6_000, 8)
    folder, kept = write(table, tmp_path / "t", parts=30), tmp_path / "kept"
    command = [sys.executable, "-c", FIT, str(folder), str(kept), kind]
    with child.started(command) as process:
        while not kept.exists() and process.poll() is None:
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL, "it was done before it could be killed"
    seen = []
    asked = {"checkpoint": kept, "progress": lambda *news: seen.append(news[2])}
    if kind == "mixed":
        a = fit_mixed_files(folder, "y", learner="pnml", **asked)
        b = fit_mixed_files(folder, "y", learner="pnml")
        assert a.encoder.columns == b.encoder.columns
        a, b = a.estimator, b.estimator
    else:
        a, b = (fit_files(PNMLRegressor(), folder, "y", **more) for more in (asked, {}))
    assert seen[0] > 200, "it began anew"
    assert same_statistic(a._statistic, b._statistic)
    assert not kept.exists()


def test_text_that_turns_out_wider_is_counted_once(tmp_path, monkeypatch):
    """Whole numbers in the first file, fractions in the second, words in the third."""
    monkeypatch.setattr("pnml.tables.fitting.MOST_ROWS", 50)
    folder = tmp_path / "t"
    folder.mkdir()
    table = numbers(300, 2)
    x = table["x0"].to_numpy()
    whole = table.set_column(0, "x0", [np.arange(300) % 7])
    pyarrow.csv.write_csv(whole.slice(0, 100), folder / "a.csv")
    pyarrow.csv.write_csv(table.slice(100, 200), folder / "b.csv")
    kept = tmp_path / "kept"
    model = fit_mixed_files(
        folder, "y", learner="ols", checkpoint=kept, checkpoint_seconds=0.0, threads=1
    )
    x = np.concatenate([np.arange(100) % 7, x[100:]])
    X, y = np.column_stack([x, table["x1"].to_numpy()]), table["y"].to_numpy()
    truth = PNMLRegressor().fit(X, y)
    new = table.slice(0, 20).to_batches()[0]
    np.testing.assert_allclose(
        model.score(new, 0.9, 0.99).answer.prediction,
        truth.predict(np.column_stack([table[n].to_numpy()[:20] for n in ("x0", "x1")])),
        rtol=1e-8,
    )
    assert model.rows == 300
    assert not kept.exists()


@pytest.fixture
def kept(tmp_path):
    """A checkpoint of a pass over a folder."""
    folder = write(numbers(300, 3), tmp_path / "t")
    asked = {"checkpoint": tmp_path / "kept", "checkpoint_seconds": 0.0}
    with pytest.raises(Stopped):
        fit_files(PNMLRegressor(), folder, "y", progress=stop_after(150), **asked)
    assert asked["checkpoint"].exists()
    return folder, asked


def test_an_entry_of_none_differs_from_one_that_is_not_there():
    assert _first_difference({"a": 1, "b": None}, {"a": 1}) == " (b)"


def test_a_checkpoint_of_other_files_or_columns_is_refused(kept):
    folder, asked = kept
    with pytest.raises(InputError, match=r"kept: it was made with other columns \(features\)"):
        fit_files(PNMLRegressor(), folder, "y", columns=["x0"], **asked)
    pyarrow.parquet.write_table(numbers(10, 3, seed=9), folder / "part-2.parquet")
    with pytest.raises(InputError, match=r"other files \(.*part-2.parquet\); delete it"):
        fit_files(PNMLRegressor(), folder, "y", **asked)


def test_what_is_no_checkpoint_is_refused(kept):
    folder, asked = kept
    asked["checkpoint"].write_bytes(asked["checkpoint"].read_bytes()[:-9])
    with pytest.raises(InputError, match="Cannot go on from the checkpoint"):
        fit_files(PNMLRegressor(), folder, "y", **asked)
    with pytest.raises(InputError, match="There is no folder"):
        fit_files(PNMLRegressor(), folder, "y", checkpoint="nowhere/at/all")
    for name, value in (("checkpoint_seconds", -1), ("threads", 0), ("threads", True)):
        with pytest.raises(InputError, match=name):
            fit_files(PNMLRegressor(), folder, "y", **{name: value})
