"""The commands need nothing that Windows lacks."""

from __future__ import annotations

import io
import sys

import pytest

from pnml.cli import main
from windows_stubs import be_windows

pytest.importorskip("jinja2")


class Typed(io.TextIOWrapper):
    """Standard input that holds a table."""

    def __init__(self, data):
        super().__init__(io.BytesIO(data))


def test_every_command_runs_without_what_windows_lacks(here, monkeypatch, capsys):
    be_windows(monkeypatch)
    monkeypatch.setattr("pnml.tables.fitting.MOST_ROWS", 100)  # a longer table is a stream
    before = {path.name for path in here.iterdir()}
    table = (here / "train.csv").read_bytes()
    commands = {
        "fit train.csv --target y --learner pnml -o a.pnml": {"a.pnml"},
        "fit - --target y --learner pnml -o b.pnml": {"b.pnml"},
        "fit t*n.csv --target y --learner pnml -o a.pnml": {"a.pnml"},  # replaces a file
        "merge a.pnml b.pnml -o c.pnml": {"c.pnml"},
        "score c.pnml new.csv -o scored.csv": {"scored.csv"},
        "score c.pnml new.csv -o scored.parquet": {"scored.parquet"},
        "score c.pnml - -o scored.csv.gz": {"scored.csv.gz"},
        "report c.pnml new.csv -o page.html": {"page.html"},
        "inspect c.pnml": set(),
    }
    made = set()
    for command, files in commands.items():
        monkeypatch.setattr(sys, "argv", ["pnml", *command.split()])
        monkeypatch.setattr(sys, "stdin", Typed(table))
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 0, (command, capsys.readouterr().err)
        made |= files
        assert {path.name for path in here.iterdir()} - before == made, command
