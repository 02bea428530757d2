"""Reasons why rows are not trusted, counted while a table is scored."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pnml.report.listed_rows import Row, RowReader
from pnml.tables.scores import Scores

OTHER = "other reasons"
_LISTED = 20
_EXAMPLES = 10
_KEPT = 2000  # texts told apart; rows of later ones count as other reasons


@dataclass(frozen=True)
class Reason:
    """A reason why rows are not trusted, and examples of them."""

    text: str
    rows: int
    share: float  # of all rows of the table
    examples: tuple[Row, ...]  # the first rows that have it


class Reasons:
    """Counts of the reasons of untrusted rows seen so far, with the first rows of each."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._examples: dict[str, list[Row]] = {}

    def add(
        self, batch: pa.RecordBatch, scores: Scores, texts: pa.Array, offset: int, reader: RowReader
    ) -> None:
        """Add a scored batch; its first row has `offset` rows of the table before it.

        `texts` has the reason of each row, null if it is trusted; `reader` makes the examples.
        """
        encoded = texts.dictionary_encode()
        codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        order = np.argsort(codes, kind="stable")
        starts = np.searchsorted(codes[order], np.arange(len(encoded.dictionary) + 1))
        for code, text in enumerate(encoded.dictionary.to_pylist()):
            rows = order[starts[code] : starts[code + 1]]
            known = text in self._counts or len(self._counts) < _KEPT
            name = text if known else OTHER
            self._counts[name] = self._counts.get(name, 0) + len(rows)
            kept = self._examples.setdefault(name, [])
            for i in rows[: _EXAMPLES - len(kept)].tolist():
                kept.append(reader.row(batch, scores, i, offset + i + 1, text))

    def listed(self, rows: int) -> tuple[Reason, ...]:
        """The most common reasons, most rows first; the rest as one, named "other reasons".

        `rows` is the number of rows of the table, for the shares.
        """
        order = sorted(self._counts, key=lambda text: (text == OTHER, -self._counts[text], text))
        named = [text for text in order if text != OTHER][:_LISTED]
        reasons = [self._reason(text, self._counts[text], rows) for text in named]
        rest = order[len(named) :]
        if not rest:
            return tuple(reasons)
        count = sum(self._counts[text] for text in rest)
        examples = tuple(row for text in rest for row in self._examples[text][:1])[:_EXAMPLES]
        return (*reasons, Reason(OTHER, count, count / rows, examples))

    def _reason(self, text: str, count: int, rows: int) -> Reason:
        return Reason(text, count, count / rows, tuple(self._examples[text]))
