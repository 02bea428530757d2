"""Whatever happens, a command ends with one sentence and an exit code; never with a traceback."""

from __future__ import annotations

import os
import sys

import pytest

import child
from sentences import assert_one_sentence

FAILURES = {
    "a mistake of ours": (ZeroDivisionError("division by zero"), "ZeroDivisionError: division"),
    "a deep one": (RecursionError("maximum recursion depth exceeded"), "RecursionError"),
    "of a library": (ValueError("first line\n\nsecond\x1b[31m line"), "first line second␛[31m"),
    "no memory": (MemoryError(), "memory does not suffice"),
    "no words": (RuntimeError(), "(RuntimeError)"),
    "a broken import": (ModuleNotFoundError("No module named 'pnml.x'", name="pnml.x"), "pnml.x"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_an_unforeseen_error_is_one_sentence_and_shows_its_place_when_asked(
    name, here, call, monkeypatch
):
    failure, words = FAILURES[name]

    def fail(*_, **__):
        raise failure

    monkeypatch.setattr("pnml.models.model_file.read", fail)
    done = call("inspect", "model.pnml")
    assert_one_sentence(done.code, done.out, done.err, [words])
    assert done.err.strip().isprintable()
    for arguments in (["--debug", "inspect", "model.pnml"], ["inspect", "model.pnml", "--debug"]):
        done = call(*arguments)
        assert done.code == 2
        assert done.err.startswith("Traceback")
        assert "in fail" in done.err
        assert words in done.err.splitlines()[-1]


def test_names_with_codes_for_a_terminal_are_printed_as_pictures(here, call):
    rows = "\n".join(f"{i % 7},{i},{i % 5}" for i in range(40))
    (here / "odd.csv").write_text(f"\x1b[31mred\x07,b,y\n{rows}\n")
    done = call("fit", "odd.csv", "--target", "y", "-o", "odd.pnml", "--learner", "ols")
    assert done.code == 0, done.err
    assert "␛[31mred␇" in done.out
    assert "\x1b" not in done.out + done.err


PRELUDE = "import sys; sys.argv[0] = 'pnml'; from pnml.cli import main; main()"
STREAMS = {
    "closed output": ("inspect model.pnml >&-", 2, "Standard output is closed"),
    "full output": ("inspect model.pnml >/dev/full", 2, "No space left"),
    "full output of --version": ("--version >/dev/full", 2, "No space left"),
    "full output of JSON": ("inspect model.pnml --json >/dev/full", 2, "No space left"),
    "full output of a table": ("score model.pnml new.csv -o - >/dev/full", 2, "no room"),
    "closed output of a table": ("score model.pnml new.csv -o - >&-", 2, "is closed"),
    "closed errors": ("inspect nothing.pnml 2>&-", 2, None),
    "full errors": ("inspect nothing.pnml 2>/dev/full", 2, None),
    "closed errors and nothing to say": ("inspect model.pnml >/dev/null 2>&-", 0, None),
    "all closed": ("inspect model.pnml <&- >&- 2>&-", 2, None),
}


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full device")  # noqa: PTH110
@pytest.mark.parametrize("name", STREAMS)
def test_streams_that_are_closed_or_full_end_a_command_with_an_exit_code(name, here):
    line, code, words = STREAMS[name]
    command = f'"$0" -c "$1" {line}'
    done = child.run(["sh", "-c", command, sys.executable, PRELUDE], seconds=120)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    if words is not None:
        assert_one_sentence(done.returncode, "", done.stderr, [words])
