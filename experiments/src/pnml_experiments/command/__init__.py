"""The command ``pnml reproduce``, which the command line of pnml finds by an entry point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def main(arguments: Sequence[str]) -> int:
    """Run ``pnml reproduce`` with these arguments; the exit code."""
    command = parser()
    code = command.main(list(arguments), prog_name="pnml reproduce", standalone_mode=False)
    return code if isinstance(code, int) else 0


def parser() -> Any:
    """The command with its options."""
    import typer

    from pnml.cli.examples import epilog
    from pnml_experiments.command.reproduce import reproduce

    app = typer.Typer(pretty_exceptions_enable=False, add_completion=False, rich_markup_mode=None)
    app.command(epilog=epilog("reproduce"))(reproduce)
    return typer.main.get_command(app)
