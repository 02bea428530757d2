"""An adapter whose library is not installed says what to install, and nothing else suffers."""

from __future__ import annotations

import sys
from importlib import import_module

import pytest

import child

HOMES = {
    "DIAL": ("skactiveml", "pnml.active.adapters.skactiveml", r"pnml\[active\]"),
    "DIALHeuristic": ("baal", "pnml.active.adapters.baal", "pip install baal"),
    "DIALQueryStrategy": (
        "small_text",
        "pnml.active.adapters.small_text",
        "pip install small-text",
    ),
}


@pytest.mark.parametrize("name", HOMES)
def test_a_missing_library_is_named_with_what_installs_it(name, monkeypatch):
    library, module, words = HOMES[name]
    for loaded in list(sys.modules):
        if loaded.split(".")[0] == library:
            monkeypatch.setitem(sys.modules, loaded, None)
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delitem(sys.modules, module, raising=False)
    with pytest.raises(ModuleNotFoundError, match=words):
        import_module(module)


def test_importing_the_package_loads_none_of_them():
    code = (
        "import sys, pnml.active; "
        "print({'skactiveml', 'baal', 'modAL', 'small_text', 'torch', 'numba'} & set(sys.modules))"
    )
    done = child.python(code, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize("name", ["MCDropout", "LastLayerSamples"])
def test_what_needs_torch_says_so(name):
    code = f"import sys; sys.modules['torch'] = None; from pnml.active import {name}"
    done = child.python(code)
    last = done.stderr.strip().splitlines()[-1]
    assert f"pnml.active.{name} needs PyTorch" in last
    assert 'pip install "pnml[torch]"' in last
