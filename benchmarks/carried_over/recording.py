"""Answers of one version as JSON lines: a key, and a number array or a text."""

from __future__ import annotations

import dataclasses
import json
import re
import warnings
from collections.abc import Mapping
from pathlib import Path

import numpy as np

TEMPORARY = re.compile(r"(?:/[\w.+-]+)*/(?:probe|pytest)-[\w.+-]*")
UNFINISHED = re.compile(r"\.pnml-[0-9a-f]+\.tmp")
ADDRESS = re.compile(r"0x[0-9a-f]{6,}")


def plain(text):
    """A text without temporary folders and files, and addresses in memory."""
    return ADDRESS.sub("0x…", UNFINISHED.sub(".pnml-….tmp", TEMPORARY.sub("<tmp>", text)))


def raised(error):
    """Type, built-in bases and sentence of an error, and of what caused it."""
    bases = [c.__name__ for c in type(error).__mro__[1:] if c.__module__ == "builtins"]
    said = f"{type(error).__name__}({', '.join(bases[:-2])}): {error}"
    cause = error.__cause__
    return plain(said if cause is None else f"{said} <- {raised(cause)}")


def as_array(value):
    """A numpy array where the value is a number or an array of numbers, else None."""
    if type(value).__module__.startswith("torch") and hasattr(value, "detach"):
        value = value.detach().cpu()
        value = value.float() if str(value.dtype) in ("torch.bfloat16", "torch.float16") else value
        return value.numpy()
    if isinstance(value, np.ndarray | np.generic | bool | int | float):
        return np.asarray(value)
    return None


def is_numbers(value):
    """Whether a value is a list of numbers alone."""
    kinds = (bool, int, float, np.generic)
    return isinstance(value, list) and bool(value) and all(isinstance(v, kinds) for v in value)


def as_parts(value):
    """Name → part of a value that has parts, else None."""
    if isinstance(value, type):
        return None
    if hasattr(value, "to_pydict"):
        return value.to_pydict()
    if hasattr(value, "to_dict") and hasattr(value, "columns"):
        return {str(c): value[c].to_numpy() for c in value.columns}
    if isinstance(value, Mapping):
        return {str(name): part for name, part in value.items()}
    if dataclasses.is_dataclass(value):
        names = [f.name for f in dataclasses.fields(value) if not f.name.startswith("_")]
        return {name: getattr(value, name) for name in names}
    if hasattr(value, "_asdict"):
        return value._asdict()
    if isinstance(value, list | tuple):
        return {str(i): part for i, part in enumerate(value)}
    return None


class Record:
    """Writes what is said, each under a key of its own."""

    def __init__(self, path, scratch):
        self._path, self._lines = Path(path), []
        self._used = set()
        self.scratch = Path(scratch)

    def _write(self, key, **said):
        if key in self._used:
            raise ValueError(f"{key} is said twice")
        self._used.add(key)
        self._lines.append(json.dumps({"key": key, **said}) + "\n")

    def text(self, key, text):
        self._write(key, text=plain(text))

    def value(self, key, value):
        """Flatten a value into arrays and texts; an object without parts is only said to be."""
        array = as_array(value)
        if array is None and is_numbers(value):
            array = np.asarray(value)
        if array is not None and array.dtype.kind in "biuf":
            self._write(
                key, dtype=str(array.dtype), shape=list(array.shape), numbers=array.ravel().tolist()
            )
        elif array is not None:
            self.text(key, f"{array.shape} {array.ravel().tolist()}")
        elif value is None or isinstance(value, str | bytes | Path):
            self.text(key, str(value))
        elif (parts := as_parts(value)) is not None:
            self.text(key, f"parts: {', '.join(parts)}")
            for name, part in parts.items():
                self.value(f"{key}/{name}", part)
        else:
            self.text(key, "an object")

    def case(self, key, call):
        """Record what a call returns, raises and warns of; return what it returned, or None."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                value = call()
            except Exception as error:
                value = None
                self.text(key, raised(error))
            else:
                self.value(key, value)
        told = {f"{w.category.__name__}: {plain(str(w.message))}" for w in caught}
        if told:
            self.text(f"{key}/warnings", "\n".join(sorted(told)))
        return value

    def members(self, key, thing, names):
        """Record attributes by name, those that are not there included."""
        for name in names:
            self.case(f"{key}/{name}", lambda name=name: getattr(thing, name))

    def close(self):
        self._path.write_text("".join(self._lines), encoding="utf-8")
