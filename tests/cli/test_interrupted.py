"""Full disks, folders that may not be written, Ctrl-C: the old file stays whole."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

import child
from made_tables import mixed
from sentences import assert_one_sentence, state

LONG = mixed(20_000, seed=3)


def limited():
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


WRITING = {
    "fit": (["fit", "train.csv", "--target", "y", "-o", "out/old.pnml"], "old.pnml"),
    "score to CSV": (["score", "model.pnml", "long.parquet", "-o", "out/old.csv"], "old.csv"),
    "score to Parquet": (["score", "model.pnml", "long.parquet", "-o", "out/old.pq"], "old.pq"),
    "report": (["report", "model.pnml", "new.csv", "-o", "out/old.html"], "old.html"),
}


@pytest.mark.skipif(os.name != "posix", reason="limits on files are those of POSIX")
@pytest.mark.parametrize("name", WRITING)
def test_a_full_disk_leaves_the_old_file_whole(name, here, installed):
    arguments, file = WRITING[name]
    pyarrow.parquet.write_table(LONG, "long.parquet")
    Path("out").mkdir()
    Path("out", file).write_bytes(b"old and whole")
    before = state(here)
    done = installed(*arguments, preexec_fn=limited)
    assert_one_sentence(done.returncode, done.stdout, done.stderr, [file, "File too large"])
    assert state(here) == before


@pytest.fixture
def mounted(here):
    """Mounts a small disk on `out`, with the options given."""

    def mount(options):
        Path("out").mkdir(exist_ok=True)
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", "out"]
        if child.run(command).returncode:
            pytest.skip("this user may not mount a small disk")

    yield mount
    child.run(["umount", "out"])


@pytest.mark.parametrize("name", WRITING)
def test_a_disk_without_room_leaves_the_old_file_whole(name, here, mounted, call):
    arguments, file = WRITING[name]
    pyarrow.parquet.write_table(LONG, "long.parquet")
    mounted("size=16k")
    Path("out", file).write_bytes(b"old and whole")
    before = state(here)
    done = call(*arguments)
    assert_one_sentence(done.code, done.out, done.err, [file, "No space left"])
    assert state(here) == before


@pytest.mark.parametrize("name", WRITING)
def test_a_folder_that_may_not_be_written_is_refused(name, here, mounted, call):
    arguments, file = WRITING[name]
    pyarrow.parquet.write_table(LONG, "long.parquet")
    mounted("size=16k")
    Path("out", file).write_bytes(b"old and whole")
    child.run(["mount", "-o", "remount,ro", "out"], check=True)
    before = state(here)
    done = call(*arguments)
    assert_one_sentence(done.code, done.out, done.err, ["out"])
    assert state(here) == before


INTERRUPTED = """
import os, signal, sys
from pnml.cli import main
import {module} as module

kept, calls = module.{owner}.{function}, []

def interrupted(*arguments, **options):
    calls.append(1)
    if len(calls) == {call}:
        os.kill(os.getpid(), signal.SIGINT)
    return kept(*arguments, **options)

module.{owner}.{function} = interrupted
sys.argv = ["pnml", *sys.argv[1:]]
main()
"""
MOMENTS = {
    "fit while it counts": ("fit", "pnml.tables.encoder_builder", "EncoderBuilder", "encode", 1),
    "fit while it saves": ("fit", "pnml.runtime.atomic", "os", "fsync", 1),
    "score between batches": (
        "score to CSV",
        "pnml.tables.fitted_table",
        "FittedTable",
        "score",
        2,
    ),
    "score to Parquet": ("score to Parquet", "pnml.tables.fitted_table", "FittedTable", "score", 2),
    "report between batches": ("report", "pnml.tables.fitted_table", "FittedTable", "score", 1),
}


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as POSIX does")
@pytest.mark.parametrize("name", MOMENTS)
def test_ctrl_c_exits_with_130_and_leaves_the_old_file_whole(name, here):
    what, module, owner, function, number = MOMENTS[name]
    arguments, file = WRITING[what]
    pyarrow.parquet.write_table(pa.concat_tables([LONG] * 8), "long.parquet", row_group_size=20_000)
    Path("out").mkdir()
    Path("out", file).write_bytes(b"old and whole")
    before = state(here)
    code = INTERRUPTED.format(module=module, owner=owner, function=function, call=number)
    done = child.python(code, *arguments, seconds=60)
    assert_one_sentence(done.returncode, done.stdout, done.stderr, ["Stopped"], expected=130)
    assert state(here) == before


STANDARD_INPUT = {
    "fit": ["fit", "-", "--target", "y", "-o", "old.pnml"],
    "score": ["score", "model.pnml", "-", "-o", "old.csv"],
}


def keeps_unnamed(process, folder):
    """Whether a process has an open file without a name in a folder."""
    with suppress(OSError):
        handles = Path(f"/proc/{process}/fd").iterdir()
        return any(str(handle.readlink()).startswith(f"{folder}/#") for handle in handles)
    return False


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as POSIX does")
@pytest.mark.parametrize("command", STANDARD_INPUT)
def test_ctrl_c_while_waiting_for_standard_input_exits_with_130(command, here, installed):
    arguments = STANDARD_INPUT[command]
    kept = set(Path("/tmp").glob("pnml-*.table"))
    with child.started(
        [installed.command, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(here)},
    ) as process:
        for _ in range(600):  # until it keeps what it reads
            if list(here.glob("pnml-*.table")) or keeps_unnamed(process.pid, here):
                break
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert_one_sentence(process.returncode, out, err, ["Stopped"], expected=130)
    assert not list(here.glob("pnml-*"))
    assert set(Path("/tmp").glob("pnml-*.table")) <= kept
    assert not Path("old.pnml").exists()
    assert not Path("old.csv").exists()
