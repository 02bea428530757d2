"""Attribution of the leverage in the cells of trees to columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pnml.core.arrays import EPS, FloatArray
from pnml.core.geometry.attribution import fractions
from pnml.core.leaves.cells import BoolArray, IntArray
from pnml.core.leaves.leaf_gram import chunks
from pnml.core.leaves.leaf_leverage import LeafGeometry


@dataclass(frozen=True)
class LeafAttribution:
    """Attribution of the leverage in leaves and cells to the columns of a table. Eq. (T19).

    A column of the table may be several features of the linear part (one for each word), so the
    features come in groups, one for each column.
    """

    geometry: LeafGeometry
    groups: tuple[tuple[int, ...], ...]  # features of each column; a partition of them
    whiten: FloatArray  # (p, p)  inverse roots of the groups' own blocks of the inverse

    @classmethod
    def of(cls, geometry: LeafGeometry, groups: Sequence[Sequence[int]]) -> LeafAttribution:
        """Attribution to columns; `groups` lists the features of each, every feature once."""
        D = int(geometry.ends[-1])
        slopes = geometry.inverse[D:, D:]
        whiten = np.zeros_like(slopes)
        for group in groups:
            w, Q = np.linalg.eigh(slopes[np.ix_(group, group)])
            nonzero = w > len(w) * EPS * w.max(initial=0.0)
            whiten[np.ix_(group, group)] = Q * np.where(nonzero, 1 / np.sqrt(np.maximum(w, EPS)), 0)
        return cls(geometry, tuple(tuple(map(int, group)) for group in groups), whiten)

    def explain(
        self,
        leaf: IntArray,
        outside: BoolArray,
        Z: FloatArray,
        kept: IntArray | slice = slice(None),
    ) -> FloatArray:
        """Share (n, columns) ≥ 0 of each column in the leverage of rows.

        The shares of a row sum to its leverage less 1/N, N being the weight of the training rows.
        `outside` (n, T, columns) says which columns put the row outside its cell in each of T
        trees; `kept` are those trees that the geometry has, whose leaves `leaf` gives; Z (n, p) are
        the features of the linear part.
        """
        geometry = self.geometry
        empty: BoolArray = np.any(outside, axis=2)
        cut = (outside / np.maximum(outside.sum(axis=2, keepdims=True), 1)).mean(axis=1)
        out: FloatArray = cut / geometry.alpha
        for rows in chunks(len(leaf)):
            inner, pull = geometry.pulls(leaf[rows], ~empty[rows][:, kept], Z[rows])
            squares = (pull @ self.whiten) ** 2
            drops = np.column_stack([squares[:, g].sum(axis=1) for g in map(list, self.groups)])
            share = fractions(drops)
            share[drops.sum(axis=1) == 0] = 1 / len(self.groups)
            out[rows] += np.maximum(inner, 0.0)[:, None] * share
        return out
