"""What CI installs is pinned: packages by hash, as in constraints.txt; actions by commit."""

from __future__ import annotations

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / ".ci"
if not FOLDER.is_dir():
    pytest.skip("the sdist holds no CI", allow_module_level=True)


@pytest.fixture(scope="module")
def lock():
    spec = spec_from_file_location("lock", FOLDER / "lock.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def requirements(name):
    """Lines of a locked file, joined where they go on."""
    text = (FOLDER / name).read_text().replace("\\\n", " ")
    return [line for line in text.splitlines() if not line.startswith("#")]


def test_the_locked_versions_are_those_of_the_constraints(lock):
    wanted = lock.pins((ROOT / "constraints.txt").read_text())
    locked = lock.pins("\n".join(requirements("locked.txt")))
    plain = {name: version.partition("+")[0] for name, version in locked.items()}
    assert plain == wanted, "run python .ci/lock.py"
    build = lock.pins("\n".join(requirements("locked-build.txt")))
    assert build == {name: wanted[name] for name in lock.BUILD}


@pytest.mark.parametrize("name", ["locked.txt", "locked-build.txt"])
def test_every_locked_package_has_a_hash_and_nothing_else_is_read(name):
    found = requirements(name)
    assert found
    one = re.compile(r"[a-z0-9-]+==[^\s;]+(; sys_platform [!=]= 'linux')?( +--hash=sha256:\w{64})+")
    assert [line for line in found if not one.fullmatch(line)] == []


def test_torch_is_the_build_without_gpus_on_linux():
    first, other = (line for line in requirements("locked.txt") if line.startswith("torch=="))
    assert "+cpu; sys_platform == 'linux'" in first
    assert "; sys_platform != 'linux'" in other


def test_every_action_of_a_workflow_is_pinned_by_its_commit():
    workflows = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    used = [found for path in workflows for found in re.findall(r"uses: (.*)", path.read_text())]
    assert used
    assert [action for action in used if not re.match(r"[\w./-]+@[0-9a-f]{40}( #|$)", action)] == []


def test_a_file_of_a_package_is_told_by_its_name(lock):
    assert lock._version("pnml_x-1.2-py3-none-any.whl", "pnml-x") == "1.2"
    assert lock._version("pnml-x-1.2.tar.gz", "pnml-x") == "1.2"
    assert lock._version("pnml_x-1.2-py3-none-any.whl.metadata", "pnml-x") is None
