"""Open-set recognition on CIFAR-10 from the stored features of a ResNet-20."""

from __future__ import annotations

import numpy as np

from pnml_experiments.ch5_networks import ood_resnet20
from pnml_experiments.ch5_networks.ood_tables import SEED
from pnml_experiments.ch5_networks.open_set import (
    COSINE,
    ODIN_NAME,
    REFIT,
    OpenSet,
    Rows,
    all_judged,
    moved_features,
)
from pnml_experiments.ch5_networks.open_set_tables import (
    INTERVAL,
    figures,
    printed_scores,
    six_tables,
)
from pnml_experiments.framework.data import arrays
from pnml_experiments.framework.evidence import Claim, Evidence, Verdict, by_count
from pnml_experiments.framework.experiment import Experiment, Progress, Scale
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.result import Result

EXPERIMENT = Experiment(
    id="open-set-resnet20",
    chapter=5,
    title="Open-set recognition from the features of a ResNet-20",
    minutes=(0.6, 10.0),
    extras=("plots", "torch"),
    needs=("features/cifar10_resnet20.npz",),
)

_ROWS = {"small": (5_000, 1_000), "full": (None, None)}  # of training, and of each other set
_SAMPLE = {"small": 100, "full": 1_000}  # rows of each set for scores that are slow
# Sets of the thesis → ours; those it has not are run all the same.
_SETS = {"Noise": "Gaussian"}
_NOT_RUN = {
    "Entropic Open-Set": "its network is trained with unknown classes too",
    "Objectosphere": "its network is trained with unknown classes too",
    "Max. Discrepancy": "its network is trained with unknown classes too",
    REFIT: "the last layer is trained anew for each label of each row",
}
_DIFFERS = {
    ODIN_NAME: "The step was taken on images, here on features.",
    COSINE: "The printed network was trained with cosines, this one was not.",
}
_REMARKS = (
    (
        "The thesis has a DenseNet-BC-100 and LSUN, SVHN and noise as unknown classes; what it "
        "prints stands beside ours where the sets agree."
    ),
    (
        "Only features are stored here, so ODIN takes its step on them. With a linear head that "
        "adds nearly the same to all rows of a class: it is the temperature that counts."
    ),
)


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """Area and rates of all scores on six sets of unknown classes, curves and histograms."""
    data = open_set(*_ROWS[scale])
    found, of_sample = all_judged(data, _SAMPLE[scale], out, progress)
    printed = {(_SETS.get(row.unknown, row.unknown), row.score): row for row in printed_scores()}

    def note(ood: str, name: str, was_run: bool) -> str:
        if (ood, name) not in printed:
            return ""
        if not was_run:
            why = "the images cannot be had" if ood == "LSUN" else _NOT_RUN[name]
            return f"Not run on these rows: {why}."
        said = ["Printed for another network, a DenseNet-BC-100."]
        if ood == "Gaussian":
            said.append("Its noise has pixels of mean 0 and variance 1, ours a wider spread.")
        return " ".join([*said, *([_DIFFERS[name]] if name in _DIFFERS else [])])

    tables = six_tables(found, "all rows", printed, note)
    if of_sample:
        part = f"{_SAMPLE[scale]} rows of each set"
        tables += six_tables(of_sample, part, printed, note)
    drawn = figures("open-set-resnet20", "CIFAR-10", found)
    return Result(tables, drawn, (SEED,), 1, INTERVAL, _REMARKS)


def open_set(train: int | None = None, others: int | None = None) -> OpenSet:
    """The stored features, the first rows of each set or all of them."""
    stored = arrays("features/cifar10_resnet20.npz")
    data = ood_resnet20.features(train, others)
    weight, bias, seen = (np.asarray(x, dtype=float) for x in (data.weight, data.bias, data.train))

    def rows(features: np.ndarray) -> Rows:
        features = features.astype(float)
        return Rows(features, moved_features(weight, bias, seen, features))

    return OpenSet(
        weight,
        bias,
        seen,
        stored["y_cifar10_train"][:train].astype(int),
        rows(data.test),
        stored["y_cifar10_test"][:others].astype(int),
        {name: rows(features) for name, features in data.outliers.items()},
    )


def _judge_area(evidence: Evidence) -> Verdict:
    table = "OSCR area, 1000 rows of each set"
    unknown = list(dict.fromkeys(row.labels["unknown"] for row in evidence.rows(table)))
    good, of, gains = 0, 0, []
    for name in unknown:
        scores = {row.labels["score"]: row.ours for row in evidence.rows(table, unknown=name)}
        refit, plain = scores.get("pNML refit"), scores.get("Max-prob")
        if refit is not None and plain is not None:
            of += 1
            good += refit.value > plain.value
            gains.append(refit.value - plain.value)
    if not of:
        return Verdict("not settled here", "The refitted layer was not run.")
    said = (
        f"With a ResNet-20 the refitted layer has a larger OSCR area than the maximal probability "
        f"on {good} of {of} unknown sets, by {sum(gains) / of:+.3f} on average; the network of the "
        "thesis cannot be had."
    )
    return by_count(good, of, said)


CLAIMS = (
    Claim(
        5,
        "The fully trained last layer tells known from unknown classes better than the network.",
        "open-set-resnet20",
        _judge_area,
    ),
)
