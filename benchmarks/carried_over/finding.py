"""Names of 0.1 wherever they are now."""

from __future__ import annotations

from importlib import import_module
from pkgutil import walk_packages

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
    """A name from where it was, else from the same sub-package, else from what is public."""
    family = ".".join(module.split(".")[:2])
    for home in (module, *inside(family), *PACKAGES):
        thing = look(home, name)
        if thing is not None:
            return thing
    return look(f"{module}.{name}") or Gone(f"{module}.{name}")


def look(home, name=None):
    """A module, or a name in it, or None."""
    try:
        module = import_module(home)
    except ModuleNotFoundError:
        return None
    return module if name is None else getattr(module, name, None)


def inside(package):
    """Names of all modules below a package, where it is one."""
    home = look(package)
    paths = getattr(home, "__path__", [])
    return [module.name for module in walk_packages(paths, f"{package}.")]
