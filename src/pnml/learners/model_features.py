"""Leverage for models without trees, from their columns or Fourier features of these.

The regret is that of all linear functions of these features, under a ridge penalty. The model's own
prediction is not changed.
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

# The forest in whose leaves errors are averaged: trees, least rows of a leaf, most rows of a tree.
_TREES = 30
_LEAST_ROWS = 20
_MOST_ROWS = 10_000


@dataclass(frozen=True)
class FeatureRows:
    """Rows in three forms: as given, encoded columns, and the features `values` (n, d)."""

    X: Any
    encoded: Encoded
    values: FloatArray


class Features(Protocol):
    """Protocol: computes the features of rows, and splits leverage among the input columns."""

    def values(self, X: Any, encoded: Encoded) -> FloatArray:
        """Features (n, d) of rows X, of which `encoded` are the encoded columns."""

    def explain(self, geometry: FeatureGeometry, rows: FeatureRows) -> FloatArray:
        """Part (n, columns) of the leverage that each input column causes, ≥ 0."""


@dataclass(frozen=True)
class LinearColumns:
    """Features of a linear model: the columns that its last step sees."""

    model: Any
    typical: tuple[Any, ...] | None  # cells of a training row; None: features are the columns

    def values(self, X: Any, encoded: Encoded) -> FloatArray:
        """Columns (n, d) of rows X after all steps of a Pipeline but the last."""
        return numbers_at_last_step(self.model, X)

    def explain(self, geometry: FeatureGeometry, rows: FeatureRows) -> FloatArray:
        """Part (n, columns) of the leverage that each input column causes, ≥ 0.

        Exact if the features are the input columns. Before the steps of a Pipeline, it is measured:
        how far the leverage falls when cells are replaced by those of a typical training row.
        """
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
    groups: tuple[tuple[int, ...], ...]  # positions of the encoded features of each column

    def values(self, X: Any, encoded: Encoded) -> FloatArray:
        """Features (n, p + m) of rows: p encoded columns, then m cosines."""
        return self.fourier(encoded.Z)

    def explain(self, geometry: FeatureGeometry, rows: FeatureRows) -> FloatArray:
        """Part (n, columns) of the leverage that each input column causes, ≥ 0.

        Measured by setting a column, or all others, to the training mean, which is 0 once encoded.
        """
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
    """Leverages of rows by the features of a model without trees; implements `TrustMap`."""

    features: Features
    geometry: FeatureGeometry
    partition: LeafMap | None  # of encoded columns; None: one region

    def read(self, X: Any, encoded: Encoded) -> FeatureRows:
        """Rows X, as the model's ``predict`` takes them, with their features."""
        return FeatureRows(X, encoded, self.features.values(X, encoded))

    def leverage(self, rows: FeatureRows) -> FloatArray:
        """Leverage κ (n,) of new rows, ≥ 0. Eq. (S2)."""
        leverage: FloatArray = self.geometry.completed.leverage(rows.values, self.geometry.alpha)
        return leverage

    def explain(self, rows: FeatureRows) -> FloatArray:
        """Part (n, columns) of the leverage of each row that each input column causes, ≥ 0.

        `rows` is the result of `read`. The parts of a row sum to its leverage less the share of the
        intercept; where it is infinite, the columns that make it so get inf and the others 0.
        Eqs. (A4) and (A5).
        """
        return self.features.explain(self.geometry, rows)

    def regions(self, rows: FeatureRows) -> IntArray:
        """Region (n, T) of each row, in which expected errors are averaged.

        Regions are the leaves of T trees grown for this purpose; 0 for all rows, T = 1, if there
        are none.
        """
        if self.partition is None:
            return np.zeros((len(rows.values), 1), dtype=np.int64)
        return self.partition.leaf(_within_float32(rows.encoded.Z))

    @property
    def region_count(self) -> int:
        """Number of leaves in all those trees together; 1 if there are no trees."""
        return 1 if self.partition is None else int(self.partition.ends[-1])


def count_features(
    model: Any, encoder: ColumnEncoder, X: Any, Y: FloatArray, weights: FloatArray
) -> tuple[ModelFeatures, FloatArray]:
    """The `ModelFeatures` of training rows X, and the left-out leverage (n,) of each of these rows.

    Y (n, k) are the targets: numbers, or an indicator column for each class. All `weights` (n,)
    must be positive.
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
    """Numbers (n, d) that the last step of a fitted model sees; raises if any is not finite."""
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
    """Leaves of a small forest, to average errors in; None for several targets or few rows."""
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
    """Values cut to ±1e30, which scikit-learn's trees can compare in float32."""
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
