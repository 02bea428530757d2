"""Evaluation of detectors on sets of outliers, and its table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from importlib import import_module
from typing import Any

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.errors import InputError
from pnml.metrics import DetectionMetrics, detection_metrics
from pnml.ood.network_logits import batches, scores_of
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
        return markdown_table(self._cells(metric), left=1)

    def to_pandas(self) -> Any:
        """Everything as a DataFrame, shares between 0 and 1; needs pandas."""
        return import_module("pandas").DataFrame(self.to_records())

    def to_records(self) -> list[dict[str, Any]]:
        """Everything as one dict for each detector and set, shares between 0 and 1."""
        return [
            {k: v for k, v in vars(row).items() if k != "metrics"}
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
        if len(self.oods) > 1:
            means = list(self.mean(metric).values())
            out.append(["mean", *_bold([f"{100 * m:.2f}" for m in means], means, small_is_good)])
        return out


def _bold(texts: list[str], values: list[float], small_is_good: bool) -> list[str]:
    """The cells of one line, with the best of several marked as bold."""
    best = min(values) if small_is_good else max(values)
    several = len(values) > 1
    return [bold_if(t, several and v == best) for t, v in zip(texts, values, strict=True)]


def _check(metric: str) -> None:
    if metric not in METRICS:
        raise InputError(f"metric is {metric!r}, which is not known; pass one of {METRICS}.")


def evaluate_ood(
    detectors: Mapping[str, Any] | Sequence[Any],
    ind: Any,
    ood: Mapping[str, Any],
    *,
    confidence: float = 0.95,
    resamples: int = 200,
    seed: int = 0,
) -> OODTable:
    """Evaluation of detectors: how well they separate ordinary rows from sets of outliers.

    Parameters
    ----------
    detectors : dict of name → detector, or sequence of detectors
        Fitted detectors: of this package, of pytorch-ood (``predict`` is high for outliers), of
        scikit-learn (``score_samples`` is high for ordinary rows), or functions that return outlier
        scores.
    ind : loader, array or tensor
        Ordinary inputs that no detector was fitted to.
    ood : dict of name → loader, array or tensor
        Sets of outliers.
    confidence, resamples, seed
        Of the intervals, as in `pnml.metrics.detection_metrics`.

    Examples
    --------
    >>> import numpy as np
    >>> from pnml.ood import Energy, MSP
    >>> rng = np.random.default_rng(0)
    >>> usual, strange = 9 * np.eye(3)[rng.integers(3, size=200)], np.zeros((100, 3))
    >>> logits = {"flat": strange + rng.normal(size=(100, 3))}
    >>> head = lambda rows: rows  # these rows are logits already
    >>> table = evaluate_ood([MSP(head), Energy(head)], usual + rng.normal(size=(200, 3)), logits)
    >>> table.detectors, table.oods
    (('MSP', 'Energy'), ('flat',))
    >>> bool(table["MSP", "flat"].auroc.value > 0.9)
    True
    """
    named = _named(detectors)
    if not isinstance(ood, Mapping) or not ood:
        raise InputError(
            "ood must be a dict that names at least one set of outliers; pass for instance "
            'ood={"svhn": loader}.'
        )
    ind, sets = rereadable(ind), {key: rereadable(ood[key]) for key in ood}
    rows = []
    for name, detector in named.items():
        usual = ranked_scores(name, detector, ind, "ordinary rows")
        for set_name, outliers in sets.items():
            strange = ranked_scores(name, detector, outliers, f"outliers {set_name!r}")
            metrics = detection_metrics(
                usual, strange, confidence=confidence, resamples=resamples, seed=seed
            )
            rows.append(OODRow(name, set_name, len(usual), len(strange), metrics))
    return OODTable(tuple(rows), confidence)


def rereadable(data: Any) -> Any:
    """Inputs that several detectors of an evaluation can read; an iterator becomes a list."""
    return list(batches(data)) if isinstance(data, Iterator) else data


def ranked_scores(name: str, detector: Any, data: Any, what: str) -> FloatArray:
    """Scores (n,) of an OOD evaluation without NaN, high for ordinary rows."""
    scores = _normality(detector, data, what)
    if scores.ndim != 1:
        raise InputError(
            f"detector {name!r} gives scores of shape {scores.shape} for the {what}, not one for "
            "each input; pass a detector that judges whole inputs."
        )
    if np.isnan(scores).any():
        raise InputError(
            f"detector {name!r} gives NaN for {np.isnan(scores).sum()} of the {what}, first for "
            f"row {int(np.argmax(np.isnan(scores)))}, and no threshold can rank those; leave them "
            "out."
        )
    return scores


def is_detector(detector: Any) -> bool:
    """Whether an evaluation can use something as a detector: a function, or an object."""
    methods = (hasattr(detector, name) for name in ("predict", "score_samples"))
    return callable(detector) or any(methods)


def _normality(detector: Any, data: Any, what: str) -> FloatArray:
    """Scores (n,), high for ordinary rows, under either convention."""
    if hasattr(detector, "score_samples"):
        return scores_of(detector.score_samples, data, what)
    return -scores_of(getattr(detector, "predict", detector), data, what)


def _named(detectors: Mapping[str, Any] | Sequence[Any]) -> dict[str, Any]:
    """Detectors by name; those without a name are called by their class."""
    if isinstance(detectors, Mapping):
        named = dict(detectors)
    elif not isinstance(detectors, Iterable):
        raise InputError(
            f"The detectors came as one {type(detectors).__name__}; pass a list of them, or a "
            "dict of names and detectors."
        )
    else:
        names = [type(detector).__name__ for detector in detectors]
        repeated = [f"{n} {names[: i + 1].count(n)}" for i, n in enumerate(names)]
        named = {
            many if names.count(name) > 1 else name: detector
            for name, many, detector in zip(names, repeated, detectors, strict=True)
        }
    for name, detector in named.items():
        if not is_detector(detector):
            raise InputError(
                f"detector {name!r} is a {type(detector).__name__} without predict or "
                "score_samples; pass a fitted detector."
            )
    if not named:
        raise InputError("There are no detectors to compare; pass at least one.")
    return named
