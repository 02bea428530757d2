"""Checks that the nodes of stored trees form trees: every row that enters ends at a leaf."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pnml.errors import InputError

IntArray = npt.NDArray[np.int64]


def tree_depths(left: IntArray, right: IntArray, roots: IntArray, inner: object) -> IntArray:
    """Depth (m,) of each of m nodes, 0 at a root; −1 for a node that no root leads to.

    `left`, `right` (m,) are the children of the nodes where `inner` (m,) is true, and `roots` are
    the nodes at which trees begin. Raises where a child is no node, where two nodes have the same
    child, or where a child is above its own parent: rows would leave the tree or go round in it.

    >>> leaf = -1
    >>> left, right = np.array([1, leaf, leaf]), np.array([2, leaf, leaf])
    >>> tree_depths(left, right, np.array([0]), left >= 0).tolist()
    [0, 1, 1]
    """
    m, splits = len(left), np.asarray(inner, dtype=bool)
    depth = np.full(m, -1, dtype=np.int64)
    level = _reached(roots, depth)
    depth[level], at = 0, 0
    while len(level):
        parents = level[splits[level]]
        level = _reached(np.concatenate([left[parents], right[parents]]), depth)
        at += 1
        depth[level] = at
    return depth


def _reached(nodes: IntArray, depth: IntArray) -> IntArray:
    """The nodes entered next; raises where one does not exist or was entered before."""
    exist = (nodes >= 0) & (nodes < len(depth))
    if not np.all(exist) or np.any(depth[nodes] >= 0) or len(np.unique(nodes)) != len(nodes):
        raise InputError("the splits of a tree do not lead to its leaves")
    return nodes


def check_ends(ends: IntArray, nodes: int) -> None:
    """Raise unless `ends` (trees + 1,) cuts all nodes into trees of one node or more."""
    whole = len(ends) >= 1 and ends[0] == 0 and ends[-1] == nodes and np.all(np.diff(ends) > 0)
    if not whole:
        raise InputError("the trees of a model do not begin at its nodes")
