"""Rows of a table that have a label and a positive weight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pnml.core.arrays import FloatArray
from pnml.tables.targets import Target, check_amounts, weights_of


@dataclass(frozen=True)
class LabelledRows:
    """Rows to learn from, with labels `y` (n,) and `weights` (n,) or None.

    `unlabelled` and `weightless` are the numbers of rows left out: without a label, or of weight 0.
    """

    rows: pa.Table | pa.RecordBatch
    y: npt.NDArray[Any]  # (n,)
    weights: FloatArray | None  # (n,)
    unlabelled: int
    weightless: int

    @classmethod
    def of(
        cls, rows: pa.Table | pa.RecordBatch, target: Target, weight: str | None
    ) -> LabelledRows:
        """The rows that have a label and a positive weight, with their labels and weights.

        `weight` names the column of weights; None: every row counts once.
        """
        cells = rows.column(target.name)
        cells = cells.combine_chunks() if isinstance(cells, pa.ChunkedArray) else cells
        y = target.labels(cells)
        there = pc.is_valid(cells).to_numpy(zero_copy_only=False)
        if target.task == "regression":
            there &= ~np.isnan(y)
        total, labelled = rows.num_rows, int(there.sum())
        weights = None
        if weight is not None:
            weights = weights_of(rows.column(weight), weight, there)
            there &= weights > 0
            weights = weights[there]
        if not there.all():
            rows, y = rows.filter(pa.array(there)), y[there]
        if target.task == "regression":
            check_amounts(y, target.name)
        return cls(rows, y, weights, total - labelled, labelled - len(y))
