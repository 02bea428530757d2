"""The command ``pnml reproduce``, which the command line of pnml finds by an entry point."""

from __future__ import annotations

from collections.abc import Sequence


def main(arguments: Sequence[str]) -> int:
    """Run ``pnml reproduce`` with these arguments; the exit code."""
    import typer

    from pnml_experiments.command.reproduce import reproduce

    app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
    app.command()(reproduce)
    command = typer.main.get_command(app)
    code = command.main(list(arguments), prog_name="pnml reproduce", standalone_mode=False)
    return code if isinstance(code, int) else 0
