"""Specs: which values a field of a stored object takes, and whether array shapes agree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import NoneType
from typing import Any, Protocol

import numpy as np

from pnml.core.conditions import ANY_NUMBER, COUNT, FINITE, Condition
from pnml.errors import InputError
from pnml.runtime.checks import is_number

Sizes = dict[str, int]  # letter → length of the axes it names

# Words of the documentation for plain types; other classes appear by name.
_WORDS: dict[type, str] = {
    float: "number",
    int: "whole number",
    bool: "true or false",
    str: "text",
    NoneType: "null",
}
_DTYPE_WORDS = {"f": "", "i": "; whole numbers", "u": "; bytes", "b": "; true or false"}


class Spec(Protocol):
    """Spec: schema of one field, the values it takes and what they say about sizes."""

    @property
    def text(self) -> str:
        """The values in words, for the documentation."""

    def accepts(self, value: Any) -> bool:
        """Whether the value is of the right kind."""

    def sizes(self, value: Any) -> Iterable[tuple[str, int]]:
        """Letters, or sums such as ``d+k+1``, with their lengths in this value."""


class Sizeless:
    """Spec, base: a field that says nothing about sizes."""

    def sizes(self, value: Any) -> Iterable[tuple[str, int]]:
        """No sizes."""
        return ()


@dataclass(frozen=True)
class Array:
    """Spec: an array whose axes are named by letters or sums of them."""

    axes: tuple[str, ...]
    dtype: type[np.generic]
    condition: Condition = ANY_NUMBER

    @property
    def text(self) -> str:
        """The axes, the dtype where it is not float64, and the condition unless it is usual."""
        axes = ", ".join(self.axes) + _DTYPE_WORDS[np.dtype(self.dtype).kind]
        return axes + _condition_text(self.condition)

    def fits(self, value: Any) -> bool:
        """Whether a value is an array of this dtype and number of axes."""
        right = type(value) is np.ndarray and value.dtype == self.dtype
        return right and value.ndim == len(self.axes)

    def accepts(self, value: Any) -> bool:
        """Whether a value fits and its numbers meet the condition."""
        return self.fits(value) and self.condition.holds(value)

    def sizes(self, value: Any) -> Iterable[tuple[str, int]]:
        """Every axis with its length."""
        return zip(self.axes, value.shape, strict=True)


@dataclass(frozen=True)
class _TextVector:
    """A vector of texts along a named axis."""

    axis: str

    @property
    def text(self) -> str:
        """The axis."""
        return f"{self.axis}; texts"

    def sizes(self, value: Any) -> Iterable[tuple[str, int]]:
        """The axis with the number of texts."""
        return [(self.axis, len(value))]


class Names(_TextVector):
    """Spec: names of columns as scikit-learn keeps them, an array of Python strings."""

    def accepts(self, value: Any) -> bool:
        """Whether a value is a vector of strings with dtype object."""
        right = type(value) is np.ndarray and value.dtype == object and value.ndim == 1
        return right and all(isinstance(name, str) for name in value)


class Texts(_TextVector):
    """Spec: labels that are text, an array with one of numpy's string dtypes."""

    def accepts(self, value: Any) -> bool:
        """Whether a value is a vector with a string dtype."""
        return type(value) is np.ndarray and value.dtype.kind == "U" and value.ndim == 1


class Cells(_TextVector):
    """Spec: words with gaps as scikit-learn's encoders keep them, an array of objects."""

    def accepts(self, value: Any) -> bool:
        """Whether a value is a one-dimensional object array of strings and missing values."""
        return type(value) is np.ndarray and is_words(value)


@dataclass(frozen=True)
class Count:
    """Spec: a whole number that is the length of an axis."""

    axis: str

    @property
    def text(self) -> str:
        """The axis."""
        return f"number of {self.axis}"

    def accepts(self, value: Any) -> bool:
        """Whether a value is a number of 1 or more."""
        return type(value) is int and value >= 1

    def sizes(self, value: Any) -> Iterable[tuple[str, int]]:
        """The axis with the number."""
        return [(self.axis, value)]


@dataclass(frozen=True)
class Number(Sizeless):
    """Spec: one number of these classes, with a condition."""

    classes: tuple[type, ...]
    condition: Condition

    @property
    def text(self) -> str:
        """The kind of number, and the condition unless it is usual."""
        kind = _WORDS[self.classes[0]]
        words = _condition_text(self.condition).removeprefix("; ")
        return words if words and kind == "number" else f"{kind}{words and '; ' + words}"

    def fits(self, value: Any) -> bool:
        """Whether a value is of one of the classes."""
        return type(value) in self.classes

    def accepts(self, value: Any) -> bool:
        """Whether a value fits and meets the condition."""
        return self.fits(value) and self.condition.holds(value)


@dataclass(frozen=True)
class Setting(Sizeless):
    """Spec: a parameter of an estimator, a finite number or a value of another class."""

    others: tuple[type, ...]

    @property
    def text(self) -> str:
        """Nothing is said about it, since the estimator says it."""
        return ""

    def accepts(self, value: Any) -> bool:
        """Whether a value is a number but no truth value, or of one of the classes."""
        return type(value) in self.others or is_number(value)


@dataclass(frozen=True)
class Word(Sizeless):
    """Spec: one of these texts."""

    known: frozenset[str]

    @property
    def text(self) -> str:
        """The kind of value."""
        return "text"

    def accepts(self, value: Any) -> bool:
        """Whether a value is one of the known texts."""
        return isinstance(value, str) and value in self.known


@dataclass(frozen=True)
class OneOf(Sizeless):
    """Spec: an object of one of these classes, subclasses not included."""

    classes: tuple[type, ...]

    @property
    def text(self) -> str:
        """The classes by name."""
        named = [_WORDS.get(cls, cls.__name__) for cls in self.classes if cls is not np.float64]
        return " or ".join(named)

    def accepts(self, value: Any) -> bool:
        """Whether the class of a value is listed."""
        return type(value) in self.classes


@dataclass(frozen=True)
class Same(Sizeless):
    """Spec: one of these very objects."""

    objects: tuple[Any, ...]

    @property
    def text(self) -> str:
        """The tag that stands for them in the file."""
        return "named"

    def accepts(self, value: Any) -> bool:
        """Whether a value is one of these objects itself; an equal copy is not."""
        return any(value is known for known in self.objects)


class Fitted(Sizeless):
    """Spec: a fitted estimator."""

    @property
    def text(self) -> str:
        """The kind of object."""
        return "fitted estimator"

    def accepts(self, value: Any) -> bool:
        """Whether an estimator knows how many features it was fitted to."""
        return looks_fitted(value)


@dataclass(frozen=True)
class ManyOf(Sizeless):
    """Spec: a list, tuple or dict by name of values that all have one spec."""

    container: type[list[Any]] | type[tuple[Any, ...]] | type[dict[str, Any]]
    item: Spec

    @property
    def text(self) -> str:
        """The container and its items."""
        each = f", each {self.item.text}" if self.item.text else ""
        return f"{self.container.__name__}{each}"

    def accepts(self, value: Any) -> bool:
        """Whether all its values are of the right kind."""
        if type(value) is not self.container:
            return False
        return all(map(self.item.accepts, value.values() if type(value) is dict else value))


@dataclass(frozen=True)
class Row(Sizeless):
    """Spec: a tuple with one spec for each place."""

    places: tuple[Spec, ...]

    @property
    def text(self) -> str:
        """The places in order."""
        return f"tuple of {' and '.join(place.text for place in self.places)}"

    def accepts(self, value: Any) -> bool:
        """Whether every place holds a value of its kind."""
        if type(value) is not tuple or len(value) != len(self.places):
            return False
        return all(spec.accepts(item) for spec, item in zip(self.places, value, strict=True))


@dataclass(frozen=True)
class Either:
    """Spec: a value that one of several specs takes."""

    kinds: tuple[Spec, ...]

    @property
    def text(self) -> str:
        """The alternatives."""
        return ", or ".join(spec.text for spec in self.kinds)

    def accepts(self, value: Any) -> bool:
        """Whether one of the specs takes it."""
        return any(spec.accepts(value) for spec in self.kinds)

    def sizes(self, value: Any) -> Iterable[tuple[str, int]]:
        """The sizes that the first spec that takes it gives."""
        for spec in self.kinds:
            if getattr(spec, "fits", spec.accepts)(value):
                return spec.sizes(value)
        return ()


class Anything(Sizeless):
    """Spec: whatever a file can hold, an argument that the estimator checks itself."""

    @property
    def text(self) -> str:
        """Nothing is said about it."""
        return ""

    def accepts(self, value: Any) -> bool:
        """True for every value."""
        return True


def _condition_text(condition: Condition) -> str:
    """A condition in the documentation; finite numbers, and any at all, are not mentioned."""
    return "" if condition in (ANY_NUMBER, FINITE, COUNT) else f"; {condition.words}"


def objection(spec: Spec, value: Any) -> str:
    """What is wrong with a value that a spec does not accept, in words."""
    parts: Iterable[Any] = getattr(spec, "kinds", (spec,))
    unmet = [p.condition for p in parts if hasattr(p, "condition") and p.fits(value)]
    return f"must be {unmet[0].words}" if unmet else "is of another kind or shape"


def is_words(array: Any) -> bool:
    """Whether an array fits the schema of words with gaps: strings, None or NaN."""
    if array.dtype != object or array.ndim != 1:
        return False
    gaps = [x is None or (isinstance(x, float) and x != x) for x in array]
    texts = [isinstance(x, str) for x in array]
    return any(texts) and all(map(any, zip(gaps, texts, strict=True)))


def looks_fitted(value: Any) -> bool:
    """Whether an object has fitted attributes; a Pipeline, whether its last step has."""
    held = getattr(value, "__dict__", {})
    if "steps" in held:
        return looks_fitted(held["steps"][-1][1])
    return "n_features_in_" in held or "regressor_" in held


def agree(lengths: Iterable[tuple[str, str, int]], sizes: Sizes) -> None:
    """Fill `sizes` from fields (name, axis, length); raise where two fields disagree."""
    lengths = list(lengths)
    for name, axis, length in lengths:
        if "+" not in axis and sizes.setdefault(axis, length) != length:
            raise InputError(_misfit(name, length, sizes[axis]))
    for name, axis, length in lengths:
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
