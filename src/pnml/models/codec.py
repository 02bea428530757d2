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

# Attributes that a fitted estimator may lack: names of columns, the sample of rows (a stream has it
# in its Gram), groups of conformal estimators. Older files also lack the relations of columns.
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
# Attributes in which scikit-learn keeps the number and the names of columns.
COLUMNS = frozenset({"n_features_in_", "feature_names_in_"})
OUTPUT = "_sklearn_output_config"  # what scikit-learn's set_output keeps, fitted or not


def no_check(values: Mapping[str, Any]) -> None:
    """Accept any field values: the default `Codec.check`, for fields that cannot clash."""


def no_objection(model: Any) -> None:
    """Accept any object: the default of `Codec.savable` and `Codec.made`."""


def as_stored(made: Any, state: Mapping[str, Any]) -> Mapping[str, Any]:
    """Stored fields as attributes, unchanged: the default `Codec.restored`."""
    return state


@dataclass(frozen=True)
class Codec:
    """Codec: how objects of one class are written to a model file and read back, by field."""

    cls: type
    params: Mapping[str, Spec]  # arguments of the constructor
    state: Mapping[str, Spec] = field(default_factory=dict)  # attributes that fitting adds
    sums: Sums = ()  # sizes that must be equal where both are known
    build: Callable[..., Any] | None = None  # makes the object in place of the constructor
    check: Callable[[Mapping[str, Any]], None] = no_check  # raises where fields clash
    stored_as: str = ""  # name in the file; empty: that of the class
    state_of: Callable[[Any], Mapping[str, Any]] = vars  # fitted state of an object, as in a file
    restored: Callable[[Any, Mapping[str, Any]], Mapping[str, Any]] = as_stored  # → attributes
    attributes: frozenset[str] | None = None  # of a fitted object; None: those in `state`
    savable: Callable[[Any], None] = no_objection  # raises where an object cannot be saved
    made: Callable[[Any], None] = no_objection  # raises where arguments from a file are wrong
    fitted: Callable[[Any], bool] | None = None  # None: whether n_features_in_ is there
    params_of: Callable[[Any], Mapping[str, Any]] | None = None  # None: attributes of their names
    apart: bool = False  # whether axes of the same letter may differ from those of the owner

    @property
    def name(self) -> str:
        """Name of the class in the file."""
        return self.stored_as or self.cls.__name__

    @property
    def expected(self) -> set[str]:
        """Names of the attributes that an object to be saved may have; others are refused."""
        fitted = set(self.state) if self.attributes is None else self.attributes | COLUMNS
        return set(self.params) | fitted

    @cached_property
    def required(self) -> frozenset[str]:
        """Names of the constructor parameters without a default."""
        given = inspect.signature(self.build or self.cls).parameters.values()
        return frozenset(p.name for p in given if p.default is inspect.Parameter.empty)

    @property
    def needs(self) -> set[str]:
        """Names of the attributes that every fitted object has."""
        return set(self.state) - _SOMETIMES

    @property
    def text(self) -> str:
        """The constructor parameters in words, as the page ``docs/model-file.md`` lists them."""
        return ", ".join(self._param_text(name, spec) for name, spec in self.params.items())

    def _param_text(self, name: str, spec: Spec) -> str:
        words = [] if spec.text in ("", "number") else [spec.text]
        if name not in self.required:
            words.append("may be left out")
        return f"`{name}` ({'; '.join(words)})" if words else f"`{name}`"

    def make(self, params: dict[str, Any]) -> Any:
        """A new object from constructor arguments `params`; fitted attributes are set later."""
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
    """Codec of a frozen dataclass `cls`, with a spec for each field derived from its type hint.

    Where a function `build` makes the object, its arguments are the fields. `check` raises where
    fields clash, `stored_as` is the name in the file, and `special` gives the specs of fields whose
    hint does not say enough.
    """
    hints = field_hints(build or cls)
    specs = {name: special.get(name) or spec_of(hint) for name, hint in hints.items()}
    return Codec(cls, specs, sums=sums_of(hints), build=build, check=check, stored_as=stored_as)


def unfitted(cls: type) -> Codec:
    """Codec of a scikit-learn class that is stored by its constructor arguments, without a fit."""
    return Codec(cls, dict.fromkeys(inspect.signature(cls).parameters, ANYTHING))


@dataclass(frozen=True)
class Conversion:
    """Conversion between the attributes of a fitted estimator and the fields that a file holds."""

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
    """Codec of an estimator: its constructor parameters and its fitted attributes `state`.

    The column attributes of scikit-learn, such as ``n_features_in_``, are added to `state`. `check`
    raises where fields clash. `convert` is for a class whose fitted attributes differ from the
    fields in the file. `params` gives specs of parameters that `_PARAMETERS` does not have; others
    may be anything.
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
    """Codecs of an estimator class and of all dataclasses that its fitted state is made of.

    The type hint of the attribute ``learner_`` names the dataclass of the state, as in ``learner_:
    Mean``; the hints of its fields name the other dataclasses.
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
    """Spec of an array with these axes; its numbers are finite unless `holds` says otherwise."""
    return Array(axes, dtype, holds)


def numbers(*axes: str, holds: Condition = ANY_NUMBER) -> tuple[Array, ...]:
    """Specs of arrays with these axes, one for each of four dtypes; numbers may be NaN by default.

    The dtypes are those that scikit-learn leaves in fitted attributes: float64, float32, int64,
    int32.
    """
    dtypes = (np.float64, np.float32, np.int64, np.int32)
    return tuple(Array(axes, dtype, holds) for dtype in dtypes)


def number(holds: Condition = FINITE) -> Number:
    """Spec of one float, which is finite unless `holds` says otherwise."""
    return Number((float, np.float64), holds)


# Classes of a classifier, in the order of its probabilities.
LABELS = Either(
    (*numbers("c"), array("c", dtype=np.bool_, holds=ANY_NUMBER), Names("c"), Texts("c"))
)
