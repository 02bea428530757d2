"""Columns of numbers of an encoder, learnt batch by batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

from pnml.core.arrays import FloatArray
from pnml.core.ranges import ROUND_OFF
from pnml.errors import InputError, shorten
from pnml.readers.cell_formats import unlike_zone
from pnml.tables.bad_cells import first_of_other_zone, names_zone
from pnml.tables.cell_values import is_words
from pnml.tables.encoder import LARGEST, BoolArray, ConstantColumn, NumberColumn, read_numbers
from pnml.tables.finished_rows import Terms

_STATE = ("fill", "unit", "missing", "weight", "mean", "squares", "low", "high")


@dataclass(frozen=True)
class ColumnCells:
    """Cells of one column of a batch, as its builder will write them into encoded rows.

    `values` (n,) are numbers in units of the first rows, or positions of words in an encoded row;
    `signs` (n,) are those of hashed words.
    """

    values: npt.NDArray[Any]  # (n,) numbers, or places of the words
    missing: BoolArray  # (n,)
    signs: FloatArray | None = None  # (n,) of hashed words


@dataclass
class NumberBuilder:
    """Builder of an encoded column of numbers: running mean, spread and range of its cells.

    `fill` and `unit` are the mean and spread in the first rows; later sums are in these units.
    `value` and `missing` are positions in an encoded row.
    """

    name: str
    is_date: bool
    value: int
    fill: float = 0.0
    unit: float = 1.0
    missing: int | None = None
    weight: float = 0.0
    mean: float = 0.0
    squares: float = 0.0  # Σ w (x − mean)²
    low: float | None = None  # least and largest value
    high: float | None = None
    is_time: bool = False
    has_zone: bool | None = None  # whether dates name a time zone

    def look(self, cells: pa.ChunkedArray, weights: FloatArray) -> None:
        """Set the centre and the unit of the column from its first cells and their weights (n,)."""
        self.is_time = pt.is_time(cells.type) or pt.is_duration(cells.type)
        self.has_zone = names_zone(cells) if self.is_date else None
        values = read_numbers(cells, self.name, self.is_date)
        there = np.abs(values) < LARGEST
        values, w = values[there], weights[there]
        if w.sum() > 0:
            self.fill = float(np.average(values, weights=w))
            spread = float(np.sqrt(np.average((values - self.fill) ** 2, weights=w)))
            self.unit = spread if spread > ROUND_OFF * abs(self.fill) else 1.0

    def learn(
        self, cells: pa.Array, weights: FloatArray | None, next_place: Callable[[], int]
    ) -> ColumnCells:
        """The cells in units of the first rows; updates the mean, the spread and the range.

        `next_place` returns the next free position in an encoded row, for an indicator of missing
        cells.
        """
        if self.has_zone is not None and is_words(cells.type):
            self._refuse_other_zone(cells, self.has_zone)
        values = read_numbers(cells, self.name, self.is_date)
        missing = np.isnan(values)
        some = bool(missing.any())
        if some and self.missing is None:
            self.missing = next_place()
        z = (values - self.fill) / self.unit
        there = z[~missing] if some else z
        if not np.abs(there).max(initial=0.0) < LARGEST:
            self._refuse_infinite(values)
        self._widen(values[~missing] if some else values)
        if weights is None:
            self._count(there, np.ones(len(there)))
        else:
            self._count(there, weights[~missing])
        if some:
            z[missing] = 0.0
        return ColumnCells(z, missing)

    def write(self, learnt: ColumnCells, X: FloatArray) -> None:
        """Write the cells, as `learn` returned them, into the encoded rows X (n, width)."""
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

    def _widen(self, values: FloatArray) -> None:
        if len(values):
            low, high = float(values.min()), float(values.max())
            self.low = low if self.low is None else min(low, self.low)
            self.high = high if self.high is None else max(high, self.high)

    def _refuse_other_zone(self, cells: pa.Array, has_zone: bool) -> None:
        if (cell := first_of_other_zone(cells, has_zone)) is not None:
            raise InputError(
                f"Column {shorten(self.name)!r} holds {shorten(cell)!r}, {unlike_zone(cell)}; "
                f"correct the cell or leave it empty, or pass --drop {shorten(self.name)!r}."
            )

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

    @property
    def is_constant(self) -> bool:
        """Whether all cells hold one value, up to rounding errors, or all are missing."""
        return not self.weight or (self.spread == 0 and self.missing is None)

    @property
    def places_kept(self) -> tuple[int, ...]:
        """Positions of this column in an encoded row that the finished encoder keeps."""
        return (self.value,) if self.missing is None else (self.value, self.missing)

    def state(self) -> list[Any]:
        """State needed to resume, as JSON values."""
        return [getattr(self, name) for name in _STATE]

    def restore(self, state: list[Any]) -> None:
        """Resume from the result of `state`."""
        for name, value in zip(_STATE, state, strict=True):
            setattr(self, name, value)

    def constant(self) -> ConstantColumn:
        """The finished column of a column that `is_constant`."""
        kind = "time" if self.is_time else "number"
        kind = "date" if self.is_date else kind
        kind = kind if self.weight else "gap"
        return ConstantColumn(self.name, kind, self.low, self.high, has_zone=self.has_zone)

    def build(self, terms: Terms, recentre: bool) -> NumberColumn:
        """The finished column; the map from its old positions is added to `terms`. Eq. (B3).

        `recentre`: numbers are centred at the mean of all rows instead of that of the first rows.
        """
        spread = self.spread or 1.0
        fill = self.fill + self.unit * self.mean if recentre else self.fill
        shift = (fill - self.fill) / self.unit / spread
        value = terms.keep(self.value, 1 / spread, -shift)
        missing = None if self.missing is None else terms.keep(self.missing)
        if self.missing is not None and shift:
            terms.add(value, self.missing, shift)  # missing cells stay at 0
        scale = self.unit * spread
        return NumberColumn(
            self.name,
            self.is_date,
            fill,
            scale,
            value,
            missing,
            self.low,
            self.high,
            self.is_time,
            self.has_zone,
        )
