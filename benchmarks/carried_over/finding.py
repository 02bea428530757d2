"""Names of 0.1 wherever they are now."""

from __future__ import annotations

from importlib import import_module

from benchmarks.carried_over.names import PACKAGES


class Gone:
    """Stands for a helper that is no longer there; a test that uses it fails."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, attribute):
        raise LookupError(f"{self._name} is gone")

    def __call__(self, *_, **__):
        raise LookupError(f"{self._name} is gone")


def found(module, name):
    """A name from the packages that are public, from where it was, or something that is Gone."""
    for package in (*PACKAGES, module, f"{module}.{name}"):
        try:
            home = import_module(package)
        except ModuleNotFoundError:
            continue
        if package == f"{module}.{name}":
            return home
        if package not in PACKAGES or name in home.__all__:
            try:
                return getattr(home, name)
            except AttributeError:
                continue
    return Gone(f"{module}.{name}")
