"""``pnml reproduce``: hands its arguments to the distribution pnml-experiments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import entry_points

import typer

from pnml.errors import InputError

_GROUP, _NAME = "pnml.experiments", "reproduce"
# Every argument, --help too, belongs to the command of the experiments.
FORWARDED = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}


def reproduce(context: typer.Context) -> None:
    """Run a table or a figure of the thesis again and print it beside what was printed there."""
    raise typer.Exit(_experiments()(context.args))


def _experiments() -> Callable[[Sequence[str]], int]:
    """The command of the installed experiments; one sentence where there are none."""
    for found in entry_points(group=_GROUP, name=_NAME):
        try:
            command: Callable[[Sequence[str]], int] = found.load().reproduce
        except ModuleNotFoundError as error:
            if error.name != found.module:
                raise
        else:
            return command
    raise InputError(
        "pnml reproduce needs the distribution pnml-experiments, which is not installed: run "
        "pip install pnml-experiments, or in a clone pip install -c constraints.txt -e "
        "./experiments."
    )
