"""Codecs: how objects of one class are written into a model file and read back."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, is_dataclass, replace
from functools import cached_property
from types import NoneType
from typing import Any, get_args, get_type_hints

import numpy as np

from pnml.core.conditions import ANY_NUMBER, FINITE, Condition
from pnml.models.field_specs import Sums, field_hints, spec_of, sums_of
from pnml.models.schema import (
    Anything,
    Array,
    Count,
    Either,
    Names,
    Number,
    OneOf,
    Setting,
    Spec,
    Texts,
)

# Attributes that fitted estimators may lack: rows without names, streams from the first row on.
# Files of older versions lack the relations of columns. Groups are those of conformal estimators.
_SOMETIMES = frozenset(
    {
        "feature_names_in_",
        "_sample",
        "_sklearn_output_config",
        "_relations",
        "_groups",
        "_tree_log_prob",
    }
)

ANYTHING = Anything()
# What scikit-learn itself keeps of the columns of rows.
COLUMNS = frozenset({"n_features_in_", "feature_names_in_"})
OUTPUT = "_sklearn_output_config"  # what scikit-learn's set_output keeps, fitted or not


def no_check(values: Mapping[str, Any]) -> None:
    """The check of a codec that accepts all values, compared already."""


def no_objection(model: Any) -> None:
    """The check of a codec that accepts an object as it is."""


def as_stored(made: Any, state: Mapping[str, Any]) -> Mapping[str, Any]:
    """The conversion of a codec whose state has the names of the attributes."""
    return state


@dataclass(frozen=True)
class Codec:
    """Codec: one class that a model file may hold, field by field."""

    cls: type
    params: Mapping[str, Spec]  # arguments of the constructor
    state: Mapping[str, Spec] = field(default_factory=dict)  # attributes that fitting adds
    sums: Sums = ()  # sizes that must be equal where both are known
    build: Callable[..., Any] | None = None  # in place of the constructor
    check: Callable[[Mapping[str, Any]], None] = no_check  # raises where fields clash
    stored_as: str = ""  # name in the file, where it is not that of the class
    state_of: Callable[[Any], Mapping[str, Any]] = vars  # fitted state of an object, as in a file
    restored: Callable[[Any, Mapping[str, Any]], Mapping[str, Any]] = as_stored  # and back
    attributes: frozenset[str] | None = None  # those of a fitted object; None: the state's
    savable: Callable[[Any], None] = no_objection  # raises where an object cannot be saved
    made: Callable[[Any], None] = no_objection  # raises where arguments from a file are wrong
    fitted: Callable[[Any], bool] | None = None  # None: whether n_features_in_ is there
    params_of: Callable[[Any], Mapping[str, Any]] | None = None  # None: attributes of their names
    apart: bool = False  # whether its sizes are not those of the object that it is part of

    @property
    def name(self) -> str:
        """The name that stands in the file."""
        return self.stored_as or self.cls.__name__

    @property
    def expected(self) -> set[str]:
        """Attributes that an object to be saved may have."""
        fitted = set(self.state) if self.attributes is None else self.attributes | COLUMNS
        return set(self.params) | fitted

    @cached_property
    def required(self) -> frozenset[str]:
        """Constructor parameters without a default."""
        given = inspect.signature(self.build or self.cls).parameters.values()
        return frozenset(p.name for p in given if p.default is inspect.Parameter.empty)

    @property
    def needs(self) -> set[str]:
        """Attributes that every fitted object has."""
        return set(self.state) - _SOMETIMES

    @property
    def text(self) -> str:
        """The params in words, as the documentation of the format lists them."""
        return ", ".join(self._param_text(name, spec) for name, spec in self.params.items())

    def _param_text(self, name: str, spec: Spec) -> str:
        words = [] if spec.text in ("", "number") else [spec.text]
        if name not in self.required:
            words.append("may be left out")
        return f"`{name}` ({'; '.join(words)})" if words else f"`{name}`"

    def make(self, params: dict[str, Any]) -> Any:
        """The object, before fitted attributes are set."""
        new = (self.build or self.cls)(**params)
        self.made(new)
        return new


def value(
    cls: type,
    build: Callable[..., Any] | None = None,
    check: Callable[[Mapping[str, Any]], None] = no_check,
    stored_as: str = "",
    **special: Spec,
) -> Codec:
    """Codec of a frozen value, derived from the type hints of its fields.

    Where a function builds the value, its arguments are the fields. `special` gives the specs of
    fields whose hint does not say enough.
    """
    hints = field_hints(build or cls)
    specs = {name: special.get(name) or spec_of(hint) for name, hint in hints.items()}
    return Codec(cls, specs, sums=sums_of(hints), build=build, check=check, stored_as=stored_as)


def unfitted(cls: type) -> Codec:
    """Codec of an object of scikit-learn that is stored by its constructor arguments alone."""
    return Codec(cls, dict.fromkeys(inspect.signature(cls).parameters, ANYTHING))


@dataclass(frozen=True)
class Conversion:
    """Between the attributes of a fitted estimator and its state in a file of format 1."""

    attributes: frozenset[str]  # that the estimator has once it is fitted
    store: Callable[[Any], dict[str, Any]]  # estimator → state
    restore: Callable[[Any, Mapping[str, Any]], dict[str, Any]]  # → attributes


# Kinds of the parameters that estimators of this library have in common, by name.
_FLAG, _TEXT = OneOf((bool, np.bool_)), OneOf((str, np.str_))
_NUMBER_OR_TEXT = Setting((str, np.str_, NoneType))
_PARAMETERS: dict[str, Spec] = {
    **dict.fromkeys(("alpha", "noise_variance", "radius", "gamma"), _NUMBER_OR_TEXT),
    **dict.fromkeys(("degree", "coef0", "calibration_size", "tol", "prior"), Setting(())),
    **dict.fromkeys(("fit_intercept", "normalize", "class_conditional"), _FLAG),
    **dict.fromkeys(("method", "penalty", "conformity_score"), _TEXT),
}


def estimator(
    cls: type,
    state: dict[str, Spec],
    check: Callable[[Mapping[str, Any]], None] = no_check,
    convert: Conversion | None = None,
    params: Mapping[str, Spec] | None = None,
) -> Codec:
    """Codec of an estimator: its parameters, these attributes and scikit-learn's own.

    `params` gives the kinds of parameters that `_PARAMETERS` does not; others may be anything.
    """
    known = _PARAMETERS if cls.__module__.startswith("pnml.") else {}
    kinds = {**known, **(params or {})}
    names = inspect.signature(cls).parameters
    specs: dict[str, Spec] = {name: kinds.get(name, ANYTHING) for name in names}
    columns: dict[str, Spec] = {"n_features_in_": Count("d"), "feature_names_in_": Names("d")}
    codec = Codec(cls, specs, columns | state, sums=(("w", "d+2"),), check=check)
    if convert is None:
        return codec
    given = convert

    def state_of(model: Any) -> dict[str, Any]:
        held: dict[str, Any] = vars(model)
        if "n_features_in_" not in held:
            return held  # not fitted
        return {name: held[name] for name in COLUMNS if name in held} | given.store(model)

    def restored(made: Any, stored: Mapping[str, Any]) -> dict[str, Any]:
        columns = {name: stored[name] for name in COLUMNS if name in stored}
        return columns | given.restore(made, stored)

    return replace(codec, state_of=state_of, restored=restored, attributes=given.attributes)


def derived(cls: type) -> list[Codec]:
    """Codecs of an estimator whose fitted state is one frozen value, and of all it is made of.

    The class declares the value, ``learner_: Mean``; the fields of the value declare the rest.
    """
    parts: list[Codec] = []
    pending = _dataclasses_in(get_type_hints(cls)["learner_"])
    kinds = tuple(pending)
    while pending:
        part = pending.pop()
        if part not in [codec.cls for codec in parts]:
            parts.append(value(part))
            hints = field_hints(part).values()
            pending += [inner for hint in hints for inner in _dataclasses_in(hint)]
    return [*parts, estimator(cls, {"learner_": OneOf(kinds)})]


def _dataclasses_in(hint: Any) -> list[type]:
    """Dataclasses that a type hint names, inside unions, tuples and lists too."""
    if is_dataclass(hint) and isinstance(hint, type):
        return [hint]
    return [found for inner in get_args(hint) for found in _dataclasses_in(inner)]


def array(*axes: str, dtype: type[np.generic] = np.float64, holds: Condition = FINITE) -> Array:
    """An array with these axes, whose numbers are finite unless another condition is given."""
    return Array(axes, dtype, holds)


def numbers(*axes: str, holds: Condition = ANY_NUMBER) -> tuple[Array, ...]:
    """Arrays of numbers in any of the dtypes that scikit-learn leaves, which may be NaN."""
    dtypes = (np.float64, np.float32, np.int64, np.int32)
    return tuple(Array(axes, dtype, holds) for dtype in dtypes)


def number(holds: Condition = FINITE) -> Number:
    """A number, which is finite unless another condition is given."""
    return Number((float, np.float64), holds)


# Classes of a classifier, in the order of its probabilities.
LABELS = Either(
    (*numbers("c"), array("c", dtype=np.bool_, holds=ANY_NUMBER), Names("c"), Texts("c"))
)
