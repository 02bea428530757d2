"""Codecs for models of other libraries, which a file holds in the form of a frozen dataclass."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from pnml.errors import InputError
from pnml.models.codec import ANYTHING, Codec, value
from pnml.models.field_specs import field_hints
from pnml.models.schema import ManyOf, Spec
from pnml.models.wrapped.plain import said

Attributes = Mapping[str, Any]
Bytes = npt.NDArray[np.uint8]
Stored = TypeVar("Stored")

_OPEN: dict[Any, Spec] = {Any: ANYTHING, Attributes: ManyOf(dict, ANYTHING)}


def stored(cls: type[Stored], name: str, model: Callable[[Stored], Any]) -> Codec:
    """Codec of a dataclass that stands for a model in the file; reading it returns the model.

    `name` is the name in the file, and the function `model` makes the model of the dataclass
    object. Fields declared as ``Any`` or ``Attributes`` accept whatever a file can hold; `model`
    checks them.
    """
    hints = field_hints(cls)
    special: dict[str, Any] = {field: _OPEN[hint] for field, hint in hints.items() if hint in _OPEN}
    codec = value(cls, stored_as=name, **special)

    def build(**fields: Any) -> Any:
        try:
            return model(cls(**fields))
        except InputError:
            raise
        except Exception as error:  # whatever else is wrong with them
            raise InputError(f"the parts of its {name} do not make one: {said(error)}") from error

    build.__signature__ = inspect.signature(cls)  # type: ignore[attr-defined]
    return replace(codec, build=build)


def as_bytes(data: bytes | bytearray) -> Bytes:
    """Bytes as an array (n,) of uint8, which a file can hold."""
    return np.frombuffer(bytes(data), dtype=np.uint8)


def as_text(data: Bytes, what: str) -> str:
    """The text in an array of UTF-8 bytes; raises InputError, naming `what`, for other bytes."""
    try:
        return data.tobytes().decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{what} is not text") from error
