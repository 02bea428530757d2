"""One table of all detectors on all sets of outliers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from importlib import import_module
from typing import Any

import numpy as np

from pnml.errors import InputError
from pnml.metrics import DetectionMetrics

METRICS = tuple(field.name for field in fields(DetectionMetrics))
_TITLES = {
    "auroc": "AUROC",
    "aupr_in": "AUPR in",
    "aupr_out": "AUPR out",
    "fpr95": "FPR95",
    "tnr95": "TNR at TPR 95 %",
    "detection_accuracy": "detection accuracy",
}


@dataclass(frozen=True)
class OODRow:
    """What one detector makes of one set of outliers.

    >>> from pnml.metrics import detection_metrics
    >>> row = OODRow("regret", "noise", 3, 2, detection_metrics([3.0, 2.0, 0.1], [0.5, 0.0]))
    >>> round(row.metrics.auroc.value, 3)
    0.833
    """

    detector: str
    ood: str
    rows_in: int
    rows_out: int
    metrics: DetectionMetrics


@dataclass(frozen=True)
class OODTable:
    """All detectors on all sets of outliers, each metric with its confidence interval.

    ``print(table)`` and ``table.to_markdown(metric)`` show one metric, a line to a set and a
    column to a detector; ``table.to_pandas()`` holds everything, a line to a pair of them.

    >>> from pnml.metrics import detection_metrics
    >>> found = detection_metrics([3.0, 2.0, 1.0], [0.5, 0.0])
    >>> table = OODTable((OODRow("regret", "noise", 3, 2, found),), confidence=0.95)
    >>> table["regret", "noise"].auroc.value
    1.0
    >>> table.mean("fpr95")
    {'regret': 0.0}
    """

    rows: tuple[OODRow, ...]
    confidence: float

    @property
    def detectors(self) -> tuple[str, ...]:
        """Names of the detectors, in the order given."""
        return tuple(dict.fromkeys(row.detector for row in self.rows))

    @property
    def oods(self) -> tuple[str, ...]:
        """Names of the sets of outliers, in the order given."""
        return tuple(dict.fromkeys(row.ood for row in self.rows))

    def __getitem__(self, pair: tuple[str, str]) -> DetectionMetrics:
        """Metrics of a detector, named first, on a set of outliers."""
        for row in self.rows:
            if (row.detector, row.ood) == pair:
                return row.metrics
        raise KeyError(pair)

    def mean(self, metric: str = "auroc") -> Mapping[str, float]:
        """Mean of a metric over the sets of outliers, for each detector."""
        _check(metric)
        return {
            name: float(np.mean([getattr(self[name, ood], metric).value for ood in self.oods]))
            for name in self.detectors
        }

    def to_markdown(self, metric: str = "auroc") -> str:
        """One metric in percent, as a table in Markdown; the best of each line is bold."""
        head, *lines = self._cells(metric)
        rule = ["---", *["---:"] * len(self.detectors)]
        return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, rule, *lines))

    def to_pandas(self) -> Any:
        """Everything as a DataFrame, shares between 0 and 1; needs pandas."""
        return import_module("pandas").DataFrame(self.to_records())

    def to_records(self) -> list[dict[str, Any]]:
        """Everything as one dict for each detector and set, shares between 0 and 1."""
        out = []
        for row in self.rows:
            record = {k: v for k, v in vars(row).items() if k != "metrics"}
            for name, (value, low, high) in asdict(row.metrics).items():
                record |= {name: value, f"{name}_low": low, f"{name}_high": high}
            out.append(record)
        return out

    def __str__(self) -> str:
        plain = [[cell.replace("**", "") for cell in cells] for cells in self._cells("auroc")]
        widths = [max(map(len, column)) for column in zip(*plain, strict=True)]
        lines = [
            "  ".join(
                cell.ljust(width) if i == 0 else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
            ).rstrip()
            for cells in plain
        ]
        note = f"AUROC in percent, {100 * self.confidence:g} % confidence intervals in brackets"
        return "\n".join([*lines, note])

    def _repr_markdown_(self) -> str:
        return self.to_markdown()

    def __rich__(self) -> Any:
        head, *lines = self._cells("auroc")
        table = import_module("rich.table").Table(
            title=f"AUROC in percent, {100 * self.confidence:g} % intervals"
        )
        table.add_column(head[0])
        for name in head[1:]:
            table.add_column(name, justify="right")
        for cells in lines:
            table.add_row(*(_rich(cell) for cell in cells))
        return table

    def _cells(self, metric: str) -> list[list[str]]:
        _check(metric)
        small_is_good = metric == "fpr95"
        out = [[_TITLES[metric], *self.detectors]]
        for ood in self.oods:
            found = [getattr(self[name, ood], metric) for name in self.detectors]
            texts = [f"{100 * e.value:.2f} [{100 * e.low:.1f}, {100 * e.high:.1f}]" for e in found]
            out.append([ood, *_bold(texts, [e.value for e in found], small_is_good)])
        if len(self.oods) > 1:
            means = list(self.mean(metric).values())
            out.append(["mean", *_bold([f"{100 * m:.2f}" for m in means], means, small_is_good)])
        return out


def _bold(texts: list[str], values: list[float], small_is_good: bool) -> list[str]:
    best = min(values) if small_is_good else max(values)
    if len(values) == 1:
        return texts
    return [f"**{t}**" if v == best else t for t, v in zip(texts, values, strict=True)]


def _rich(cell: str) -> str:
    best = cell.startswith("**")
    text = cell.replace("**", "").replace("[", r"\[")
    return f"[bold]{text}[/bold]" if best else text


def _check(metric: str) -> None:
    if metric not in METRICS:
        raise InputError(f"metric is {metric!r}, which is not known; pass one of {METRICS}.")
