"""A choice of fewer trees, if an ensemble has more leaves than the leverage's matrix can hold."""

from __future__ import annotations

import numpy as np

from pnml.core.leaves.cells import IntArray
from pnml.errors import InputError
from pnml.learners.leaf_maps.protocol import LeafMap

_GOLDEN = (5**0.5 - 1) / 2


def thinned(leaf_map: LeafMap, most: int = 4000) -> IntArray:
    """Positions (k,), ascending, of evenly spaced trees with at most `most` leaves together.

    All trees if they have no more leaves than that, and at least one tree in any case. The trees
    are divided into equal stretches, and one is taken from each, at a place that changes from
    stretch to stretch: a fixed place would always meet the same class in an ensemble with one tree
    per class and round.
    """
    if most < 1:
        raise InputError(f"most is {most}; pass a number of leaves of at least 1.")
    leaves = np.diff(leaf_map.ends)
    for kept in range(len(leaves), 1, -1):
        trees = _spread(len(leaves), kept)
        if leaves[trees].sum() <= most:
            return trees
    return _spread(len(leaves), 1)


def of_trees(ends: IntArray, leaf: IntArray, trees: IntArray) -> tuple[IntArray, IntArray]:
    """`ends` (k + 1,) and `leaf` (n, k) for k of the trees alone, their leaves numbered from 0.

    >>> of_trees(np.array([0, 2, 5, 7]), np.array([[1, 4, 5]]), np.array([0, 2]))
    (array([0, 2, 4]), array([[1, 2]]))
    """
    sizes = np.diff(ends)[trees]
    kept = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return kept, leaf[:, trees] - (ends[trees] - kept[:-1])


def _spread(trees: int, kept: int) -> IntArray:
    """Positions (kept,) of trees, one from each of `kept` equal stretches."""
    bounds = np.arange(kept + 1) * trees // kept
    share = (np.arange(kept) * _GOLDEN + 0.5) % 1.0
    places: IntArray = bounds[:-1] + (share * np.diff(bounds)).astype(np.int64)
    return places
