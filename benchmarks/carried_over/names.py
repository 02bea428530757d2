"""Public names, their parameters and defaults; and that a probe exists for each."""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path

PACKAGES = (
    "pnml",
    "pnml.nn",
    "pnml.ood",
    "pnml.active",
    "pnml.adversarial",
    "pnml.scale",
    "pnml.metrics",
    "pnml.plots",
)
# Names of 0.1 that have another name now, and that still work.
RENAMED = {"pnml.adversarial": ("Attacked", "JointlyAttacked")}
NOT_PROBED = {
    "DIALHeuristic": "needs baal, whose own requirements do not install beside PyTorch for CPUs",
    "all_reduce": "needs several processes; tests/nn and tests/scale run it",
    "ConditionWarning": "a warning; recorded by its name wherever it is given",
    "Detector": "the base of all detectors, without a score of its own",
    "get_params": "of scikit-learn; seen through repr",
    "InputError": "an error; recorded by its name wherever it is raised",
}


def probe(record):
    missing = unprobed() if record.root == record.old / "src" else []
    if missing:
        raise LookupError(f"public names without a probe: {', '.join(missing)}")
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in sorted({*module.__all__, *RENAMED.get(package, ())}):
            thing = record.case(f"names/{package}.{name}", lambda m=module, n=name: getattr(m, n))
            signatures(record, f"{package}.{name}", thing)


def signatures(record, name, thing):
    """Each parameter apart, so that a new one with a default is no difference."""
    if not callable(thing):
        return
    parts = {"": thing}
    if inspect.isclass(thing):
        parts |= {f".{n}": m for n, m in members(thing) if callable(m)}
    for part, function in parts.items():
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):
            continue
        for p in parameters:
            default = "required" if p.default is p.empty else as_text(p.default)
            record.text(f"signatures/{name}{part}({p.name})", f"{p.kind.description}, {default}")


def as_text(value):
    """A default value; functions and objects by their names alone."""
    return getattr(value, "__name__", None) or repr(value)


def members(cls):
    """Public members that the library itself defines."""
    found = {}
    for base in reversed(cls.__mro__):
        if base.__module__.startswith("pnml"):
            found |= {n: m for n, m in vars(base).items() if not n.startswith("_")}
    return [(n, getattr(cls, n, m)) for n, m in sorted(found.items())]


def used():
    """Every name, attribute and word in the source of the probes."""
    words = set()
    for path in Path(__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if path.name == "names.py":
                continue
            words |= {getattr(node, "id", None), getattr(node, "attr", None)}
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                words.add(node.value)
            if isinstance(node, ast.keyword):
                words.add(node.arg)
    return words


def unprobed():
    """Public names, and public methods of public classes, that no probe uses."""
    words, missing = used(), set()
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in module.__all__:
            if name in NOT_PROBED:
                continue
            if name not in words:
                missing.add(f"{package}.{name}")
            thing = getattr(module, name)
            if inspect.isclass(thing):
                own = {n for n, _ in members(thing)} - words - set(NOT_PROBED)
                missing |= {f"{package}.{name}.{n}" for n in own if not n.startswith("set_")}
    return sorted(missing)
