"""Every public name is on its page of the reference, and shows how it is used."""

from __future__ import annotations

import inspect
import pkgutil
import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import pnml

PAGES = Path(__file__).parents[1] / "docs" / "api"
PACKAGES = (
    "pnml",
    "pnml.active",
    "pnml.adversarial",
    "pnml.models",
    "pnml.metrics",
    "pnml.nn",
    "pnml.ood",
    "pnml.plots",
    "pnml.scale",
)
NEEDS_TORCH = ("pnml.adversarial", "pnml.nn")
# Adapters to packages that the development extra does not install, and what they import.
ADAPTERS = {"pnml.active.DIALHeuristic": "baal.active.heuristics"}

pytestmark = pytest.mark.filterwarnings("ignore")  # of the packages that adapters import


def page_of(package):
    return (PAGES / f"{package.rpartition('.')[2]}.md").read_text()


def documented(package):
    return re.findall(r"^::: (\S+)$", page_of(package), re.M)


def public(package):
    if package in NEEDS_TORCH:
        pytest.importorskip("torch")
    module = import_module(package)
    if package == "pnml.models":
        return module, ["load", "save"]  # the names that it passes on
    return module, module.__all__


@pytest.mark.parametrize("package", PACKAGES)
def test_the_page_of_a_package_has_its_public_names_and_no_others(package):
    _, names = public(package)
    assert sorted(documented(package)) == sorted(f"{package}.{name}" for name in names)


def shows_its_use(value):
    of_an_error = isinstance(value, type) and issubclass(value, Exception)
    return of_an_error or ">>> " in (value.__doc__ or "")


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_shows_how_it_is_used(package):
    module, names = public(package)
    here = [name for name in names if f"{package}.{name}" not in ADAPTERS]
    assert not [name for name in here if not shows_its_use(getattr(module, name))]


@pytest.mark.peers
@pytest.mark.parametrize("name", ADAPTERS)
def test_every_adapter_shows_how_it_is_used(name):
    pytest.importorskip(ADAPTERS[name])
    package, _, own = name.rpartition(".")
    assert shows_its_use(getattr(import_module(package), own))


def test_every_package_with_public_names_has_a_page():
    pytest.importorskip("torch")
    found = [
        f"pnml.{module.name}" for module in pkgutil.iter_modules(pnml.__path__) if module.ispkg
    ]
    with_names = [package for package in found if hasattr(import_module(package), "__all__")]
    assert set(with_names) <= set(PACKAGES)


@pytest.mark.parametrize("package", PACKAGES)
def test_attributes_are_laid_out_as_names_and_what_they_are(package, monkeypatch):
    """As the site reads them: words are no types, and every attribute is described."""
    griffe = pytest.importorskip("griffe")
    monkeypatch.syspath_prepend(PAGES.parent)
    laid_out = import_module("attribute_lists").laid_out
    module, names = public(package)
    for name in names:
        needed = ADAPTERS.get(f"{package}.{name}")
        if needed and find_spec(needed.split(".")[0]) is None:
            continue
        text = inspect.getdoc(getattr(module, name)) or ""
        if "\nAttributes\n---" not in text:
            continue
        sections = griffe.Docstring(laid_out(text)).parse("numpy")
        (found,) = [section.value for section in sections if section.kind.value == "attributes"]
        assert found, name
        for attribute in found:
            assert attribute.description.strip(), f"{name}.{attribute.name}"
            assert re.fullmatch(r"\w+(, \w+)*", attribute.name), f"{name}.{attribute.name}"
