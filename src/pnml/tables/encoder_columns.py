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
from pnml.core.ranges import ROUND_OFF
from pnml.tables.bad_cells import read_cells
from pnml.tables.cell_values import BoolArray, as_words, codes_of
from pnml.tables.word_hashes import are_known, hash_signs, hash_slots, word_hashes

# Numbers from here on count as infinite: their squares, or those of multiples, overflow.
LARGEST = 1e100

_TRUTH = frozenset({"true", "false"})
_ZONES = {None: "", True: " with a time zone", False: " without a time zone"}


class Cells(NamedTuple):
    """What the encoder found in the cells of one column of a batch; all arrays are (n,).

    `strange`: never seen in training. `bad`: no number or date where one is needed; None if no cell
    is. `values`: numbers, seconds or days since 1970; None for words.
    """

    missing: BoolArray  # (n,)
    strange: BoolArray  # (n,)  training has never seen these
    bad: BoolArray | None = None  # (n,)  cells that are no numbers or dates; None: no cell
    values: FloatArray | None = None  # (n,)  numbers or days; None for words


@dataclass(frozen=True)
class NumberColumn:
    """Encoded column of numbers, dates or times: (cell − fill) / scale, and 0 for missing cells.

    `value` and `missing` are positions in an encoded row: of the number, and of the 0/1 indicator
    of missing cells (None if no training cell was missing).
    """

    name: str
    is_date: bool
    fill: float
    scale: Annotated[float, POSITIVE]
    value: int  # position in an encoded row
    missing: int | None  # position of the indicator; None if no training cell was missing
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
        """Words for a good cell in messages, such as "number" or "date with a time zone"."""
        return self.kind + _ZONES[self.has_zone]

    @property
    def places(self) -> tuple[int, ...]:
        """Positions of this column in an encoded row."""
        return (self.value,) if self.missing is None else (self.value, self.missing)

    def write(self, cells: pa.Array, X: FloatArray) -> Cells:
        """Write the cells (n,) into the encoded rows X (n, width), and say which are unusual.

        Infinite numbers and cells that are no numbers count as never seen.
        """
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
            same = np.abs(values - self.low) <= ROUND_OFF * abs(self.low)
            X[same, self.value] = (self.low - self.fill) / self.scale  # not its rounding
            strange |= ~missing & ~same
        if some_bad := bool(bad.any()):
            missing, strange = missing & ~bad, strange | bad
        if self.missing is not None:
            X[:, self.missing] = missing
        return Cells(missing, strange, bad if some_bad else None, values)


@dataclass(frozen=True)
class CategoryColumn:
    """Encoded column of words: one-hot, with one position for each training word in `levels`.

    `level_places` and `missing` are positions in an encoded row: of each word, and of the 0/1
    indicator of missing cells (None if no training cell was missing).
    """

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
        """Position of a word in an encoded row, −1 if never seen; True and TRUE count as true."""
        place = self._place_of.get(word, -1)
        if place < 0 and word.lower() in _TRUTH and _TRUTH.issuperset(self.levels):
            place = self._place_of.get(word.lower(), -1)
        return place

    def write(self, cells: pa.Array, X: FloatArray) -> Cells:
        """Write the cells (n,) into the encoded rows X (n, width), and say which are unusual.

        Words that training did not have count as never seen.
        """
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
    """Encoded column of many words, each hashed to one of 64 positions and written as +1 or −1.

    `known` are sorted hashes of the training words. `hash_places` and `missing` are positions in an
    encoded row: of the hashed words, and of the 0/1 indicator of missing cells (None: there is
    none).
    """

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
        """Write the cells (n,) into the encoded rows X (n, width), and say which are unusual.

        Words whose hash is not in `known` count as never seen.
        """
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
    """Column that was constant in training: not learnt from, but a changed cell is noticed."""

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
        """Position of the indicator of missing cells in an encoded row: None, as there is none."""
        return None

    @property
    def wanted(self) -> str:
        """Words for a good cell in messages, such as "number" or "date with a time zone"."""
        return self.kind + _ZONES[self.has_zone]

    def write(self, cells: pa.Array, X: FloatArray) -> Cells:
        """Which cells (n,) differ from the constant of training; nothing is written into X.

        A cell that differs counts as never seen.
        """
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
