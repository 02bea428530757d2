"""Unfitted models of other libraries: the class by name, and its parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pnml.errors import InputError, shorten
from pnml.models.wrapped.classes import class_named, name_of, version_of
from pnml.models.wrapped.plain import check_params, said
from pnml.models.wrapped.stored import Attributes, stored


@dataclass(frozen=True)
class Recipe:
    """Stored form of an unfitted model: class name, library version and constructor parameters."""

    name: str  # "module.Class", one of those in `classes`
    version: str  # of the library that wrote it
    params: Attributes


def store_unfitted(model: Any) -> Recipe:
    """The stored form of an unfitted model; raises InputError for a class that no file holds."""
    name = name_of(type(model))
    if name is None or not hasattr(model, "get_params"):
        raise InputError(f"a model file holds no {shorten(type(model).__name__)}")
    params = model.get_params(deep=False)
    check_params(type(model), params)
    return Recipe(name, version_of(name.partition(".")[0]), params)


def _model(held: Recipe) -> Any:
    cls = class_named(held.name)
    check_params(cls, held.params)
    try:
        return cls(**held.params)
    except Exception as error:
        raise InputError(f"a {cls.__name__} does not take its parameters: {said(error)}") from error


RECIPE_CODECS = [stored(Recipe, "Unfitted", _model)]
