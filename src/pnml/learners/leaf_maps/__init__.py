"""Leaf maps: which leaf of each tree of a fitted ensemble holds a row, as plain numbers."""

from pnml.learners.leaf_maps.dispatch import is_tree_ensemble, leaf_map_of
from pnml.learners.leaf_maps.merging import MergedLeaves, merged, rows_in_leaves
from pnml.learners.leaf_maps.protocol import LeafMap
from pnml.learners.leaf_maps.thinning import of_trees, thinned

__all__ = [
    "LeafMap",
    "MergedLeaves",
    "is_tree_ensemble",
    "leaf_map_of",
    "merged",
    "of_trees",
    "rows_in_leaves",
    "thinned",
]
