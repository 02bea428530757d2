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
    """Sets of columns that were missing together in training rows.

    `seen` (sets, columns) is True where a column is missing; None if there were too many sets to
    keep.
    """

    seen: Annotated[BoolArray, "p c"] | None  # None where there were too many to keep

    @cached_property
    def _keys(self) -> set[bytes]:
        return set() if self.seen is None else {row.tobytes() for row in np.packbits(self.seen, 1)}

    def strange(self, missing: BoolArray) -> BoolArray:
        """Booleans (n,): whether no training row had exactly this row's set of missing columns.

        `missing` (n, columns) is True where a cell is missing. All False if the sets were not kept.
        """
        if self.seen is None:
            return np.zeros(len(missing), dtype=bool)
        keys, where = distinct_rows(missing)
        strange = np.array([key not in self._keys for key in keys])
        rows: BoolArray = strange[where]
        return rows


def distinct_rows(mask: BoolArray) -> tuple[list[bytes], npt.NDArray[np.intp]]:
    """Distinct rows of a boolean mask (n, k), packed to bytes, and the index (n,) of each row."""
    packed = np.packbits(mask, axis=1)
    if not mask.any():
        return [packed[:1].tobytes()] if len(mask) else [], np.zeros(len(mask), dtype=np.intp)
    whole = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1]))).ravel()
    keys, where = np.unique(whole, return_inverse=True)
    return [key.tobytes() for key in keys], where


@dataclass(frozen=True)
class Encoded:
    """Encoded rows: numbers `X` (n, width) for a learner, and which cells are unlike training.

    `values`, `missing`, `strange_cells` (never seen in training) and `bad_cells` (no number or date
    where one is needed) have one column per table column, (n, columns). `strange_pattern` (n,)
    marks rows whose set of missing columns no training row had; `ranges` are those of training
    values.
    """

    X: FloatArray  # (n, width), columns contiguous
    missing: BoolArray  # (n, columns)
    strange_cells: BoolArray  # (n, columns)  words, infinities, … never seen in training
    strange_pattern: BoolArray  # (n,)  columns missing together that never were so in training
    bad_cells: BoolArray  # (n, columns)  cells that are no numbers or dates; strange, too
    values: FloatArray  # (n, columns)  numbers and days as they came; NaN for others
    ranges: Ranges  # of the training values of the columns

    def at(self, rows: npt.NDArray[np.intp]) -> Encoded:
        """The encoded rows at the indices `rows`, in that order."""
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
        """Booleans (n,): rows with a cell or a set of missing columns that no training row had."""
        strange: BoolArray = self.strange_cells.any(axis=1) | self.strange_pattern
        return strange

    @cached_property
    def excess(self) -> FloatArray:
        """Distance (n, columns) of cells beyond the training range, in widths of it. Eq. (T17).

        0 inside the range, for words and for missing cells.
        """
        return self.ranges.excess(self.values)

    @cached_property
    def outside(self) -> BoolArray:
        """Booleans (n, columns): cells below the smallest or above the largest training value."""
        outside: BoolArray = self.excess > 0
        return outside


@dataclass(frozen=True)
class Encoder:
    """Encoder of a table: turns its rows into rows of `width` numbers.

    `columns` say how each column is written; `patterns` are the sets of columns that were missing
    together in training.
    """

    columns: tuple[AnyColumn, ...]
    width: int
    patterns: Patterns

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of all encoded columns: those learnt from, and those constant in training."""
        return tuple(column.name for column in self.columns)

    @property
    def used(self) -> tuple[str, ...]:
        """Names of the columns that are learnt from; every table to be scored must have them."""
        return tuple(c.name for c in self.columns if not isinstance(c, ConstantColumn))

    def numbers(self) -> list[str]:
        """Names of the columns of numbers, times of day and durations; dates are not among them."""
        return [c.name for c in self.columns if c.kind in ("number", "time")]

    def words(self) -> list[str]:
        """Names of the columns that must be read as words, even where they look like numbers."""
        return [c.name for c in self.columns if c.kind == "word"]

    @cached_property
    def ranges(self) -> Ranges:
        """Range of training values of each column; ±inf for words and for older model files."""
        low = [getattr(c, "low", None) for c in self.columns]
        high = [getattr(c, "high", None) for c in self.columns]
        ends = np.array([[-np.inf if v is None else v for v in low]])
        tops = np.array([[np.inf if v is None else v for v in high]])
        return Ranges(np.vstack([ends, ends]), np.vstack([tops, tops]))

    def encode(self, batch: pa.RecordBatch | pa.Table) -> Encoded:
        """The encoded rows of a batch, which must have all columns of `used`, in any order.

        Text in a column of numbers raises no error; it is marked as bad and as never seen.
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
    """Values (n,) of a training column: numbers, seconds or days since 1970; NaN where missing.

    Raises InputError for cells that are no numbers, or no dates if `is_date`. `name` is the column,
    for messages.
    """
    return as_dates(cells, name) if is_date else as_numbers(cells, name)
