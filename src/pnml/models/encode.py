"""From a fitted model to arrays and a description that JSON can hold."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from pnml.errors import InputError
from pnml.models.codec import Codec
from pnml.models.registry import ADVICE, CODEC_OF, MODEL_CLASSES, MODEL_NAMES, add_registered
from pnml.models.values import NAMED

Tensors = dict[str, npt.NDArray[Any]]

DTYPES = tuple(map(np.dtype, (np.float64, np.float32, np.int64, np.int32, np.bool_)))
# Scalars of numpy keep their type: name in the file → type, and the plain type beside it.
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
    """Whether an array of so many texts, all as wide as the widest, is small enough to make."""
    return width * count <= _MOST_CHARACTERS


def is_fitted(model: Any) -> bool:
    """Whether there is something to save: models of tables are made fitted."""
    return not CODEC_OF[type(model)].state or "n_features_in_" in vars(model)


def encode(model: Any) -> tuple[dict[str, Any], Tensors]:
    """Description and arrays of a fitted model; what is shared in memory is stored once."""
    add_registered()
    if type(model) not in MODEL_CLASSES:
        raise InputError(
            f"model is a {type(model).__name__}, but a model file holds one of "
            f"{', '.join(MODEL_NAMES)}; pass one of these, or save the one inside."
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
    described = {"model": root, "objects": writer.objects, "layouts": writer.layouts}
    return described, writer.tensors


class _Writer:
    """Objects in an order in which each comes after all it is made of."""

    def __init__(self) -> None:
        self.objects: list[dict[str, Any]] = []
        self.layouts: dict[str, dict[str, list[int]]] = {}
        self.tensors: Tensors = {}
        self._seen: dict[int, tuple[Any, dict[str, Any]]] = {}  # the value stays, so its id does

    def value(self, value: Any, name: str) -> Any:
        """What stands for a value in the description; `name` is the field that holds it."""
        kind = type(value)
        if value is None or kind in (bool, str):
            return value
        if kind is int and value.bit_length() <= _MOST_BITS:
            return value
        if kind is float:
            return value if math.isfinite(value) else {"float": str(value)}
        if kind is list:
            return [self.value(item, name) for item in value]
        if kind is tuple:
            return {"tuple": [self.value(item, name) for item in value]}
        if kind is dict and all(type(key) is str for key in value):
            return {"dict": [[key, self.value(item, name)] for key, item in value.items()]}
        if isinstance(value, np.generic):
            return self._scalar(value, name)
        return self._reference(value, name)

    def _scalar(self, value: np.generic, name: str) -> dict[str, Any]:
        for dtype, (scalar, plain) in SCALARS.items():
            if type(value) is scalar:
                return {"scalar": [dtype, self.value(plain(value), name)]}
        raise _refusal(value, name)

    def _reference(self, value: Any, name: str) -> dict[str, Any]:
        """What stands for an array or object, stored at its first appearance."""
        for known, single in NAMED.items():
            if value is single:
                return {"named": known}
        if id(value) in self._seen:
            return self._seen[id(value)][1]
        if type(value) is np.ndarray:
            found = self._array(value, name)
        elif type(value) in CODEC_OF:
            found = self._object(value, CODEC_OF[type(value)])
        else:
            raise _refusal(value, name)
        self._seen[id(value)] = value, found
        return found

    def _array(self, array: npt.NDArray[Any], name: str) -> dict[str, Any]:
        if array.dtype == object and array.ndim == 1 and all(isinstance(x, str) for x in array):
            return {"names": [str(x) for x in array]}
        if array.dtype.kind == "U" and array.ndim == 1 and array.dtype.isnative:
            texts: list[str] = array.tolist()
            if fits_texts(array.dtype.itemsize // 4, len(texts)):
                return {"texts": [array.dtype.itemsize // 4, texts]}
        if array.dtype not in DTYPES:
            raise _refusal(array, name)
        key = f"{len(self.tensors)}.{name}"
        # The order of the axes in memory is kept: sums in another order end in other last bits.
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
        strange = set(vars(value)) - codec.expected if codec.state else ()
        if strange:
            raise InputError(
                f"This {codec.name} has an attribute {min(strange)!r} that a model file does not "
                "hold; delete it before saving."
            )
        params = {name: self.value(getattr(value, name), name) for name in codec.params}
        held = codec.state_of(value) if codec.state else {}
        state = {name: self.value(held[name], name) for name in codec.state if name in held}
        described = {"class": codec.name, "params": params} | ({"state": state} if state else {})
        self.objects.append(described)
        return {"object": len(self.objects) - 1}


def _refusal(value: Any, name: str) -> InputError:
    kind = type(value).__name__
    what = f"an array of {value.dtype}" if isinstance(value, np.ndarray) else f"a {kind}"
    if kind == "int":
        what = f"an integer of {value.bit_length()} bits"
    cure = ADVICE.get(name, "pass numbers, text, or lists and float64 arrays of them")
    return InputError(f"{name} holds {what}, which a model file cannot hold; {cure}.")
