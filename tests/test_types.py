"""What type checkers tell users, and how much of our own annotations says nothing."""

from __future__ import annotations

import ast
import re
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import child

ROOT = Path(__file__).parents[1]
PROGRAM = (ROOT / "tests" / "user_program.py").read_text()
MOST = 0.10
_CALLED = ("__init__", "__call__")

REVEALED = {
    "regressor.regret(X)": "float64",
    "regressor.trusted(X)": "bool",
    "regressor.predict_interval(X)": "float64",
    "regressor.predict_dist(X)": "Predictive",
    "regressor.predict_dist(X).mean": "float64",
    "classifier.predict_proba(X)": "float64",
    "classifier.trusted(X)": "bool",
    "classifier.predict_dist(X)": "Categorical",
    "own.regret(X)": "float64",
    "own.trusted(X)": "bool",
    "own.predict_interval(X)": "float64",
    "own.predict_dist(X)": "Tabulated",
    "own.expected_error(X)": "float64",
    "classes.predict_proba(X)": "float64",
    "classes.expected_error(X)": "float64",
    "conformal.predict_interval(X)": "float64",
    "conformal.predict_dist(X)": "Tabulated",
    "sets.predict_set(X)": "bool",
    "pipe.regret(X)": "float64",
    "pipe.trusted(X)": "bool",
    "pipe.predict_interval(X)": "float64",
    "pnml.load('m.pnml')": "LoadedModel",
    "pnml.load('m.pnml').regret(X)": "float64",
    "pnml.load('m.pnml', kind=pnml.PNMLRegressor)": "PNMLRegressor",
}
SETTING = """
import numpy as np
import pnml
X = np.zeros((3, 2))
regressor, classifier = pnml.PNMLRegressor(), pnml.PNMLClassifier()
own, classes = pnml.TrustedRegressor(), pnml.TrustedClassifier()
conformal, sets = pnml.ConformalRegressor(), pnml.ConformalClassifier()
pipe = pnml.make_pipeline(regressor)
"""
MISSPELT = (
    'pnml.LpNMLRegressor(penalty="l3")',
    'pnml.PNMLClassifier(method="refits")',
    'pnml.ConformalRegressor(method="jackknife")',
    'pnml.ConformalClassifier(conformity_score="raps")',
    'pnml.PNMLRegressor(alpha="auto")',
    'pnml.NormBallRegressor(radius="smallest")',
    'pnml.KernelPNMLRegressor(gamma="auto")',
    "pnml.PNMLRegressor(ridge=1.0)",
)


def type_check(folder, text, *more):
    """Lines that mypy --strict has to say about a program."""
    path = folder / "program.py"
    path.write_text(text)
    arguments = ["--strict", *more, str(path)]
    code = f"from mypy.main import main; main(args={arguments!r}, clean_exit=True)"
    environment = {"MYPYPATH": str(ROOT / "src")}
    done = child.python(code, cwd=folder, env=environment)
    return done.stdout.splitlines()


@pytest.mark.integration
@pytest.mark.skipif(find_spec("mypy") is None, reason="needs mypy")
def test_mypy_accepts_a_users_program_and_knows_what_comes_back(tmp_path):
    asked = SETTING + "".join(f"reveal_type({expression})\n" for expression in REVEALED)
    wrong = "".join(f"{expression}\n" for expression in MISSPELT)
    first = len((PROGRAM + asked).splitlines())
    lines = type_check(tmp_path, PROGRAM + asked + wrong, "--follow-imports=silent")
    types = [line.partition("Revealed type is ")[2] for line in lines if "Revealed" in line]
    for (expression, expected), found in zip(REVEALED.items(), types, strict=True):
        inside = found.replace("tuple[Any, ...]", "").replace("tuple[builtins.Any, ...]", "")
        assert expected in found, expression
        assert "Any" not in inside, expression
    errors = [line for line in lines if ": error:" in line]
    places = {int(re.search(r":(\d+): error", line).group(1)) for line in errors}
    assert places == set(range(first + 1, first + 1 + len(MISSPELT))), "\n".join(errors)


@pytest.mark.integration
@pytest.mark.skipif(shutil.which("pyright") is None, reason="needs pyright")
def test_pyright_accepts_a_users_program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    (tmp_path / "pyrightconfig.json").write_text(f'{{"extraPaths": ["{ROOT / "src"}"]}}')
    done = child.run(
        ["pyright", "--pythonpath", sys.executable, str(path)], cwd=tmp_path, seconds=500
    )
    assert done.returncode == 0, done.stdout


def annotations(node, public=True):
    """Annotations of arguments and results of public functions and methods."""
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.ClassDef):
            yield from annotations(inner, public and not inner.name.startswith("_"))
        elif isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
            if not public or (inner.name.startswith("_") and inner.name not in _CALLED):
                continue
            given = inner.args
            arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs]
            arguments += [one for one in (given.vararg, given.kwarg) if one is not None]
            yield from (one.annotation for one in arguments if one.annotation is not None)
            yield from (one for one in [inner.returns] if one is not None)
        elif isinstance(inner, ast.If | ast.Try):
            yield from annotations(inner, public)


def mentions_any(annotation):
    return any(isinstance(node, ast.Name) and node.id == "Any" for node in ast.walk(annotation))


@pytest.mark.parametrize("folder", ["estimators", "nn", "scale"])
def test_few_annotations_mention_any(folder):
    found = [
        mentions_any(annotation)
        for path in sorted((ROOT / "src" / "pnml" / folder).rglob("*.py"))
        for annotation in annotations(ast.parse(path.read_text()))
    ]
    assert sum(found) < MOST * len(found), f"{sum(found)} of {len(found)}"
