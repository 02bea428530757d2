"""How objects of one class are taken apart and put together."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from pnml.models.schema import Anything, Array, Count, Either, Names, Spec, Texts

# Attributes that fitted estimators may lack: rows without names, streams from the first row on.
_SOMETIMES = frozenset({"feature_names_in_", "_sample"})

ANYTHING = Anything()


def no_check(values: Mapping[str, Any]) -> None:
    """Accept all values: kinds and sizes have been compared already."""


@dataclass(frozen=True)
class Entry:
    """One class that a model file may hold, field by field."""

    cls: type
    params: Mapping[str, Spec]  # what the constructor takes
    state: Mapping[str, Spec] = field(default_factory=dict)  # what fitting adds
    sums: tuple[tuple[str, str], ...] = ()  # sizes that must be equal where both are known
    build: Callable[..., Any] | None = None  # in place of the constructor
    check: Callable[[Mapping[str, Any]], None] = no_check  # raises where fields clash

    @property
    def name(self) -> str:
        """The name that stands in the file."""
        return self.cls.__name__

    @cached_property
    def required(self) -> frozenset[str]:
        """Constructor parameters without a default."""
        given = inspect.signature(self.build or self.cls).parameters.values()
        return frozenset(p.name for p in given if p.default is inspect.Parameter.empty)

    @property
    def needs(self) -> set[str]:
        """Attributes that every fitted object has."""
        return set(self.state) - _SOMETIMES

    def make(self, params: dict[str, Any]) -> Any:
        """The object, before fitted attributes are set."""
        return (self.build or self.cls)(**params)


def array(*axes: str, dtype: type[np.generic] = np.float64) -> Array:
    """An array with these axes."""
    return Array(axes, dtype)


def numbers(*axes: str) -> tuple[Array, ...]:
    """Arrays of numbers, in whatever precision scikit-learn has left them."""
    return tuple(Array(axes, dtype) for dtype in (np.float64, np.float32, np.int64, np.int32))


# Classes of a classifier, in the order of its probabilities.
LABELS = Either((*numbers("c"), array("c", dtype=np.bool_), Names("c"), Texts("c")))


def estimator(
    cls: type,
    state: dict[str, Spec],
    check: Callable[[Mapping[str, Any]], None] = no_check,
) -> Entry:
    """An estimator: any parameters, these attributes and scikit-learn's own."""
    params: dict[str, Spec] = dict.fromkeys(inspect.signature(cls).parameters, ANYTHING)
    columns: dict[str, Spec] = {"n_features_in_": Count("d"), "feature_names_in_": Names("d")}
    return Entry(cls, params, columns | state, sums=(("w", "d+2"),), check=check)
