"""Encode rows for a learner: cells for leaves, features for a linear part, what is never seen."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from pnml.columns.levels import Levels
from pnml.columns.number_scales import LARGEST, NumberScales
from pnml.columns.phrases import known_text, name_text, value_text
from pnml.columns.table import Table, read_columns
from pnml.columns.words import BoolArray, IntArray
from pnml.core.arrays import FloatArray
from pnml.core.leaves.cells import Columns
from pnml.errors import InputError, shorten


@dataclass(frozen=True)
class Encoded:
    """Rows encoded by a ColumnEncoder: cells, features, and what training has never seen.

    n rows with q columns of numbers, c columns of words and p features for a linear model.
    """

    columns: Columns  # numbers (n, q) and codes of words (n, c); `places` maps them to columns
    Z: FloatArray  # (n, p)  features of a linear part; `groups` maps them to columns
    never_seen: BoolArray  # (n, columns)  what training never had in this column
    encoder: ColumnEncoder
    table: Table

    def describe(self, row: int, column: int) -> tuple[str, str]:
        """Two phrases: the column's name and its cell in the row, and what training had there.

        >>> encoder = ColumnEncoder.of([[0.2, "a"], [1.0, "b"]])
        >>> encoded = encoder.encode([[1.52, "c"]])
        >>> encoded.describe(0, 0), encoded.describe(0, 1)
        (('x0 1.52', '0.2–1'), ("x1 'c'", 'one of 2 words'))
        """
        encoder, kind = self.encoder, self.encoder.kinds[column]
        name, place = name_text(encoder.names[column]), encoder.slots[column]
        if kind == "word":
            words, levels = self.table.words[place], encoder.words[place]
            code = words.codes[row]
            cell = "missing" if code < 0 else repr(shorten(words.levels[code], most=40))
            return f"{name} {cell}", levels.text
        value, scales = float(self.table.numbers[row, place]), encoder.numbers
        low, high = float(scales.low[place]), float(scales.high[place])
        known = known_text(kind, value, low, high, gaps=bool(scales.gaps[place]))
        return f"{name} {value_text(kind, value, low, high)}", known


@dataclass(frozen=True)
class ColumnEncoder:
    """Encoder of rows for a learner, by what training rows had: spreads of numbers, and words."""

    names: tuple[str, ...]
    named: bool  # whether new data frames must have these names
    kinds: tuple[str, ...]
    numbers: NumberScales  # q columns
    words: tuple[Levels, ...]  # c columns

    @classmethod
    def of(
        cls,
        X: Any,
        weights: FloatArray | None = None,
        words: Collection[int] = (),
        unread: Collection[int] = (),
    ) -> ColumnEncoder:
        """The encoder learnt from training rows X; a row of weight 0 is not seen at all.

        The columns at the places `words` are read as words even where they hold numbers; those at
        the places `unread` may hold anything and give neither cells nor features.
        """
        table = read_columns(X)
        if words or unread:
            kinds = dict(enumerate(table.kinds))
            kinds |= dict.fromkeys(words, "word") | dict.fromkeys(unread, "unread")
            table = read_columns(X, like=replace(table, kinds=tuple(kinds.values())))
        if weights is None:
            weights = np.ones(len(table))
        weights = np.asarray(weights, dtype=np.float64)
        if weights.shape != (len(table),):
            raise InputError(
                f"X has {len(table)} rows but the weights have shape {weights.shape}; pass exactly "
                "one weight per row."
            )
        if not (np.isfinite(weights) & (weights >= 0)).all() or not weights.any():
            raise InputError(
                "The weights must be finite, not negative and not all zero; give some row a "
                "positive weight."
            )
        seen = weights > 0
        _refuse_infinite(table, seen)
        if not seen.all():
            table, weights = table[seen], weights[seen]
        scales = NumberScales.of(table.numbers, weights)
        levels = tuple(Levels.of(column, weights) for column in table.words)
        return cls(table.names, table.named, table.kinds, scales, levels)

    def encode(self, X: Any) -> Encoded:
        """Rows X, encoded; they have the columns of the training rows, in the same order."""
        table = read_columns(X, like=self)
        places = self.places[: len(self.numbers)], self.places[len(self.numbers) :]
        never_seen = np.zeros((len(table), len(self.kinds)), dtype=bool)
        numbers = table.numbers
        if not self.numbers.varies.all():
            numbers = self.numbers.snapped(numbers, self._plain)
        z, gap, strange = self.numbers.standardise(numbers)
        if len(places[0]) == len(self.kinds) and strange is not None:
            never_seen = strange
        elif strange is not None:
            never_seen[:, places[0]] = strange
        codes = np.empty((len(table), len(self.words)), dtype=np.int64)
        if self._only_numbers:
            Z = z
        else:
            Z = np.zeros((len(table), self.width))
            Z[:, self._value_features] = z
            if gap is not None:
                Z[:, self._gap_features] = gap[:, self.numbers.gap_columns]
        start = 0
        for j, (levels, words) in enumerate(zip(self.words, table.words, strict=True)):
            code = levels.codes(words)
            levels.write(code, Z[:, self.groups[places[1][j]]])
            codes[:, j] = np.where(code < 0, -1, code + start)
            never_seen[:, places[1][j]] = code < 0
            start += len(levels)
        return Encoded(Columns(numbers, codes), Z, never_seen, self, table)

    @cached_property
    def word_count(self) -> int:
        """Number of words in all columns, gaps included; codes of words are below it."""
        return sum(map(len, self.words))

    @cached_property
    def places(self) -> IntArray:
        """Input column (q + c,) of each cell: q columns of numbers, then c columns of words."""
        kinds = np.array(self.kinds)
        words = kinds == "word"
        numbers = ~words & (kinds != "unread")
        return np.concatenate([np.flatnonzero(numbers), np.flatnonzero(words)]).astype(np.int64)

    @cached_property
    def slots(self) -> tuple[int, ...]:
        """Position of each input column among the numbers, or among the words; −1 if unread."""
        slots = np.full(len(self.kinds), -1, dtype=np.int64)
        slots[self.places] = [*range(len(self.numbers)), *range(len(self.words))]
        return tuple(slots.tolist())

    @cached_property
    def groups(self) -> tuple[slice, ...]:
        """Slice of the features in `Z` that belong to each input column, in order."""
        ends = np.cumsum([self._width(j) for j in range(len(self.kinds))])
        starts = np.concatenate([[0], ends[:-1]])
        return tuple(slice(int(a), int(b)) for a, b in zip(starts, ends, strict=True))

    @cached_property
    def feature_groups(self) -> tuple[tuple[int, ...], ...]:
        """Indices of the features in `Z` that belong to each input column, in order."""
        return tuple(tuple(range(group.start, group.stop)) for group in self.groups)

    @property
    def width(self) -> int:
        """Number p of features for a linear model, the columns of `Encoded.Z`."""
        return int(self.groups[-1].stop)

    def _width(self, column: int) -> int:
        slot = self.slots[column]
        if slot < 0:
            return 0
        if self.kinds[column] == "word":
            return self.words[slot].width
        return int(self.numbers.varies[slot]) + int(self.numbers.marks_gaps[slot])

    @cached_property
    def _plain(self) -> BoolArray:
        """Columns of numbers (q,) that are neither dates nor durations."""
        places = self.places[: len(self.numbers)]
        return np.array([self.kinds[j] in ("number", "truth") for j in places], dtype=bool)

    @cached_property
    def _only_numbers(self) -> bool:
        return self.width == int(self.numbers.varies.sum())

    @cached_property
    def _value_features(self) -> IntArray:
        groups = [self.groups[j] for j in self.places[: len(self.numbers)]]
        starts = np.array([group.start for group in groups], dtype=np.int64)
        return starts[self.numbers.varies]

    @cached_property
    def _gap_features(self) -> IntArray:
        groups = [self.groups[j] for j in self.places[: len(self.numbers)]]
        last = np.array([group.stop - 1 for group in groups], dtype=np.int64)
        return last[self.numbers.marks_gaps]


def _refuse_infinite(table: Table, seen: BoolArray) -> None:
    odd = (np.abs(table.numbers) >= LARGEST) & seen[:, None]
    if odd.any():
        row, slot = (int(place) for place in np.argwhere(odd)[0])
        name = table.names[table.number_places[slot]]
        raise InputError(
            f"Column {shorten(name)!r} holds {table.numbers[row, slot]} in row {row} (counted from "
            f"0), but the mean of a column needs finite numbers below {LARGEST:g}; replace it by a "
            "missing value or a sensible bound."
        )
