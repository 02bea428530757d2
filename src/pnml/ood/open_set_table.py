"""One table of all scores on all sets of unknown classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from pnml.metrics.open_set_estimates import OpenSetMetrics


@dataclass(frozen=True)
class OpenSetRow:
    """What one score makes of one set of unknown classes.

    >>> from pnml.metrics import open_set_metrics
    >>> found = open_set_metrics([3.0, 2.0, 1.0], [True, False, True], [0.5, 0.0])
    >>> round(OpenSetRow("regret", "letters", 3, 2, found).metrics.area.value, 3)
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
    >>> found = open_set_metrics([3.0, 2.0, 1.0, 0.8], [True, False, True, True], [0.5, 0.0])
    >>> table = OpenSetTable((OpenSetRow("regret", "letters", 4, 2, found),), confidence=0.95)
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
        head, *lines = self._cells()
        rule = ["---", "---", *["---:"] * (len(head) - 2)]
        return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, rule, *lines))

    def to_pandas(self) -> Any:
        """Everything as a DataFrame, shares between 0 and 1; needs pandas."""
        return import_module("pandas").DataFrame(self.to_records())

    def to_records(self) -> list[dict[str, Any]]:
        """Everything but the curves, one dict for each score and set; shares between 0 and 1."""
        out = []
        for row in self.rows:
            record = {k: v for k, v in vars(row).items() if k != "metrics"}
            found = {"area": row.metrics.area}
            at = zip(row.metrics.fpr, row.metrics.ccr, strict=True)
            found |= {f"ccr_at_{level:g}": estimate for level, estimate in at}
            for name, (value, low, high) in found.items():
                record |= {name: value, f"{name}_low": low, f"{name}_high": high}
            out.append(record)
        return out

    def __str__(self) -> str:
        plain = [[cell.replace("**", "") for cell in cells] for cells in self._cells()]
        widths = [max(map(len, column)) for column in zip(*plain, strict=True)]
        lines = [
            "  ".join(
                cell.ljust(width) if i < 2 else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
            ).rstrip()
            for cells in plain
        ]
        return "\n".join([*lines, f"In percent, {100 * self.confidence:g} % interval in brackets"])

    def _repr_markdown_(self) -> str:
        return self.to_markdown()

    def __rich__(self) -> Any:
        head, *lines = self._cells()
        table = import_module("rich.table").Table(
            title=f"In percent, {100 * self.confidence:g} % interval in brackets"
        )
        for i, name in enumerate(head):
            table.add_column(name, justify="left" if i < 2 else "right")
        for cells in lines:
            table.add_row(*(_rich(cell) for cell in cells))
        return table

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
                marked = (f"**{t}**" if b else t for t, b in zip(texts, bold, strict=True))
                out.append([unknown, row.score, *marked])
        return out


def _rich(cell: str) -> str:
    text = cell.replace("**", "").replace("[", r"\[")
    return f"[bold]{text}[/bold]" if cell.startswith("**") else text
