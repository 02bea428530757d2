"""Tables of the trust study: training rows, ordinary rows, and rows that were shifted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.runtime.fingerprint import fingerprint
from pnml_experiments.framework.data import arrays, is_here
from pnml_experiments.framework.stored_files import GROUPS

ORDINARY = "id"
# Kinds of shift, in the order of the tables of results.
KINDS = {
    "nat": "another time, place or category",
    "cov": "other half along the first principal component",
    "unit": "one cell in another unit",
    "stuck": "a column stuck at its 5 or 95 % quantile",
    "swap": "two columns swapped",
}
DEVELOPMENT, FRESH = "development", "fresh"


@dataclass(frozen=True)
class RowSet:
    """Rows and their labels."""

    X: FloatArray  # (n, d)
    y: FloatArray  # (n,)


@dataclass(frozen=True)
class ShiftedTable:
    """Training rows of one table, fresh ordinary rows, and rows of each kind of shift."""

    file: str  # TABLE_nat or TABLE_cov: the two have other training rows
    group: str  # development or fresh
    train: RowSet
    sets: Mapping[str, RowSet]  # `id` and kinds of shift

    @property
    def table(self) -> str:
        """Name of the table, the unit of all intervals."""
        return self.file.rpartition("_")[0]

    @property
    def classes(self) -> bool:
        """Whether the target is a class."""
        return self.file.startswith("c_")

    @property
    def kinds(self) -> list[str]:
        """Kinds of shift that this file has."""
        return [kind for kind in self.sets if kind != ORDINARY]

    @cached_property
    def digest(self) -> str:
        """Fingerprint of all rows."""
        parts = [self.train, *self.sets.values()]
        return fingerprint(*self.sets, *(array for part in parts for array in (part.X, part.y)))


def file_names() -> list[str]:
    """Names of the development files that are there."""
    return [PurePosixPath(path).stem for path in GROUPS["trust"] if is_here(path)]


def read_table(file: str) -> ShiftedTable:
    """One development table, from ``trust/FILE.npz`` below the data folder."""
    stored = arrays(f"trust/{file}.npz")

    def rows(name: str) -> RowSet:
        X, y = stored[f"X_{name}"], stored[f"y_{name}"]
        return RowSet(X.astype(float), y.astype(float))

    train = RowSet(stored["Xtr"].astype(float), stored["ytr"].astype(float))
    names = [str(name) for name in stored["sets"]]
    return ShiftedTable(file, DEVELOPMENT, train, {name: rows(name) for name in names})


def development(tables: tuple[str, ...] | None) -> Iterator[Callable[[], ShiftedTable]]:
    """A reader for every development file of these tables; None for all."""
    for file in file_names():
        if tables is None or file.rpartition("_")[0] in tables:
            yield lambda file=file: read_table(file)  # type: ignore[misc]


def scales(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and spread of each column; a constant column has spread 1.

    >>> scales(np.array([[1.0, 5.0], [3.0, 5.0]]))
    (array([2., 5.]), array([1., 1.]))
    """
    spread = X.std(axis=0)
    constant = spread <= 1e-12 * np.abs(X).max(axis=0)
    return X.mean(axis=0), np.where(constant, 1.0, spread)
