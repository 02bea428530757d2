"""Columns of an encoder: numbers, words, hashed words, and cells that never change."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pnml.core.arrays import FloatArray
from pnml.core.conditions import POSITIVE
from pnml.tables.bad_cells import read_cells
from pnml.tables.cell_values import ROUND_OFF, BoolArray, as_words, codes_of
from pnml.tables.word_hashes import are_known, hash_signs, hash_slots, word_hashes

# Numbers from here on count as infinite: their squares, or those of multiples, overflow.
LARGEST = 1e100

_TRUTH = frozenset({"true", "false"})
_ZONES = {None: "", True: " with a time zone", False: " without a time zone"}


class Cells(NamedTuple):
    """Cells of one column of a batch, as its encoder reads them."""

    missing: BoolArray  # (n,)
    strange: BoolArray  # (n,)  training has never seen these
    bad: BoolArray | None = None  # (n,)  cells that are no numbers or dates; None: no cell
    values: FloatArray | None = None  # (n,)  numbers or days; None for words


@dataclass(frozen=True)
class NumberColumn:
    """Number column of a table's encoder: centred, in units of its spread; gaps get the mean."""

    name: str
    is_date: bool
    fill: float
    scale: Annotated[float, POSITIVE]
    value: int  # place in the row
    missing: int | None  # place of the indicator; None where no training cell was missing
    low: float | None = None  # least training value; None in files of older versions
    high: float | None = None  # largest training value
    is_time: bool = False  # times of day and durations, in seconds
    has_zone: bool | None = None  # of dates; None in files of older versions, and for numbers

    @property
    def kind(self) -> str:
        """What the cells are: "number", "date" or "time"."""
        if self.is_date:
            return "date"
        return "time" if self.is_time else "number"

    @property
    def wanted(self) -> str:
        """What a good cell is, in words: a date with a time zone, for instance."""
        return self.kind + _ZONES[self.has_zone]

    @property
    def places(self) -> tuple[int, ...]:
        """Positions of this column in an encoded row."""
        return (self.value,) if self.missing is None else (self.value, self.missing)

    def write(self, cells: pa.Array, X: FloatArray) -> Cells:
        """Write the cells into X; infinite numbers and cells that are none were never seen."""
        values, bad = read_cells(cells, self.name, self.kind, self.has_zone)
        missing = np.isnan(values)
        with np.errstate(over="ignore", invalid="ignore"):
            z = (values - self.fill) / self.scale
            strange = ~missing & ~(np.abs(z) < LARGEST)
        X[:, self.value] = z
        odd = missing | strange
        if odd.any():
            X[odd, self.value] = 0.0
        if self.low is not None and self.low == self.high:  # constant where it is not missing
            strange |= ~missing & (values != self.low)
        if some_bad := bool(bad.any()):
            missing, strange = missing & ~bad, strange | bad
        if self.missing is not None:
            X[:, self.missing] = missing
        return Cells(missing, strange, bad if some_bad else None, values)


@dataclass(frozen=True)
class CategoryColumn:
    """Category column of a table's encoder: a place for each word seen in training."""

    name: str
    levels: tuple[str, ...]
    level_places: tuple[int, ...]
    missing: int | None
    # how often training saw each word, at most 3; () in files of older versions
    times: tuple[int, ...] = ()

    @property
    def kind(self) -> str:
        """What the cells are: "word"."""
        return "word"

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

    def write(self, cells: pa.Array, X: FloatArray) -> Cells:
        """Write the cells into X; words without a place were never seen."""
        words = as_words(cells, self.name)
        codes = codes_of(words)
        places = [self._place(word) for word in words.dictionary.to_pylist()]
        places.append(-1 if self.missing is None else self.missing)
        place = np.array(places)[codes]  # code −1, missing, takes the last
        known = place >= 0
        X[np.flatnonzero(known), place[known]] = 1.0
        missing = codes < 0
        return Cells(missing, ~known & ~missing)


@dataclass(frozen=True)
class HashedColumn:
    """Hashed column of a table's encoder: many words share a few places, with a sign."""

    name: str
    known: Annotated[npt.NDArray[np.int64], "m"]  # sorted hashes of the words seen in training
    hash_places: tuple[int, ...]
    missing: int | None
    # how often training saw each word, at most 3; None in files of older versions
    times: Annotated[npt.NDArray[np.uint8], "m"] | None = None

    @property
    def kind(self) -> str:
        """What the cells are: "word"."""
        return "word"

    @property
    def places(self) -> tuple[int, ...]:
        """Positions of this column in an encoded row."""
        return self.hash_places if self.missing is None else (*self.hash_places, self.missing)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, HashedColumn)
            and (self.name, self.places) == (other.name, other.places)
            and np.array_equal(self.known, other.known)
        )

    def __hash__(self) -> int:
        return hash((self.name, self.places, len(self.known)))

    def write(self, cells: pa.Array, X: FloatArray) -> Cells:
        """Write the cells into X; words whose hash training lacks were never seen."""
        words = as_words(cells, self.name)
        codes = codes_of(words)
        missing = codes < 0
        hashes = word_hashes(words.dictionary.to_pylist())
        known = np.append(are_known(hashes, self.known), False)[codes]
        rows = np.flatnonzero(known)
        place = np.array(self.hash_places)[hash_slots(hashes)]
        X[rows, place[codes[rows]]] = hash_signs(hashes)[codes[rows]]
        if self.missing is not None:
            X[:, self.missing] = missing
        return Cells(missing, ~known & ~missing)


@dataclass(frozen=True)
class ConstantColumn:
    """Constant column of a table's encoder: it has no place, but a change of it is noticed."""

    name: str
    kind: str  # "number", "date", "time", "word", or "gap" where every cell is missing
    low: float | None = None  # least and largest number, equal up to round-off
    high: float | None = None
    word: str | None = None
    has_zone: bool | None = None  # as in a NumberColumn

    @property
    def places(self) -> tuple[int, ...]:
        """Positions of this column in an encoded row: none."""
        return ()

    @property
    def missing(self) -> int | None:
        """Place of the indicator of missing cells: none."""
        return None

    @property
    def wanted(self) -> str:
        """What a good cell is, in words: a date with a time zone, for instance."""
        return self.kind + _ZONES[self.has_zone]

    def write(self, cells: pa.Array, X: FloatArray) -> Cells:
        """Nothing is written; any other cell than that of training was never seen."""
        if self.kind in ("gap", "word"):
            words = as_words(cells, self.name)
            codes = codes_of(words)
            same = [self._is_word(word) for word in words.dictionary.to_pylist()]
            strange = ~np.array([*same, True])[codes]
            gap = codes < 0
            return Cells(np.ones_like(gap) if self.kind == "gap" else gap, strange)
        values, bad = read_cells(cells, self.name, self.kind, self.has_zone)
        missing = np.isnan(values) & ~bad
        low, high = self.low or 0.0, self.high or 0.0
        slack = ROUND_OFF * max(abs(low), abs(high))
        with np.errstate(invalid="ignore"):
            changed = (values < low - slack) | (values > high + slack)
        return Cells(missing, changed | bad, bad, values)

    def _is_word(self, word: str) -> bool:
        if word == self.word:
            return True
        return word.lower() in _TRUTH and word.lower() == self.word


AnyColumn: TypeAlias = NumberColumn | CategoryColumn | HashedColumn | ConstantColumn
