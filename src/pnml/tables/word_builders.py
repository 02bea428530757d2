"""Columns of words of an encoder, learnt batch by batch: a place for each, or hashed."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pnml.core.arrays import FloatArray
from pnml.runtime.checks import is_whole
from pnml.tables.cell_values import as_words, codes_of
from pnml.tables.column_builders import ColumnCells
from pnml.tables.encoder import CategoryColumn, ConstantColumn, HashedColumn
from pnml.tables.finished_rows import Terms
from pnml.tables.word_hashes import PLACES, Hashes, hash_signs, hash_slots, word_hashes
from pnml.tables.word_times import MOST, Times, none_seen, seen_again


@dataclass
class CategoryBuilder:
    """Builder of an encoded column of words: the words seen so far, and their positions.

    Once there are more than `limit` words, further ones are hashed; at the end all of them are.
    """

    name: str
    limit: int
    places: dict[str, int] = field(default_factory=dict)  # of words that have their own
    missing: int | None = None
    hash_places: tuple[int, ...] = ()
    known: Hashes = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # hashed words
    times: dict[str, int] = field(default_factory=dict)  # how often words with a place were seen
    known_times: Times = field(default_factory=none_seen)  # the same of hashed words

    def look(self, cells: pa.ChunkedArray, weights: FloatArray) -> None:
        """Decide to hash all words if the first rows have more than `limit` distinct words."""
        kind = cells.type
        words = cells.cast(kind.value_type) if pa.types.is_dictionary(kind) else cells
        try:
            many = pc.count_distinct(words).as_py() > self.limit
        except pa.ArrowNotImplementedError:
            return  # cells that are no words; learning refuses them
        self.limit = 0 if many else self.limit

    def learn(
        self, cells: pa.Array, weights: FloatArray | None, next_place: Callable[[], int]
    ) -> ColumnCells:
        """Position (n,) of each cell in an encoded row; a new word gets one, or is hashed.

        `next_place` returns the next free position.
        """
        words = as_words(cells, self.name)
        codes = codes_of(words)
        levels = words.dictionary.to_pylist()
        counts = np.bincount(codes + 1, minlength=len(levels) + 1)
        used = counts > 0
        for code in _in_order(codes, len(levels)):
            if levels[code] not in self.places and len(self.places) < self.limit:
                self.places[levels[code]] = next_place()
        if used[0] and self.missing is None:
            self.missing = next_place()
        place = np.array([self.places.get(word, -1) for word in levels] + [-1])
        for code in np.flatnonzero(used[1:] & (place[:-1] >= 0)).tolist():
            seen = self.times.get(levels[code], 0) + int(counts[code + 1])
            self.times[levels[code]] = min(seen, MOST)
        signs = np.ones(len(levels) + 1)
        further = np.flatnonzero(used[1:] & (place[:-1] < 0))
        if len(further):
            self.limit = min(self.limit, len(self.places))  # no place of its own from now on
            if not self.hash_places:
                self.hash_places = tuple(next_place() for _ in range(PLACES))
            hashes = word_hashes(levels[code] for code in further)
            self.known, self.known_times = seen_again(
                self.known, self.known_times, hashes, counts[1:][further]
            )
            place[further] = np.array(self.hash_places)[hash_slots(hashes)]
            signs[further] = hash_signs(hashes)
        place[-1] = -1 if self.missing is None else self.missing  # code −1
        return ColumnCells(place[codes], codes < 0, signs[codes] if self.hash_places else None)

    def write(self, learnt: ColumnCells, X: FloatArray) -> None:
        """Write the cells, as `learn` returned them, into the encoded rows X (n, width)."""
        X[np.arange(len(X)), learnt.values] = 1.0 if learnt.signs is None else learnt.signs

    @property
    def is_constant(self) -> bool:
        """Whether every cell is the same word, or every cell is missing."""
        words = len(self.places) + len(self.known)
        return not words or (words == 1 and self.missing is None)

    @property
    def places_kept(self) -> tuple[int, ...]:
        """Positions of this column in an encoded row that the finished encoder keeps."""
        words = self.hash_places or tuple(self.places.values())
        return words if self.missing is None else (*words, self.missing)

    def state(self) -> list[Any]:
        """State needed to resume, as JSON values."""
        known = base64.b64encode(self.known.astype("<i8").tobytes()).decode()
        times = [list(self.times.items()), base64.b64encode(self.known_times.tobytes()).decode()]
        places = list(self.places.items())
        return [places, self.missing, self.limit, self.hash_places, known, *times]

    def restore(self, state: list[Any]) -> None:
        """Resume from the result of `state`; raises ValueError if its parts do not fit together."""
        places, self.missing, self.limit, hash_places, known, times, known_times = state
        self.places, self.hash_places = dict(places), tuple(hash_places)
        self.known = np.frombuffer(base64.b64decode(known), dtype="<i8").astype(np.int64)
        self.times = dict(times)
        self.known_times = np.frombuffer(base64.b64decode(known_times), dtype=np.uint8)
        counts = (self.limit, *self.times.values())
        if not all(is_whole(count, 0) for count in counts) or len(self.known_times) != len(
            self.known
        ):
            raise ValueError("Words were not counted in whole numbers.")
        if len(self.hash_places) not in (0, PLACES):
            raise ValueError("Hashed words have another number of places.")
        if self.times.keys() != self.places.keys():
            raise ValueError("Words with a place and words that were counted differ.")

    def constant(self) -> ConstantColumn:
        """The finished column of a column that `is_constant`."""
        word = next(iter(self.places), None)
        return ConstantColumn(self.name, "gap" if word is None else "word", word=word)

    def build(self, terms: Terms, recentre: bool) -> CategoryColumn | HashedColumn:
        """The finished column; the map from its old positions to new ones is added to `terms`."""
        if not self.hash_places:
            places = tuple(terms.keep(place) for place in self.places.values())
            missing = None if self.missing is None else terms.keep(self.missing)
            often = tuple(self.times[word] for word in self.places)
            return CategoryColumn(self.name, tuple(self.places), places, missing, often)
        hashed = tuple(terms.keep(place) for place in self.hash_places)
        missing = None if self.missing is None else terms.keep(self.missing)
        own = word_hashes(self.places)
        slots, signs = hash_slots(own), hash_signs(own)
        for place, slot, sign in zip(self.places.values(), slots, signs, strict=True):
            terms.add(hashed[slot], place, float(sign))
        more = [self.times[word] for word in self.places]
        known, times = seen_again(self.known, self.known_times, own, more)
        return HashedColumn(self.name, known, hashed, missing, times)


def _in_order(codes: npt.NDArray[Any], count: int) -> list[int]:
    """The codes that occur, in order of their first cell, however rows are cut into batches."""
    first = np.full(count + 1, -1)  # the last place is that of code −1
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    order = np.argsort(first[:count], kind="stable")
    found: list[int] = order[first[order] >= 0].tolist()
    return found
