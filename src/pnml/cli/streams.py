"""Standard streams that are closed, full or read by nobody."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from pnml.errors import InputError, printable


def prepare() -> None:
    """Make standard streams safe to write to.

    A closed file descriptor is opened on the null device, so that no other file takes its number.
    Characters that an encoding lacks are replaced.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:  # else the next file that is opened would get this number
            os.open(os.devnull, os.O_RDWR)
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - to the end
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # the encoding of a pipe may lack Greek letters


def check_output() -> None:
    """Raise where standard output is closed."""
    if sys.stdout is None:
        raise InputError(
            "Standard output is closed; send it to a file, or to /dev/null to have none."
        )


def flush_output() -> None:
    """Write what is buffered for standard output; raises if that fails."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise InputError(
            f"Standard output cannot be written ({error.strerror}); send it somewhere else."
        ) from error


def say(text: str) -> bool:
    """Write a line to standard error; returns False if it cannot be written."""
    try:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
    except (OSError, ValueError):  # ValueError: closed by somebody else
        return False
    return True


def sentence(words: object) -> str:
    """A message as text on one line, without control codes that a terminal would obey."""
    return printable(" ".join(str(words).split()))


def silence() -> None:
    """Flush standard streams and discard what cannot be written, so that exiting does not fail."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            _drop(stream)


def _drop(stream: Any) -> None:
    with suppress(OSError, ValueError, AttributeError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, stream.fileno())
        os.close(nothing)
