"""Stored pieces are kept over changes that cannot move a number, and forgotten after all others."""

from __future__ import annotations

import re
from functools import partial

import numpy as np
import pytest

from pnml_experiments.framework import code, running
from pnml_experiments.framework.code import Code, Name, function_digest, run_digest
from pnml_experiments.framework.experiment import Experiment
from pnml_experiments.framework.registry import EXPERIMENTS

FILES = {
    "__init__.py": '"""Made for this test."""\n',
    "one.py": '''"""An experiment."""
from __future__ import annotations
from typing import TYPE_CHECKING
from made.loader import load
from made import colours
from made.deep import tools as used
if TYPE_CHECKING:
    from made.shown import Shown

TITLE = "One"
ROWS, COLUMNS = 3, 4

def run(scale: Shown):
    """Everything."""
    from made.late import finish
    # a comment
    return finish(load(ROWS)) + colours.RED + used.tool()

def claim():
    return TITLE
''',
    "loader.py": '''"""A loader."""
from dataclasses import dataclass

SCALE = 2.0
OTHER = 5.0

@dataclass(frozen=True)
class Kept:
    """What is loaded."""
    rows: int

def load(rows):
    return Kept(rows).rows * SCALE

def unused():
    return OTHER
''',
    "colours.py": "RED = 1\nBLUE = 3\n",
    "late.py": "def finish(x):\n    return x\n",
    "deep/__init__.py": "",
    "deep/tools.py": "def tool():\n    return 1\n",
    "shown.py": "class Shown:\n    size = 1\n",
    "unrelated.py": "X = 1\n",
}


@pytest.fixture
def package(tmp_path):
    """Writes a package with some text replaced: (file, old, new) → digest of one.run."""
    for name, text in FILES.items():
        path = tmp_path / "made" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def digest(file=None, old="", new=""):
        if file is not None:
            assert old in FILES[file]
            (tmp_path / "made" / file).write_text(FILES[file].replace(old, new))
        return Code(tmp_path / "made", "made").digest(Name("made.one", "run"))

    return digest


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("one.py", '"""Everything."""', '"""All of it, in other words."""'),
        ("one.py", '    """Everything."""\n', ""),
        ("one.py", '"""An experiment."""', '"""Another title."""'),
        ("one.py", "# a comment", "# another comment, much longer"),
        ("one.py", "finish(load(ROWS)) + colours.RED", "finish( load(ROWS) )+colours.RED"),
        ("one.py", 'TITLE = "One"', 'TITLE = "Two"'),
        ("one.py", "return TITLE", "return TITLE * 2"),
        ("loader.py", '"""What is loaded."""', '"""Rows."""'),
        ("loader.py", "OTHER = 5.0", "OTHER = 6.0"),
        ("colours.py", "BLUE = 3", "BLUE = 4"),
        ("shown.py", "size = 1", "size = 2"),
        ("unrelated.py", "X = 1", "X = 2"),
    ],
    ids=[
        "docstring",
        "docstring removed",
        "module docstring",
        "comment",
        "layout",
        "metadata",
        "claim",
        "docstring of a helper",
        "unreached helper",
        "unused name of an imported module",
        "annotation",
        "unrelated module",
    ],
)
def test_what_moves_no_number_keeps_the_digest(package, file, old, new):
    assert package() == package(file, old, new)


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("one.py", "ROWS, COLUMNS = 3, 4", "ROWS, COLUMNS = 5, 4"),
        ("one.py", "load(ROWS)", "load(ROWS + 1)"),
        ("loader.py", "SCALE = 2.0", "SCALE = 2.5"),
        ("loader.py", "Kept(rows).rows * SCALE", "Kept(rows).rows / SCALE"),
        ("loader.py", "    rows: int", "    rows: float = 0"),
        ("late.py", "return x", "return -x"),
        ("colours.py", "RED = 1", "RED = 2"),
        ("deep/tools.py", "return 1", "return 2"),
        ("loader.py", "OTHER = 5.0", "OTHER = 5.0\nfor i in range(3):\n    SCALE *= i"),
        ("loader.py", "def unused():", "@print\ndef unused():"),
    ],
    ids=[
        "constant",
        "own code",
        "constant of a loader",
        "loader",
        "class of a loader",
        "imported inside a function",
        "imported module",
        "imported module of a folder",
        "statement that acts on import",
        "decorator that acts on import",
    ],
)
def test_what_may_move_a_number_changes_the_digest(package, file, old, new):
    assert package() != package(file, old, new)


def test_a_changed_data_file_changes_the_stamp(tmp_path, monkeypatch):
    monkeypatch.setenv("PNML_DATA", str(tmp_path))
    reads = Experiment("reads", 2, "Reads", "x", needs=("a.npz",), uses=("b.npz",), extras=())
    stamps = [running.stamp(reads, "small")]
    for name in ("a.npz", "b.npz"):
        for content in (b"1", b"2"):
            (tmp_path / name).write_bytes(content)
            stamps.append(running.stamp(reads, "small"))
    stamps.append(running.stamp(reads, "stored"))
    assert len(set(stamps)) == len(stamps)
    assert running.stamp(reads, "stored") == stamps[-1]


def test_metadata_and_claims_keep_all_pieces_and_a_loader_forgets_its_own(tmp_path, monkeypatch):
    """On a copy of the experiments themselves."""
    root = tmp_path / "pnml_experiments"
    source = code._here()._root
    for path in source.rglob("*.py"):
        copied = root / path.relative_to(source)
        copied.parent.mkdir(parents=True, exist_ok=True)
        copied.write_text(path.read_text(encoding="utf-8"), encoding="utf-8")

    def stamps():
        copy = Code(root, "pnml_experiments")
        monkeypatch.setattr(code, "_here", lambda: copy)
        return {one.id: run_digest(one.module) for one in EXPERIMENTS}

    before = stamps()
    for path in [*root.glob("ch*/*.py"), *root.glob("studies/*.py")]:
        text = path.read_text(encoding="utf-8")
        text = re.sub(r"^( +minutes=\()", r"\g<1>7.0, ", text, flags=re.MULTILINE)
        text = text.replace("CLAIMS = (", "CLAIMS = 7 * (")
        path.write_text(text, encoding="utf-8")
    assert stamps() == before
    loader = root / "framework" / "mnist.py"
    text = loader.read_text(encoding="utf-8")
    assert "np.float32(255)" in text
    loader.write_text(text.replace("np.float32(255)", "np.float32(256)"), encoding="utf-8")
    changed = {name for name, stamp in stamps().items() if stamp != before[name]}
    assert {"dial-mnist", "dial-emnist-ood", "adversarial-mnist", "open-set-mnist"} <= changed
    assert not {"polynomial", "pmlb", "ood-densenet", "uci-benchmark"} & changed


def test_arrays_are_stamped_with_the_code_of_the_function_that_computes_them():
    def first():
        return np.asarray(1)

    outside = function_digest(first)
    ours = function_digest(running.stamp)
    assert outside != ours
    assert function_digest(partial(running.stamp, scale="small")) == ours
    assert function_digest(partial(map, running.stamp)) == ours

    def holds(function):
        return lambda: function()

    assert function_digest(holds(running.stamp)) == ours
