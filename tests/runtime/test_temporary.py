"""Nothing is left behind: neither by a killed process nor on systems without unnamed files."""

from __future__ import annotations

import errno
import os
import re
import sys

import pytest

import child
from pnml.runtime import temporary
from pnml.runtime.atomic import write_whole
from pnml.runtime.temporary import sweep, temporary_name
from windows_stubs import be_windows

WRITE = """
import os, sys, time
from pathlib import Path
from pnml.runtime.atomic import whole_file
from pnml.readers.spooled import Spool
if sys.argv[2] == "named":
    del os.O_TMPFILE
spool = Spool.new()
spool.path.write_bytes(b"spooled")
with whole_file(Path(sys.argv[1], "file")) as file:
    file.write(b"half")
    file.flush()
    print("ready", flush=True)
    time.sleep(300)
"""


@pytest.fixture
def unswept(monkeypatch):
    monkeypatch.setattr(temporary, "_swept", set())


def killed_while_writing(folder, how):
    """Kill a process that writes a file; what it leaves in the folder."""
    command = [sys.executable, "-c", WRITE, str(folder), how]
    environment = {**os.environ, "TMPDIR": str(folder)}
    with child.started(command, stdout=-1, text=True, env=environment) as process:
        assert process.stdout.readline() == "ready\n"
        process.kill()
        process.stdout.read()
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="there are no files without a name")
def test_a_killed_process_leaves_nothing_where_files_need_no_name(tmp_path):
    assert killed_while_writing(tmp_path, "unnamed") == []


@pytest.mark.skipif(os.name != "posix", reason="processes are killed as POSIX does")
def test_elsewhere_the_next_writing_sweeps_up_what_a_killed_process_left(tmp_path, unswept):
    left = killed_while_writing(tmp_path, "named")
    assert len(left) == 2
    write_whole(tmp_path / "other", [b"new"])
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


def test_only_files_of_our_own_dead_processes_are_swept_up(tmp_path, unswept, monkeypatch):
    own = temporary_name(tmp_path, ".", "tmp")
    numbered = re.sub(r"-\d+-", "-{}-", own.name)
    alive, dead = numbered.format(os.getpid()), numbered.format(2**22 + 1)
    elsewhere = re.sub(r"-[0-9a-f]{8}-", "-00000000-", dead)
    kept = {alive, elsewhere, ".pnml-notes.tmp", "pnml-1.table", "data.csv"}
    for name in kept | {dead}:
        (tmp_path / name).write_bytes(b"")
    monkeypatch.setattr(os, "kill", _only_this_process)
    sweep(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == kept


def _only_this_process(process, signal):
    assert signal == 0
    if process != os.getpid():
        raise ProcessLookupError(errno.ESRCH, "no such process")


def test_a_system_that_links_no_unnamed_file_gets_a_copy(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise OSError(errno.EPERM, "not permitted")

    monkeypatch.setattr(os, "link", refuse)
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "file").chmod(0o640)
    write_whole(tmp_path / "file", [b"new"])
    assert (tmp_path / "file").read_bytes() == b"new"
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_files_are_written_and_read_without_what_windows_lacks(tmp_path, monkeypatch):
    from pnml import PNMLRegressor, load, save
    from pnml.readers.spooled import Spool
    from pnml.scale.monitor import RegretMonitor

    be_windows(monkeypatch)
    path = tmp_path / "model.pnml"
    model = PNMLRegressor().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.5])
    for _ in range(2):  # the second one replaces the first
        save(model, path)
        RegretMonitor([1.0, 2.0]).save(tmp_path / "monitor.pnml")
    assert load(path).coef_ == model.coef_
    spool = Spool.new()
    assert not re.search(r'[:*?"<>|]', spool.path.name)
    spool.remove()
    assert not spool.path.exists()
    assert sorted(found.name for found in tmp_path.iterdir()) == ["model.pnml", "monitor.pnml"]
