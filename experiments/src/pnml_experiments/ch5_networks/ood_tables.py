"""Scores of ordinary rows and outliers → the three tables of the thesis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.metrics import Estimate, detection_metrics
from pnml_experiments.framework.result import Row, Table, exactly

# As fields of DetectionMetrics, and as headings.
METRICS = {
    "auroc": "AUROC",
    "tnr95": "TNR at TPR 95 %",
    "detection_accuracy": "Detection accuracy",
}
INTERVAL = "95 %: DeLong for the AUROC, 200 draws of the rows for the others"
SEED = 0
# metric → percent with the ends of its interval, as JSON keeps it
Measured = dict[str, list[float]]


def measured(outlier_scores_in: FloatArray, outlier_scores_out: FloatArray) -> Measured:
    """The three metrics in percent, each with its interval; scores are high for outliers.

    >>> measured(np.array([0.0, 1.0]), np.array([2.0, 3.0]))["auroc"]
    [100.0, 100.0, 100.0]
    """
    found = detection_metrics(-outlier_scores_in, -outlier_scores_out, seed=SEED)
    return {name: [100 * x for x in getattr(found, name)] for name in METRICS}


def estimate(found: Measured | None, metric: str) -> Estimate | None:
    """One metric out of what was measured."""
    return None if found is None else Estimate(*found[metric])


def mean(found: Iterable[Measured], metric: str) -> Estimate:
    """Mean over sets of outliers; they share their ordinary rows, so it has no simple interval."""
    return exactly(float(np.mean([one[metric][0] for one in found])))


def three_tables(
    rows: Mapping[str, Iterable[Row]], about: str, **settings: Any
) -> tuple[Table, ...]:
    """One table for each metric, from its rows."""
    return tuple(
        Table(f"{title}, percent", tuple(rows[metric]), about, **settings)
        for metric, title in METRICS.items()
    )
