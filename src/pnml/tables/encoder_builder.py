"""Build an encoder batch by batch; each new word gets a column of its own."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from pnml.core.arrays import FloatArray
from pnml.tables.column_builders import NumberBuilder
from pnml.tables.encoder import NEVER_SEEN, BoolArray, Encoder, Patterns, distinct_rows
from pnml.tables.finished_rows import Terms
from pnml.tables.roles import MOST_LEVELS, Role
from pnml.tables.word_builders import CategoryBuilder

_MOST_PATTERNS = 100_000
_MOST_PLACES = 2_000  # of words with a place of their own, in all columns


class Finished(NamedTuple):
    """A finished encoder, and the linear map to its rows from those encoded while it was built."""

    encoder: Encoder
    terms: Terms


class EncoderBuilder:
    """Builds a table's encoder: encodes batches as rows of numbers and learns on the way.

    `look`, the first rows, and their `weights` (n,) fix the units of numbers.
    """

    def __init__(self, roles: list[Role], look: pa.Table, weights: FloatArray | None) -> None:
        w = np.ones(look.num_rows) if weights is None else weights
        self.width = NEVER_SEEN + 1
        self._patterns: Counter[bytes] = Counter()
        self._too_many = False
        self.columns: list[NumberBuilder | CategoryBuilder] = []
        categories = sum(role.kind == "category" for role in roles)
        limit = max(2, min(MOST_LEVELS, _MOST_PLACES // max(categories, 1)))
        for role in roles:
            if role.kind == "category":
                self.columns.append(CategoryBuilder(role.column, limit))
            elif role.kind in ("number", "date"):
                place = self._next()
                self.columns.append(NumberBuilder(role.column, role.kind == "date", place))
            else:
                continue
            self.columns[-1].look(look[role.column], w)

    def _next(self) -> int:
        self.width += 1
        return self.width - 1

    def encode(self, batch: pa.RecordBatch | pa.Table, weights: FloatArray | None) -> FloatArray:
        """Encoded rows (n, width) of a batch, from which the columns are learnt as well.

        `width` may grow with new words; rows encoded before are 0 in the new positions.
        """
        learnt = [c.learn(batch.column(c.name), weights, self._next) for c in self.columns]
        X = np.zeros((batch.num_rows, self.width), order="F")
        for column, written in zip(self.columns, learnt, strict=True):
            column.write(written, X)
        self._note(np.column_stack([written.missing for written in learnt]))
        return X

    def _note(self, missing: BoolArray) -> None:
        """Count the sets of columns that are missing together."""
        if self._too_many:
            return
        keys, where = distinct_rows(missing)
        self._patterns.update(dict(zip(keys, np.bincount(where).tolist(), strict=True)))
        if len(self._patterns) > _MOST_PATTERNS:
            self._too_many = True
            self._patterns.clear()

    @property
    def lonely_patterns(self) -> float:
        """Share of the rows whose set of missing columns no other row has."""
        alone = sum(rows == 1 for rows in self._patterns.values())
        return alone / max(self._patterns.total(), 1)

    @property
    def is_constant(self) -> bool:
        """Whether nothing can be learnt: every column is constant or empty."""
        return all(column.is_constant for column in self.columns)

    def state(self) -> dict[str, Any]:
        """State needed to resume, as JSON values."""
        return {
            "width": self.width,
            "columns": [column.state() for column in self.columns],
            "patterns": [[key.hex(), rows] for key, rows in self._patterns.items()],
            "too_many": self._too_many,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Resume from the state of a builder of the same columns."""
        self.width = state["width"]
        for column, learnt in zip(self.columns, state["columns"], strict=True):
            column.restore(learnt)
        self._patterns = Counter({bytes.fromhex(key): rows for key, rows in state["patterns"]})
        self._too_many = state["too_many"]
        width = -(-len(self.columns) // 8)  # bytes of one bit for each column
        if any(len(key) != width for key in self._patterns):
            raise ValueError("The sets of missing columns are of other columns.")

    def finish(self, *, recentre: bool = False) -> Finished:
        """The finished encoder, without positions for constant columns, and the map to its rows.

        `recentre`: numbers are centred at the mean of all rows instead of that of the first rows.
        """
        kept = {NEVER_SEEN}
        for column in self.columns:
            if not column.is_constant:
                kept.update(column.places_kept)
        terms = Terms(kept)
        terms.keep(NEVER_SEEN)
        columns = tuple(
            column.constant() if column.is_constant else column.build(terms, recentre)
            for column in self.columns
        )
        return Finished(Encoder(columns, terms.width, self._seen()), terms)

    def _seen(self) -> Patterns:
        rows = [np.frombuffer(key, dtype=np.uint8) for key in sorted(self._patterns)]
        k = len(self.columns)
        bits = np.unpackbits(np.array(rows), axis=1, count=k).astype(bool) if rows else None
        return Patterns(None if self._too_many else bits)
