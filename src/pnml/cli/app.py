"""The Typer application: its sub-commands and ``--version``."""

from __future__ import annotations

from typing import Annotated

import typer

from pnml.cli.demo import demo
from pnml.cli.doctor import doctor
from pnml.cli.export import export
from pnml.cli.fit import fit
from pnml.cli.inspect import inspect
from pnml.cli.merge import merge
from pnml.cli.report import report
from pnml.cli.reproduce import FORWARDED, reproduce
from pnml.cli.score import score
from pnml.version import __version__

app = typer.Typer(
    help="How far could hindsight have beaten the model on this very row?",
    pretty_exceptions_enable=False,
)
for command in (demo, fit, score, report, reproduce, merge, inspect, export, doctor):
    app.command(context_settings=FORWARDED if command is reproduce else None)(command)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"pnml {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
    _debug: Annotated[
        bool, typer.Option("--debug", help="Show where an error arose; with any command.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
