"""Typical size of errors in the leaves of a row."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.core.conditions import NOT_NEGATIVE
from pnml.core.leaves.cells import IntArray

LeafParts = Iterable[tuple[slice, IntArray]]  # some rows, and their leaves (n, T)

# Shrinkage: each leaf is averaged with this many rows of the overall mean.
_PSEUDO_ROWS = 5.0


@dataclass(frozen=True)
class LocalNoise:
    """Typical error by leaf: absolute errors of training rows summed in D leaves. Eq. (T18)."""

    errors: Annotated[FloatArray, "D", NOT_NEGATIVE]  # weighted sums of |error|
    weight: Annotated[FloatArray, "D", NOT_NEGATIVE]
    mean: Annotated[float, NOT_NEGATIVE]  # of all rows

    @classmethod
    def of(
        cls, parts: LeafParts, errors: FloatArray, weights: FloatArray, leaves: int
    ) -> LocalNoise:
        """Sums of absolute out-of-fold errors (n,) of rows with weights (n,), leaf by leaf.

        `parts` gives slices of rows with their leaves (rows, T); `leaves` is the number D of
        leaves.
        """
        sums, counts = np.zeros(leaves), np.zeros(leaves)
        for part, leaf in parts:
            flat, mass = leaf.ravel(), np.repeat(weights[part], leaf.shape[1])
            sums += np.bincount(flat, mass * np.repeat(errors[part], leaf.shape[1]), leaves)
            counts += np.bincount(flat, mass, leaves)
        return cls(sums, counts, float(np.average(errors, weights=weights)))

    def at(self, leaf: IntArray) -> FloatArray:
        """Typical absolute error (n,) of rows in leaves (n, T), as the mean over the T trees.

        >>> leaf = np.array([[0], [0], [1]])
        >>> noise = LocalNoise.of([(slice(0, 3), leaf)], np.ones(3), np.ones(3), 2)
        >>> noise.at(np.array([[0], [1]]))
        array([1., 1.])
        """
        shrunk = (self.errors + _PSEUDO_ROWS * self.mean) / (self.weight + _PSEUDO_ROWS)
        out: FloatArray = shrunk[leaf].mean(axis=1)
        return out

    def left_out(self, leaf: IntArray, errors: FloatArray, weights: FloatArray) -> FloatArray:
        """Typical absolute error (n,) in the leaves (n, T) of training rows, each left out."""
        c = np.minimum(weights, 1.0)[:, None]
        sums = self.errors[leaf] - c * errors[:, None] + _PSEUDO_ROWS * self.mean
        out: FloatArray = (sums / (self.weight[leaf] - c + _PSEUDO_ROWS)).mean(axis=1)
        return out
