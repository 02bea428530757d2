"""The Typer application: its sub-commands and ``--version``."""

from __future__ import annotations

from typing import Annotated

import typer

from pnml.cli.demo import demo
from pnml.cli.doctor import doctor
from pnml.cli.examples import SUMMARIES, epilog
from pnml.cli.export import export
from pnml.cli.fit import fit
from pnml.cli.inspect import inspect
from pnml.cli.merge import merge
from pnml.cli.report import report
from pnml.cli.reproduce import FORWARDED, reproduce
from pnml.cli.score import score
from pnml.version import __version__

app = typer.Typer(
    help="Can I trust this prediction, and if not, why? Learns from a table, predicts new rows, "
    "and says of each row whether to trust it and which columns are to blame if not.",
    epilog=epilog("pnml"),
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain lines, as in a manual page, whatever the width of the terminal
)
for command in (demo, fit, score, report, reproduce, merge, inspect, export, doctor):
    settings = FORWARDED if command is reproduce else None
    name = command.__name__
    app.command(context_settings=settings, epilog=epilog(name), short_help=SUMMARIES[name])(command)


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
