"""Decode a JSON description and arrays into a model of the registered classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import NoneType
from typing import Any

import numpy as np
import numpy.typing as npt

from pnml.errors import InputError, shorten
from pnml.models.codec import OUTPUT, Codec
from pnml.models.encode import SCALARS, Tensors, fits_texts, is_fitted
from pnml.models.pipelines import last_of
from pnml.models.registry import CODEC_OF, CODECS, MODEL_CLASSES, SHARED_SIZES, add_registered
from pnml.models.schema import Sizes, Spec, agree, check_sum, is_words, objection
from pnml.models.values import NAMED
from pnml.models.wrapped import Fingerprint

# Parts that printing, cloning and predicting walk through: 20 times those of 20,000 columns.
MOST_EXPANDED = 2_000_000


def decode(described: Mapping[str, Any], tensors: Tensors, given: Any = None) -> Any:
    """The model that a file's description and arrays make; raises InputError if they are wrong.

    `described` and `tensors` are as `encode` returns them. `given` is the fitted model that the
    user passes to `load` if the file holds only its fingerprint, else None.
    """
    objects, layouts = described.get("objects"), described.get("layouts")
    if type(objects) is not list or type(layouts) is not dict:
        raise InputError("its description has no list of objects or no layouts")
    add_registered()
    reader = _Reader(tensors, layouts, given)
    for item in objects:
        reader.add(item)
    model = reader.value(described.get("model"))
    if not {type(model), type(last_of(model))} <= set(MODEL_CLASSES) or not is_fitted(model):
        raise InputError("what it holds is not a fitted model")
    spare = (set(tensors) | set(layouts)) - set(reader.arrays)
    if spare:
        raise InputError(f"nothing in its description uses the array {shorten(min(spare))!r}")
    return model


class _Reader:
    """Makes the objects of a file in order; an object can only refer to objects before it."""

    def __init__(self, tensors: Tensors, layouts: dict[str, Any], given: Any) -> None:
        self.arrays: Tensors = {}
        self._tensors, self._layouts, self._given = tensors, layouts, given
        self._objects: list[Any] = []
        self._expanded: list[int] = []  # objects inside each, shared ones counted every time
        self._parts = 0  # the same for the object being made
        self._sizes: dict[int, Sizes] = {}  # id of an object → the sizes it shares

    def add(self, item: Any) -> None:
        """Make the next object of the list."""
        if type(item) is not dict or not {"class", "params"} <= set(item) <= _ITEM:
            raise InputError(f"object {len(self._objects)} has no class or no params")
        name, params, state = item["class"], item["params"], item.get("state", {})
        if type(name) is not str or name not in CODECS:
            raise InputError(f"it holds an object of class {_shown(name)}, which is not known here")
        codec, self._parts = CODECS[name], 1
        params = self._fields(codec, "params", params, codec.params)
        state = self._fields(codec, "state", state, codec.state)
        if self._parts > MOST_EXPANDED:
            raise InputError(
                f"a {codec.name} in it is made of more than {MOST_EXPANDED:,} parts once those "
                "that are shared are counted as often as they are used"
            )
        self._expanded.append(self._parts)
        _refuse_missing(codec, params, state)
        sizes = self._agreed(codec, params | state)
        new = _made(codec, params, state)
        if type(new) is Fingerprint:
            new = new.claimed(self._given)
        self._objects.append(new)
        if not codec.state and not codec.apart and new is not self._given:
            self._sizes[id(new)] = {k: n for k, n in sizes.items() if k in SHARED_SIZES}

    def _fields(
        self, codec: Codec, part: str, fields: Any, specs: Mapping[str, Spec]
    ) -> dict[str, Any]:
        if type(fields) is not dict:
            raise InputError(f"the {part} of a {codec.name} are not given by name")
        values = {}
        for name, field in fields.items():
            if name not in specs:
                raise InputError(f"a {codec.name} has no field {shorten(name)!r} here")
            values[name] = self.value(field)
            if not specs[name].accepts(values[name]):
                wrong = objection(specs[name], values[name])
                raise InputError(f"{name} of a {codec.name} {wrong}")
        return values

    def _agreed(self, codec: Codec, values: dict[str, Any]) -> Sizes:
        """Axis lengths by letter of all fields of an object; raises where two fields disagree."""
        specs = {**codec.params, **codec.state}
        lengths, sizes = [], Sizes()
        for name, value in values.items():
            where = f"{name} of a {codec.name}"
            shared = self._sizes.get(id(value), {}).items()
            lengths += [(where, axis, n) for axis, n in (*specs[name].sizes(value), *shared)]
        agree(lengths, sizes)
        for axis, wanted in codec.sums:
            if axis in sizes:
                check_sum(f"a row kept in a {codec.name}", wanted, sizes[axis], sizes)
        return sizes

    def value(self, field: Any) -> Any:
        """The value of a field of the description."""
        if type(field) is list:
            return [self.value(item) for item in field]
        if type(field) is not dict:
            return field
        if len(field) != 1:
            raise InputError("a value is described by other than one tag")
        ((tag, content),) = field.items()
        if tag in _PLAIN_TAGS:
            return _PLAIN_TAGS[tag](content)
        if tag in _TAGS:
            return _TAGS[tag](self, content)
        raise InputError(f"a value is described by the unknown tag {shorten(tag)!r}")

    def _object(self, content: Any) -> Any:
        if type(content) is not int or not 0 <= content < len(self._objects):
            raise InputError(f"it refers to object {_shown(content)}, which does not come before")
        self._parts += self._expanded[content]
        return self._objects[content]

    def _tuple(self, content: Any) -> tuple[Any, ...]:
        return tuple(self.value(item) for item in _list(content))

    def _dict(self, content: Any) -> dict[str, Any]:
        out = {}
        for pair in _list(content):
            if type(pair) is not list or len(pair) != 2 or type(pair[0]) is not str:
                raise InputError("a dict in it is not a list of names and values")
            out[pair[0]] = self.value(pair[1])
        return out

    def _slice(self, content: Any) -> slice:
        ends = [self.value(end) for end in _list(content)]
        if len(ends) != 3 or not all(_is_end(end) for end in ends):
            raise InputError("a slice in it has no start, stop and step")
        return slice(*ends)

    def _cells(self, content: Any) -> npt.NDArray[Any]:
        items = [self.value(item) for item in _list(content)]
        cells = np.empty(len(items), dtype=object)
        cells[:] = [item if type(item) in (str, float, NoneType) else 0 for item in items]
        if not is_words(cells):
            raise InputError("an array of cells in it holds other than texts and gaps")
        return cells

    def _scalar(self, content: Any) -> np.generic:
        pair = _list(content)
        if len(pair) != 2 or type(pair[0]) is not str or pair[0] not in SCALARS:
            raise InputError("a scalar in it has no known type")
        scalar, plain = SCALARS[pair[0]]
        value = self.value(pair[1])
        if type(value) is not plain:
            raise InputError(f"a scalar in it is not a {pair[0]}")
        if type(value) is int:
            bounds = np.iinfo(pair[0])
            if not bounds.min <= value <= bounds.max:
                raise InputError(f"a scalar in it does not fit into a {pair[0]}")
        with np.errstate(over="ignore"):
            return scalar(value)

    def _array(self, content: Any) -> npt.NDArray[Any]:
        if type(content) is not str or content not in self._tensors:
            raise InputError(f"it lacks the array {_shown(content)}")
        if content not in self.arrays:
            self.arrays[content] = self._laid_out(content)
        return self.arrays[content]

    def _laid_out(self, name: str) -> npt.NDArray[Any]:
        """The array with the order in memory that it had before it was saved."""
        array = self._tensors[name]
        if name not in self._layouts:
            return array
        layout, shown = self._layouts[name], repr(shorten(name))
        if type(layout) is not dict or set(layout) != {"axes", "flip"}:
            raise InputError(f"the layout of the array {shown} is not one of axes and flips")
        axes, flip = layout["axes"], layout["flip"]
        all_axes = list(range(array.ndim))
        if not _whole(axes) or sorted(axes) != all_axes:
            raise InputError(f"the layout of the array {shown} names other axes than it has")
        if not _whole(flip) or len(set(flip)) != len(flip) or not set(flip) <= set(all_axes):
            raise InputError(f"the layout of the array {shown} flips axes that it has not")
        return np.flip(array.transpose(np.argsort(axes)), tuple(flip))


_ITEM = {"class", "params", "state"}
# What constructors and checks may raise for fields that clash with each other.
_CLASHES = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError)


def _made(codec: Codec, params: dict[str, Any], state: dict[str, Any]) -> Any:
    """The object of these fields; raises where they clash."""
    try:
        codec.check(params | state)
        new = codec.make(params)
        if state:
            vars(new).update(codec.restored(new, state))
    except InputError:
        raise
    except _CLASHES as error:
        why = shorten(str(error).partition("\n")[0], 120)
        raise InputError(f"a {codec.name} cannot be made of its fields: {why}") from error
    return new


_NONFINITE = {"inf", "-inf", "nan"}


def _shown(content: Any) -> str:
    """A piece of the description as it stands in a message."""
    return repr(shorten(content)) if type(content) is str else shorten(repr(content))


def needs_model(described: Mapping[str, Any]) -> bool:
    """Whether a file holds only a fingerprint of a model, so that `load` needs the model itself."""
    objects = described.get("objects")
    items = objects if type(objects) is list else []
    name = CODEC_OF[Fingerprint].name
    return any(type(item) is dict and item.get("class") == name for item in items)


def _refuse_missing(codec: Codec, params: dict[str, Any], state: dict[str, Any]) -> None:
    missing = set(codec.required - set(params))
    if set(state) - {OUTPUT}:
        missing |= codec.needs - set(state)
    if missing:
        raise InputError(f"a {codec.name} lacks {min(missing)}")


def _list(content: Any) -> list[Any]:
    if type(content) is not list:
        raise InputError("a tag in it is not followed by a list")
    return content


def _is_end(value: Any) -> bool:
    """Whether a value may be the start, stop or step of a slice."""
    return type(value) in (int, str, NoneType) or isinstance(value, np.integer)


def _whole(content: Any) -> bool:
    return type(content) is list and all(type(item) is int for item in content)


def _float(content: Any) -> float:
    if type(content) is not str or content not in _NONFINITE:
        raise InputError("a number in it is neither finite nor inf nor nan")
    return float(content)


def _named(content: Any) -> Any:
    if type(content) is not str or content not in NAMED:
        raise InputError(f"it names {_shown(content)}, which is not known here")
    return NAMED[content]


def _names(content: Any) -> npt.NDArray[Any]:
    names = _list(content)
    if not all(type(name) is str for name in names):
        raise InputError("a column name in it is not text")
    return np.array(names, dtype=object)


def _texts(content: Any) -> npt.NDArray[np.str_]:
    pair = _list(content)
    if len(pair) != 2 or type(pair[0]) is not int or type(pair[1]) is not list:
        raise InputError("an array of texts in it has no width or no texts")
    width, texts = pair
    if not all(type(text) is str and len(text) <= width for text in texts):
        raise InputError("an array of texts in it holds what is no text or is too wide")
    if width < 1 or not fits_texts(width, max(len(texts), 1)):
        raise InputError(f"an array of texts in it is {shorten(width)} characters wide")
    return np.array(texts, dtype=f"U{width}")


_PLAIN_TAGS: dict[str, Callable[[Any], Any]] = {
    "float": _float,
    "named": _named,
    "names": _names,
    "texts": _texts,
}
# Tags whose content refers to other parts of the file.
_TAGS: dict[str, Callable[[_Reader, Any], Any]] = {
    "array": _Reader._array,
    "cells": _Reader._cells,
    "dict": _Reader._dict,
    "object": _Reader._object,
    "scalar": _Reader._scalar,
    "slice": _Reader._slice,
    "tuple": _Reader._tuple,
}
