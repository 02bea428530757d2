"""The installed command, run as a user runs it; facts are checked, not the looks."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pytest

COMMAND = shutil.which("pnml", path=str(Path(sys.executable).parent)) or shutil.which("pnml")

pytestmark = [
    pytest.mark.skipif(find_spec("typer") is None, reason="the cli extra is not installed"),
    pytest.mark.skipif(COMMAND is None, reason="the package is not installed, only on the path"),
]


def run(*arguments, **environment):
    return subprocess.run(
        [COMMAND, *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", **environment},
    )


def seconds(*arguments):
    """Processor time of one run; the clock on the wall also counts what else the machine does."""
    before = os.times()
    run(*arguments)
    after = os.times()
    return (
        after.children_user + after.children_system - before.children_user - before.children_system
    )


@pytest.fixture(scope="module")
def demo():
    return run("demo", COLUMNS="80")


@pytest.fixture(scope="module")
def rows(demo):
    """The rows of the table: (label, regret, trusted, reason)."""
    pattern = r"^ *(\d+(?:, .*?)?) +\S+ +\S+ … \S+ +([\d.]+|inf) +(yes|NO) *(.*?) *$"
    return re.findall(pattern, demo.stdout, flags=re.MULTILINE)


def test_the_demo_succeeds_and_keeps_quiet_on_stderr(demo):
    assert demo.returncode == 0, demo.stderr
    assert demo.stderr == ""


def test_ordinary_patients_are_trusted_and_wrong_units_are_not(rows):
    ordinary = [row for row in rows if "," not in row[0]]
    mistaken = [row for row in rows if "," in row[0]]
    assert len(ordinary) == 5
    assert len(mistaken) == 3
    assert all(trusted == "yes" for _, _, trusted, _ in ordinary)
    assert all(trusted == "NO" for _, _, trusted, _ in mistaken)
    largest = max(float(regret) for _, regret, _, _ in ordinary)
    assert min(float(regret) for _, regret, _, _ in mistaken) > 3 * largest


def test_the_reason_names_the_measurement_that_was_changed(rows):
    for label, _, trusted, reason in rows:
        if trusted == "NO":
            changed = label.split(", ")[1].split(" in ")[0]
            assert changed in reason.split(", ")


def test_the_coverage_of_the_held_out_rows_is_stated_and_near_its_target(demo):
    told = " ".join(demo.stdout.split())
    covered = re.search(r"held-out patients, (\d+)% fell inside their 90% interval", told)
    assert covered
    assert 80 <= int(covered[1]) <= 98


@pytest.mark.parametrize("columns", ["80", "120"])
def test_piped_output_has_no_colour_codes_and_fits_the_screen(columns):
    out = run("demo", COLUMNS=columns).stdout
    assert "\x1b" not in out
    assert "1, age in months" in out
    assert max(map(len, out.splitlines())) <= int(columns)


def test_a_pipe_that_knows_no_greek_still_gets_the_table():
    result = run("demo", PYTHONIOENCODING="ascii")
    assert result.returncode == 0, result.stderr
    assert "1, age in months" in result.stdout


def test_the_version_is_that_of_the_package():
    result = run("--version")
    assert (result.returncode, result.stdout.strip()) == (0, f"pnml {version('pnml')}")


def test_help_lists_the_commands_within_half_a_second():
    result = run("--help")
    assert result.returncode == 0
    assert "demo" in result.stdout
    assert min(seconds("--help") for _ in range(5)) < 0.5


def test_help_loads_none_of_the_heavy_packages():
    code = "import sys; from pnml.cli.app import app; app(['--help'], standalone_mode=False); "
    code += "print(*(name for name in ('numpy', 'sklearn', 'pandas') if name in sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.splitlines()[-1] == ""


def test_an_unknown_command_exits_with_2_and_no_traceback():
    result = run("demmo")
    assert result.returncode == 2
    assert "demmo" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_a_missing_extra_is_named_with_the_command_that_installs_it(missing):
    code = f"import sys; sys.modules[{missing!r}] = None; sys.argv = ['pnml', 'demo']; "
    code += "from pnml.cli import main; main()"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert result.returncode == 2
    assert result.stdout == ""
    assert missing in result.stderr
    assert 'pip install "pnml[cli]"' in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.skipif(os.name == "nt", reason="no SIGINT to a process of one's own")
def test_ctrl_c_exits_with_130_and_no_traceback():
    code = """
import os, signal, sys, time
from pnml.cli import demo, main
def interrupted():
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)
demo._load = interrupted
sys.argv = ["pnml", "demo"]
main()
"""
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=50, check=False
    )
    assert result.returncode == 130
    assert "Traceback" not in result.stderr
