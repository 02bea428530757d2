"""Models without trees: their columns or Fourier features of them, under a ridge penalty.

The regret is that of all linear functions of these features. The prediction stays the model's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.pipeline import Pipeline

from pnml.columns.encoder import ColumnEncoder, Encoded
from pnml.core.arrays import FloatArray
from pnml.core.geometry import attribution
from pnml.core.geometry.spectrum import Spectrum
from pnml.core.leaves.cells import IntArray
from pnml.core.statistic.factor import Factor
from pnml.learners.feature_geometry import FeatureGeometry
from pnml.learners.finite import refuse_extreme, refuse_nonfinite
from pnml.learners.fourier_features import FourierFeatures, choose_fourier, choose_penalty
from pnml.learners.last_step import at_last_step, inside, targets_inside
from pnml.learners.leaf_maps import LeafMap, leaf_map_of
from pnml.learners.linear_penalty import is_linear, penalty_of
from pnml.learners.replaced_cells import cells_of, replace_cells

# The partition in which errors are averaged: trees, rows of a leaf, rows that grow a tree.
_TREES = 30
_LEAST_ROWS = 20
_MOST_ROWS = 10_000


@dataclass(frozen=True)
class FeatureRows:
    """Rows with the features of a model without trees: as they came, encoded, and (n, d)."""

    X: Any
    encoded: Encoded
    values: FloatArray


class Features(Protocol):
    """Protocol of model features: values of rows, and leverage shared among input columns."""

    def values(self, X: Any, encoded: Encoded) -> FloatArray:
        """Features (n, d)."""

    def explain(self, geometry: FeatureGeometry, rows: FeatureRows) -> FloatArray:
        """Share (n, columns) of each input column in the leverage."""


@dataclass(frozen=True)
class LinearColumns:
    """Features of a linear model: the columns that its last step sees."""

    model: Any
    typical: tuple[Any, ...] | None  # cells of a training row; None: features are the columns

    def values(self, X: Any, encoded: Encoded) -> FloatArray:
        """Columns (n, d) after the steps before the last."""
        return numbers_at_last_step(self.model, X)

    def explain(self, geometry: FeatureGeometry, rows: FeatureRows) -> FloatArray:
        """Drops in leverage, exact for columns, measured for those before a Pipeline's steps."""
        if self.typical is None:
            return attribution.explain(geometry.completed, rows.values, geometry.alpha)
        typical, count = self.typical, len(self.typical)
        without, alone = (np.empty((len(rows.values), count)) for _ in range(2))
        for j in range(count):
            others = {k: cell for k, cell in enumerate(typical) if k != j}
            without[:, j] = self._leverage(geometry, replace_cells(rows.X, {j: typical[j]}))
            alone[:, j] = self._leverage(geometry, replace_cells(rows.X, others))
        everywhere = replace_cells(rows.X, dict(enumerate(typical)))
        at_typical = float(self._leverage(geometry, everywhere)[0])
        return _shared(geometry, rows.values, without, alone, at_typical)

    def _leverage(self, geometry: FeatureGeometry, X: Any) -> FloatArray:
        return geometry.leverage(numbers_at_last_step(self.model, X))


@dataclass(frozen=True)
class EncodedFourier:
    """Features of any other model: encoded columns and Fourier features of them."""

    fourier: FourierFeatures
    groups: tuple[tuple[int, ...], ...]  # encoded features of each column

    def values(self, X: Any, encoded: Encoded) -> FloatArray:
        """Encoded columns and cosines (n, p + m)."""
        return self.fourier(encoded.Z)

    def explain(self, geometry: FeatureGeometry, rows: FeatureRows) -> FloatArray:
        """Drops in leverage when a column gets its training mean, 0, and when all others do."""
        Z = rows.encoded.Z
        without, alone = (np.empty((len(Z), len(self.groups))) for _ in range(2))
        for j, group in enumerate(map(list, self.groups)):
            at_mean, only = Z.copy(), np.zeros_like(Z)
            at_mean[:, group] = 0.0
            only[:, group] = Z[:, group]
            without[:, j] = geometry.leverage(self.fourier(at_mean))
            alone[:, j] = geometry.leverage(self.fourier(only))
        at_typical = float(geometry.leverage(self.fourier(np.zeros((1, Z.shape[1]))))[0])
        return _shared(geometry, rows.values, without, alone, at_typical)


@dataclass(frozen=True)
class ModelFeatures:
    """Trust map of model features: what predictions are linear in, and its geometry."""

    features: Features
    geometry: FeatureGeometry
    partition: LeafMap | None  # of encoded columns; None: one region

    def read(self, X: Any, encoded: Encoded) -> FeatureRows:
        """Rows X, as the model takes them, with their features."""
        return FeatureRows(X, encoded, self.features.values(X, encoded))

    def leverage(self, rows: FeatureRows) -> FloatArray:
        """Leverage κ (n,). Eq. (S2)."""
        leverage: FloatArray = self.geometry.completed.leverage(rows.values, self.geometry.alpha)
        return leverage

    def explain(self, rows: FeatureRows) -> FloatArray:
        """Share (n, columns) of each input column in the leverage. Eqs. (A4) and (A5)."""
        return self.features.explain(self.geometry, rows)

    def regions(self, rows: FeatureRows) -> IntArray:
        """Leaf (n, T) of each row in trees grown for this; one region without them."""
        if self.partition is None:
            return np.zeros((len(rows.values), 1), dtype=np.int64)
        return self.partition.leaf(_within_float32(rows.encoded.Z))

    @property
    def region_count(self) -> int:
        """Number of leaves of all those trees."""
        return 1 if self.partition is None else int(self.partition.ends[-1])


def count_features(
    model: Any, encoder: ColumnEncoder, X: Any, Y: FloatArray, weights: FloatArray
) -> tuple[ModelFeatures, FloatArray]:
    """Model features of training rows of positive weight, and left-out leverages (n,).

    Y (n, k) are the targets: numbers, or an indicator of each class.
    """
    rows, last = at_last_step(model, X)
    seen = targets_inside(model, Y)
    width = np.shape(rows)[1] if np.ndim(rows) == 2 else -1
    if is_linear(last, width):
        values = numbers_at_last_step(model, X)
        intercept = bool(getattr(last, "fit_intercept", True))
        alpha = penalty_of(last)
        if alpha is None:
            alpha, _ = choose_penalty(values, seen, weights, intercept=intercept)
        typical = None
        if _changes_columns(model):
            typical = cells_of(X, int(np.argmin(np.abs(values - np.median(values, axis=0)).sum(1))))
        features: Features = LinearColumns(model, typical)
    else:
        Z = encoder.encode(X).Z
        fourier, alpha = choose_fourier(Z, seen, weights)
        intercept = True
        features, values = EncodedFourier(fourier, encoder.feature_groups), fourier(Z)
    factor = Factor.of(values, None, weights)
    spectrum = Spectrum.of_factor(factor, intercept=intercept, unit_columns=alpha == 0)
    geometry = FeatureGeometry(spectrum, alpha, normalize=False)
    left_out = geometry.left_out(values, weights)
    return ModelFeatures(features, geometry, _partition(encoder, X, Y)), left_out


def numbers_at_last_step(model: Any, X: Any) -> FloatArray:
    """Model features: the finite numbers (n, d) that the last step of a fitted model sees."""
    rows, last = at_last_step(model, X)
    dense = rows.toarray() if hasattr(rows, "toarray") else rows
    values: FloatArray = np.asarray(dense, dtype=np.float64)
    refuse_nonfinite(last, values)
    refuse_extreme("X", values)
    return values


def _changes_columns(model: Any) -> bool:
    """Whether a model is a Pipeline with steps before the last."""
    step = inside(model)
    return isinstance(step, Pipeline) and (
        len(step.steps) > 1 or _changes_columns(step.steps[-1][1])
    )


def _partition(encoder: ColumnEncoder, X: Any, Y: FloatArray) -> LeafMap | None:
    """Leaves of a small forest of one target, in which the size of errors is averaged."""
    if Y.shape[1] > 1 or len(Y) < 2 * _LEAST_ROWS:
        return None
    forest = RandomForestRegressor(
        _TREES,
        min_samples_leaf=_LEAST_ROWS,
        max_samples=min(len(Y), _MOST_ROWS),
        random_state=0,
    )
    Z = _within_float32(encoder.encode(X).Z)
    spread = float(np.std(Y[:, 0])) or 1.0  # trees stop at errors that are small by themselves
    return leaf_map_of(forest.fit(Z, Y[:, 0] / spread)) if Z.shape[1] else None


def _within_float32(Z: FloatArray) -> FloatArray:
    """Columns that trees of scikit-learn, which work in float32, can compare."""
    return np.clip(Z, -1e30, 1e30)


def _shared(
    geometry: FeatureGeometry,
    values: FloatArray,
    without: FloatArray,
    alone: FloatArray,
    typical: float,
) -> FloatArray:
    leverage = geometry.leverage(values)
    drops = attribution.replacement_drops(leverage, without, alone, typical)
    drops = np.where(np.any(drops > 0, axis=1, keepdims=True), drops, 1.0)  # none: all alike
    rest = leverage - geometry.spectrum.intercept_share
    return attribution.shares(drops, rest)
