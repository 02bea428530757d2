"""A package that a command needs and that is not installed is one sentence, never a traceback."""

from __future__ import annotations

import pytest

import child
import pnml


def run_without(package, *arguments):
    command = ["pnml", *map(str, arguments)]
    code = (
        f"import sys; sys.modules[{package!r}] = None; sys.argv = {command}; "
        "from pnml.cli import main; main()"
    )
    return child.python(code)


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.pnml"
    pnml.save(pnml.PNMLRegressor().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.5]), path)
    return path


@pytest.mark.parametrize(
    ("package", "words"),
    [("onnx", 'run pip install "pnml[onnx]".'), ("safetensors", 'run pip install "pnml[files]".')],
)
def test_export_names_what_is_missing_in_one_sentence(package, words, model, tmp_path):
    done = run_without(package, "export", model, "-o", tmp_path / "model.onnx")
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert f"{package}, which is not installed" in done.stderr
    assert done.stderr.strip().endswith(words)


def test_a_fault_of_our_own_is_not_taken_for_a_missing_package():
    code = (
        "import sys; sys.modules['pnml.cli.app'] = None; sys.argv = ['pnml']; "
        "from pnml.cli import main; main()"
    )
    done = child.python(code)
    assert "ModuleNotFoundError" in done.stderr
