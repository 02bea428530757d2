"""Tree ensembles: leaves cut to the cells of their training rows, and a linear part.

The regret is that of all models made of the ensemble's frozen leaves, cut to cells, and of linear
columns, under a ridge penalty. The prediction stays the ensemble's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np

from pnml.core import gaussian
from pnml.core.arrays import FloatArray
from pnml.core.leaves.cells import BoolArray, Cells, Columns, IntArray
from pnml.core.leaves.leaf_attribution import LeafAttribution
from pnml.core.leaves.leaf_gram import LeafGram, chunks
from pnml.core.leaves.leaf_leverage import LeafGeometry
from pnml.core.ranges import Ranges
from pnml.core.trust import Evidence, Reference

# Penalty of a leaf value; anything from 0.1 to 10 gives nearly the same order of rows.
ALPHA = 0.3
_EXPLAINED_ROWS = 256


@dataclass(frozen=True)
class CellRows:
    """Rows as cells see them."""

    leaf: IntArray  # (n, T)  leaf of each tree, counted over all trees
    columns: Columns
    Z: FloatArray  # (n, p)  standardised features of the columns
    never_seen: BoolArray  # (n, columns)  whether a value is of a kind unseen in training

    def __len__(self) -> int:
        return len(self.leaf)

    def __getitem__(self, rows: slice) -> CellRows:
        return CellRows(self.leaf[rows], self.columns[rows], self.Z[rows], self.never_seen[rows])


@dataclass(frozen=True)
class LeafCells:
    """Fitted learner: the cells of all trees, and the geometry of some or all of them."""

    ends: Annotated[IntArray, "t"]  # leaves of tree t are ends[t] to ends[t + 1]
    kept: Annotated[IntArray, "s"]  # trees of the geometry
    geometry: LeafGeometry
    cells: Cells
    ranges: Ranges
    reference: Reference
    groups: tuple[tuple[int, ...], ...]  # features of each column
    places: Annotated[IntArray, "c"]  # column of each of a row's cells, numbers before words

    def leverage(self, rows: CellRows) -> FloatArray:
        """Leverage κ (n,). Eq. (T15)."""
        parts = [self._leverage(rows[part]) for part in chunks(len(rows))]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _leverage(self, rows: CellRows) -> FloatArray:
        empty = self.cells.empty(rows.leaf, rows.columns)
        leaf, inside = self._kept(rows.leaf, ~empty)
        return self.geometry.leverage(leaf, inside, rows.Z, empty.mean(axis=1))

    def regret(self, rows: CellRows) -> FloatArray:
        """Regret (n,) in nats, log(1 + κ). Eq. (T15)."""
        regret: FloatArray = gaussian.regret(self.leverage(rows))
        return regret

    def excess(self, rows: CellRows) -> FloatArray:
        """Largest distance (n,) beyond the training range of a column. Eq. (T17)."""
        return _largest_excess(self.ranges.excess(rows.columns.numbers))

    def evidence(self, rows: CellRows, regret: FloatArray | None = None) -> Evidence:
        """Regret, excess, and whether a row has a value unseen in training."""
        strange = np.any(rows.never_seen, axis=1)
        return Evidence(
            self.regret(rows) if regret is None else regret, None, strange, self.excess(rows)
        )

    def explain(self, rows: CellRows) -> FloatArray:
        """Share (n, columns) of each column in the leverage; the rows sum to κ − 1/N. Eq. (T19)."""
        out = np.empty((len(rows), len(self.groups)))
        for part in chunks(len(rows), _EXPLAINED_ROWS):
            block = rows[part]
            outside = self._outside(block)
            leaf, _ = self._kept(block.leaf, ~np.any(outside, axis=2))
            out[part] = self._attribution.explain(leaf, outside, block.Z, self.kept)
        return out

    def outside(self, rows: CellRows) -> BoolArray:
        """Whether each column (n, columns) is outside its training range or of an unseen kind."""
        beyond = self.ranges.excess(rows.columns.numbers) > 0
        out = rows.never_seen.copy()
        out[:, self.places[: beyond.shape[1]]] |= beyond
        return out

    def _outside(self, rows: CellRows) -> BoolArray:
        """Which columns (n, T, columns) put a row outside its cells, in the order of the input."""
        cells = self.cells.outside(rows.leaf, rows.columns)
        out = np.empty_like(cells)
        out[:, :, self.places] = cells
        return out

    @cached_property
    def _attribution(self) -> LeafAttribution:
        return LeafAttribution.of(self.geometry, self.groups)

    def _kept(self, leaf: IntArray, inside: BoolArray) -> tuple[IntArray, BoolArray]:
        """Leaves and cells of the trees in the geometry, with its leaf numbers."""
        if len(self.kept) == leaf.shape[1]:
            return leaf, inside
        shift = self.geometry.ends[:-1] - self.ends[self.kept]
        return leaf[:, self.kept] + shift, inside[:, self.kept]


def count_cells(
    ends: IntArray,
    rows: CellRows,
    weights: FloatArray,
    words: int,
    groups: Sequence[Sequence[int]],
    places: IntArray,
    kept: IntArray,
) -> LeafCells:
    """Fit to training rows, all of positive weight.

    `words` is the number of words in all columns, `kept` the trees whose leaves enter the Gram.
    """
    own = np.zeros(len(kept) + 1, dtype=np.int64)
    own[1:] = np.cumsum(np.diff(ends)[kept])
    leaf = rows.leaf[:, kept] + (own[:-1] - ends[kept])
    geometry = LeafGeometry.of(LeafGram.of(own, leaf, rows.Z, weights), ALPHA)
    cells = Cells.of(rows.leaf, rows.columns, int(ends[-1]), words)
    empty = cells.empty(rows.leaf, rows.columns, left_out=True)
    kappa = geometry.left_out(leaf, ~empty[:, kept], rows.Z, weights, empty.mean(axis=1))
    ranges = Ranges.of(rows.columns.numbers)
    beyond = ranges.excess(rows.columns.numbers, left_out=True)
    regrets: FloatArray = gaussian.regret(kappa)
    reference = Reference(regrets, weights, None, _largest_excess(beyond))
    members = tuple(tuple(map(int, group)) for group in groups)
    return LeafCells(ends, kept, geometry, cells, ranges, reference, members, places)


def _largest_excess(beyond: FloatArray) -> FloatArray:
    largest: FloatArray = np.max(beyond, axis=1, initial=0.0)
    return largest
