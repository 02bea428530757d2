"""Means over tables with intervals: the table is the unit that is drawn again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from pnml.metrics import Estimate
from pnml_experiments.studies.trust_files import KINDS, ORDINARY, ShiftedTable
from pnml_experiments.studies.trust_measures import Numbers

RESAMPLES = 2_000
INTERVAL = f"95 %, tables drawn again {RESAMPLES} times, the same for every method"


@dataclass(frozen=True)
class FileNumbers:
    """The numbers of one file of a table."""

    file: str
    table: str
    group: str
    classes: bool
    numbers: Numbers

    @classmethod
    def of(cls, table: ShiftedTable, numbers: Numbers) -> FileNumbers:
        """The numbers, with the names of what they are of."""
        return cls(table.file, table.table, table.group, table.classes, numbers)


@dataclass(frozen=True)
class Files:
    """Numbers of several files, of one group of tables and one kind of target."""

    files: tuple[FileNumbers, ...]

    def where(self, group: str, classes: bool) -> Files:
        """Those of one group, regression or classes."""
        kept = (one for one in self.files if one.group == group and one.classes == classes)
        return Files(tuple(kept))

    @property
    def tables(self) -> list[str]:
        """Names of the tables."""
        return list(dict.fromkeys(one.table for one in self.files))

    def methods(self, measure: str) -> list[str]:
        """Methods that have this number."""
        keys = (key for one in self.files for key in one.numbers)
        return list(dict.fromkeys(method for _, method, name in keys if name == measure))

    def kinds(self) -> list[str]:
        """Kinds of shift that the files have."""
        found = {kind for one in self.files for kind, _, _ in one.numbers}
        return [kind for kind in KINDS if kind in found]

    def values(
        self,
        method: str,
        measure: str,
        kinds: Iterable[str] = tuple(KINDS),
        of: Callable[[float], float] = float,
    ) -> dict[str, float]:
        """Table → mean over its sets of these kinds; tables without such a set are left out."""
        each: dict[str, list[float]] = {}
        for one in self.files:
            for kind in kinds:
                value = one.numbers.get((kind, method, measure))
                if value is not None:
                    each.setdefault(one.table, []).append(of(value))
        return {table: float(np.mean(values)) for table, values in each.items()}

    def mean(
        self, method: str, measure: str, kinds: Iterable[str] = tuple(KINDS)
    ) -> Estimate | None:
        """Mean over tables; None where there is no number."""
        return mean_over_tables(list(self.values(method, measure, kinds).values()))

    def gap(
        self,
        methods: tuple[str, str],
        measure: str,
        kinds: Iterable[str] = tuple(KINDS),
        of: Callable[[float], float] = float,
    ) -> Estimate | None:
        """Mean over tables of the first method less the second; None where one has no number."""
        kinds = tuple(kinds)
        first, second = (self.values(method, measure, kinds, of) for method in methods)
        return mean_over_tables(
            [first[table] - second[table] for table in first if table in second]
        )

    def worst(self, method: str, measure: str) -> tuple[float, str]:
        """Largest value on ordinary rows, and its file."""
        key = (ORDINARY, method, measure)
        return max((one.numbers[key], one.file) for one in self.files if key in one.numbers)


def mean_over_tables(values: Sequence[float]) -> Estimate | None:
    """Mean with the central 95 % of means over tables drawn again; None of no tables.

    >>> mean_over_tables([0.5, 0.5])
    Estimate(value=0.5, low=0.5, high=0.5)
    """
    if not values:
        return None
    each = np.asarray(values, dtype=float)
    # one stream for each number of tables: all methods and measures meet the same draws
    picks = np.random.default_rng(len(each)).integers(len(each), size=(RESAMPLES, len(each)))
    low, high = np.quantile(each[picks].mean(axis=1), [0.025, 0.975])
    return Estimate(float(each.mean()), float(low), float(high))
