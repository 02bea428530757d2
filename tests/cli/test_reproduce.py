"""``pnml reproduce`` belongs to another distribution, which may be missing."""

from __future__ import annotations

import ast
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import pnml
from pnml.cli import reproduce


def entry(value):
    return EntryPoint("reproduce", value, "pnml.experiments")


@pytest.fixture
def installed_as(monkeypatch):
    """Pretends that the experiments are installed under these entry points."""

    def pretend(*entries):
        monkeypatch.setattr(reproduce, "entry_points", lambda **_: entries)

    return pretend


@pytest.mark.parametrize("entries", [(), (entry("no_such_distribution"),)], ids=["none", "stale"])
@pytest.mark.parametrize("arguments", [[], ["regret-curve"], ["--help"], ["--all", "-j", "2"]])
def test_without_the_experiments_one_sentence_says_how_to_get_them(
    call, installed_as, entries, arguments
):
    installed_as(*entries)
    done = call("reproduce", *arguments)
    assert done.code == 2
    assert not done.out
    (sentence,) = done.err.splitlines()
    assert "pip install pnml-experiments" in sentence
    assert "pip install -c constraints.txt -e ./experiments" in sentence


def test_the_command_is_listed_with_and_without_the_experiments(call, installed_as):
    installed_as()
    assert "reproduce" in call("--help").out


def test_arguments_and_exit_code_are_those_of_the_experiments(
    call, installed_as, tmp_path, monkeypatch
):
    code = "def reproduce(arguments):\n    print(arguments)\n    return 3\n"
    (tmp_path / "made_experiments.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    installed_as(entry("made_experiments"))
    done = call("reproduce", "one", "--scale", "full", "-o", "x", "--help")
    assert done.code == 3
    assert ast.literal_eval(done.out) == ["one", "--scale", "full", "-o", "x", "--help"]


def test_a_package_that_the_experiments_lack_is_named(call, installed_as, tmp_path, monkeypatch):
    (tmp_path / "broken_experiments.py").write_text("import no_such_package\n")
    monkeypatch.syspath_prepend(tmp_path)
    installed_as(entry("broken_experiments"))
    assert "no_such_package" in call("reproduce").err


def test_the_package_names_no_module_of_the_experiments():
    for path in Path(pnml.__file__).parent.rglob("*.py"):
        assert "pnml_experiments" not in path.read_text(encoding="utf-8"), path
