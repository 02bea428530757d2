"""The wheel holds the package, its licences and the report's script, and nothing else."""

from __future__ import annotations

import os
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import child

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "pnml"
ENDINGS = {".py", ".typed", ".css", ".js", ".jinja", ".md", ".LICENSE", ".xz"}
NEEDED = {
    "pnml/py.typed",
    "pnml/report/page.css",
    "pnml/report/page.html.jinja",
    "pnml/report/page.js",
    "pnml/report/plotly-basic.LICENSE",
    "pnml/report/plotly-basic.min.js.xz",
}


def check(names):
    """The files of the package are code and what the report needs; no tests, no data."""
    assert names >= NEEDED
    for name in map(Path, names):
        assert name.suffix in ENDINGS or name.name == "py.typed", name
        assert not {"tests", "data", "docs", "benchmarks"}.intersection(name.parts), name
        assert not name.name.startswith(("test_", "conftest")), name


def test_the_package_holds_code_licences_and_the_reports_script_only():
    files = [path for path in PACKAGE.rglob("*") if path.is_file()]
    check({str(p.relative_to(ROOT / "src")) for p in files if "__pycache__" not in p.parts})
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == ["src/pnml"]
    for name in project["project"]["license-files"]:
        assert (ROOT / name).read_text().strip()


def test_the_built_wheel_holds_the_same(tmp_path):
    pytest.importorskip("hatchling")
    code = "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"
    child.run([sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, check=True, env=os.environ)
    (wheel,) = tmp_path.glob("pnml-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    check({name for name in names if name.startswith("pnml/")})
    about = [name for name in names if not name.startswith("pnml/")]
    assert all(".dist-info/" in name for name in about)
    licences = [name for name in about if "/licenses/" in name]
    assert len(licences) == 2, licences
