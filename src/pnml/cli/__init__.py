"""The command ``pnml``."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from typing import Any

from pnml.cli import streams
from pnml.errors import InputError, how_to_install

# What `pip install "pnml[cli]"` brings.
_EXTRA = {"typer", "rich", "pyarrow", "safetensors", "jinja2"}

_DEBUG = "--debug"
_BAD_INPUT = 2
_INTERRUPTED = 130


def main() -> None:
    """Run the command line: exit code 2 and one sentence on any error, 130 on Ctrl-C.

    With ``--debug`` anywhere among the arguments, the traceback comes before the sentence.
    """
    streams.prepare()
    # Batches are small, and several threads read and write: more BLAS threads would only wait.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # LightGBM's waiting threads would take a busy machine from the one that they wait for.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    notes = _Notes()
    warnings.showwarning = notes.show
    arguments = sys.argv[1:]
    debug = _DEBUG in arguments
    try:
        streams.check_output()
        code = _run([word for word in arguments if word != _DEBUG])
        streams.flush_output()
    except (Exception, KeyboardInterrupt) as error:
        code = _INTERRUPTED if isinstance(error, KeyboardInterrupt) else _BAD_INPUT
        if debug:
            streams.say(traceback.format_exc().rstrip())
        if not isinstance(error, BrokenPipeError):  # the reader of our output has gone
            streams.say(_sentence(error))
    streams.silence()
    sys.exit(_BAD_INPUT if notes.lost and not code else code)


def _run(arguments: list[str]) -> int:
    """The exit code of a command."""
    try:
        import typer

        from pnml.cli.app import app
    except ModuleNotFoundError:
        if arguments[:1] != ["doctor"]:
            raise
        from pnml.cli.installed import tell  # it says what is missing, so it needs no package

        tell("--json" in arguments)
        return 0

    usage_error = typer.BadParameter.__mro__[1]
    try:
        code = app(arguments, standalone_mode=False)
    except typer.Abort:
        raise KeyboardInterrupt from None
    except usage_error as error:  # type: ignore[misc]
        text = getattr(error, "format_message", error.__str__)().replace("Value error, ", "")
        text = text.replace(". Did you mean", "; did you mean").rstrip(".")
        raise InputError(text if text.endswith("?") else f"{text}; see pnml --help.") from error
    if code == _INTERRUPTED:  # Typer has turned Ctrl-C into an exit code
        raise KeyboardInterrupt
    return code if isinstance(code, int) else 0


def _sentence(error: BaseException) -> str:
    """The sentence that is printed for an error of any kind."""
    if isinstance(error, KeyboardInterrupt):
        return "Stopped."
    if isinstance(error, ModuleNotFoundError):
        missing = (error.name or "").partition(".")[0]
        if missing not in ("", "pnml"):
            return streams.sentence(_lacking(missing, str(error)))
    if isinstance(error, MemoryError):
        return "The memory does not suffice; drop columns with --drop, or give fewer rows."
    if isinstance(error, InputError):
        words = streams.sentence(error)
        # other first words may be names of files, which keep their case
        return "S" + words[1:] if words.startswith("standard ") else words
    if isinstance(error, OSError):
        why = streams.sentence(error.strerror or error)
        return f"Stopped by the system: {why}; check disk and files."
    first = streams.sentence(f"{type(error).__name__}: {error}"[:200]).rstrip(".: ")
    return f"Stopped by an error that was not foreseen ({first}); {_DEBUG} shows where it arose."


def _lacking(package: str, message: str) -> str:
    """A sentence that says which package to install; a `message` of our own already does."""
    if package in _EXTRA:
        return f"The command line needs {package}, which is not installed: {how_to_install('cli')}."
    if not message.startswith("No module named"):
        return message
    return f"This needs {package}, which is not installed: run pip install {package}."


class _Notes:
    """Prints warnings on standard error; `lost` is whether one could not be written."""

    lost = False

    def show(self, message: Any, *_: Any, **__: Any) -> None:
        self.lost |= not streams.say(f"Note: {streams.sentence(message)}")
