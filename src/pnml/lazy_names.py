"""Names of a package whose modules are imported when the names are first used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def found_on_first_use(
    namespace: dict[str, Any], homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The ``__getattr__`` and ``__dir__`` of a package that imports its names on first use.

    `namespace` is the ``globals()`` of the package; `homes` has the module that defines each name.

    >>> find, names = found_on_first_use({"__name__": "tools"}, {"sqrt": "math"})
    >>> find("sqrt")(4.0), names()
    (2.0, ['__name__', 'sqrt'])
    """

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {namespace['__name__']!r} has no attribute {name!r}")
        value = namespace[name] = getattr(import_module(homes[name]), name)
        return value

    def names() -> list[str]:
        return sorted({*namespace, *homes})

    return find, names
