"""OOD detection from stored features: the regret, and what looks at the logits alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.ood import MSP, Energy, MaxLogit, RegretDetector
from pnml_experiments.ch5_networks.feature_sets import FeatureSet, features
from pnml_experiments.ch5_networks.ood_tables import (
    INTERVAL,
    METRICS,
    SEED,
    Measured,
    estimate,
    mean,
    measured,
    three_tables,
)
from pnml_experiments.framework.experiment import Experiment, Progress, Scale
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.printed import ood_pairs
from pnml_experiments.framework.result import Figure, Result, Row, Table, exactly

EXPERIMENTS = (
    Experiment(
        id="ood-resnet20",
        chapter=5,
        title="OOD detection from the features of a ResNet-20",
        minutes=(0.05, 0.3),
        other="A ResNet-20 stands for the networks of the thesis.",
        extras=("plots", "torch"),
        case="ResNet-20",
        needs=("features/cifar10_resnet20.npz",),
        beyond=True,
    ),
    Experiment(
        id="ood-clinc150",
        chapter=5,
        title="OOD detection from embeddings of sentences, CLINC150",
        minutes=(0.05, 0.2),
        other="Sentences stand for the images of the thesis.",
        extras=("plots", "torch"),
        case="CLINC150",
        needs=("features/clinc150_minilm.npz",),
        beyond=True,
    ),
)
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
_NOTE = "Printed for another network, a ResNet-34."
_REBUILT = "Printed for another network, a ResNet-34; Tiny-ImageNet was resized and cropped anew."
_CAPTIONS = {
    "ResNet-20": "AUROC of detectors on the features of a ResNet-20, CIFAR-10 against six sets.",
    "CLINC150": "AUROC of detectors on sentence embeddings, CLINC150 against out-of-scope queries.",
}
_REMARKS = {
    "ResNet-20": "The thesis has no ResNet-20; what it prints for the ResNet-34 stands beside.",
    "CLINC150": (
        "The thesis has no text; the head is a logistic regression with C = 10 on MiniLM "
        "embeddings of unit norm."
    ),
}


def run(case: str, scale: Scale, out: Output, progress: Progress) -> Result:
    """The three metrics of all detectors on all sets of outliers."""
    data = features(case, scale, out)
    values = all_measured(data, out, progress)
    pairs = {
        (pair.ood, pair.metric): {MSP_NAME: pair.plain, PNML: pair.with_pnml}
        for pair in ood_pairs()
        if (pair.network, pair.ind, pair.method) == ("ResNet-34", "CIFAR-10", "Baseline")
    }

    def printed(name: str, ood: str, metric: str) -> float | None:
        return pairs.get((ood, metric), {}).get(name)

    def note(name: str, ood: str) -> str:
        if printed(name, ood, "auroc") is None:
            return ""
        return _REBUILT if ood.startswith("Imagenet") else _NOTE

    tables = three_tables(rows_of(values, printed, note), ABOUT)
    tables += (_accuracy(data),) if case == "CLINC150" else (_norms(data),)
    name = f"ood-{case.replace('-', '').lower()}"
    figure = Figure(name, _CAPTIONS[case], lambda: draw(values))
    return Result(tables, (figure,), (SEED,), 1, INTERVAL, (_REMARKS[case],))


def _norms(data: FeatureSet) -> Table:
    """Mean length of the features of known and unknown images, before they are scaled."""
    sets = {"CIFAR-10": data.test, **data.outliers}
    rows = tuple(
        Row({"images": name}, None, exactly(float(np.linalg.norm(found, axis=1).mean())))
        for name, found in ((name, np.asarray(each, np.float64)) for name, each in sets.items())
    )
    return Table("Mean norm of the features", rows, digits=2)


def _accuracy(data: FeatureSet) -> Table:
    """How often the head, which was fitted here, names the right intent."""
    predicted = (data.test @ data.weight.T + data.bias).argmax(axis=1)
    right = 100 * float(np.mean(predicted == data.test_labels))
    row = Row({"of": "the 150 known intents"}, None, exactly(right))
    return Table("Accuracy, percent", (row,))


def scorers(data: FeatureSet) -> dict[str, Scorer]:
    """All detectors, fitted to the training features."""

    def logits(features: Any) -> FloatArray:
        head = np.asarray(data.weight, dtype=np.float64)
        return np.asarray(np.asarray(features, dtype=np.float64) @ head.T + data.bias)

    def regret(scale: Any) -> RegretDetector:
        # without regions where the rule is that of the thesis
        return RegretDetector.from_embeddings(
            data.weight, data.bias, data.train, scale=scale, regions=scale == "auto"
        )

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
