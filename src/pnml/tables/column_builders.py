"""Columns of an encoder, learnt batch by batch: numbers, and words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pnml.core.arrays import FloatArray
from pnml.errors import InputError, shorten
from pnml.tables.cell_values import as_words, codes_of
from pnml.tables.encoder import LARGEST, BoolArray, CategoryColumn, NumberColumn, read_numbers
from pnml.tables.roles import ROUND_OFF

_STATE = ("fill", "unit", "missing", "weight", "mean", "squares")


@dataclass(frozen=True)
class ColumnCells:
    """What a column builder returns: cells of a column of a batch for encoded rows."""

    values: npt.NDArray[Any]  # (n,) numbers, or places of the words
    missing: BoolArray  # (n,)


@dataclass
class NumberBuilder:
    """Builder of a column of numbers: running mean and spread, in units of the first rows."""

    name: str
    is_date: bool
    value: int
    fill: float = 0.0
    unit: float = 1.0
    missing: int | None = None
    weight: float = 0.0
    mean: float = 0.0
    squares: float = 0.0  # Σ w (x − mean)²

    def look(self, cells: pa.ChunkedArray, weights: FloatArray) -> None:
        """Fix the units of the column."""
        values = read_numbers(cells, self.name, self.is_date)
        there = np.abs(values) < LARGEST
        values, w = values[there], weights[there]
        if w.sum() > 0:
            self.fill = float(np.average(values, weights=w))
            self.unit = float(np.sqrt(np.average((values - self.fill) ** 2, weights=w))) or 1.0

    def learn(
        self, cells: pa.Array, weights: FloatArray | None, next_place: Callable[[], int]
    ) -> ColumnCells:
        """The cells in these units; updates the mean and the spread."""
        values = read_numbers(cells, self.name, self.is_date)
        missing = np.isnan(values)
        some = bool(missing.any())
        if some and self.missing is None:
            self.missing = next_place()
        z = (values - self.fill) / self.unit
        there = z[~missing] if some else z
        if not np.abs(there).max(initial=0.0) < LARGEST:
            self._refuse_infinite(values)
        if weights is None:
            self._count(there, np.ones(len(there)))
        else:
            self._count(there, weights[~missing])
        if some:
            z[missing] = 0.0
        return ColumnCells(z, missing)

    def write(self, learnt: ColumnCells, X: FloatArray) -> None:
        """Write the cells into encoded rows."""
        X[:, self.value] = learnt.values
        if self.missing is not None:
            X[:, self.missing] = learnt.missing

    def _count(self, z: FloatArray, w: FloatArray) -> None:
        new = float(w.sum())
        if not new:
            return
        mean = float(w @ z) / new
        squares, weight = float(w @ np.square(z - mean)), self.weight + new
        shift = mean - self.mean
        self.squares += squares + shift**2 * self.weight * new / weight
        self.mean += shift * new / weight
        self.weight = weight

    def _refuse_infinite(self, values: FloatArray) -> None:
        largest = float(np.nanmax(np.abs(values)))
        raise InputError(
            f"Column {shorten(self.name)!r} holds numbers as large as {largest:g}, from which "
            "nothing can be learnt; correct the cells or leave them empty."
        )

    @property
    def spread(self) -> float:
        """Standard deviation of the cells, in units of the first rows; 0 where it is round-off."""
        if not self.weight:
            return 0.0
        spread = float(np.sqrt(self.squares / self.weight))
        offset = abs(self.fill / self.unit) + abs(self.mean)
        return spread if spread > ROUND_OFF * offset else 0.0

    def problem(self) -> str:
        """Why nothing can be learnt from the column, "" where something can."""
        if not self.weight:
            return "holds no value at all"
        if self.spread == 0 and self.missing is None:
            return "has the same value in every row, up to the rounding of numbers"
        return ""

    def state(self) -> list[Any]:
        """State needed to resume."""
        return [getattr(self, name) for name in _STATE]

    def restore(self, state: list[Any]) -> None:
        """Resume from a state."""
        for name, value in zip(_STATE, state, strict=True):
            setattr(self, name, value)

    def build(self) -> NumberColumn:
        """The finished column of the encoder."""
        scale = self.unit * (self.spread or 1.0)
        return NumberColumn(self.name, self.is_date, self.fill, scale, self.value, self.missing)


@dataclass
class CategoryBuilder:
    """Builder of a column of categories: words seen so far and their places."""

    name: str
    limit: int
    places: dict[str, int] = field(default_factory=dict)
    missing: int | None = None

    def look(self, cells: pa.ChunkedArray, weights: FloatArray) -> None:
        """Words have no units."""

    def learn(
        self, cells: pa.Array, weights: FloatArray | None, next_place: Callable[[], int]
    ) -> ColumnCells:
        """The place of each cell; new words get new places."""
        words = as_words(cells, self.name)
        codes = codes_of(words)
        known = words.dictionary.to_pylist()
        used = np.bincount(codes + 1, minlength=len(known) + 1) > 0
        for word, is_used in zip(known, used[1:], strict=True):
            if is_used and word not in self.places:
                self.places[word] = next_place()
        if used[0] and self.missing is None:
            self.missing = next_place()
        if len(self.places) > self.limit:
            raise InputError(
                f"Column {shorten(self.name)!r} has more than {self.limit:,} distinct values; "
                f"pass --drop {shorten(self.name)!r} to leave it out."
            )
        by_code = [self.places.get(word, -1) for word in known]
        by_code.append(-1 if self.missing is None else self.missing)
        return ColumnCells(np.array(by_code)[codes], codes < 0)

    def write(self, learnt: ColumnCells, X: FloatArray) -> None:
        """Write the cells into encoded rows."""
        X[np.arange(len(X)), learnt.values] = 1.0

    def problem(self) -> str:
        """Why nothing can be learnt from the column, "" where something can."""
        if not self.places:
            return "holds no value at all"
        if len(self.places) == 1 and self.missing is None:
            return "has the same value in every row"
        return ""

    def state(self) -> list[Any]:
        """State needed to resume."""
        return [list(self.places.items()), self.missing]

    def restore(self, state: list[Any]) -> None:
        """Resume from a state."""
        places, self.missing = state
        self.places = dict(places)

    def build(self) -> CategoryColumn:
        """The finished column of the encoder."""
        return CategoryColumn(
            self.name, tuple(self.places), tuple(self.places.values()), self.missing
        )
