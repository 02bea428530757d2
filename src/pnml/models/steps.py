"""Codecs of scikit-learn's transformers: what a step of a Pipeline may be made of."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import NoneType
from typing import Any

import numpy as np

from pnml.errors import InputError
from pnml.models.codec import COLUMNS, OUTPUT, Codec, no_check, no_objection
from pnml.models.schema import Count, Names, Sizeless, Spec
from pnml.models.values import DTYPES_BY_NAME

_KEPT = COLUMNS | {OUTPUT}
_CONTAINERS = ("default", "pandas", "polars")
_SCALARS = (NoneType, bool, int, float, str)
_MOST_JOBS = 64

Store = Callable[[Any], dict[str, Any]]
Restore = Callable[[Any, Mapping[str, Any]], Mapping[str, Any]]


class Plain(Sizeless):
    """Spec of a step's parameters: numbers, texts, arrays, lists, tuples and dicts of them."""

    @property
    def text(self) -> str:
        """The kind of values."""
        return "plain values"

    def accepts(self, value: Any) -> bool:
        """Whether nothing in it is an object of another class."""
        if type(value) in (list, tuple):
            return all(map(self.accepts, value))
        if type(value) is dict:
            return all(map(self.accepts, value.values()))
        return type(value) in (*_SCALARS, slice, np.ndarray) or isinstance(value, np.generic)


class Dtypes(Plain):
    """Spec of a step's parameters: dtypes, and lists of them."""

    @property
    def text(self) -> str:
        """The kind of values."""
        return "dtypes"

    def accepts(self, value: Any) -> bool:
        """Whether a value is a listed dtype, or plain."""
        return super().accepts(value) or any(value is dtype for dtype in DTYPES_BY_NAME.values())


def plain_params(cls: type) -> dict[str, Spec]:
    """Specs of the parameters of a class of scikit-learn that takes plain values and dtypes."""
    names = inspect.signature(cls).parameters
    return {name: Dtypes() if name.startswith("dtype") else Plain() for name in names}


class Jobs(Sizeless):
    """Spec of a step's parameter: how many processes transform columns at once."""

    @property
    def text(self) -> str:
        """The range."""
        return f"null, or from -{_MOST_JOBS} to {_MOST_JOBS}"

    def accepts(self, value: Any) -> bool:
        """Whether no file could ask for more processes than machines have."""
        return value is None or (type(value) is int and 0 < abs(value) <= _MOST_JOBS)


class OutputContainer(Sizeless):
    """Spec of a step's state: what ``set_output`` has asked for."""

    @property
    def text(self) -> str:
        """The choices."""
        return " or ".join(_CONTAINERS)

    def accepts(self, value: Any) -> bool:
        """Whether a value names a container for ``transform``."""
        right = type(value) is dict and set(value) == {"transform"}
        return right and type(value["transform"]) is str and value["transform"] in _CONTAINERS


@dataclass(frozen=True)
class _Conversion:
    """Between the attributes of a fitted transformer and its state in a file."""

    state: tuple[str, ...]
    store: Store | None
    restore: Restore | None

    def state_of(self, model: Any) -> dict[str, Any]:
        held: dict[str, Any] = vars(model)
        kept = {name: held[name] for name in _KEPT if name in held}
        if "n_features_in_" not in held:
            return {name: held[name] for name in (OUTPUT,) if name in held}  # not fitted
        own = {name: held[name] for name in self.state if name in held}
        return kept | (own if self.store is None else self.store(model))

    def restored(self, made: Any, stored: Mapping[str, Any]) -> Mapping[str, Any]:
        kept = {name: stored[name] for name in _KEPT if name in stored}
        if "n_features_in_" not in stored:
            return kept
        return kept | dict(stored if self.restore is None else self.restore(made, stored))


def transformer(
    cls: type,
    state: dict[str, Spec],
    check: Callable[[Mapping[str, Any]], None] = no_check,
    *,
    attributes: frozenset[str] = frozenset(),
    store: Store | None = None,
    restore: Restore | None = None,
    savable: Callable[[Any], None] = no_objection,
    **special: Spec,
) -> Codec:
    """Codec of a transformer of scikit-learn, with plain or `special` parameters.

    `attributes` are those of a fitted one that `state` does not name; `store` and `restore` convert
    between the two where they differ.
    """
    params = plain_params(cls)
    params |= {name: spec for name, spec in special.items() if name in params}
    general: dict[str, Spec] = {
        "n_features_in_": Count("d"),
        "feature_names_in_": Names("d"),
        OUTPUT: OutputContainer(),
    }
    convert = _Conversion(tuple(state), store, restore)
    return Codec(
        cls,
        params,
        general | state,
        check=check,
        savable=savable,
        state_of=convert.state_of,
        restored=convert.restored,
        made=checked_params,
        attributes=frozenset(state) | attributes | {OUTPUT},
    )


def checked_params(made: Any) -> None:
    """Raise where scikit-learn would refuse a parameter of a step in ``fit``."""
    made._validate_params()


def refuse_infinite(values: Mapping[str, Any], *names: str, gaps: bool = False) -> None:
    """Raise where an array of a step holds infinite numbers, or NaN without leave."""
    for name in names:
        array = values.get(name)
        if not isinstance(array, np.ndarray) or array.dtype.kind != "f":
            continue
        if not np.all(np.isfinite(array) | (gaps & np.isnan(array))):
            raise InputError(f"{name} of a step holds numbers that are not finite")


def refuse_zero(values: Mapping[str, Any], name: str) -> None:
    """Raise where the scales of a step hold 0 or less."""
    array = values.get(name)
    if isinstance(array, np.ndarray) and np.any(array <= 0):
        raise InputError(f"{name} of a step holds scales that are not above 0")
