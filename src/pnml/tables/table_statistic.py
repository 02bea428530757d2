"""Sums over the rows of a long table, batch by batch; the columns are learnt on the way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pnml.core.arrays import FloatArray
from pnml.core.statistic.exact_sum import Arrays, Document, GramSum, state_of, sum_of
from pnml.core.statistic.gram import Gram
from pnml.tables.encoder import Encoder
from pnml.tables.encoder_builder import EncoderBuilder
from pnml.tables.labelled_rows import LabelledRows
from pnml.tables.roles import Role
from pnml.tables.targets import Target

_SLICE_NUMBERS = 2**22  # numbers in the rows that are added at once


@dataclass
class WeightRange:
    """Least and largest weight of a table's rows so far."""

    least: float | None = None
    most: float | None = None

    def add(self, weights: FloatArray | None) -> None:
        """Add the weights of some rows; None where they have none."""
        if weights is not None:
            least, most = float(weights.min()), float(weights.max())
            self.least = least if self.least is None else min(least, self.least)
            self.most = most if self.most is None else max(most, self.most)

    @property
    def are_equal(self) -> bool:
        """Whether all rows have the same weight."""
        return self.least == self.most

    def state(self) -> list[float | None]:
        """State needed to resume: the least and the largest weight."""
        return [self.least, self.most]


class TableStatistic:
    """Statistic of a table: words, means, spreads and moments of the rows read so far.

    Standardising, one-hot positions and the values for missing cells all come from the same pass:
    numbers are summed in units of the first rows, and the sums are converted at the end. Eq. (B3).
    `look`, the first rows, fixes the units but is not added. `weight` names the column of row
    weights; `survey`: they are scaled to sum to the number of rows.
    """

    def __init__(
        self,
        roles: list[Role],
        target: Target,
        weight: str | None,
        look: pa.Table,
        survey: bool = False,
    ) -> None:
        first = LabelledRows.of(look, target, weight)
        self._target, self._weight, self._survey = target, weight, survey
        self._weights = WeightRange()
        self.builder = EncoderBuilder(roles, first.rows, first.weights)
        self.total = GramSum.empty(self.builder.width, 1)
        self.unlabelled = self.weightless = 0
        self.lowest = np.inf  # smallest label so far

    def add(self, batch: pa.RecordBatch) -> None:
        """Add the rows of a batch; rows without a label or with weight 0 are only counted."""
        for part in _slices(batch, self.builder.width):
            labelled = LabelledRows.of(part, self._target, self._weight)
            self.unlabelled += labelled.unlabelled
            self.weightless += labelled.weightless
            if len(labelled.y):
                self.lowest = min(self.lowest, float(labelled.y.min()))
                self._weights.add(labelled.weights)
                X = self.builder.encode(labelled.rows, labelled.weights)
                self.total = self.total.widened(self.builder.width).plus_rows(
                    X, labelled.y, labelled.weights
                )

    @property
    def mean_weight(self) -> float | None:
        """Mean of the survey weights before scaling; None if the rows have no survey weights."""
        total = self.total.high
        return total.weight / total.rows if self._survey and self._weight is not None else None

    def finish(self) -> tuple[Gram, Encoder]:
        """The Gram (means and moments) of all rows in the finished encoding, and the encoder.

        Survey weights are scaled to sum to the number of rows. The moments are linear in the
        weights and no mean changes, so they can be scaled at the end.
        """
        finished = self.builder.finish(recentre=True)
        gram = finished.terms.gram(self.total.gram())
        if self._survey and self._weight is not None:
            gram = gram.reweighted(gram.rows / gram.weight, whole=self._weights.are_equal)
        return gram, finished.encoder

    def state(self) -> tuple[Document, Arrays]:
        """State needed to resume: a dict of JSON values, and arrays by name."""
        document, arrays = state_of(self.total)
        left_out = [self.unlabelled, self.weightless]
        more = {
            "left_out": left_out,
            "weights": self._weights.state(),
            "lowest": None if self.lowest == np.inf else self.lowest,
        }
        return document | more | {"builder": self.builder.state()}, arrays

    def restore(self, document: Document, arrays: Arrays) -> None:
        """Resume from the two results of `state`."""
        self.total = sum_of(document, arrays)
        self.unlabelled, self.weightless = document["left_out"]
        self.lowest = np.inf if document["lowest"] is None else document["lowest"]
        self._weights = WeightRange(*document["weights"])
        self.builder.restore(document["builder"])


def _slices(batch: pa.RecordBatch, width: int) -> Iterator[pa.RecordBatch]:
    step = max(1000, _SLICE_NUMBERS // width)
    return (batch.slice(start, step) for start in range(0, batch.num_rows, step))
