"""Rules of the house that no single file can check for itself."""

from __future__ import annotations

import ast
import json
import re
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

import child
import markers
import pnml

ROOT = Path(__file__).parents[1]
SOURCES = sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "experiments/src").rglob("*.py")])
MATHS = sorted((ROOT / "docs" / "math").glob("*.md"))


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


def labels_of(page):
    return re.findall(r"^\*\*\(([A-Z]\d+)\)\*\*", page.read_text(), flags=re.MULTILINE)


def defined_labels():
    return Counter(label for page in MATHS for label in labels_of(page))


def test_every_equation_cited_in_the_code_is_in_the_maths():
    defined = defined_labels()
    missing = {label: files for label, files in cited_labels().items() if label not in defined}
    assert not missing


def test_the_index_of_the_maths_says_which_page_holds_which_labels():
    index = (ROOT / "docs" / "math" / "index.md").read_text()
    for page in MATHS:
        if page.stem == "index":
            continue
        numbers = {}
        for label in labels_of(page):
            numbers.setdefault(label[0], []).append(int(label[1:]))
        ranges = (
            f"{letter}{min(them)}" + (f"–{letter}{max(them)}" if len(them) > 1 else "")
            for letter, them in numbers.items()
        )
        row = re.search(rf"^\| \[.+\]\({page.name}\) \|.*$", index, flags=re.MULTILINE)
        assert row, page.name
        assert row.group().endswith(f"| {', '.join(ranges)} |"), page.name


def test_every_equation_is_defined_once():
    twice = [label for label, times in defined_labels().items() if times > 1]
    assert not twice


def test_importing_pnml_loads_the_standard_library_alone():
    """So it takes hundredths of a second, and optional packages may be missing."""
    code = "import json, sys; before = set(sys.modules); import pnml; "
    loaded = json.loads(python(code + "print(json.dumps(list(set(sys.modules) - before)))"))
    others = {name.partition(".")[0] for name in loaded} - set(sys.stdlib_module_names)
    assert others == {"pnml"}


def test_importing_pnml_takes_under_a_second_of_processor_time():
    code = "import time; t = time.process_time(); import pnml; print(time.process_time() - t)"
    assert min(float(python(code)) for _ in range(2)) < 1.0  # it takes 0.01


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


def test_every_public_name_says_what_it_gives_and_shows_how():
    for name in pnml.__all__:
        value = getattr(pnml, name)
        assert value.__doc__, name
        if not (isinstance(value, type) and issubclass(value, Exception)):
            assert ">>>" in value.__doc__, name


def test_no_source_file_is_over_400_lines():
    long = [str(path) for path in SOURCES if len(path.read_text().splitlines()) > 400]
    assert not long


def test_no_source_file_is_named_after_nothing():
    named = [str(path) for path in SOURCES if path.stem in {"utils", "helpers", "misc"}]
    assert not named


def test_every_list_of_markers_names_what_is_there():
    assert markers.without_a_match() == []


def test_a_file_that_grows_without_end_is_stopped(tmp_path):
    resource = pytest.importorskip("resource")  # not on Windows
    assert 0 < resource.getrlimit(resource.RLIMIT_FSIZE)[0] <= 2**31
    inherited = "import resource; print(resource.getrlimit(resource.RLIMIT_FSIZE)[0])"
    assert 0 < int(python(inherited)) <= 2**31
    with (tmp_path / "large").open("wb") as file, pytest.raises(OSError, match="too large"):
        file.truncate(2**31 + 1)


def test_a_test_that_hangs_is_ended(pytestconfig):
    assert pytestconfig.pluginmanager.hasplugin("timeout")
    assert 0 < float(pytestconfig.getini("timeout")) <= 120
    assert pytestconfig.getini("timeout_method") == "signal"  # the worker goes on


def imported_names():
    """(file, module, name) of every import from our packages in tests, benchmarks and docs."""
    folders = ("tests", "experiments", "benchmarks", "docs")
    for path in sorted(path for name in folders for path in (ROOT / name).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pnml"):
                yield from ((path.name, node.module, alias.name) for alias in node.names)


@pytest.mark.timeout(400)  # it imports all of our modules and what they need
@pytest.mark.filterwarnings("ignore")
def test_every_name_that_tests_import_is_there():
    # an import error in a test file would otherwise only skip the whole file
    lacking = []
    for file, module, name in imported_names():
        if "baal" in module + file or file == "test_moved_names.py":
            continue  # a peer that dev does not install; old names on purpose
        try:
            found = hasattr(import_module(module), name) or import_module(f"{module}.{name}")
        except ModuleNotFoundError as error:
            found = not (error.name or "").startswith("pnml")  # an optional package is missing
        if not found:
            lacking.append((file, module, name))
    assert lacking == []
