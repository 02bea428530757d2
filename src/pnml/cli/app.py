"""The Typer application: its sub-commands and ``--version``."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer

from pnml.cli.demo import demo

app = typer.Typer(
    help="How far could hindsight have beaten the model on this very row?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(demo)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"pnml {version('pnml')}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Options that stand before any command."""
