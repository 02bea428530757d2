"""Encode a batch of a table as rows of numbers, the way the training rows were encoded."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pnml.core.arrays import FloatArray
from pnml.core.ranges import Ranges
from pnml.tables.bad_cells import UNREADABLE
from pnml.tables.cell_values import BoolArray as BoolArray
from pnml.tables.cell_values import as_dates, as_numbers
from pnml.tables.encoder_columns import LARGEST as LARGEST
from pnml.tables.encoder_columns import AnyColumn, Cells
from pnml.tables.encoder_columns import CategoryColumn as CategoryColumn
from pnml.tables.encoder_columns import ConstantColumn as ConstantColumn
from pnml.tables.encoder_columns import HashedColumn as HashedColumn
from pnml.tables.encoder_columns import NumberColumn as NumberColumn

# The first number of every row. It is 0 in training, so any other value leaves the training span
# and raises the learner's own regret, without bound where there is no penalty.
NEVER_SEEN = 0


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
    strange_cells: BoolArray  # (n, columns)  words, infinities, … never seen in training
    strange_pattern: BoolArray  # (n,)  columns missing together that never were
    bad_cells: BoolArray  # (n, columns)  cells that are no numbers or dates; strange, too
    values: FloatArray  # (n, columns)  numbers and days as they came; NaN for others
    ranges: Ranges  # of the training values of the columns

    def at(self, rows: npt.NDArray[np.intp]) -> Encoded:
        """Encoded rows at these places."""
        return Encoded(
            self.X[rows],
            self.missing[rows],
            self.strange_cells[rows],
            self.strange_pattern[rows],
            self.bad_cells[rows],
            self.values[rows],
            self.ranges,
        )

    @cached_property
    def never_seen(self) -> BoolArray:
        """Rows (n,) with anything that training has never seen."""
        strange: BoolArray = self.strange_cells.any(axis=1) | self.strange_pattern
        return strange

    @cached_property
    def excess(self) -> FloatArray:
        """Distance (n, columns) beyond the training range, in widths of the range. Eq. (T17)."""
        return self.ranges.excess(self.values)

    @cached_property
    def outside(self) -> BoolArray:
        """Cells (n, columns) below the least or above the largest training value."""
        outside: BoolArray = self.excess > 0
        return outside


@dataclass(frozen=True)
class Encoder:
    """Encoder of a table: turns its rows into rows of numbers."""

    columns: tuple[AnyColumn, ...]
    width: int
    patterns: Patterns

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Columns of the table that are looked at: those in use, and those that never change."""
        return tuple(column.name for column in self.columns)

    @property
    def used(self) -> tuple[str, ...]:
        """Columns of the table that are learnt from; every table to be scored needs them."""
        return tuple(c.name for c in self.columns if not isinstance(c, ConstantColumn))

    def numbers(self) -> list[str]:
        """Columns that must be read as numbers."""
        return [c.name for c in self.columns if c.kind in ("number", "time")]

    def words(self) -> list[str]:
        """Columns that must be read as words, even where they look like numbers."""
        return [c.name for c in self.columns if c.kind == "word"]

    @cached_property
    def ranges(self) -> Ranges:
        """Ranges of the training values; without ends for words and for older files."""
        low = [getattr(c, "low", None) for c in self.columns]
        high = [getattr(c, "high", None) for c in self.columns]
        ends = np.array([[-np.inf if v is None else v for v in low]])
        tops = np.array([[np.inf if v is None else v for v in high]])
        return Ranges(np.vstack([ends, ends]), np.vstack([tops, tops]))

    def encode(self, batch: pa.RecordBatch | pa.Table) -> Encoded:
        """Encoded rows of a batch that has all columns in use, in any order.

        No cell stops it: one that is no number where numbers are expected was never seen.
        """
        n, k = batch.num_rows, len(self.columns)
        X = np.zeros((n, self.width), order="F")
        missing, strange, bad = (np.zeros((n, k), dtype=bool, order="F") for _ in range(3))
        values = np.full((n, k), np.nan, order="F")
        names = set(batch.schema.names)
        for j, column in enumerate(self.columns):
            if isinstance(column, ConstantColumn) and column.name not in names:
                missing[:, j] = column.kind == "gap"
                continue
            cells = column.write(batch.column(column.name), X)
            if UNREADABLE + column.name in names:
                cells = _marked(batch.column(UNREADABLE + column.name), cells, column, X)
            missing[:, j], strange[:, j] = cells.missing, cells.strange
            if cells.bad is not None:
                bad[:, j] = cells.bad
            if cells.values is not None:
                values[:, j] = cells.values
        pattern = self.patterns.strange(missing)
        for j, column in enumerate(self.columns):
            if column.missing is None and self.patterns.seen is None and column.kind != "gap":
                strange[:, j] |= missing[:, j]
        X[:, NEVER_SEEN] = np.sqrt(strange.sum(axis=1) + pattern)
        return Encoded(X, missing, strange, pattern, bad, values, self.ranges)


def _marked(texts: pa.Array, cells: Cells, column: AnyColumn, X: FloatArray) -> Cells:
    """The cells of a column, with those that the reader could not read marked as bad."""
    texts = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    unread: BoolArray = pc.is_valid(texts).to_numpy(zero_copy_only=False)
    if not unread.any():
        return cells
    if column.missing is not None:
        X[unread, column.missing] = 0.0
    bad = unread if cells.bad is None else unread | cells.bad
    return Cells(cells.missing & ~unread, cells.strange | unread, bad, cells.values)


def read_numbers(cells: pa.Array, name: str, is_date: bool) -> FloatArray:
    """Cells of a table's column of numbers or of dates, for training: others are refused."""
    return as_dates(cells, name) if is_date else as_numbers(cells, name)
