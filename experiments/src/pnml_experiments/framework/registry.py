"""All experiments, read from the tops of their files without importing them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path

from pnml.errors import InputError
from pnml_experiments.framework.experiment import Experiment

_ROOT = Path(__file__).parents[1]
_FOLDERS = ("ch*", "studies")
# One experiment, or a tuple of several; the closing parenthesis stands alone on its line.
_HEADER = re.compile(r"^EXPERIMENTS? = (.*?^\))$", re.MULTILINE | re.DOTALL)


def read(path: Path, module: str) -> Iterator[Experiment]:
    """The experiments that a file declares, as literals."""
    header = _HEADER.search(path.read_text(encoding="utf-8"))
    if header is None:
        return
    value = ast.parse(header[1], mode="eval").body
    for call in value.elts if isinstance(value, ast.Tuple) else [value]:
        if not isinstance(call, ast.Call) or call.args:
            raise ValueError(f"{path} declares an experiment by something else than keywords")
        fields = {each.arg: ast.literal_eval(each.value) for each in call.keywords if each.arg}
        yield Experiment(module=module, **fields)


def _all() -> Iterator[Experiment]:
    for folder in _FOLDERS:
        for path in _ROOT.glob(f"{folder}/*.py"):
            yield from read(path, f"{path.parent.name}.{path.stem}")


EXPERIMENTS: tuple[Experiment, ...] = tuple(sorted(_all(), key=lambda one: (one.chapter, one.id)))


def find(name: str) -> Experiment:
    """The experiment of this name.

    >>> find("iris-maps").chapter
    5
    """
    named = {experiment.id: experiment for experiment in EXPERIMENTS}
    if name not in named:
        near = get_close_matches(name, named, n=1)
        meant = f"did you mean {near[0]}?" if near else "run pnml reproduce to list all."
        raise InputError(f"There is no experiment {name}; {meant}")
    return named[name]
