"""Old import paths that still work, with a warning."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any


def moved(old: str, new: str) -> Callable[[str], Any]:
    """A ``__getattr__`` for the deprecated module `old`: it warns and returns names of `new`."""

    def find(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {old!r} has no attribute {name!r}")
        value = getattr(import_module(new), name)
        warnings.warn(
            f"{old}.{name} is now {new}.{name}; the old name will be removed in 0.4.",
            DeprecationWarning,
            stacklevel=2,
        )
        return value

    return find
