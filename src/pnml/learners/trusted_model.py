"""A fitted model of any kind, with how unlike its training rows a new row is."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, reduce
from hashlib import blake2b
from typing import Annotated, Any

import numpy as np
from sklearn.utils import _safe_indexing

from pnml.columns.encoder import ColumnEncoder, Encoded
from pnml.core.arrays import FloatArray
from pnml.core.find_relations import LEFT_OUT_ROWS, relations_of
from pnml.core.leaves.cells import BoolArray
from pnml.core.ranges import Ranges
from pnml.core.relations import Relations, broken_by
from pnml.core.selection import some_rows
from pnml.core.statistic.factor import Factor
from pnml.learners.leaf_cells import count_cells
from pnml.learners.model_features import count_features
from pnml.learners.model_leaves import ModelLeaves
from pnml.learners.row_parts import row_parts
from pnml.learners.trust_map import TrustMap

# Parts of tables whose leverages are cached: two million rows in all.
_MOST_KNOWN = 64


@dataclass(frozen=True)
class ReadRows:
    """Rows in three forms: X as the model's ``predict`` takes it, encoded, and `mapped`."""

    X: Any
    encoded: Encoded
    trust_map: TrustMap

    @cached_property
    def mapped(self) -> Any:
        """The rows as the methods of `trust_map` take them, such as leaf numbers or features.

        Computed on first use.
        """
        return self.trust_map.read(self.X, self.encoded)


@dataclass(frozen=True)
class TrustedModel:
    """A fitted model with all that is needed to compare new rows with its training rows.

    `trust_map` gives leverages; `ranges` and `relations` say which values, and which linear
    relations between columns, the training rows had.
    """

    model: Any
    encoder: ColumnEncoder
    trust_map: TrustMap
    ranges: Ranges
    leverages: Annotated[FloatArray, "n"]  # of the training rows, each left out
    excesses: Annotated[FloatArray, "n"]  # their distances beyond the others' ranges, in widths
    weights: Annotated[FloatArray, "n"]
    relations: Relations | None = None  # of encoded columns; None in a file of an older version
    _known: dict[bytes, FloatArray] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(
        cls, model: Any, encoder: ColumnEncoder, X: Any, Y: FloatArray, weights: FloatArray
    ) -> TrustedModel:
        """The trusted model of a fitted model, from training rows X and their targets Y (n, k).

        Rows of weight 0 are left out. Leverages come from the leaves of tree ensembles, from the
        columns of linear models, and from Fourier features of the encoded columns of any other
        model.
        """
        used = weights > 0
        if not used.all():
            X, Y, weights = _safe_indexing(X, np.flatnonzero(used)), Y[used], weights[used]
        leaves = ModelLeaves.of(model, X, weights)
        trust_map: TrustMap
        if leaves is not None:
            trust_map, left_out = count_cells(leaves, encoder, X, weights)
        else:
            trust_map, left_out = count_features(model, encoder, X, Y, weights)
        numbers = np.concatenate([encoder.encode(part).columns.numbers for _, part in row_parts(X)])
        ranges = Ranges.of(numbers)
        beyond = _largest(ranges.excess(numbers, left_out=True))
        beyond = np.where(weights > 1, 0.0, beyond)  # a copy stays in the ranges
        relations = _relations(encoder, X, weights)
        return cls(model, encoder, trust_map, ranges, left_out, beyond, weights, relations)

    def read(self, X: Any) -> ReadRows:
        """Rows X ready for the methods below, so that they are encoded only once.

        Rows that have been read already are returned as they are.
        """
        if isinstance(X, ReadRows):
            return X
        return ReadRows(X, self.encoder.encode(X), self.trust_map)

    def in_parts(self, X: Any) -> Iterator[ReadRows]:
        """Rows X, read in consecutive parts of at most 32,768 rows."""
        return (self.read(part) for _, part in row_parts(X))

    def each(self, X: Any, ask: Callable[[ReadRows], Any]) -> Any:
        """Results (n, …) of the function `ask` for all rows X, which it gets part by part."""
        return np.concatenate([ask(rows) for rows in self.in_parts(X)])

    def leverage(self, rows: ReadRows) -> FloatArray:
        """Leverage κ (n,) of rows, ≥ 0.

        Results for recent arrays of numbers are cached, by a hash of their contents.
        """
        key = _fingerprint(rows.X)
        if key is None:
            return self.trust_map.leverage(rows.mapped)
        known = self._known.get(key)
        if known is None:
            known = self.trust_map.leverage(rows.mapped)
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[key] = known
        return known

    def explain(self, rows: ReadRows) -> FloatArray:
        """Part (n, columns) of the leverage that each input column causes, ≥ 0.

        Columns that the model does not read have 0. Where no column stands out, those that are read
        have equal parts.
        """
        return self.shares(rows.mapped)

    def shares(self, mapped: Any) -> FloatArray:
        """The result of `explain` for rows in their form `ReadRows.mapped`."""
        shares = self.trust_map.explain(mapped)
        read = self.encoder.places
        if 0 < len(read) < shares.shape[1]:
            unread = np.setdiff1d(np.arange(shares.shape[1]), read)
            shares[:, read] += shares[:, unread].sum(axis=1, keepdims=True) / len(read)
            shares[:, unread] = 0.0
        return shares

    def excess(self, rows: ReadRows) -> FloatArray:
        """Distance (n,) of each row beyond the training ranges, the largest over its columns.

        In widths of the column's range; 0 inside all ranges. Eq. (T17).
        """
        return _largest(self.ranges.excess(rows.encoded.columns.numbers))

    def never_seen(self, rows: ReadRows) -> BoolArray:
        """Whether each row (n,) has a value of a kind its column never had, such as a new word."""
        seen: BoolArray = np.any(rows.encoded.never_seen, axis=1)
        return seen

    def broken(self, rows: ReadRows) -> FloatArray | None:
        """Which rows break linear relations of encoded columns: (n,), or None if none are known.

        Values are those of `Relations.broken`: inf for a row that breaks none. Eq. (X2).
        """
        return broken_by(self.relations, rows.encoded.Z)

    def unrelated(self, rows: ReadRows, most: float) -> BoolArray:
        """Whether each column (n, columns) is part of a linear relation that the row breaks.

        Only relations count that at most the share `most` of training rows break, each left out.
        """
        out = np.zeros((len(rows.encoded.Z), len(self.encoder.kinds)), dtype=bool)
        if self.relations is not None:
            features = self.relations.columns(rows.encoded.Z, most)
            for j, group in enumerate(self.encoder.groups):
                out[:, j] = features[:, group].any(axis=1)
        return out

    def outside(self, rows: ReadRows) -> BoolArray:
        """Whether each cell (n, columns) is outside its column's training range, or never seen."""
        beyond = self.ranges.excess(rows.encoded.columns.numbers) > 0
        out = rows.encoded.never_seen.copy()
        out[:, self.encoder.places[: beyond.shape[1]]] |= beyond
        return out


def _relations(encoder: ColumnEncoder, X: Any, weights: FloatArray) -> Relations:
    """Linear relations between the encoded columns that the training rows keep."""
    factors = (
        Factor.of(encoder.encode(rows).Z, None, weights[part]) for part, rows in row_parts(X)
    )
    sample = some_rows(len(weights), LEFT_OUT_ROWS)
    given = X if len(sample) == len(weights) else _safe_indexing(X, sample)
    return relations_of(encoder.encode(given).Z, weights[sample], reduce(operator.add, factors))


def _fingerprint(X: Any) -> bytes | None:
    """A hash of the contents of an array of numbers; None for rows of another kind.

    Computing it takes a hundredth of the time of a leverage, so ``trusted`` after ``regret`` is
    nearly free.
    """
    if type(X) is not np.ndarray or X.dtype.kind not in "biuf":
        return None
    digest = blake2b(repr((X.shape, X.dtype.str)).encode(), digest_size=32)
    digest.update(np.ascontiguousarray(X).data)
    return digest.digest()


def _largest(beyond: FloatArray) -> FloatArray:
    largest: FloatArray = np.max(beyond, axis=1, initial=0.0)
    return largest
