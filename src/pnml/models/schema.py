"""Specs: which values a field of a stored object may hold, and whether array shapes agree."""

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
    """Spec: which values one field of a stored object may hold, and the axis lengths they have."""

    @property
    def text(self) -> str:
        """The allowed values in words, for the tables of ``docs/model-file.md``."""

    def accepts(self, value: Any) -> bool:
        """Whether the field may hold this value."""

    def sizes(self, value: Any) -> Iterable[tuple[str, int]]:
        """Pairs (axis, length) in this value; an axis is a letter or a sum such as ``d+k+1``."""


class Sizeless:
    """Base of specs whose values have no named axes."""

    def sizes(self, value: Any) -> Iterable[tuple[str, int]]:
        """No pairs (axis, length), since the values have no named axes."""
        return ()


@dataclass(frozen=True)
class Array:
    """Spec: an array whose axes have names, each a letter such as ``d`` or a sum such as ``d+1``.

    An axis of the same name has the same length in all fields of an object.
    """

    axes: tuple[str, ...]
    dtype: type[np.generic]
    condition: Condition = ANY_NUMBER

    @property
    def text(self) -> str:
        """The axes, the dtype unless it is float, and the condition unless it is "finite"."""
        axes = ", ".join(self.axes) + _DTYPE_WORDS[np.dtype(self.dtype).kind]
        return axes + _condition_text(self.condition)

    def fits(self, value: Any) -> bool:
        """Whether a value is an array of this dtype and number of axes, whatever its numbers."""
        right = type(value) is np.ndarray and value.dtype == self.dtype
        return right and value.ndim == len(self.axes)

    def accepts(self, value: Any) -> bool:
        """Whether a value is an array of this dtype and axes whose numbers meet the condition."""
        return self.fits(value) and self.condition.holds(value)

    def sizes(self, value: Any) -> Iterable[tuple[str, int]]:
        """Pairs (axis, length), one for each axis of the array."""
        return zip(self.axes, value.shape, strict=True)


@dataclass(frozen=True)
class _TextVector:
    """Base of specs of a one-dimensional array of texts along a named axis."""

    axis: str

    @property
    def text(self) -> str:
        """The axis and the word "texts", for the documentation."""
        return f"{self.axis}; texts"

    def sizes(self, value: Any) -> Iterable[tuple[str, int]]:
        """One pair: the axis and the number of texts."""
        return [(self.axis, len(value))]


class Names(_TextVector):
    """Spec: column names as scikit-learn keeps them, an object array (n,) of Python strings."""

    def accepts(self, value: Any) -> bool:
        """Whether a value is a one-dimensional object array of strings."""
        right = type(value) is np.ndarray and value.dtype == object and value.ndim == 1
        return right and all(isinstance(name, str) for name in value)


class Texts(_TextVector):
    """Spec: class labels that are text, an array (n,) with one of numpy's string dtypes."""

    def accepts(self, value: Any) -> bool:
        """Whether a value is a one-dimensional array with a string dtype."""
        return type(value) is np.ndarray and value.dtype.kind == "U" and value.ndim == 1


class Cells(_TextVector):
    """Spec: words and missing values in an object array (n,), as in scikit-learn's encoders."""

    def accepts(self, value: Any) -> bool:
        """Whether a value is an object array (n,) of strings and missing values (None or NaN)."""
        return type(value) is np.ndarray and is_words(value)


@dataclass(frozen=True)
class Count:
    """Spec: a whole number that gives the length of a named axis."""

    axis: str

    @property
    def text(self) -> str:
        """The words "number of" and the name of the axis, for the documentation."""
        return f"number of {self.axis}"

    def accepts(self, value: Any) -> bool:
        """Whether a value is an int of 1 or more."""
        return type(value) is int and value >= 1

    def sizes(self, value: Any) -> Iterable[tuple[str, int]]:
        """One pair: the axis and the number, which is its length."""
        return [(self.axis, value)]


@dataclass(frozen=True)
class Number(Sizeless):
    """Spec: one number whose type is one of `classes` and which meets a condition."""

    classes: tuple[type, ...]
    condition: Condition

    @property
    def text(self) -> str:
        """The kind of number, and the condition unless it is "finite", for the documentation."""
        kind = _WORDS[self.classes[0]]
        words = _condition_text(self.condition).removeprefix("; ")
        return words if words and kind == "number" else f"{kind}{words and '; ' + words}"

    def fits(self, value: Any) -> bool:
        """Whether the type of a value is one of the classes, whatever the number."""
        return type(value) in self.classes

    def accepts(self, value: Any) -> bool:
        """Whether the type of a value is one of the classes and the number meets the condition."""
        return self.fits(value) and self.condition.holds(value)


@dataclass(frozen=True)
class Setting(Sizeless):
    """Spec: a parameter of an estimator, either a finite number or a value of another type."""

    others: tuple[type, ...]

    @property
    def text(self) -> str:
        """The empty string: the documentation of the estimator describes its parameter."""
        return ""

    def accepts(self, value: Any) -> bool:
        """Whether a value is a number (not True or False), or its type is one of `others`."""
        return type(value) in self.others or is_number(value)


@dataclass(frozen=True)
class Word(Sizeless):
    """Spec: one of the texts in `known`, such as the names of kernels."""

    known: frozenset[str]

    @property
    def text(self) -> str:
        """The word "text", for the documentation."""
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
        """The names of the classes, joined by "or", for the documentation."""
        named = [_WORDS.get(cls, cls.__name__) for cls in self.classes if cls is not np.float64]
        return " or ".join(named)

    def accepts(self, value: Any) -> bool:
        """Whether the type of a value is one of the classes."""
        return type(value) in self.classes


@dataclass(frozen=True)
class Same(Sizeless):
    """Spec: one of these very objects, such as a function that the file stores by its name."""

    objects: tuple[Any, ...]

    @property
    def text(self) -> str:
        """The word "named", which is the tag of such a value in the file."""
        return "named"

    def accepts(self, value: Any) -> bool:
        """Whether a value is one of these objects itself; an equal copy is not."""
        return any(value is known for known in self.objects)


class Fitted(Sizeless):
    """Spec: a fitted estimator."""

    @property
    def text(self) -> str:
        """The words "fitted estimator", by which the table in docs/model-file.md names the spec."""
        return "fitted estimator"

    def accepts(self, value: Any) -> bool:
        """Whether a value looks like a fitted estimator, see `looks_fitted`."""
        return looks_fitted(value)


@dataclass(frozen=True)
class ManyOf(Sizeless):
    """Spec: a list, a tuple, or a dict with text keys, whose values all meet one spec."""

    container: type[list[Any]] | type[tuple[Any, ...]] | type[dict[str, Any]]
    item: Spec

    @property
    def text(self) -> str:
        """The type of the container and the spec of its items in words."""
        each = f", each {self.item.text}" if self.item.text else ""
        return f"{self.container.__name__}{each}"

    def accepts(self, value: Any) -> bool:
        """Whether a value is this type of container and the spec accepts all its items."""
        if type(value) is not self.container:
            return False
        return all(map(self.item.accepts, value.values() if type(value) is dict else value))


@dataclass(frozen=True)
class Row(Sizeless):
    """Spec: a tuple of fixed length, with one spec for each position."""

    places: tuple[Spec, ...]

    @property
    def text(self) -> str:
        """The specs of the positions in words, in order."""
        return f"tuple of {' and '.join(place.text for place in self.places)}"

    def accepts(self, value: Any) -> bool:
        """Whether a value is a tuple of the right length and each spec accepts its item."""
        if type(value) is not tuple or len(value) != len(self.places):
            return False
        return all(spec.accepts(item) for spec, item in zip(self.places, value, strict=True))


@dataclass(frozen=True)
class Either:
    """Spec: a value that at least one of several specs accepts."""

    kinds: tuple[Spec, ...]

    @property
    def text(self) -> str:
        """The specs in words, joined by "or"."""
        return ", or ".join(spec.text for spec in self.kinds)

    def accepts(self, value: Any) -> bool:
        """Whether at least one of the specs accepts a value."""
        return any(spec.accepts(value) for spec in self.kinds)

    def sizes(self, value: Any) -> Iterable[tuple[str, int]]:
        """Pairs (axis, length) by the first spec that the value fits; none if it fits no spec."""
        for spec in self.kinds:
            if getattr(spec, "fits", spec.accepts)(value):
                return spec.sizes(value)
        return ()


class Anything(Sizeless):
    """Spec: any value that a file can hold, for a parameter that the estimator checks itself."""

    @property
    def text(self) -> str:
        """The empty string, since there is nothing to say."""
        return ""

    def accepts(self, value: Any) -> bool:
        """True for every value."""
        return True


def _condition_text(condition: Condition) -> str:
    """A condition in words for the documentation; empty for "finite" and "any number"."""
    return "" if condition in (ANY_NUMBER, FINITE, COUNT) else f"; {condition.words}"


def objection(spec: Spec, value: Any) -> str:
    """Why a spec does not accept a value, for an error message: "must be …" or "is of …"."""
    parts: Iterable[Any] = getattr(spec, "kinds", (spec,))
    unmet = [p.condition for p in parts if hasattr(p, "condition") and p.fits(value)]
    return f"must be {unmet[0].words}" if unmet else "is of another kind or shape"


def is_words(array: Any) -> bool:
    """Whether an array holds objects (n,): one or more strings, and gaps that are None or NaN."""
    if array.dtype != object or array.ndim != 1:
        return False
    gaps = [x is None or (isinstance(x, float) and x != x) for x in array]
    texts = [isinstance(x, str) for x in array]
    return any(texts) and all(map(any, zip(gaps, texts, strict=True)))


def looks_fitted(value: Any) -> bool:
    """Whether an object has attributes set by fitting; of a Pipeline, the last step counts."""
    held = getattr(value, "__dict__", {})
    if "steps" in held:
        return looks_fitted(held["steps"][-1][1])
    return "n_features_in_" in held or "regressor_" in held


def agree(lengths: Iterable[tuple[str, str, int]], sizes: Sizes) -> None:
    """Enter the lengths of axes into `sizes`; raise InputError where two fields disagree.

    Each item of `lengths` is (name of the field, axis, length). An axis that is a sum, such as
    ``d+k+1``, is compared with the sizes of its letters.
    """
    lengths = list(lengths)
    for name, axis, length in lengths:
        if "+" not in axis and sizes.setdefault(axis, length) != length:
            raise InputError(_misfit(name, length, sizes[axis]))
    for name, axis, length in lengths:
        if "+" in axis:
            check_sum(name, axis, length, sizes)


def check_sum(name: str, axis: str, length: int, sizes: Mapping[str, int]) -> None:
    """Raise InputError if `length` is not the sum `axis`, such as ``d+k+1``, of known sizes.

    `name` is the field in the message. Nothing is checked while a letter of the sum has no known
    size.
    """
    terms = [int(term) if term.isdigit() else sizes.get(term) for term in axis.split("+")]
    known = [term for term in terms if term is not None]
    if len(known) == len(terms) and sum(known) != length:
        raise InputError(_misfit(name, length, sum(known)))


def _misfit(name: str, length: int, wanted: int) -> str:
    return f"{name} has length {length} where the rest of the model has {wanted}"
