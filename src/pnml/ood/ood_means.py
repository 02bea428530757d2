"""Means of an OOD evaluation over sets of outliers, near and far ones apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from scipy.special import ndtri

from pnml.core.arrays import FloatArray
from pnml.metrics import DetectionMetrics, Estimate
from pnml.metrics.bootstrap import tail
from pnml.ood.table_text import aligned_table, bold_if, markdown_table, with_intervals

ALL, NEAR, FAR = "all", "near", "far"


@dataclass(frozen=True)
class OODMean:
    """Means of one detector over some sets of outliers, shares between 0 and 1. Eq. (O26).

    `sets` says which: all, near ones (outliers that resemble ordinary rows) or far ones (the
    others).

    >>> mean = OODMean("regret", "far", Estimate(0.9, 0.88, 0.92), 0.9, 0.8, 0.3)
    >>> mean.auroc.value
    0.9
    """

    detector: str
    sets: str  # all, near or far
    auroc: Estimate
    aupr_in: float
    aupr_out: float
    fpr95: float


@dataclass(frozen=True)
class OODMeans:
    """Table of means of an OOD evaluation: a line for each detector, the best of a column bold.

    ``print(means)`` and ``means.to_markdown()`` show AUROC with intervals, FPR95 and AUPR in
    percent; ``means.to_pandas()`` has a line for each detector and kind of sets: all, near or far
    ones.

    >>> mean = OODMean("regret", "all", Estimate(0.9, 0.88, 0.92), 0.9, 0.8, 0.3)
    >>> print(OODMeans((mean,), 0.95))
    detector              AUROC  FPR95  AUPR in  AUPR out
    regret    90.0 [88.0, 92.0]   30.0     90.0      80.0
    means over sets in percent, 95 % confidence intervals in brackets
    """

    rows: tuple[OODMean, ...]
    confidence: float

    def to_records(self) -> list[dict[str, Any]]:
        """All means as a list of dicts, one for each detector and kind of sets; between 0 and 1.

        Each has the keys ``detector``, ``sets`` ("all", or "near" and "far" if near sets were
        named), ``auroc``, ``auroc_low`` and ``auroc_high`` (the ends of its confidence interval),
        ``aupr_in``, ``aupr_out`` and ``fpr95``.
        """
        return [
            {"detector": row.detector, "sets": row.sets}
            | with_intervals({"auroc": row.auroc})
            | {"aupr_in": row.aupr_in, "aupr_out": row.aupr_out, "fpr95": row.fpr95}
            for row in self.rows
        ]

    def to_pandas(self) -> Any:
        """All means as a pandas DataFrame, a line for each dict of `to_records`."""
        return import_module("pandas").DataFrame(self.to_records())

    def to_markdown(self) -> str:
        """The means in percent, as text of a table in Markdown."""
        return markdown_table(self._cells(), left=1)

    def __str__(self) -> str:
        note = f"means over sets in percent, {100 * self.confidence:g} % confidence intervals"
        return aligned_table(self._cells(), left=1) + f"\n{note} in brackets"

    def _repr_markdown_(self) -> str:
        return self.to_markdown()

    def _cells(self) -> list[list[str]]:
        kinds = list(dict.fromkeys(row.sets for row in self.rows))
        names = list(dict.fromkeys(row.detector for row in self.rows))
        rows = {(row.detector, row.sets): row for row in self.rows}
        columns: list[list[str]] = []
        for title, field in (("AUROC", "auroc"), ("FPR95", "fpr95")):
            for kind in kinds:
                column = [getattr(rows[name, kind], field) for name in names]
                heading = title if kind == ALL else f"{title} {kind}"
                columns.append([heading, *_texts(column, small_is_good=field == "fpr95")])
        for title, field in (("AUPR in", "aupr_in"), ("AUPR out", "aupr_out")):
            column = [getattr(rows[name, ALL], field) for name in names]
            columns.append([title, *_texts(column, small_is_good=False)])
        return [list(line) for line in zip(["detector", *names], *columns, strict=True)]


def means_of(
    detector: str,
    usual: FloatArray,
    strange: Mapping[str, FloatArray],
    metrics: Mapping[str, DetectionMetrics],
    near: Sequence[str],
    confidence: float,
) -> list[OODMean]:
    """Means of one detector over all sets of outliers and, if `near` names some, near and far ones.

    `usual` (n,) are its scores of ordinary rows, and `strange` holds its scores (m,) of each set by
    name; high means ordinary. `metrics` are those of each set.
    """
    kinds = {ALL: list(strange)}
    if near:
        kinds[NEAR] = [key for key in strange if key in near]
        kinds[FAR] = [key for key in strange if key not in near]

    def mean(keys: list[str], field: str) -> float:
        return float(np.mean([getattr(metrics[key], field).value for key in keys]))

    return [
        OODMean(
            detector,
            kind,
            mean_auroc(usual, [strange[key] for key in keys], confidence),
            mean(keys, "aupr_in"),
            mean(keys, "aupr_out"),
            mean(keys, "fpr95"),
        )
        for kind, keys in kinds.items()
        if keys
    ]


def mean_auroc(
    usual: FloatArray, strange: Sequence[FloatArray], confidence: float = 0.95
) -> Estimate:
    """Mean AUROC, with its interval, over sets of outliers with common ordinary rows. Eq. (O26).

    `usual` (n,) are scores of ordinary rows, `strange` the scores (m,) of each set of outliers;
    high means ordinary.

    >>> usual = np.array([3.0, 2.0, 1.0])
    >>> mean_auroc(usual, [np.array([0.0]), np.array([2.5])]).value.__round__(6)
    0.666667
    """
    beaten = np.zeros(len(usual))
    variance = 0.0
    ordered = np.sort(usual)
    for scores in strange:
        beaten += _share_below(np.sort(scores), usual) / len(strange)
        beating = 1 - _share_below(ordered, scores)
        variance += _variance(beating) / len(strange) ** 2
    variance += _variance(beaten)
    area = float(beaten.mean())
    if variance == 0 or not 0 < area < 1:
        return Estimate(area, area, area)
    reach = float(ndtri(1 - tail(confidence))) * np.sqrt(variance) / (area * (1 - area))
    odds = np.log(area) - np.log1p(-area)
    low, high = 1 / (1 + np.exp(-(odds + np.array([-reach, reach]))))
    return Estimate(area, float(low), float(high))


def _share_below(ordered: FloatArray, values: FloatArray) -> FloatArray:
    """Share of ordered numbers below each value; equal ones count half."""
    ends = (np.searchsorted(ordered, values, side) for side in ("left", "right"))
    return np.asarray(sum(ends) / 2 / len(ordered))


def _variance(shares: FloatArray) -> float:
    """Variance of the mean of shares; 0 for one row."""
    return float(np.var(shares, ddof=min(1, len(shares) - 1)) / len(shares))


def _texts(values: list[Any], small_is_good: bool) -> list[str]:
    numbers = [float(value[0] if isinstance(value, Estimate) else value) for value in values]
    best = min(numbers) if small_is_good else max(numbers)
    texts = []
    for value, number in zip(values, numbers, strict=True):
        text = f"{100 * number:.1f}"
        if isinstance(value, Estimate):
            text += f" [{100 * value.low:.1f}, {100 * value.high:.1f}]"
        texts.append(bold_if(text, len(values) > 1 and number == best))
    return texts
