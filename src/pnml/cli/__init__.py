"""The command ``pnml``."""

from __future__ import annotations

import os
import sys
import warnings
from io import TextIOWrapper
from typing import Any

from pnml.errors import InputError

# What `pip install "pnml[cli]"` brings.
_EXTRA = {"typer", "rich", "pyarrow", "safetensors", "jinja2"}

_INTERRUPTED = 130


def main() -> None:
    """Run the command line: exit code 2 and one sentence on bad input, 130 on Ctrl-C."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # the encoding of a pipe may lack Greek letters
    # Batches are small, and several threads read and write: more BLAS threads would only wait.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    warnings.showwarning = _show_warning
    try:
        _run()
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing in ("", "pnml"):
            raise
        _stop(_lacking(missing, str(error)), 2)
    except InputError as error:
        _stop(str(error), 2)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has gone
        sys.exit(2)
    except OSError as error:
        _stop(f"Stopped by the system: {error.strerror or error}; check disk and files.", 2)
    except MemoryError:
        _stop("The memory does not suffice; drop columns with --drop, or give fewer rows.", 2)
    except KeyboardInterrupt:
        _stop("Stopped.", _INTERRUPTED)


def _run() -> None:
    import typer

    from pnml.cli.app import app

    usage_error = typer.BadParameter.__mro__[1]
    try:
        code = app(standalone_mode=False)
    except typer.Abort:
        raise KeyboardInterrupt from None
    except usage_error as error:  # type: ignore[misc]
        text = getattr(error, "format_message", error.__str__)().replace("Value error, ", "")
        text = text.replace(". Did you mean", "; did you mean").rstrip(".")
        _stop(text if text.endswith("?") else f"{text}; see pnml --help.", 2)
    if code == _INTERRUPTED:  # Typer has turned Ctrl-C into an exit code
        raise KeyboardInterrupt
    sys.exit(code if isinstance(code, int) else 0)


def _lacking(package: str, message: str) -> str:
    """Which package to install; an error of ours names it already."""
    if package in _EXTRA:
        return (
            f"The command line needs {package}, which is not installed: "
            'run pip install "pnml[cli]".'
        )
    if not message.startswith("No module named"):
        return message
    return f"This needs {package}, which is not installed: run pip install {package}."


def _show_warning(message: Any, *_: Any, **__: Any) -> None:
    sys.stderr.write(f"Note: {message}\n")


def _stop(sentence: str, code: int) -> None:
    words = " ".join(sentence.split())
    if words.startswith(
        "standard "
    ):  # other first words may be names of files, which keep their case
        words = "S" + words[1:]
    sys.stderr.write(words + "\n")
    sys.exit(code)
