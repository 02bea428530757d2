"""Leverage of rows in frozen trees, and its attribution to splits."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.core.leaves import regret
from pnml.core.leaves.partition import IntArray, Partition


class Leaves(Protocol):
    """Protocol of what a forest keeps of the training rows in its m nodes."""

    @property
    def weight(self) -> FloatArray:
        """Total weight (m,) of the training rows in each node."""

    def leverage(self, leaf: IntArray) -> FloatArray:
        """Leverage (n,), exp(regret) − 1, of rows in leaves (n, T) of T trees."""


def leverage(partition: Partition, leaves: Leaves, X: FloatArray) -> FloatArray:
    """Leverage (n,), exp(regret) − 1, of rows X (n, d) in the trees of a forest, block by block."""
    parts = partition.blocks(len(X))
    return np.concatenate([leaves.leverage(partition.leaves(X[part])) for part in parts])


def explain(partition: Partition, leaves: Leaves, X: FloatArray) -> FloatArray:
    """Share of each feature (n, d) in the leverage of rows in a forest. Eq. (T10).

    Every split on the path to a leaf leaves fewer rows, and so raises the leverage; this rise is
    attributed to its feature. The rows sum to the leverage less that of a tree without splits.
    """
    at_root = float(leaves.leverage(partition.roots[None])[0])
    weight = leaves.weight
    falls = [partition.falls(X[part], weight) for part in partition.blocks(len(X))]
    return regret.explain(np.concatenate(falls), leverage(partition, leaves, X), at_root)
