"""Dataclasses stored in a model file's format, such as checkpoints, checked by their type hints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, TypeVar

from pnml.errors import InputError
from pnml.models.field_specs import Sums, field_hints, spec_of, sums_of
from pnml.models.schema import Sizes, Spec, agree, check_sum, objection

T = TypeVar("T")

# Sizes that a value shares with the one it is part of; see pnml.core.arrays.
_SHARED = frozenset("dkrw")


def read_record(cls: type[T], described: Any, arrays: Mapping[str, Any]) -> T:
    """An object of dataclass `cls` from a JSON object and arrays by name, with all fields checked.

    Raises InputError where a field is missing, unknown or of a kind that its type hint does not
    allow.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Note:
    ...     rows: int
    >>> read_record(Note, {"rows": 3}, {})
    Note(rows=3)
    """
    names = {field.name for field in fields(cls)}  # type: ignore[arg-type]
    if type(described) is not dict or set(described) | set(arrays) != names:
        raise InputError(f"it does not have the entries {', '.join(sorted(names))}")
    return checked(cls(**described, **arrays))


def checked(value: T) -> T:
    """The dataclass object itself; raises InputError if fields defy their hints or sizes clash."""
    _sizes(value)
    return value


def _sizes(value: Any) -> Sizes:
    cls: Any = type(value)
    specs, sums = _declared(cls)
    lengths, sizes = [], Sizes()
    for name, spec in specs.items():
        held, where = getattr(value, name), f"{name} of a {type(value).__name__}"
        if not spec.accepts(held):
            raise InputError(f"{where} {objection(spec, held)}")
        inside = _sizes(held) if is_dataclass(held) else {}
        shared = [(axis, size) for axis, size in inside.items() if axis in _SHARED]
        lengths += [(where, axis, size) for axis, size in (*spec.sizes(held), *shared)]
    agree(lengths, sizes)
    for axis, wanted in sums:
        if axis in sizes:
            check_sum(f"a row kept in a {type(value).__name__}", wanted, sizes[axis], sizes)
    return sizes


@cache
def _declared(cls: Any) -> tuple[dict[str, Spec], Sums]:
    hints = field_hints(cls)
    return {name: spec_of(hint) for name, hint in hints.items()}, sums_of(hints)
