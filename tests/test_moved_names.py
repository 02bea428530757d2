"""Import paths of 0.1 that have moved still work, and say where to."""

from __future__ import annotations

from importlib import import_module

import pytest

MOVED = [
    ("pnml.io", "load", "pnml.models"),
    ("pnml.io", "save", "pnml.models"),
    ("pnml.core.gram", "Gram", "pnml.core.statistic.gram"),
    ("pnml.core.projecting", "size_for", "pnml.core.geometry.random_projection"),
]


@pytest.mark.parametrize(("old", "name", "new"), MOVED)
def test_an_old_import_path_gives_the_same_object_and_warns(old, name, new):
    with pytest.warns(DeprecationWarning, match=f"{new}.{name}; the old name will be removed"):
        found = getattr(import_module(old), name)
    assert found is getattr(import_module(new), name)


def test_a_name_that_never_was_is_an_attribute_error():
    with pytest.raises(AttributeError):
        import_module("pnml.io").nothing  # noqa: B018
