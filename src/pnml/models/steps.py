"""Codecs of scikit-learn's transformers, and specs of the parameters that they may have."""

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
    """Spec: a parameter that is a number, text, array, slice, or a list, tuple or dict of them."""

    @property
    def text(self) -> str:
        """The words "plain values", which describe the field in ``docs/model-file.md``."""
        return "plain values"

    def accepts(self, value: Any) -> bool:
        """Whether a value, and everything inside it, is of one of these types."""
        if type(value) in (list, tuple):
            return all(map(self.accepts, value))
        if type(value) is dict:
            return all(map(self.accepts, value.values()))
        return type(value) in (*_SCALARS, slice, np.ndarray) or isinstance(value, np.generic)


class Dtypes(Plain):
    """Spec: a parameter that is a dtype, or a plain value such as the name of a dtype."""

    @property
    def text(self) -> str:
        """The word "dtypes", which describes the field in ``docs/model-file.md``."""
        return "dtypes"

    def accepts(self, value: Any) -> bool:
        """Whether a value is a dtype that a file can name, or plain as in `Plain.accepts`.

        These dtypes are the classes in `DTYPES_BY_NAME`, such as float and np.float32, but not
        objects such as np.dtype("float32"). Plain are None, bools, numbers, text, arrays, slices,
        and lists, tuples and dicts of them.
        """
        return super().accepts(value) or any(value is dtype for dtype in DTYPES_BY_NAME.values())


def plain_params(cls: type) -> dict[str, Spec]:
    """Spec of each constructor parameter of a scikit-learn class: plain values or dtypes."""
    names = inspect.signature(cls).parameters
    return {name: Dtypes() if name.startswith("dtype") else Plain() for name in names}


class Jobs(Sizeless):
    """Spec: the parameter ``n_jobs``, None or a number of processes up to 64 in size."""

    @property
    def text(self) -> str:
        """The allowed range in words, for ``docs/model-file.md``."""
        return f"null, or from -{_MOST_JOBS} to {_MOST_JOBS}"

    def accepts(self, value: Any) -> bool:
        """Whether a value is None or a whole number from -64 to 64, not 0."""
        return value is None or (type(value) is int and 0 < abs(value) <= _MOST_JOBS)


class OutputContainer(Sizeless):
    """Spec: the attribute in which scikit-learn keeps what ``set_output`` was asked for."""

    @property
    def text(self) -> str:
        """The possible words, "default or pandas or polars"."""
        return " or ".join(_CONTAINERS)

    def accepts(self, value: Any) -> bool:
        """Whether a value is a dict ``{"transform": word}`` with one of the possible words."""
        right = type(value) is dict and set(value) == {"transform"}
        return right and type(value["transform"]) is str and value["transform"] in _CONTAINERS


@dataclass(frozen=True)
class _Conversion:
    """Conversion between the attributes of a fitted transformer and its fields in a file."""

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
    """Codec of a scikit-learn transformer: its parameters and its fitted attributes `state`.

    Parameters are plain values unless `special` gives their spec. `attributes` names fitted
    attributes that `state` lacks; `store` and `restore` convert between attributes and stored
    fields where these differ. `check` raises where fields clash, `savable` where an object cannot
    be saved.
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
    """Raise where scikit-learn's ``fit`` would refuse a parameter of this transformer."""
    made._validate_params()


def refuse_infinite(values: Mapping[str, Any], *names: str, gaps: bool = False) -> None:
    """Raise InputError if one of the named arrays holds infinity, or NaN unless `gaps` is true."""
    for name in names:
        array = values.get(name)
        if not isinstance(array, np.ndarray) or array.dtype.kind != "f":
            continue
        if not np.all(np.isfinite(array) | (gaps & np.isnan(array))):
            raise InputError(f"{name} of a step holds numbers that are not finite")


def refuse_zero(values: Mapping[str, Any], name: str) -> None:
    """Raise InputError if the named array of scales holds a number that is not above 0."""
    array = values.get(name)
    if isinstance(array, np.ndarray) and np.any(array <= 0):
        raise InputError(f"{name} of a step holds scales that are not above 0")
