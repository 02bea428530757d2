"""Detectors on stored features: the regret, and what looks at the logits alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.ood import MSP, Energy, MaxLogit, RegretDetector
from pnml_experiments.ch5_networks.ood_tables import METRICS, Measured, estimate, mean, measured
from pnml_experiments.framework.experiment import Progress
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.result import Row

# Features → outlier scores.
Scorer = Callable[[Any], FloatArray]

PNML, AUTO, MSP_NAME = "pNML", "pNML, scale auto", "MSP"
_OWN, _LEVERAGE = "pNML, own p", "leverage alone"
# Detectors that have a row of their own; that of pNML has both scales.
SHOWN = (MSP_NAME, "MaxLogit", "Energy", _LEVERAGE, _OWN, PNML)
ABOUT = (
    "pNML takes the head at s times the unit features: ours is s = 1 as in the research code, "
    "fair the s that is chosen from training rows alone. With own p it takes the probabilities of "
    "the network as they are."
)


@dataclass(frozen=True)
class FeatureSet:
    """Stored features of a trained network, and the linear head on them."""

    weight: Any  # (C, d)
    bias: Any  # (C,)
    train: Any  # (n, d)
    test: Any  # (m, d)
    outliers: Mapping[str, Any]


def scorers(data: FeatureSet) -> dict[str, Scorer]:
    """All detectors, fitted to the training features."""

    def logits(features: Any) -> FloatArray:
        head = np.asarray(data.weight, dtype=np.float64)
        return np.asarray(np.asarray(features, dtype=np.float64) @ head.T + data.bias)

    def regret(scale: Any) -> RegretDetector:
        return RegretDetector.from_embeddings(data.weight, data.bias, data.train, scale=scale)

    first = regret(1.0)
    return {
        MSP_NAME: lambda f: MSP.score(logits(f)),
        "MaxLogit": lambda f: MaxLogit.score(logits(f)),
        "Energy": lambda f: Energy.score(logits(f)),
        _LEVERAGE: lambda f: first.pnml.score_features(f).leverage.numpy(),
        _OWN: regret(None).predict_features,
        PNML: first.predict_features,
        AUTO: regret("auto").predict_features,
    }


def all_measured(
    data: FeatureSet, out: Output, progress: Progress
) -> dict[str, dict[str, Measured]]:
    """What each detector makes of each set of outliers; detectors that are done are kept."""
    fitted: dict[str, Scorer] = {}

    def one(name: str) -> dict[str, Measured]:
        fitted.update(fitted or scorers(data))
        score = fitted[name]
        usual = score(data.test)
        return {ood: measured(usual, score(rows)) for ood, rows in data.outliers.items()}

    found = {}
    names = [*SHOWN, AUTO]
    for i, name in enumerate(names):
        found[name] = out.piece(name, lambda name=name: one(name))  # type: ignore[misc]
        progress(i + 1, len(names))
    return found


def rows_of(
    found: Mapping[str, Mapping[str, Measured]],
    printed: Callable[[str, str, str], float | None],
    note: Callable[[str, str], str],
) -> dict[str, list[Row]]:
    """Rows by metric; `printed` and `note` are asked by detector, set of outliers and metric."""
    rows: dict[str, list[Row]] = {}
    oods = tuple(found[PNML])
    for metric in METRICS:
        listed = rows.setdefault(metric, [])
        for ood in oods:
            for name in SHOWN:
                listed.append(
                    Row(
                        {"OOD": ood, "detector": name},
                        printed(name, ood, metric),
                        estimate(found[name][ood], metric),
                        estimate(found[AUTO][ood], metric) if name == PNML else None,
                        note(name, ood),
                    )
                )
        for name in SHOWN if len(oods) > 1 else ():
            fair = mean(found[AUTO].values(), metric) if name == PNML else None
            labels = {"OOD": "mean", "detector": name}
            listed.append(Row(labels, None, mean(found[name].values(), metric), fair))
    return rows


def draw(found: Mapping[str, Mapping[str, Measured]], metric: str = "auroc") -> Any:
    """Bars of one metric, a group for each set of outliers."""
    from matplotlib import pyplot as plt

    oods, names = tuple(found[PNML]), tuple(found)
    figure, ax = plt.subplots(figsize=(2.5 + 1.5 * len(oods), 4))
    width = 0.8 / len(names)
    for i, name in enumerate(names):
        values = np.array([found[name][ood][metric] for ood in oods])
        reach = np.abs(values[:, 1:] - values[:, :1]).T
        at = np.arange(len(oods)) + (i - (len(names) - 1) / 2) * width
        ax.bar(at, values[:, 0], width, yerr=reach, label=name, error_kw={"linewidth": 0.8})
    ax.set_xticks(np.arange(len(oods)), oods)
    lowest = min(found[name][ood][metric][0] for name in names for ood in oods)
    ax.set(ylabel=f"{METRICS[metric]}, percent", ylim=(max(0.0, lowest - 5), 100))
    ax.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
    return figure
