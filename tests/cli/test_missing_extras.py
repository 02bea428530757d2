"""A package that a command needs and that is not installed is one sentence, never a traceback."""

from __future__ import annotations

import pytest

import child
import pnml
from pnml.errors import how_to_install


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
    ("package", "extra"),
    [("onnx", "onnx"), ("safetensors", "files")],
)
def test_export_names_what_is_missing_in_one_sentence(package, extra, model, tmp_path):
    done = run_without(package, "export", model, "-o", tmp_path / "model.onnx")
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert f"{package}, which is not installed" in done.stderr
    assert done.stderr.strip().endswith(f"{how_to_install(extra)}.")


def test_a_fault_of_our_own_is_not_taken_for_a_missing_package():
    code = (
        "import sys; sys.modules['pnml.cli.app'] = None; sys.argv = ['pnml']; "
        "from pnml.cli import main; main()"
    )
    done = child.python(code)
    assert "ModuleNotFoundError" in done.stderr


EXTRAS = ("typer", "rich", "pyarrow", "safetensors", "jinja2", "torch", "pandas", "matplotlib")


@pytest.mark.parametrize("missing", [("typer",), ("rich",), EXTRAS])
def test_doctor_works_whatever_is_missing(missing):
    """A finder that refuses the packages stands for an environment without them."""
    code = f"""
import importlib.metadata, sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {missing!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Block())
kept = importlib.metadata.version
def version(name):
    if name in {missing!r}:
        raise importlib.metadata.PackageNotFoundError(name)
    return kept(name)
importlib.metadata.version = version
sys.argv = ["pnml", "doctor", *sys.argv[1:]]
from pnml.cli import main; main()
"""
    done = child.python(code)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert f"pnml {pnml.__version__} on Python" in done.stdout
    assert 'pip install "pnml[cli]"' in done.stdout
    for package in {"typer", "rich", "pyarrow"}.intersection(missing):
        assert package in done.stdout.partition("cli ")[2].partition("pip install")[0]


def test_doctor_of_a_folder_that_is_not_installed_says_so(monkeypatch, capsys):
    from pnml.cli import installed

    def requires(name):
        raise installed.PackageNotFoundError(name)

    monkeypatch.setattr(installed, "requires", requires)
    installed.tell(False)
    assert "not installed, so that extras are unknown" in capsys.readouterr().out
