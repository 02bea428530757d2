"""The command ``pnml``."""

from __future__ import annotations

import sys
from io import TextIOWrapper

from pnml.core.errors import InputError

_EXTRA = {"typer", "rich", "pyarrow"}


def main() -> None:
    """Run the command line: exit code 2 and one sentence on bad input, 130 on Ctrl-C."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a pipe may know no Greek
    try:
        from pnml.cli.app import app

        app()
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in _EXTRA:
            raise
        _stop(
            f"The command line needs {missing}, which is not installed: "
            'run pip install "pnml[cli]".',
            2,
        )
    except InputError as error:
        _stop(str(error), 2)
    except KeyboardInterrupt:
        _stop("Stopped.", 130)


def _stop(sentence: str, code: int) -> None:
    sys.stderr.write(f"{sentence}\n")
    sys.exit(code)
