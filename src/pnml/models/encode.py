"""Encode a fitted model as a JSON description and arrays."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from types import NoneType
from typing import Any

import numpy as np
import numpy.typing as npt

from pnml.errors import InputError, shorten
from pnml.models.codec import Codec
from pnml.models.pipelines import last_of
from pnml.models.refusals import LeftOutModelWarning
from pnml.models.registry import ADVICE, CODEC_OF, MODEL_CLASSES, MODEL_NAMES, add_registered
from pnml.models.schema import is_words
from pnml.models.values import NAMED
from pnml.models.wrapped import Fingerprint, RowsOf, UnfittedModel, WrappedModel, stored_form

Tensors = dict[str, npt.NDArray[Any]]

DTYPES = tuple(map(np.dtype, (np.float64, np.float32, np.int64, np.int32, np.uint8, np.bool_)))
# Scalars of numpy keep their type: name in the file → type, and the Python type of its value.
SCALARS: dict[str, tuple[type[np.generic], type]] = {
    "float64": (np.float64, float),
    "float32": (np.float32, float),
    "float16": (np.float16, float),
    "int64": (np.int64, int),
    "int32": (np.int32, int),
    "int16": (np.int16, int),
    "int8": (np.int8, int),
    "uint64": (np.uint64, int),
    "uint32": (np.uint32, int),
    "uint16": (np.uint16, int),
    "uint8": (np.uint8, int),
    "bool": (np.bool_, bool),
    "str": (np.str_, str),
}
_MOST_BITS = 64
_MOST_CHARACTERS = 2**24


def fits_texts(width: int, count: int) -> bool:
    """Whether `count` texts of at most `width` characters are few enough for a file to hold."""
    return width * count <= _MOST_CHARACTERS


def is_fitted(model: Any) -> bool:
    """Whether a model is fitted and can be saved; a table model always is."""
    codec = CODEC_OF[type(model)]
    if codec.fitted is not None:
        return codec.fitted(model)
    return not codec.state or "n_features_in_" in vars(model)


def encode(model: Any) -> tuple[dict[str, Any], Tensors]:
    """A fitted model as a JSON-ready description (a dict) and arrays by name; see `decode`.

    An object that appears in several places is stored once. Raises InputError for a model that a
    file cannot hold.
    """
    add_registered()
    if type(model) not in MODEL_CLASSES:
        _refuse_namesake(model)
        raise InputError(
            f"model is a {shorten(type(model).__name__)}, but a model file holds one of "
            f"{', '.join(MODEL_NAMES)}; pass one of these, or save the one inside."
        )
    last = last_of(model)
    if type(last) not in MODEL_CLASSES:
        raise InputError(
            f"This Pipeline ends in a {shorten(type(last).__name__)}, but a model file holds those "
            "that end in an estimator of this library; add one as the last step."
        )
    if not is_fitted(model):
        raise InputError(
            f"This {type(model).__name__} is not fitted, so there is nothing to save; "
            "call fit first."
        )
    writer = _Writer()
    try:
        root = writer.value(model, "model")
    except RecursionError as error:
        raise InputError(
            f"A parameter of this {type(model).__name__} contains itself or is nested too deep "
            "for a model file; pass a flatter one."
        ) from error
    for text in writer.left_out:
        warnings.warn(text, LeftOutModelWarning, stacklevel=4)  # of who has called save
    described = {"model": root, "objects": writer.objects, "layouts": writer.layouts}
    return described, writer.tensors


def _refuse_namesake(model: Any) -> None:
    """Raise for a scikit-learn class whose name is also that of a class of this library."""
    name = type(model).__name__
    if name in MODEL_NAMES and type(model).__module__.startswith("sklearn."):
        raise InputError(
            f"model is scikit-learn's {name}, but a model file holds pnml.{name}; make one of the "
            "same steps and fit it, or save the one inside."
        )


class _Writer:
    """Collects the objects and arrays of a file; each object comes after those it is made of."""

    def __init__(self) -> None:
        self.objects: list[dict[str, Any]] = []
        self.layouts: dict[str, dict[str, list[int]]] = {}
        self.tensors: Tensors = {}
        self.left_out: list[str] = []  # warnings about models stored by fingerprint
        self._seen: dict[int, tuple[Any, dict[str, Any]]] = {}  # by id; keeps the value alive
        self._fingerprints: dict[int, Fingerprint] = {}  # id of a left-out model → its fingerprint

    def value(self, value: Any, name: str) -> Any:
        """The description of a value; `name` is the field that holds it."""
        write = _WRITERS.get(type(value))
        return write(self, value, name) if write else self._reference(value, name)

    def _plain(self, value: bool | str | None, name: str) -> bool | str | None:
        return value

    def _int(self, value: int, name: str) -> int:
        if value.bit_length() > _MOST_BITS:
            raise _refusal(value, name)
        return value

    def _float(self, value: float, name: str) -> Any:
        return value if math.isfinite(value) else {"float": str(value)}

    def _list(self, value: list[Any], name: str) -> list[Any]:
        return [self.value(item, name) for item in value]

    def _tuple(self, value: tuple[Any, ...], name: str) -> dict[str, Any]:
        return {"tuple": [self.value(item, name) for item in value]}

    def _dict(self, value: dict[Any, Any], name: str) -> dict[str, Any]:
        if not all(type(key) is str for key in value):
            raise _refusal(value, name)
        return {"dict": [[key, self.value(item, name)] for key, item in value.items()]}

    def _slice(self, value: slice, name: str) -> dict[str, Any]:
        ends = (value.start, value.stop, value.step)
        return {"slice": [self.value(end, name) for end in ends]}

    def _scalar(self, value: np.generic, name: str) -> dict[str, Any]:
        dtype, plain = _SCALAR_NAMES[type(value)]
        return {"scalar": [dtype, self.value(plain(value), name)]}

    def _reference(self, value: Any, name: str) -> dict[str, Any]:
        """The reference to an array or object, which is stored at its first appearance."""
        for known, single in NAMED.items():
            if value is single:
                return {"named": known}
        if id(value) in self._seen:
            return self._seen[id(value)][1]
        stored = _stored_form(value)
        if type(value) is np.ndarray:
            reference = self._array(value, name)
        elif type(value) is WrappedModel:
            reference = self._wrapped(value, name)
        elif stored is not None:
            reference = self._object(stored, CODEC_OF[type(stored)])
        elif type(value) in CODEC_OF:
            reference = self._object(value, CODEC_OF[type(value)])
        else:
            raise _refusal(value, name)
        self._seen[id(value)] = value, reference
        return reference

    def _wrapped(self, wrapped: WrappedModel, name: str) -> dict[str, Any]:
        """The model of another library, or its fingerprint if a file cannot hold the model."""
        model = wrapped.model
        try:
            return self._whole(model, name)
        except InputError as error:
            self.left_out.append(_left_out(model, error))
            fingerprint = self._fingerprints[id(model)] = Fingerprint.of(model, wrapped.rows)
            self._seen[id(model)] = model, self._reference(fingerprint, name)
            return self._seen[id(model)][1]

    def _whole(self, value: Any, name: str) -> dict[str, Any]:
        """The reference to an object; if the object is refused, its parts are removed again."""
        objects, layouts, tensors = len(self.objects), dict(self.layouts), dict(self.tensors)
        seen = dict(self._seen)
        try:
            return self._reference(value, name)
        except InputError:
            del self.objects[objects:]
            self.layouts, self.tensors, self._seen = layouts, tensors, seen
            raise

    def _unfitted(self, held: UnfittedModel, name: str) -> Any:
        """The unfitted model, or if a file cannot hold it, a clone of the fitted model."""
        try:
            return self._whole(held.estimator, name)
        except InputError:
            return self._reference(held.otherwise, name)

    def _rows(self, rows: RowsOf, name: str) -> Any:
        """The probe rows in a model's fingerprint; None if the model itself is in the file."""
        fingerprint = self._fingerprints.get(id(rows.model))
        return None if fingerprint is None else self.value(fingerprint.rows, name)

    def _array(self, array: npt.NDArray[Any], name: str) -> dict[str, Any]:
        if array.dtype == object and array.ndim == 1 and all(isinstance(x, str) for x in array):
            return {"names": [str(x) for x in array]}
        if is_words(array):
            gap: dict[str, Any] = {"float": "nan"}
            return {"cells": [gap if x != x else None if x is None else str(x) for x in array]}
        if array.dtype.kind == "U" and array.ndim == 1 and array.dtype.isnative:
            texts: list[str] = array.tolist()
            if fits_texts(array.dtype.itemsize // 4, len(texts)):
                return {"texts": [array.dtype.itemsize // 4, texts]}
        if array.dtype not in DTYPES:
            raise _refusal(array, name)
        key = f"{len(self.tensors)}.{name}"
        # Keep the order of the axes in memory: sums in another order differ in their last bits.
        flip = [i for i, stride in enumerate(array.strides) if stride < 0]
        upright = np.flip(array, tuple(flip))
        axes = sorted(range(array.ndim), key=lambda i: -upright.strides[i])
        self.tensors[key] = np.ascontiguousarray(upright.transpose(axes)).reshape(
            [array.shape[i] for i in axes]  # a scalar array would have become a vector
        )
        if flip or axes != list(range(array.ndim)):
            self.layouts[key] = {"axes": axes, "flip": flip}
        return {"array": key}

    def _object(self, value: Any, codec: Codec) -> dict[str, Any]:
        codec.savable(value)
        unknown = set(vars(value)) - codec.expected if codec.state else ()
        if unknown:
            raise InputError(
                f"This {codec.name} has an attribute {shorten(min(unknown))!r} that a model file "
                "does not hold; delete it before saving."
            )
        given = codec.params_of(value) if codec.params_of else {}
        params = {
            name: self.value(given[name] if name in given else getattr(value, name), name)
            for name in codec.params
        }
        held = codec.state_of(value) if codec.state else {}
        for name in codec.state.keys() & held.keys():
            if type(held[name]) in CODEC_OF and not codec.state[name].accepts(held[name]):
                raise _refusal(held[name], name)
        state = {name: self.value(held[name], name) for name in codec.state if name in held}
        described = {"class": codec.name, "params": params} | ({"state": state} if state else {})
        self.objects.append(described)
        return {"object": len(self.objects) - 1}


_SCALAR_NAMES = {scalar: (name, plain) for name, (scalar, plain) in SCALARS.items()}
_WRITERS: dict[type, Callable[[_Writer, Any, str], Any]] = {
    NoneType: _Writer._plain,
    bool: _Writer._plain,
    str: _Writer._plain,
    int: _Writer._int,
    float: _Writer._float,
    list: _Writer._list,
    tuple: _Writer._tuple,
    dict: _Writer._dict,
    slice: _Writer._slice,
    UnfittedModel: _Writer._unfitted,
    RowsOf: _Writer._rows,
    **dict.fromkeys(_SCALAR_NAMES, _Writer._scalar),
}


def _stored_form(value: Any) -> Any:
    """The value that a file holds for a model of another library; None for any other object."""
    try:
        return stored_form(value)
    except InputError as error:
        kind = shorten(type(value).__name__)
        raise InputError(
            f"A {kind} inside this model cannot be saved, since {error}; pass one of numbers and "
            "text only."
        ) from error


def _left_out(model: Any, error: InputError) -> str:
    reason, _, _ = str(error).rstrip(".").partition("; ")  # without what to do about it
    kind = shorten(type(model).__name__)
    return (
        f"The file holds only a fingerprint of the {kind}, since {reason}; keep that model, and "
        "load the file with pnml.load(path, model=fitted)."
    )


def _refusal(value: Any, name: str) -> InputError:
    kind = shorten(type(value).__name__)
    is_array = isinstance(value, np.ndarray)
    what = f"an array of {shorten(value.dtype)}" if is_array else f"a {kind}"
    if kind == "int":
        what = f"an integer of {value.bit_length()} bits"
    advice = ADVICE.get(name.rstrip("_"), "pass numbers, text, or lists and float64 arrays of them")
    return InputError(f"{shorten(name)} holds {what}, which a model file cannot hold; {advice}.")
