"""Leverage of rows by their features at the last step of a classifier or linear model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.core.geometry import attribution
from pnml.core.geometry.spectrum import Spectrum
from pnml.core.relations import Relations, broken_by
from pnml.core.softmax_leave_one_out import left_out_leverages
from pnml.learners.finite import like_input


@dataclass(frozen=True)
class FeatureGeometry:
    """Leverage of new rows by their features (n, d), given the `spectrum` of the training features.

    There is nothing to fit: `spectrum` is the decomposition of the training features, and `alpha`
    the ridge penalty. With `normalize`, each new row of features is scaled to norm 1 first; those
    of training must have been so, too. `relations` are linear relations between training features.
    """

    spectrum: Spectrum
    alpha: float
    normalize: bool
    relations: Relations | None = None  # of the columns; None in a file of an older version

    @cached_property
    def completed(self) -> Spectrum:
        """`spectrum` plus the directions in which no training row varies: same leverages, faster.

        Unchanged without a penalty, or where adding them would lose accuracy.
        """
        return self.spectrum.completed(self.alpha)

    def rows(self, features: FloatArray) -> FloatArray:
        """Features (n, d), scaled to norm 1 if `normalize` is set."""
        return to_unit_norm(features) if self.normalize else features

    def leverage(self, features: FloatArray) -> FloatArray:
        """Leverage (n,) of rows with these features (n, d), ≥ 0."""
        leverage: FloatArray = self.spectrum.leverage(self.rows(features), self.alpha)
        return leverage

    def broken(self, features: FloatArray) -> FloatArray | None:
        """Which rows break linear relations of the features: (n,), or None if none are known.

        Values are those of `Relations.broken`: inf for a row that breaks none.
        """
        return broken_by(self.relations, features)

    def left_out(self, features: FloatArray, weights: FloatArray) -> FloatArray:
        """Leverage (n,) that each training row would have if left out. Eq. (F6)."""
        return left_out_leverages(self.spectrum, self.rows(features), weights, self.alpha)

    def explain(self, features: FloatArray) -> FloatArray:
        """Part (n, d) of each row's leverage that each feature causes, ≥ 0."""
        rows = self.rows(features)
        shares: FloatArray = like_input(attribution.explain(self.spectrum, rows, self.alpha), rows)
        return shares


def to_unit_norm(rows: FloatArray) -> FloatArray:
    """Rows (n, d), each divided by its Euclidean norm; a row of zeros stays."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    scaled: FloatArray = rows / np.where(norms > 0, norms, 1.0).astype(rows.dtype)
    return scaled
