"""OpenSetTable: all scores on all sets of unknown classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from pnml.metrics.open_set_estimates import OpenSetMetrics
from pnml.ood.table_text import (
    aligned_table,
    bold_if,
    markdown_table,
    rich_table,
    with_intervals,
)


@dataclass(frozen=True)
class OpenSetRow:
    """Metrics of one score on one set of unknown classes.

    >>> from pnml.metrics import open_set_metrics
    >>> metrics = open_set_metrics([3.0, 2.0, 1.0], [True, False, True], [0.5, 0.0])
    >>> round(OpenSetRow("regret", "letters", 3, 2, metrics).metrics.area.value, 3)
    0.667
    """

    score: str
    unknown: str
    rows_known: int
    rows_unknown: int
    metrics: OpenSetMetrics


@dataclass(frozen=True)
class OpenSetTable:
    """All scores on all sets of unknown classes, each number with its confidence interval.

    ``print(table)`` and ``table.to_markdown()`` show the area under the OSCR curve with its
    interval and the CCR at each FPR; ``table.to_pandas()`` has the other intervals too.

    >>> from pnml.metrics import open_set_metrics
    >>> metrics = open_set_metrics([3.0, 2.0, 1.0, 0.8], [True, False, True, True], [0.5, 0.0])
    >>> table = OpenSetTable((OpenSetRow("regret", "letters", 4, 2, metrics),), confidence=0.95)
    >>> table["regret", "letters"].area.value, table.mean()
    (0.75, {'regret': 0.75})
    """

    rows: tuple[OpenSetRow, ...]
    confidence: float

    @property
    def scores(self) -> tuple[str, ...]:
        """Names of the scores, in the order given."""
        return tuple(dict.fromkeys(row.score for row in self.rows))

    @property
    def unknowns(self) -> tuple[str, ...]:
        """Names of the sets of unknown classes, in the order given."""
        return tuple(dict.fromkeys(row.unknown for row in self.rows))

    def __getitem__(self, pair: tuple[str, str]) -> OpenSetMetrics:
        """Metrics, and the curve, of a score, named first, on a set of unknown classes."""
        for row in self.rows:
            if (row.score, row.unknown) == pair:
                return row.metrics
        raise KeyError(pair)

    def mean(self) -> Mapping[str, float]:
        """Mean area over the sets of unknown classes, for each score."""
        return {
            name: float(np.mean([self[name, unknown].area.value for unknown in self.unknowns]))
            for name in self.scores
        }

    def to_markdown(self) -> str:
        """The table in percent, in Markdown; the best of each set is bold."""
        return markdown_table(self._cells(), left=2)

    def to_pandas(self) -> Any:
        """Everything as a DataFrame, shares between 0 and 1; needs pandas."""
        return import_module("pandas").DataFrame(self.to_records())

    def to_records(self) -> list[dict[str, Any]]:
        """Everything but the curves, one dict for each score and set; shares between 0 and 1."""
        out = []
        for row in self.rows:
            rates = zip(row.metrics.fpr, row.metrics.ccr, strict=True)
            estimates = {f"ccr_at_{level:g}": estimate for level, estimate in rates}
            record = {k: v for k, v in vars(row).items() if k != "metrics"}
            out.append(record | with_intervals({"area": row.metrics.area} | estimates))
        return out

    def __str__(self) -> str:
        return aligned_table(self._cells(), left=2) + "\n" + self._note

    def _repr_markdown_(self) -> str:
        return self.to_markdown()

    def __rich__(self) -> Any:
        return rich_table(self._cells(), left=2, title=self._note)

    @property
    def _note(self) -> str:
        return f"In percent, {100 * self.confidence:g} % interval in brackets"

    def _cells(self) -> list[list[str]]:
        levels = self.rows[0].metrics.fpr
        out = [["unknown", "score", "OSCR area", *(f"CCR at FPR {level:g}" for level in levels)]]
        for unknown in self.unknowns:
            block = [row for row in self.rows if row.unknown == unknown]
            numbers = np.array(
                [[row.metrics.area.value, *(e.value for e in row.metrics.ccr)] for row in block]
            )
            best = numbers.max(axis=0)
            for row, values in zip(block, numbers, strict=True):
                area = row.metrics.area
                texts = [f"{100 * value:.2f}" for value in values]
                texts[0] += f" [{100 * area.low:.1f}, {100 * area.high:.1f}]"
                bold = (values == best) & (len(block) > 1)
                out.append([unknown, row.score, *map(bold_if, texts, bold)])
        return out
