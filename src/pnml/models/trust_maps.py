"""Codecs of trust maps: the leaves or features of a model from which the leverage is computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import NoneType
from typing import Annotated, Any

import numpy as np
from sklearn.ensemble import RandomForestRegressor

from pnml.columns.encoder import ColumnEncoder
from pnml.core.arrays import FloatArray
from pnml.core.conditions import NOT_NEGATIVE
from pnml.core.geometry.spectrum import Spectrum
from pnml.core.leaves.cells import Cells, IntArray
from pnml.core.leaves.leaf_leverage import LeafGeometry
from pnml.core.ranges import Ranges
from pnml.errors import InputError
from pnml.learners.feature_geometry import FeatureGeometry
from pnml.learners.fourier_features import FourierFeatures
from pnml.learners.last_step import last_inside
from pnml.learners.leaf_cells import LeafCells
from pnml.learners.leaf_maps import LeafMap, MergedLeaves, leaf_map_of
from pnml.learners.linear_penalty import is_linear
from pnml.learners.model_features import EncodedFourier, Features, LinearColumns, ModelFeatures
from pnml.learners.model_leaves import ModelLeaves
from pnml.models.codec import ANYTHING, value
from pnml.models.row_cells import ROW_CELL_CODECS, loaded_cells, stored_cells
from pnml.models.schema import Either, ManyOf, OneOf
from pnml.models.step_widths import is_fitted_step


@dataclass(frozen=True)
class StoredLeaves:
    """Fields of a trust map of tree leaves in a file; the model itself finds the leaf of a row."""

    group: Annotated[IntArray, "f"]  # the merged leaf that each leaf of the model is part of
    nodes: Annotated[IntArray, "D"]  # the node that stands for each merged leaf
    kept: Annotated[IntArray, "t"]  # trees whose leaves are in the inverse
    cells: Cells
    alpha: Annotated[float, NOT_NEGATIVE]
    weight: Annotated[float, NOT_NEGATIVE]
    inverse: Annotated[FloatArray, "h"]  # its lower triangle, column after column
    pulled: Annotated[FloatArray, "s"]
    offset: float


@dataclass(frozen=True)
class StoredFeatures:
    """Fields of a trust map of features in a file, for a model without trees."""

    spectrum: Spectrum
    alpha: Annotated[float, NOT_NEGATIVE]
    fourier: FourierFeatures | None  # None: the features are the columns at the last step
    typical: Any  # cells of a training row; None where columns are the features
    partition: Any  # the forest in whose leaves errors are averaged; None: one region


TrustMap = LeafCells | ModelFeatures


def stored_map(trust_map: TrustMap) -> StoredLeaves | StoredFeatures:
    """The fields of a trust map that a file holds; model and column encoder are stored apart.

    A trust map gives the leverage of rows: it is made of the leaves of a tree ensemble, or of the
    features of another model.
    """
    if isinstance(trust_map, LeafCells):
        return _stored_leaves(trust_map)
    features, geometry = trust_map.features, trust_map.geometry
    fourier = features.fourier if isinstance(features, EncodedFourier) else None
    typical = features.typical if isinstance(features, LinearColumns) else None
    partition: Any = trust_map.partition
    return StoredFeatures(
        geometry.spectrum,
        geometry.alpha,
        fourier,
        None if typical is None else stored_cells(typical),
        None if partition is None else partition.model,
    )


def _stored_leaves(trust_map: LeafCells) -> StoredLeaves:
    merged: Any = trust_map.leaves.leaves
    geometry = trust_map.geometry
    return StoredLeaves(
        merged.group,
        merged.branches.leaves,
        trust_map.leaves.kept,
        trust_map.cells,
        geometry.alpha,
        geometry.weight,
        _triangle(geometry.inverse),
        geometry.pulled,
        geometry.offset,
    )


def loaded_map(
    held: StoredLeaves | StoredFeatures, model: Any, encoder: ColumnEncoder
) -> LeafCells | ModelFeatures:
    """The trust map (leaves or features, for the leverage of rows) made from its stored fields.

    `model` is the fitted model inside and `encoder` encodes its columns. Raises InputError where
    the fields do not belong to this model and these columns.
    """
    if isinstance(held, StoredLeaves):
        return _leaf_cells(held, model, encoder)
    return _model_features(held, model, encoder)


def _leaf_cells(held: StoredLeaves, model: Any, encoder: ColumnEncoder) -> LeafCells:
    fine = leaf_map_of(last_inside(model))
    if fine is None:
        raise InputError("it has the leaves of a model that has none")
    merged = _merged(fine, held)
    trees = len(merged.ends) - 1
    kept = held.kept
    if not len(kept) or kept[0] < 0 or kept[-1] >= trees or np.any(np.diff(kept) <= 0):
        raise InputError("the trees of its geometry are not those of its model")
    leaves = ModelLeaves(model, merged, kept)
    size = int(leaves.kept_ends[-1]) + encoder.width
    if len(held.pulled) != size or len(held.inverse) != size * (size + 1) // 2:
        raise InputError("its geometry is not that of its leaves and columns")
    shape = int(merged.ends[-1]), len(encoder.numbers), encoder.word_count
    if (*held.cells.gaps.shape, held.cells.words.shape[1]) != shape:
        raise InputError("its cells are not those of its leaves and columns")
    inverse = _square(held.inverse, size)
    geometry = LeafGeometry(
        leaves.kept_ends, held.alpha, held.weight, inverse, held.pulled, held.offset
    )
    return LeafCells(leaves, geometry, held.cells, encoder.feature_groups, encoder.places)


def _merged(fine: LeafMap, held: StoredLeaves) -> MergedLeaves:
    """The leaves of a model, merged in groups; raises unless each group is a node of one tree."""
    branches, nodes, group = fine.branches, held.nodes, held.group
    ascending = np.all(np.diff(nodes) > 0) and len(nodes) > 0
    if not ascending or nodes[0] < 0 or nodes[-1] >= len(branches.above):
        raise InputError("its merged leaves are not nodes of its trees")
    ends = np.append(np.searchsorted(nodes, branches.starts), len(nodes)).astype(np.int64)
    if len(group) != fine.ends[-1] or np.any(np.diff(ends) < 1):
        raise InputError("its merged leaves are not those of its trees")
    trees = np.diff(fine.ends)
    first, end = np.repeat(ends[:-1], trees), np.repeat(ends[1:], trees)
    if np.any((group < first) | (group >= end)) or len(np.unique(group)) != len(nodes):
        raise InputError("its merged leaves are not those of its trees")
    return MergedLeaves(fine, group, replace(branches, leaves=nodes, ends=ends))


def _triangle(square: FloatArray) -> FloatArray:
    """The lower triangle of a symmetric matrix, column after column."""
    return np.concatenate([square[j:, j] for j in range(len(square))])


def _square(triangle: FloatArray, size: int) -> FloatArray:
    """The symmetric matrix (size, size) of a lower triangle, in Fortran order as LAPACK has it."""
    square = np.empty((size, size), order="F")
    start = 0
    for j in range(size):
        column = triangle[start : start + size - j]
        square[j:, j] = column
        square[j, j:] = column
        start += size - j
    return square


def _model_features(held: StoredFeatures, model: Any, encoder: ColumnEncoder) -> ModelFeatures:
    width, features = len(held.spectrum.center), held.fourier
    made: Features
    if features is not None:
        if features.frequencies.shape[0] != encoder.width or held.typical is not None:
            raise InputError("its Fourier features are not those of its columns")
        if width != encoder.width + len(features.phases):
            raise InputError("its geometry is not that of its Fourier features")
        made = EncodedFourier(features, encoder.feature_groups)
    else:
        if not is_linear(last_inside(model), width):
            raise InputError("its geometry is not that of the columns of its linear model")
        typical = None if held.typical is None else loaded_cells(held.typical)
        if typical is not None and len(typical) != len(encoder.kinds):
            raise InputError("its typical row has other columns than the model")
        made = LinearColumns(model, typical)
    geometry = FeatureGeometry(held.spectrum, held.alpha, normalize=False)
    return ModelFeatures(made, geometry, _partition(held.partition, encoder))


def _partition(forest: Any, encoder: ColumnEncoder) -> LeafMap | None:
    if forest is None:
        return None
    if not is_fitted_step(forest) or forest.n_features_in_ != encoder.width:
        raise InputError("the forest in which errors are averaged is not one of its columns")
    return leaf_map_of(forest)


def _check_leaves(values: Mapping[str, Any]) -> None:
    if not 0 < values["alpha"] < np.inf or not 0 < values["weight"] < np.inf:
        raise InputError("the penalty or the weight of a geometry is not above 0")
    for name in ("inverse", "pulled", "offset"):
        if not np.all(np.isfinite(values[name])):
            raise InputError(f"the {name} of a geometry is not finite")


def _check_features(values: Mapping[str, Any]) -> None:
    if not 0 <= values["alpha"] < np.inf:
        raise InputError("the penalty of a geometry is below 0")


def _check_fourier(values: Mapping[str, Any]) -> None:
    if not np.all(np.isfinite(values["frequencies"])) or not np.all(np.isfinite(values["phases"])):
        raise InputError("its Fourier features are not finite")
    if not len(values["phases"]):
        raise InputError("it has no Fourier features")


def _check_extremes(lowest: FloatArray, highest: FloatArray) -> None:
    """Raise unless two smallest and two largest numbers (…, 2, q) are in order."""
    if lowest.shape[-2] != 2:
        raise InputError("its ranges are not of two values at each end")
    (first, second), (last, before) = (np.moveaxis(ends, -2, 0) for ends in (lowest, highest))
    none = np.isposinf(first) & np.isneginf(last)
    if not np.all((first <= second) & (before <= last) & (none | (first <= last))):
        raise InputError("the smallest and largest numbers of a range are not in order")


def _check_cells(values: Mapping[str, Any]) -> None:
    _check_extremes(values["lowest"], values["highest"])
    if np.any(values["gaps"] < 0):
        raise InputError("a cell counts fewer than no rows")
    if np.any(values["words"] > 2):
        raise InputError("a cell counts more than 2 rows of a word, where 2 stands for more")


def _check_ranges(values: Mapping[str, Any]) -> None:
    _check_extremes(values["lowest"], values["highest"])


_NONE = OneOf((NoneType,))
_FEATURES = value(
    StoredFeatures,
    check=_check_features,
    stored_as="TrustedFeatures",
    typical=Either((_NONE, ManyOf(tuple, ANYTHING))),
    partition=OneOf((RandomForestRegressor, NoneType)),
)
TRUST_MAP_PARTS = [
    *ROW_CELL_CODECS,
    value(Cells, check=_check_cells),
    value(Ranges, check=_check_ranges),
    value(FourierFeatures, check=_check_fourier),
    value(StoredLeaves, check=_check_leaves, stored_as="TrustedLeaves"),
    replace(_FEATURES, apart=True),  # steps of a model may change the number of columns
]
