"""The map of the thesis names labels, code and tests that exist."""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from test_house import defined_labels

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "thesis-map.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip().strip("`") for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if re.match(r"\| (definition|theorem|lemma|algorithm|result) \|", line)
]


@cache
def names_in(path):
    """Names that a file defines, those of classes with their methods as Class.method."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{n.name}" for n in node.body if isinstance(n, ast.FunctionDef)}
    return found


def named(cell):
    """Names of a cell, of which there is one or more, each in backticks and separated by commas."""
    return [name.strip("`") for name in cell.split(", ")]


def defines(code):
    """Whether a dotted name of pnml is defined in the file that its modules lead to."""
    parts = code.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        path = ROOT.joinpath("src", *parts[:cut]).with_suffix(".py")
        if path.is_file():
            return ".".join(parts[cut:]) in names_in(path)
    return False


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[2])
def test_labels_code_and_tests_exist(row):
    _, place, what, labels, code, test, _ = row
    assert place
    assert what
    for label in labels.split(", "):
        assert defined_labels()[label] == 1, label
    for name in named(code):
        assert defines(name), name
    for name in named(test):
        file, *parts = name.split("::")
        assert ".".join(parts) in names_in(ROOT / file), name


def test_every_theorem_lemma_and_algorithm_is_there_and_the_counts_are_right():
    found = Counter(row[0] for row in ROWS)
    assert found["theorem"] == 5
    assert found["lemma"] == 4
    assert found["algorithm"] == 2
    for word, plural in (("definition", "definitions"), ("result", "results")):
        assert f"{found[word]} {plural}" in PAGE
    assert len({row[2] for row in ROWS}) == len(ROWS)


def test_names_that_are_not_there_are_noticed():
    assert defines("pnml.core.gaussian.regret")
    assert not defines("pnml.core.gaussian.regrets")
    assert not defines("pnml.nowhere.regret")
    assert named("one`, `two") == ["one", "two"]
