"""Protocol of a trust map, which gives the leverage of rows for any fitted model."""

from __future__ import annotations

from typing import Any, Protocol

from pnml.columns.encoder import Encoded
from pnml.core.arrays import FloatArray
from pnml.core.leaves.cells import IntArray


class TrustMap(Protocol):
    """Leverages of rows for a fitted model, by its leaves, its columns or Fourier features of them.

    `rows` below are the result of `read`: the rows as this map needs them, such as leaf numbers.
    """

    def read(self, X: Any, encoded: Encoded) -> Any:
        """Rows X, as the model's ``predict`` takes them, converted for the methods below."""

    def leverage(self, rows: Any) -> FloatArray:
        """Leverage κ (n,) of new rows, ≥ 0."""

    def explain(self, rows: Any) -> FloatArray:
        """Part (n, columns) of the leverage that each input column causes, ≥ 0."""

    def regions(self, rows: Any) -> IntArray:
        """Region (n, T) of each row in each of T partitions of the rows, such as leaves of T trees.

        Expected errors are averages over the training rows of a region.
        """

    @property
    def region_count(self) -> int:
        """Number of regions in all partitions together."""
