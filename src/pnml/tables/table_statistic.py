"""A long table, counted batch by batch: its columns are learnt on the way, its rows add up."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from pnml.core.statistic.exact_sum import Arrays, Document, GramSum, state_of, sum_of
from pnml.core.statistic.gram import Gram
from pnml.tables.encoder_builder import Builder
from pnml.tables.labelled_rows import Labelled
from pnml.tables.roles import Role
from pnml.tables.targets import Target

_SLICE_NUMBERS = 2**22  # of rows that are counted at once


class Counting:
    """What is known of a table so far: words, means and spreads, and the moments of its rows.

    Standardising, one-hot places and what stands for missing cells all come from the same pass:
    numbers are counted in units of a first look, and the sums are brought to the right units at
    the end. Eq. (B3).
    """

    def __init__(self, roles: list[Role], target: Target, weight: str | None, look: pa.Table):
        first = Labelled.of(look, target, weight)
        self._target, self._weight = target, weight
        self.builder = Builder(roles, first.rows, first.weights)
        self.total = GramSum.empty(self.builder.width, 1)
        self.unlabelled = self.weightless = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Count some rows."""
        for part in _slices(batch, self.builder.width):
            labelled = Labelled.of(part, self._target, self._weight)
            self.unlabelled += labelled.unlabelled
            self.weightless += labelled.weightless
            if len(labelled.y):
                X = self.builder.encode(labelled.rows, labelled.weights)
                seen, sample = self.total, self.total.high.sample
                counted = Gram.of(
                    X,
                    labelled.y,
                    labelled.weights,
                    keep=sample.size,
                    below=sample.threshold,
                    seen=seen.rows,
                )
                self.total = seen.widened(self.builder.width) + GramSum.of(counted)

    def gram(self) -> Gram:
        """The statistic of all rows, as the encoder that was learnt from them writes them."""
        return self.total.gram().scaled(self.builder.factors())

    def state(self) -> tuple[Document, Arrays]:
        """All that is to be known to go on from here, for JSON and as arrays."""
        document, arrays = state_of(self.total)
        left_out = [self.unlabelled, self.weightless]
        return document | {"left_out": left_out, "builder": self.builder.state()}, arrays

    def restore(self, document: Document, arrays: Arrays) -> None:
        """Go on from a state."""
        self.total = sum_of(document, arrays)
        self.unlabelled, self.weightless = document["left_out"]
        self.builder.restore(document["builder"])


def _slices(batch: pa.RecordBatch, width: int) -> Iterator[pa.RecordBatch]:
    step = max(1000, _SLICE_NUMBERS // width)
    return (batch.slice(start, step) for start in range(0, batch.num_rows, step))
