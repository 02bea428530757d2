"""Tables of an OOD evaluation: every pair of detector and set, and means over sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from importlib import import_module
from typing import Any

import numpy as np

from pnml.errors import InputError
from pnml.metrics import DetectionMetrics
from pnml.ood.ood_means import ALL, FAR, NEAR, OODMean, OODMeans
from pnml.ood.table_text import (
    aligned_table,
    bold_if,
    markdown_table,
    rich_table,
    with_intervals,
)

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
    """One row of an OOD evaluation: metrics of one detector on one set of outliers.

    It compares `rows_in` ordinary rows with `rows_out` outliers. A metric, such as
    ``row.metrics.auroc``, is an estimate between 0 and 1 with an interval.

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
    """Table of an OOD evaluation: all detectors on all sets of outliers, with intervals.

    ``print(table)`` and ``table.to_markdown(metric)`` show one metric, with a line for each set
    and a column for each detector; ``table.to_pandas()`` has everything, with a line for each pair.
    ``table.means`` has a line for each detector: means over all, near and far sets.

    >>> from pnml.metrics import detection_metrics
    >>> metrics = detection_metrics([3.0, 2.0, 1.0], [0.5, 0.0])
    >>> table = OODTable((OODRow("regret", "noise", 3, 2, metrics),), confidence=0.95)
    >>> table["regret", "noise"].auroc.value
    1.0
    >>> table.mean("fpr95")
    {'regret': 0.0}
    """

    rows: tuple[OODRow, ...]
    confidence: float
    near: tuple[str, ...] = ()  # sets of outliers that resemble ordinary rows
    mean_rows: tuple[OODMean, ...] = ()

    @property
    def means(self) -> OODMeans:
        """Means over all, near and far sets of outliers, a line for each detector."""
        return OODMeans(self.mean_rows, self.confidence)

    @property
    def detectors(self) -> tuple[str, ...]:
        """Names of the detectors, in the order given."""
        return tuple(dict.fromkeys(row.detector for row in self.rows))

    @property
    def oods(self) -> tuple[str, ...]:
        """Names of the sets of outliers, in the order given."""
        return tuple(dict.fromkeys(row.ood for row in self.rows))

    def __getitem__(self, pair: tuple[str, str]) -> DetectionMetrics:
        """Metrics of a pair of names, (detector, set of outliers), or a KeyError."""
        for row in self.rows:
            if (row.detector, row.ood) == pair:
                return row.metrics
        raise KeyError(pair)

    def mean(self, metric: str = "auroc", sets: str = ALL) -> Mapping[str, float]:
        """Dict of detector → mean of a metric over sets of outliers: all, near or far ones."""
        _check(metric)
        chosen = self._chosen(sets)
        return {
            name: float(np.mean([getattr(self[name, ood], metric).value for ood in chosen]))
            for name in self.detectors
        }

    def _chosen(self, sets: str) -> tuple[str, ...]:
        of = {
            ALL: self.oods,
            NEAR: tuple(ood for ood in self.oods if ood in self.near),
            FAR: tuple(ood for ood in self.oods if ood not in self.near),
        }
        if not of.get(sets):
            named = [key for key, oods in of.items() if oods]
            raise InputError(f"sets is {sets!r}, of which there are none; pass one of {named}.")
        return of[sets]

    def to_markdown(self, metric: str = "auroc") -> str:
        """One metric in percent, as a table in Markdown; the best of each line is bold."""
        return markdown_table(self._cells(metric), left=1)

    def to_pandas(self) -> Any:
        """All metrics as a pandas DataFrame, a line for each detector and set; between 0 and 1."""
        return import_module("pandas").DataFrame(self.to_records())

    def to_records(self) -> list[dict[str, Any]]:
        """All metrics as a list of dicts, one for each detector and set; between 0 and 1.

        Where near sets are named, each dict has ``near``, too: whether its set is a near one.
        """
        return [
            {k: v for k, v in vars(row).items() if k != "metrics"}
            | ({"near": row.ood in self.near} if self.near else {})
            | with_intervals(asdict(row.metrics))
            for row in self.rows
        ]

    def __str__(self) -> str:
        note = f"AUROC in percent, {100 * self.confidence:g} % confidence intervals in brackets"
        return aligned_table(self._cells("auroc"), left=1) + "\n" + note

    def _repr_markdown_(self) -> str:
        return self.to_markdown()

    def __rich__(self) -> Any:
        title = f"AUROC in percent, {100 * self.confidence:g} % intervals"
        return rich_table(self._cells("auroc"), left=1, title=title)

    def _cells(self, metric: str) -> list[list[str]]:
        _check(metric)
        small_is_good = metric == "fpr95"
        out = [[_TITLES[metric], *self.detectors]]
        for ood in self.oods:
            row = [getattr(self[name, ood], metric) for name in self.detectors]
            texts = [f"{100 * e.value:.2f} [{100 * e.low:.1f}, {100 * e.high:.1f}]" for e in row]
            out.append([ood, *_bold(texts, [e.value for e in row], small_is_good)])
        groups = {"mean": ALL} if len(self.oods) > 1 else {}
        if self.near and len(self.near) < len(self.oods):
            groups |= {"mean, near": NEAR, "mean, far": FAR}
        for title, sets in groups.items():
            means = list(self.mean(metric, sets).values())
            out.append([title, *_bold([f"{100 * m:.2f}" for m in means], means, small_is_good)])
        return out


def _bold(texts: list[str], values: list[float], small_is_good: bool) -> list[str]:
    """The cells of one line, with the best of several marked as bold."""
    best = min(values) if small_is_good else max(values)
    several = len(values) > 1
    return [bold_if(t, several and v == best) for t, v in zip(texts, values, strict=True)]


def _check(metric: str) -> None:
    if metric not in METRICS:
        raise InputError(f"metric is {metric!r}, which is not known; pass one of {METRICS}.")
