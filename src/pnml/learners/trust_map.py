"""The contract of a trust map: what a model's prediction is linear in, and its leverage."""

from __future__ import annotations

from typing import Any, Protocol

from pnml.columns.encoder import Encoded
from pnml.core.arrays import FloatArray
from pnml.core.leaves.cells import IntArray


class TrustMap(Protocol):
    """Leverages of rows, by leaves, columns or Fourier features of a fitted model.

    `rows` below are what `read` returns: the same rows in the form that this map works with.
    """

    def read(self, X: Any, encoded: Encoded) -> Any:
        """Rows X, as the model takes them, in the form of this map."""

    def leverage(self, rows: Any) -> FloatArray:
        """Leverage κ (n,) of new rows, ≥ 0."""

    def explain(self, rows: Any) -> FloatArray:
        """Share (n, columns) of each input column in the leverage, ≥ 0."""

    def regions(self, rows: Any) -> IntArray:
        """Region (n, T) of each row in each of T partitions; errors are averaged in regions."""

    @property
    def region_count(self) -> int:
        """Number of regions of all partitions."""
