"""Specs (allowed values) of the fields of a dataclass, derived from its type hints."""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from pnml.core.conditions import ANY_NUMBER, FINITE, Condition
from pnml.models.schema import Anything, Array, Either, ManyOf, Number, OneOf, Row, Spec

Sums = tuple[tuple[str, str], ...]  # such as (("w", "d+k+1"),)

_UNIONS = (Union, types.UnionType)


def field_hints(source: Callable[..., Any]) -> dict[str, Any]:
    """Type hints of the fields of a dataclass, or of the arguments of a function, in order."""
    hints = get_type_hints(source, include_extras=True)
    names = [field.name for field in fields(source)] if is_dataclass(source) else list(hints)
    return {name: hints[name] for name in names if name != "return"}


def spec_of(hint: Any) -> Spec:
    """Spec that a type hint declares: which values the field may hold in a file.

    >>> from pnml.core.arrays import FloatArray
    >>> spec_of(Annotated[FloatArray, "d k"] | None).text
    'd, k, or null'
    """
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _annotated(*args)
    if origin in _UNIONS:
        return _union(args)
    if origin is list:
        return ManyOf(list, spec_of(args[0]))
    if origin is dict:
        return ManyOf(dict, spec_of(args[1]))
    if hint is Any:
        return Anything()
    if origin is tuple:
        if args[-1] is Ellipsis:
            return ManyOf(tuple, spec_of(args[0]))
        return Row(tuple(map(spec_of, args)))
    if isinstance(hint, type) and origin is None:
        return Number((float, np.float64), FINITE) if hint is float else OneOf((hint,))
    raise TypeError(f"no field of a model file can be declared as {hint}")


def sums_of(hints: dict[str, Any]) -> Sums:
    """Sums of axis lengths that type hints declare: ``"w=d+k+1"`` becomes ``("w", "d+k+1")``."""
    annotated = [get_args(hint) for hint in hints.values() if get_origin(hint) is Annotated]
    notes = [note for _, *rest in annotated for note in rest if isinstance(note, str)]
    return tuple((left, right) for left, mark, right in (n.partition("=") for n in notes) if mark)


def _annotated(inner: Any, *notes: Any) -> Spec:
    """Spec of a hint with axes, a sum of sizes or a condition."""
    given = [note for note in notes if isinstance(note, Condition)]
    if _is_array(inner):
        dtype = _dtype(inner)
        usual = FINITE if issubclass(dtype, np.floating) else ANY_NUMBER
        axes = next(note for note in notes if isinstance(note, str))
        return Array(tuple(axes.split()), dtype, *(given or [usual]))
    if given and inner in (float, int):
        return Number((float, np.float64) if inner is float else (int,), given[0])
    return spec_of(inner)


def _union(members: tuple[Any, ...]) -> Spec:
    specs = tuple(map(spec_of, members))
    of_classes = [spec for spec in specs if isinstance(spec, OneOf)]
    if len(of_classes) < len(specs):
        return Either(specs)
    return OneOf(tuple(cls for spec in of_classes for cls in spec.classes))


def _is_array(hint: Any) -> bool:
    return get_origin(hint) is np.ndarray


def _dtype(hint: Any) -> type[np.generic]:
    """The scalar type of ``NDArray[scalar]``."""
    scalar: type[np.generic] = get_args(get_args(hint)[1])[0]
    return scalar
