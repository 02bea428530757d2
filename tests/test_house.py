"""Rules of the house that no single file can check for itself."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

import child
import pnml

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
MATHS = ROOT / "docs" / "math.md"


def python(code):
    """What a fresh interpreter prints."""
    done = child.python(code, check=True, cwd=ROOT)
    return done.stdout


def cited_labels():
    """Label → files that cite it; Eq. (R1) and Eqs. (R1), (R2) and (R3) are both read."""
    cited = {}
    for path in SOURCES:
        for run in re.findall(
            r"Eqs?\.\s+(\([A-Z]\d+\)(?:(?:,| and|, and|–)\s*\([A-Z]\d+\))*)", path.read_text()
        ):
            for label in re.findall(r"[A-Z]\d+", run):
                cited.setdefault(label, set()).add(path.name)
    return cited


def defined_labels():
    return Counter(re.findall(r"^\*\*\(([A-Z]\d+)\)\*\*", MATHS.read_text(), flags=re.MULTILINE))


def test_every_equation_cited_in_the_code_is_in_the_maths():
    defined = defined_labels()
    missing = {label: files for label, files in cited_labels().items() if label not in defined}
    assert not missing


def test_every_equation_is_defined_once():
    twice = [label for label, times in defined_labels().items() if times > 1]
    assert not twice


def test_importing_pnml_takes_under_a_second():
    code = "import time; t = time.perf_counter(); import pnml; print(time.perf_counter() - t)"
    assert min(float(python(code)) for _ in range(3)) < 1.0


def test_importing_pnml_loads_no_optional_package():
    loaded = json.loads(python("import json, sys, pnml; print(json.dumps(list(sys.modules)))"))
    optional = {"torch", "pandas", "matplotlib", "typer", "rich", "pyarrow"}
    assert sorted(optional & set(loaded)) == []


def test_using_every_public_name_loads_no_optional_package():
    # scikit-learn itself loads pandas, pyarrow and rich where they are installed.
    code = "import json, sys, pnml; [getattr(pnml, n) for n in pnml.__all__]; "
    loaded = json.loads(python(code + "print(json.dumps(list(sys.modules)))"))
    assert sorted({"torch", "matplotlib", "typer"} & set(loaded)) == []


def test_imports_only_go_down():
    code = (
        "from importlinter.cli import lint_imports; raise SystemExit(lint_imports(no_cache=True))"
    )
    done = child.python(code, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", sorted(pnml.__all__))
def test_every_public_name_says_what_it_gives_and_shows_how(name):
    value = getattr(pnml, name)
    assert value.__doc__
    if not (isinstance(value, type) and issubclass(value, Exception)):
        assert ">>>" in value.__doc__


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_no_source_file_is_over_400_lines_or_named_after_nothing(path):
    assert len(path.read_text().splitlines()) <= 400
    assert path.stem not in {"utils", "helpers", "misc"}
