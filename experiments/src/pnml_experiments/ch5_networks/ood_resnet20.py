"""OOD detection on CIFAR-10 from the stored features of a ResNet-20."""

from __future__ import annotations

from pnml_experiments.ch5_networks import ood_features
from pnml_experiments.ch5_networks.ood_features import (
    ABOUT,
    MSP_NAME,
    PNML,
    FeatureSet,
    all_measured,
    rows_of,
)
from pnml_experiments.ch5_networks.ood_tables import INTERVAL, SEED, three_tables
from pnml_experiments.framework.data import arrays
from pnml_experiments.framework.experiment import Experiment, Progress, Scale
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.printed import ood_pairs
from pnml_experiments.framework.result import Figure, Result

EXPERIMENT = Experiment(
    id="ood-resnet20",
    chapter=5,
    title="OOD detection from the features of a ResNet-20",
    minutes=(0.05, 0.3),
    extras=("plots", "torch"),
    needs=("features/cifar10_resnet20.npz",),
    beyond=True,
)


# Stored name → name in the thesis.
_OUTLIERS = {
    "svhn_test": "SVHN",
    "tiny_resize": "Imagenet (R)",
    "tiny_crop": "Imagenet (C)",
    "cifar100_test": "CIFAR-100",
    "uniform": "Uniform",
    "gaussian": "Gaussian",
}
_ROWS = {"small": (5_000, 1_000), "full": (None, None)}  # of training, and of each other set
_NOTE = "Printed for another network, a ResNet-34."
_REBUILT = "Printed for another network, a ResNet-34; Tiny-ImageNet was resized and cropped anew."


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """The three metrics of all detectors on six sets of outliers."""
    found = all_measured(features(*_ROWS[scale]), out, progress)
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

    figure = Figure(
        "ood-resnet20",
        "AUROC of detectors on the features of a ResNet-20, CIFAR-10 against six sets.",
        lambda: ood_features.draw(found),
    )
    remarks = ("The thesis has no ResNet-20; what it prints for the ResNet-34 stands beside.",)
    tables = three_tables(rows_of(found, printed, note), ABOUT)
    return Result(tables, (figure,), (SEED,), 1, INTERVAL, remarks)


def features(train: int | None = None, others: int | None = None) -> FeatureSet:
    """The stored features, the first rows of each set or all of them."""
    stored = arrays("features/cifar10_resnet20.npz")
    return FeatureSet(
        stored["fc_weight"],
        stored["fc_bias"],
        stored["f_cifar10_train"][:train].astype("float32"),
        stored["f_cifar10_test"][:others].astype("float32"),
        {name: stored[f"f_{key}"][:others].astype("float32") for key, name in _OUTLIERS.items()},
    )
