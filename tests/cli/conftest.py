"""The command as a user runs it, and as a function where only its words matter."""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from pathlib import Path

import pytest

import child

pytest.importorskip("typer")
pytest.importorskip("pyarrow")

import pyarrow.csv

from made_tables import classes, mixed
from pnml.cli import main

COMMAND = shutil.which("pnml", path=str(Path(sys.executable).parent)) or shutil.which("pnml")


@pytest.fixture(scope="session")
def installed():
    """Runs the installed command: (arguments, options of child.run) → the finished process."""
    if COMMAND is None:
        pytest.skip("the package is not installed, only on the path")

    def run(*arguments, environment=None, **options):
        return child.run(
            [COMMAND, *map(str, arguments)],
            **{"encoding": "utf-8", "seconds": 120} | options,
            env={**os.environ, "PYTHONIOENCODING": "utf-8", "COLUMNS": "100"} | (environment or {}),
        )

    run.command = COMMAND
    return run


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """A folder of tables, and models that the command has made of them."""
    folder = tmp_path_factory.mktemp("made")
    for name, table in {
        "train.csv": mixed(150),
        "new.csv": mixed(40, seed=1, shift=0.5),
        "kinds.csv": classes(150),
        "new-kinds.csv": classes(40, seed=1),
    }.items():
        pyarrow.csv.write_csv(table, folder / name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(warnings, "showwarning", warnings.showwarning)
        for arguments in (
            ["fit", "train.csv", "--target", "y", "-o", "model.pnml"],
            ["fit", "kinds.csv", "--target", "kind", "-o", "classes.pnml"],
        ):
            patch.chdir(folder)
            patch.setattr(sys, "argv", ["pnml", *arguments])
            with pytest.raises(SystemExit) as ended:
                main()
            assert ended.value.code == 0
    return folder


@pytest.fixture
def here(made, tmp_path, monkeypatch):
    """A fresh folder with those files in it, in which commands run."""
    for path in made.iterdir():
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path
