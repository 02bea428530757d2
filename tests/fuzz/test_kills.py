"""A killed process loses no output, and the next run leaves nothing behind."""

import os
import sys
from pathlib import Path

import pytest

import child

pytest.importorskip("pyarrow")
pytest.importorskip("typer")
ROOT = Path(__file__).parents[2]


@pytest.mark.integration
@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills as POSIX does")
@pytest.mark.parametrize("seed", [1, 2])
def test_kills_at_random_moments_lose_nothing_and_leave_nothing_behind(seed):
    pytest.importorskip("onnx")
    command = [sys.executable, "-m", "tests.fuzz.kills", "--kills", "12", "--seed", str(seed)]
    done = child.run(command, cwd=ROOT, seconds=500)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "12 kills, 0 wrong" in done.stdout
