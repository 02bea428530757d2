"""Leverage for tree ensembles, from leaves cut to the cells of their training rows.

A leaf's cell is the box of values that its training rows have. The regret is that of all models
made of the ensemble's leaves, cut to cells, plus a linear part in the columns, under a ridge
penalty. The ensemble's own prediction is not changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from typing import Annotated, Any

import numpy as np

from pnml.columns.encoder import ColumnEncoder, Encoded
from pnml.core.arrays import FloatArray
from pnml.core.leaves.cells import BoolArray, Cells, Columns, IntArray
from pnml.core.leaves.leaf_attribution import LeafAttribution
from pnml.core.leaves.leaf_gram import LeafGram, chunks
from pnml.core.leaves.leaf_leverage import LeafGeometry
from pnml.learners.model_leaves import ModelLeaves
from pnml.learners.row_parts import row_parts

# Penalty of a leaf value; anything from 0.1 to 10 gives nearly the same order of rows.
ALPHA = 0.3
_EXPLAINED_ROWS = 256
_MOST_KEPT = 2**24  # leaves of training rows that are kept between two passes, 128 MB


@dataclass(frozen=True)
class CellRows:
    """Rows as `LeafCells` needs them: their leaves, their columns, and standardised features."""

    leaf: IntArray  # (n, T)  leaf of each tree, counted over all trees
    columns: Columns
    Z: FloatArray  # (n, p)  standardised features of the columns

    def __len__(self) -> int:
        return len(self.leaf)

    def __getitem__(self, rows: slice | IntArray) -> CellRows:
        return CellRows(self.leaf[rows], self.columns[rows], self.Z[rows])


@dataclass(frozen=True)
class LeafCells:
    """Leverages of rows by the leaves of a tree ensemble, cut to the cells of training rows.

    A leaf's cell is the box of values that its training rows have. Cells are kept for all trees,
    the matrix behind the leverage (`geometry`) for all or, in large ensembles, some. T is the
    number of trees.
    """

    leaves: ModelLeaves
    geometry: LeafGeometry  # of the trees `leaves.kept`
    cells: Cells
    groups: tuple[tuple[int, ...], ...]  # positions in Z of the features of each column
    places: Annotated[IntArray, "c"]  # input column of each number and word of a row, numbers first

    def read(self, X: Any, encoded: Encoded) -> CellRows:
        """Leaves, columns and features of rows X, given as the model's ``predict`` takes them."""
        return CellRows(self.leaves.leaf(X), encoded.columns, encoded.Z)

    def leverage(self, rows: CellRows) -> FloatArray:
        """Leverage κ (n,) of new rows, ≥ 0. Eq. (T15)."""
        kappa = np.empty(len(rows))
        for part in chunks(len(rows)):
            block = rows[part]
            empty = self.cells.empty(block.leaf, block.columns)
            leaf, inside = self._kept(block.leaf, ~empty)
            kappa[part] = self.geometry.leverage(leaf, inside, block.Z, empty.mean(axis=1))
        return kappa

    def left_out(self, rows: CellRows, weights: FloatArray) -> FloatArray:
        """Leverage (n,) that each training row would have if it had been left out. Eq. (T16).

        Of a row of weight 1 or more, one copy is left out; of a lighter row, all of it.
        """
        kappa = np.empty(len(rows))
        for part in chunks(len(rows)):
            block = rows[part]
            empty = self.cells.empty(block.leaf, block.columns, left_out=True)
            empty &= weights[part, None] <= 1  # else a copy stays in the cells
            leaf, inside = self._kept(block.leaf, ~empty)
            out = empty.mean(axis=1)
            kappa[part] = self.geometry.left_out(leaf, inside, block.Z, weights[part], out)
        return kappa

    def explain(self, rows: CellRows) -> FloatArray:
        """Part (n, columns) of the leverage κ that each input column causes, ≥ 0.

        The parts of a row sum to κ − 1/N, where N is the total weight of the training rows.
        Eq. (T19).
        """
        out = np.empty((len(rows), len(self.groups)))
        for part in chunks(len(rows), _EXPLAINED_ROWS):
            block = rows[part]
            outside = self._outside(block)
            leaf, _ = self._kept(block.leaf, ~np.any(outside, axis=2))
            out[part] = self._attribution.explain(leaf, outside, block.Z, self.leaves.kept)
        return out

    def regions(self, rows: CellRows) -> IntArray:
        """Leaf (n, T) of each row in each of T trees, numbered over all trees."""
        return rows.leaf

    @property
    def region_count(self) -> int:
        """Number of leaves in all trees together."""
        return int(self.leaves.ends[-1])

    def _outside(self, rows: CellRows) -> BoolArray:
        """Whether a row is outside its cell in each tree and input column, (n, T, columns)."""
        cells = self.cells.outside(rows.leaf, rows.columns)
        out = np.zeros((*cells.shape[:2], len(self.groups)), dtype=bool)
        out[:, :, self.places] = cells
        return out

    @cached_property
    def _attribution(self) -> LeafAttribution:
        return LeafAttribution.of(self.geometry, self.groups)

    def _kept(self, leaf: IntArray, inside: BoolArray) -> tuple[IntArray, BoolArray]:
        """Leaves and cells of the trees in the geometry, with its leaf numbers."""
        kept = self.leaves.kept
        if len(kept) == leaf.shape[1]:
            return leaf, inside
        shift = self.geometry.ends[:-1] - self.leaves.ends[kept]
        return leaf[:, kept] + shift, inside[:, kept]


def count_cells(
    leaves: ModelLeaves, encoder: ColumnEncoder, X: Any, weights: FloatArray
) -> tuple[LeafCells, FloatArray]:
    """The `LeafCells` of training rows X, and the left-out leverage (n,) of each of these rows.

    All `weights` (n,) must be positive. Makes two passes over X in parts; for long tables the
    leaves are computed in both passes, to save memory.
    """
    parts: Callable[[], Iterable[tuple[slice, CellRows]]] = partial(_parts, leaves, encoder, X)
    if len(weights) * len(leaves.ends) <= _MOST_KEPT:
        kept = list(parts())
        parts = lambda: kept  # noqa: E731
    counted_parts = (
        _counted(leaves, rows, encoder.word_count, weights[part]) for part, rows in parts()
    )
    gram, cells = reduce(lambda a, b: (a[0] + b[0], a[1] + b[1]), counted_parts)
    geometry = LeafGeometry.of(gram, ALPHA)
    counted = LeafCells(leaves, geometry, cells, encoder.feature_groups, encoder.places)
    left_out = [counted.left_out(rows, weights[part]) for part, rows in parts()]
    return counted, np.concatenate(left_out)


def _counted(
    leaves: ModelLeaves, rows: CellRows, words: int, weights: FloatArray
) -> tuple[LeafGram, Cells]:
    """Sums over some training rows, which add."""
    own = leaves.kept_ends
    leaf = rows.leaf[:, leaves.kept] + (own[:-1] - leaves.ends[leaves.kept])
    gram = LeafGram.of(own, leaf, rows.Z, weights)
    return gram, Cells.of(rows.leaf, rows.columns, int(leaves.ends[-1]), words)


def _parts(leaves: ModelLeaves, encoder: ColumnEncoder, X: Any) -> Iterator[tuple[slice, CellRows]]:
    for part, given in row_parts(X):
        encoded = encoder.encode(given)
        yield part, CellRows(leaves.leaf(given), encoded.columns, encoded.Z)
