"""Encode a batch of a table as rows of numbers, the way the training rows were encoded."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pnml.core.arrays import FloatArray
from pnml.tables.cell_values import as_dates, as_numbers, as_words, codes_of

BoolArray = npt.NDArray[np.bool_]

# The first number of every row. It is 0 in training, so any other value leaves the training span
# and raises the learner's own regret, without bound where there is no penalty.
NEVER_SEEN = 0

# Numbers from here on count as infinite: their squares, or those of multiples, overflow.
LARGEST = 1e100


_TRUTH = frozenset({"true", "false"})


@dataclass(frozen=True)
class NumberColumn:
    """Number column of a table's encoder: centred, in units of its spread; gaps get the mean."""

    name: str
    is_date: bool
    fill: float
    scale: float
    value: int  # place in the row
    missing: int | None  # place of the indicator; None where no training cell was missing

    @property
    def places(self) -> tuple[int, ...]:
        """Positions of this column in an encoded row."""
        return (self.value,) if self.missing is None else (self.value, self.missing)

    def write(self, cells: pa.Array, X: FloatArray) -> tuple[BoolArray, BoolArray]:
        """Write the cells into X; which are missing, and which are infinite (never seen)."""
        values = read_numbers(cells, self.name, self.is_date)
        missing = np.isnan(values)
        with np.errstate(over="ignore", invalid="ignore"):
            z = (values - self.fill) / self.scale
            infinite = ~missing & ~(np.abs(z) < LARGEST)
        X[:, self.value] = z
        odd = missing | infinite
        if odd.any():
            X[odd, self.value] = 0.0
        if self.missing is not None:
            X[:, self.missing] = missing
        return missing, infinite


@dataclass(frozen=True)
class CategoryColumn:
    """Category column of a table's encoder: a place for each word seen in training."""

    name: str
    levels: tuple[str, ...]
    level_places: tuple[int, ...]
    missing: int | None

    @property
    def places(self) -> tuple[int, ...]:
        """Positions of this column in an encoded row."""
        return self.level_places if self.missing is None else (*self.level_places, self.missing)

    @cached_property
    def _place_of(self) -> dict[str, int]:
        return dict(zip(self.levels, self.level_places, strict=True))

    def _place(self, word: str) -> int:
        """Position of each word, −1 if never seen. True and TRUE mean the truth value true."""
        place = self._place_of.get(word, -1)
        if place < 0 and word.lower() in _TRUTH and _TRUTH.issuperset(self.levels):
            place = self._place_of.get(word.lower(), -1)
        return place

    def write(self, cells: pa.Array, X: FloatArray) -> tuple[BoolArray, BoolArray]:
        """Write the cells into X; which are missing, and which are words never seen."""
        words = as_words(cells, self.name)
        codes = codes_of(words)
        places = [self._place(word) for word in words.dictionary.to_pylist()]
        places.append(-1 if self.missing is None else self.missing)
        place = np.array(places)[codes]  # code −1, missing, takes the last
        known = place >= 0
        X[np.flatnonzero(known), place[known]] = 1.0
        missing = codes < 0
        return missing, ~known & ~missing


@dataclass(frozen=True)
class Patterns:
    """Which columns of a table's encoder were missing together in training."""

    seen: Annotated[BoolArray, "p c"] | None  # None where there were too many to keep

    @cached_property
    def _keys(self) -> set[bytes]:
        return set() if self.seen is None else {row.tobytes() for row in np.packbits(self.seen, 1)}

    def strange(self, missing: BoolArray) -> BoolArray:
        """Rows (n,) whose set of missing columns (n, columns) no training row had."""
        if self.seen is None:
            return np.zeros(len(missing), dtype=bool)
        keys, where = distinct_rows(missing)
        strange = np.array([key not in self._keys for key in keys])
        rows: BoolArray = strange[where]
        return rows


def distinct_rows(mask: BoolArray) -> tuple[list[bytes], npt.NDArray[np.intp]]:
    """Distinct rows of the encoder's mask of a table (n, k) as bytes, and which each row is."""
    packed = np.packbits(mask, axis=1)
    if not mask.any():
        return [packed[:1].tobytes()] if len(mask) else [], np.zeros(len(mask), dtype=np.intp)
    whole = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1]))).ravel()
    keys, where = np.unique(whole, return_inverse=True)
    return [key.tobytes() for key in keys], where


@dataclass(frozen=True)
class Encoded:
    """Rows of a table from its encoder, and which of their cells training has never seen."""

    X: FloatArray  # (n, width), columns contiguous
    missing: BoolArray  # (n, columns)
    strange_cells: BoolArray  # (n, columns)  words or infinities never seen in training
    strange_pattern: BoolArray  # (n,)  columns missing together that never were

    @cached_property
    def never_seen(self) -> BoolArray:
        """Rows (n,) with anything that training has never seen."""
        strange: BoolArray = self.strange_cells.any(axis=1) | self.strange_pattern
        return strange


@dataclass(frozen=True)
class Encoder:
    """Encoder of a table: turns its rows into rows of numbers."""

    columns: tuple[NumberColumn | CategoryColumn, ...]
    width: int
    patterns: Patterns

    @property
    def names(self) -> tuple[str, ...]:
        """Columns of the table that are used."""
        return tuple(column.name for column in self.columns)

    def numbers(self) -> list[str]:
        """Columns that must be read as numbers."""
        return [c.name for c in self.columns if isinstance(c, NumberColumn) and not c.is_date]

    def words(self) -> list[str]:
        """Columns that must be read as words, even where they look like numbers."""
        return [c.name for c in self.columns if isinstance(c, CategoryColumn)]

    def encode(self, batch: pa.RecordBatch | pa.Table) -> Encoded:
        """Encoded rows of a batch that has all columns, in any order."""
        n = batch.num_rows
        X = np.zeros((n, self.width), order="F")
        missing = np.zeros((n, len(self.columns)), dtype=bool)
        strange = np.zeros_like(missing)
        for j, column in enumerate(self.columns):
            cells = batch.column(column.name)
            missing[:, j], strange[:, j] = column.write(cells, X)
        pattern = self.patterns.strange(missing)
        for j, column in enumerate(self.columns):
            if column.missing is None and self.patterns.seen is None:
                strange[:, j] |= missing[:, j]
        X[:, NEVER_SEEN] = np.sqrt(strange.sum(axis=1) + pattern)
        return Encoded(X, missing, strange, pattern)


def read_numbers(cells: pa.Array, name: str, is_date: bool) -> FloatArray:
    """Cells of a table's column of numbers or of dates, for the encoder."""
    return as_dates(cells, name) if is_date else as_numbers(cells, name)
