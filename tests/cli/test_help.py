"""Help reads as a manual page: what a command does, its options, and examples that parse."""

from __future__ import annotations

import shlex
import sys

import pytest
import typer

import child
import pnml
from pnml.cli.app import app
from pnml.cli.examples import EXAMPLES, SUMMARIES

GROUP = typer.main.get_command(app)
TYPED = [(name, typed) for name, rows in EXAMPLES.items() for typed, _ in rows]


def test_every_command_has_examples_and_a_line_in_the_list():
    assert set(EXAMPLES) == {"pnml", *GROUP.commands}
    assert set(SUMMARIES) == set(GROUP.commands)


@pytest.mark.parametrize(("command", "typed"), TYPED)
def test_an_example_parses(command, typed):
    """It is parsed by the command itself, which refuses unknown options and lacking ones."""
    program, name, *arguments = shlex.split(typed.partition(" < ")[0])
    assert program == "pnml"
    assert command in ("pnml", name)
    if name == "reproduce":
        pytest.importorskip("pnml_experiments")
        from pnml_experiments.command import parser

        parsed = parser()
    else:
        parsed = GROUP.commands[name]
    if "--help" not in arguments:
        with parsed.make_context(name, list(arguments)) as context:
            assert context.params


@pytest.mark.parametrize("command", ["", *GROUP.commands])
def test_help_shows_the_examples_whole_and_cuts_nothing(command, call):
    if command == "reproduce":
        pytest.importorskip("pnml_experiments")
    done = call(*command.split(), "--help")
    assert done.code == 0
    lines = done.out.splitlines()
    assert not [line for line in lines[1:] if line.rstrip().endswith("...")]
    assert max(map(len, lines)) <= 100
    for typed, purpose in EXAMPLES[command or "pnml"]:
        place = [line.strip() for line in lines].index(typed)
        assert lines[place + 1].strip() == purpose


def test_an_unknown_option_in_an_example_would_be_seen():
    with pytest.raises(Exception, match="--no-such-option"):
        GROUP.commands["fit"].make_context("fit", ["t.csv", "-t", "y", "--no-such-option"])


def test_the_package_runs_as_a_module_where_the_command_is_not_on_the_path():
    done = child.run([sys.executable, "-m", "pnml", "--version"], check=True)
    assert done.stdout == f"pnml {pnml.__version__}\n"
