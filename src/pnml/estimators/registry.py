"""The registry of learners: each estimator's file ends in its registrations.

The choices of the command line, scikit-learn's checks, bad input, model files, ONNX, Displays and
the table in the documentation all run over it.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

from pnml.errors import InputError

Task = Literal["regression", "classification"]

MOST_ROWS = 100_000  # rows in memory; longer tables are streamed, or sampled


@dataclass(frozen=True)
class Registered:
    """Entry of the registry of learners: constructor and capabilities."""

    name: str
    make: Callable[[], Any]  # returns the estimator, not fitted
    task: Task
    rows: int  # most rows in memory; a longer table is sampled
    streams: bool  # whether a Gram is enough, so that any number of rows can be used
    weighs: bool  # whether rows may carry weights
    about: str  # a few words for the list of learners
    place: int | None  # order among the learners for tables on the command line; None: not there
    # As `make`, for rows in which whole numbers stand for words: its argument has, for each such
    # column, its position and its number of words. None for learners that take one-hot numbers.
    make_coded: Callable[[Sequence[tuple[int, int]]], Any] | None = None
    of_class: type | None = None  # class of the estimator, where `make` may need another library

    @property
    def estimator_class(self) -> type:
        """The class of the estimator that `make` returns."""
        return self.of_class or type(self.make())


_EVERY: dict[str, Registered] = {}
_FOR_TABLES: dict[str, Registered] = {}


def register(
    name: str,
    make: Callable[[], Any],
    *,
    task: Task,
    about: str,
    rows: int = MOST_ROWS,
    streams: bool = False,
    weighs: bool = False,
    place: int | None = None,
    make_coded: Callable[[Sequence[tuple[int, int]]], Any] | None = None,
    of_class: type | None = None,
) -> None:
    """Add a learner to the registry; called once, at the end of its estimator's file.

    The arguments are the fields of `Registered`.
    """
    if name in _EVERY:
        raise InputError(f"A learner {name!r} is registered already; choose another name.")
    entry = Registered(name, make, task, rows, streams, weighs, about, place, make_coded, of_class)
    _EVERY[name] = entry
    if place is not None:
        _FOR_TABLES[name] = entry


def every_learner() -> dict[str, Registered]:
    """All registered learners by name: those for tables in their order, then the rest by name."""
    return table_learners() | dict(sorted(_EVERY.items()))


def table_learners() -> dict[str, Registered]:
    """The registered learners for tables, by name and in their order.

    Returns the registry itself: a learner registered later appears at its end.
    """
    for module in pkgutil.iter_modules(import_module("pnml.estimators").__path__):
        import_module(f"pnml.estimators.{module.name}")
    ordered = sorted(_FOR_TABLES.values(), key=lambda entry: entry.place or 0)
    _FOR_TABLES.clear()
    _FOR_TABLES.update((entry.name, entry) for entry in ordered)
    return _FOR_TABLES
