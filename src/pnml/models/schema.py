"""What a field of a stored object may hold, and whether the shapes of its arrays agree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from pnml.errors import InputError

Sizes = dict[str, int]  # letter → length of the axes it names


class Spec(Protocol):
    """One field: which values it takes, and what they say about sizes."""

    def accepts(self, value: Any) -> bool:
        """Whether the value is of the right kind."""

    def sizes(self, value: Any) -> Iterable[tuple[str, int]]:
        """Letters, or sums such as ``d+k+1``, beside the lengths they have in this value."""


class _Sizeless:
    """A field that says nothing about sizes."""

    def sizes(self, value: Any) -> Iterable[tuple[str, int]]:
        return ()


@dataclass(frozen=True)
class Array:
    """An array whose axes are named by letters or sums of them."""

    axes: tuple[str, ...]
    dtype: type[np.generic]

    def accepts(self, value: Any) -> bool:
        """Whether it is an array of this dtype and number of axes."""
        right = type(value) is np.ndarray and value.dtype == self.dtype
        return right and value.ndim == len(self.axes)

    def sizes(self, value: Any) -> Iterable[tuple[str, int]]:
        """Every axis beside its length."""
        return zip(self.axes, value.shape, strict=True)


@dataclass(frozen=True)
class Names:
    """Names of columns, as scikit-learn keeps them."""

    axis: str

    def accepts(self, value: Any) -> bool:
        """Whether it is a vector of texts."""
        right = type(value) is np.ndarray and value.dtype == object and value.ndim == 1
        return right and all(isinstance(name, str) for name in value)

    def sizes(self, value: Any) -> Iterable[tuple[str, int]]:
        """The axis beside the number of names."""
        return [(self.axis, len(value))]


@dataclass(frozen=True)
class Texts:
    """Labels that are text, all in fields of one width."""

    axis: str

    def accepts(self, value: Any) -> bool:
        """Whether it is a vector of such texts."""
        return type(value) is np.ndarray and value.dtype.kind == "U" and value.ndim == 1

    def sizes(self, value: Any) -> Iterable[tuple[str, int]]:
        """The axis beside the number of texts."""
        return [(self.axis, len(value))]


@dataclass(frozen=True)
class Count:
    """A whole number that is the length of an axis."""

    axis: str

    def accepts(self, value: Any) -> bool:
        """Whether it counts something."""
        return type(value) is int and value >= 1

    def sizes(self, value: Any) -> Iterable[tuple[str, int]]:
        """The axis beside the number."""
        return [(self.axis, value)]


@dataclass(frozen=True)
class OneOf(_Sizeless):
    """An object of one of these classes, subclasses not included."""

    classes: tuple[type, ...]

    def accepts(self, value: Any) -> bool:
        """Whether its class is listed."""
        return type(value) in self.classes


@dataclass(frozen=True)
class Same(_Sizeless):
    """One of these very objects."""

    objects: tuple[Any, ...]

    def accepts(self, value: Any) -> bool:
        """Whether it is one of them."""
        return any(value is known for known in self.objects)


class Fitted(_Sizeless):
    """An estimator that has seen rows."""

    def accepts(self, value: Any) -> bool:
        """Whether it knows how many features it was fitted to."""
        return "n_features_in_" in getattr(value, "__dict__", ())


@dataclass(frozen=True)
class ManyOf(_Sizeless):
    """A list, a tuple, or a dict by name, of values that are all alike."""

    container: type[list[Any]] | type[tuple[Any, ...]] | type[dict[str, Any]]
    item: Spec

    def accepts(self, value: Any) -> bool:
        """Whether all its values are of the right kind."""
        if type(value) is not self.container:
            return False
        return all(map(self.item.accepts, value.values() if type(value) is dict else value))


@dataclass(frozen=True)
class Row(_Sizeless):
    """A tuple with one kind of value in each place."""

    places: tuple[Spec, ...]

    def accepts(self, value: Any) -> bool:
        """Whether every place holds what belongs there."""
        if type(value) is not tuple or len(value) != len(self.places):
            return False
        return all(spec.accepts(item) for spec, item in zip(self.places, value, strict=True))


@dataclass(frozen=True)
class Either:
    """A value of one of several kinds."""

    kinds: tuple[Spec, ...]

    def accepts(self, value: Any) -> bool:
        """Whether one of the kinds takes it."""
        return any(spec.accepts(value) for spec in self.kinds)

    def sizes(self, value: Any) -> Iterable[tuple[str, int]]:
        """What the kind that takes it says."""
        return next(spec for spec in self.kinds if spec.accepts(value)).sizes(value)


class Anything(_Sizeless):
    """Whatever a file can hold: a constructor's argument, which the estimator itself judges."""

    def accepts(self, value: Any) -> bool:
        """Whether it is anything."""
        return True


def agree(found: Iterable[tuple[str, str, int]], sizes: Sizes) -> None:
    """Fill in what the letters stand for; raise where a field (name, axis, length) disagrees."""
    found = list(found)
    for name, axis, length in found:
        if "+" not in axis and sizes.setdefault(axis, length) != length:
            raise InputError(_misfit(name, length, sizes[axis]))
    for name, axis, length in found:
        if "+" in axis:
            check_sum(name, axis, length, sizes)


def check_sum(name: str, axis: str, length: int, sizes: Mapping[str, int]) -> None:
    """Raise where a length is not the sum, such as ``d+k+1``, of sizes that are all known."""
    terms = [int(term) if term.isdigit() else sizes.get(term) for term in axis.split("+")]
    known = [term for term in terms if term is not None]
    if len(known) == len(terms) and sum(known) != length:
        raise InputError(_misfit(name, length, sum(known)))


def _misfit(name: str, length: int, wanted: int) -> str:
    return f"{name} has length {length} where the rest of the model has {wanted}"
