"""No child process of a test outlives its time, fills a disk or ignores Ctrl-C."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import child

pytestmark = pytest.mark.skipif(os.name != "posix", reason="limits and signals of POSIX")


def test_a_child_gives_its_output_and_exit_code():
    done = child.python(
        "import sys; print(input(), sys.argv[1:]); sys.exit(3)", "a", stdin_text="hello"
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, "hello ['a']\n", "")
    with pytest.raises(AssertionError, match="ValueError"):
        child.python("raise ValueError", check=True)


def test_a_child_that_takes_too_long_is_killed_with_its_own_children():
    begun = time.monotonic()
    with pytest.raises(subprocess.TimeoutExpired):
        child.run(["sh", "-c", "sleep 60 | sleep 60"], seconds=0.3)
    assert time.monotonic() - begun < 30


def test_a_child_is_killed_where_the_test_fails():
    def failing():
        with child.started(["sleep", "60"]) as process:
            running.append(process)
            raise KeyError

    running = []
    begun = time.monotonic()
    with pytest.raises(KeyError):
        failing()
    assert running[0].returncode == -signal.SIGKILL
    assert time.monotonic() - begun < 30


def test_a_child_may_not_write_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(child, "_FILE_BYTES", 10_000)
    code = "import sys; f = open(sys.argv[1], 'wb', 0)\nwhile True: f.write(bytes(4096))"
    done = child.python(code, tmp_path / "long")
    assert "File too large" in done.stderr
    assert (tmp_path / "long").stat().st_size <= 10_000


@pytest.mark.parametrize("handler", [signal.SIG_IGN, signal.SIG_DFL])
def test_ctrl_c_reaches_a_child_even_where_the_test_ignores_it(handler):
    code = "import time\nprint('here', flush=True)\ntime.sleep(60)"
    before = signal.signal(signal.SIGINT, handler)
    try:
        with child.started(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            assert process.stdout.readline() == b"here\n"
            process.send_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert process.returncode == -signal.SIGINT


def test_every_test_starts_its_children_here():
    folder = Path(__file__).parent
    calls = re.compile(r"subprocess\.(run|Popen|call|check_call|check_output)\(")
    ours = {folder / "child.py", folder / "test_child.py"}
    starting = [path for path in folder.rglob("*.py") if calls.search(path.read_text("utf-8"))]
    assert set(starting) <= ours
