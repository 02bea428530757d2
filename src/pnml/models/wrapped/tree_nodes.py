"""The nodes of scikit-learn's trees as plain arrays, and trees made from such arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import sklearn
from sklearn.tree._tree import Tree

from pnml.core.arrays import FloatArray
from pnml.core.conditions import ANY_NUMBER, COUNT, NOT_NEGATIVE
from pnml.errors import InputError
from pnml.models.wrapped.binary_trees import IntArray, check_ends, tree_depths

_LEAF = -1
# Field of scikit-learn's record of a node → ours.
_FIELDS = {
    "left_child": "left",
    "right_child": "right",
    "feature": "feature",
    "threshold": "threshold",
    "impurity": "impurity",
    "n_node_samples": "rows",
    "weighted_n_node_samples": "weight",
    "missing_go_to_left": "gaps_left",
}


@dataclass(frozen=True)
class TreeNodes:
    """Nodes of T scikit-learn trees, m nodes in all; child numbers count within each tree."""

    ends: Annotated[IntArray, "e"]  # (T + 1,): the nodes of tree t are ends[t] to ends[t + 1]
    left: Annotated[IntArray, "m"]  # −1 at a leaf
    right: Annotated[IntArray, "m"]
    feature: Annotated[IntArray, "m"]
    threshold: Annotated[FloatArray, "m", ANY_NUMBER]
    gaps_left: Annotated[npt.NDArray[np.bool_], "m"]
    impurity: Annotated[FloatArray, "m", ANY_NUMBER]
    rows: Annotated[IntArray, "m", COUNT]  # training rows, each counted once
    weight: Annotated[FloatArray, "m", NOT_NEGATIVE]
    values: Annotated[FloatArray, "m o v"]  # outputs, and the classes of each or 1

    @classmethod
    def of(cls, trees: Sequence[Any]) -> TreeNodes:
        """The nodes of fitted trees that all have the same number of outputs and classes."""
        for tree in trees[:1]:
            _record(tree.tree_)
        states = [tree.tree_.__getstate__() for tree in trees]
        nodes = np.concatenate([state["nodes"] for state in states])
        ends = np.cumsum([0, *(len(state["nodes"]) for state in states)])
        kinds = {"f": np.float64, "i": np.int64, "u": np.bool_}
        fields: dict[str, Any] = {
            ours: nodes[theirs].astype(kinds[nodes.dtype[theirs].kind])
            for theirs, ours in _FIELDS.items()
        }
        values = np.concatenate([state["values"] for state in states])
        return cls(ends=ends.astype(np.int64), values=values.astype(np.float64), **fields)

    def grown(self, features: int, classes: Sequence[int]) -> list[Any]:
        """List of scikit-learn Tree objects with these nodes, for a number of features.

        `classes` is the number of classes of every output, or 1 for an output that is a number.
        Raises where rows would leave a tree, where a split is on none of the features, or where the
        values at the nodes are not those of the outputs.
        """
        depth = self._checked(features)
        if self.values.shape[1:] != (len(classes), max(classes, default=0)):
            raise InputError("the values in the leaves of a tree are not those of its outputs")
        counts = np.array(classes, dtype=np.intp)
        return [
            self._tree(slice(int(start), int(end)), depth, features, counts)
            for start, end in zip(self.ends[:-1], self.ends[1:], strict=True)
        ]

    def _checked(self, features: int) -> IntArray:
        """Depths (m,) of the nodes; raises InputError where the nodes do not form trees."""
        check_ends(self.ends, len(self.left))
        inner = self.left != _LEAF
        sizes = np.diff(self.ends)
        starts, sizes = np.repeat(self.ends[:-1], sizes), np.repeat(sizes, sizes)
        for child in (self.left, self.right):
            if not np.array_equal(inner, child != _LEAF) or not np.all(
                (child >= 0) & (child < sizes) | ~inner
            ):
                raise InputError("the splits of a tree do not lead to its leaves")
        depth = tree_depths(starts + self.left, starts + self.right, self.ends[:-1], inner)
        if np.any(depth < 0):
            raise InputError("a tree has nodes that no row can reach")
        if not np.all((self.feature >= 0) & (self.feature < features) | ~inner):
            raise InputError("a tree splits on a feature that the model does not have")
        if np.any(np.isnan(self.threshold) & inner):
            raise InputError("a tree splits at NaN")
        return depth

    def _tree(
        self, part: slice, depth: IntArray, features: int, classes: npt.NDArray[np.intp]
    ) -> Any:
        made = Tree(features, classes, len(classes))
        nodes = np.zeros(part.stop - part.start, dtype=_record(made))
        for theirs, ours in _FIELDS.items():
            nodes[theirs] = getattr(self, ours)[part]
        state = {
            "max_depth": int(depth[part].max()),
            "node_count": len(nodes),
            "nodes": nodes,
            "values": np.ascontiguousarray(self.values[part]),
        }
        made.__setstate__(state)
        return made


def _record(tree: Any) -> Any:
    """The numpy dtype of a tree's nodes; raises if this scikit-learn has unknown fields."""
    dtype = tree.__getstate__()["nodes"].dtype
    if set(dtype.names) != set(_FIELDS):
        raise InputError(
            f"scikit-learn {sklearn.__version__} stores trees in a way unknown here, so upgrade "
            "pnml or install another scikit-learn"
        )
    return dtype
