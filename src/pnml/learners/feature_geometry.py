"""The geometry of the features at the last step of a classifier."""

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
    """Geometry of a classifier's features: leverage at one penalty, unit norm on request."""

    spectrum: Spectrum
    alpha: float
    normalize: bool
    relations: Relations | None = None  # of the columns; None in a file of an older version

    @cached_property
    def completed(self) -> Spectrum:
        """The spectrum with missing directions added, if a penalty makes that safe."""
        return self.spectrum.completed(self.alpha)

    def rows(self, features: FloatArray) -> FloatArray:
        """Features (n, d) as the leverage uses them."""
        return to_unit_norm(features) if self.normalize else features

    def leverage(self, features: FloatArray) -> FloatArray:
        """Leverage (n,) of features."""
        leverage: FloatArray = self.spectrum.leverage(self.rows(features), self.alpha)
        return leverage

    def broken(self, features: FloatArray) -> FloatArray | None:
        """Relations of the features that rows break, as `Relations.broken` has them."""
        return broken_by(self.relations, features)

    def left_out(self, features: FloatArray, weights: FloatArray) -> FloatArray:
        """Leave-one-out leverage (n,) of each training row. Eq. (F6)."""
        return left_out_leverages(self.spectrum, self.rows(features), weights, self.alpha)

    def explain(self, features: FloatArray) -> FloatArray:
        """Share of each feature in the leverage of rows, in their dtype."""
        rows = self.rows(features)
        shares: FloatArray = like_input(attribution.explain(self.spectrum, rows, self.alpha), rows)
        return shares


def to_unit_norm(rows: FloatArray) -> FloatArray:
    """Feature rows scaled to norm 1 for their geometry; a row of zeros stays."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    scaled: FloatArray = rows / np.where(norms > 0, norms, 1.0).astype(rows.dtype)
    return scaled
