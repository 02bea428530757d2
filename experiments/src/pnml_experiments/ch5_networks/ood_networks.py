"""OOD detection with trained networks; rows that cannot be run are listed with what was printed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pnml_experiments.ch5_networks.image_subjects import Subject
from pnml_experiments.ch5_networks.network_tables import run_tables
from pnml_experiments.framework.experiment import Experiment, Progress, Scale
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.printed import ood_pairs
from pnml_experiments.framework.result import Result, Row, Table

if TYPE_CHECKING:
    from torch import nn

EXPERIMENTS = (
    Experiment(
        id="ood-densenet",
        chapter=5,
        title="OOD detection with a DenseNet-BC-100",
        minutes=(1.0, 120.0),
        less=(
            "Parts of the images, and not all sets; the notes of each table count them. ood-gram "
            "and ood-odin have all images."
        ),
        extras=("plots", "torch"),
        case="DenseNet-BC-100",
        needs=("small-images", "densenets", "densenets-oecc"),
        uses=("densenet-weights", "images/svhn_small.npz"),
    ),
    Experiment(
        id="ood-resnet34",
        chapter=5,
        title="OOD detection with a ResNet-34",
        minutes=(0.05, 0.1),
        less="The weights of the ResNet-34 cannot be had.",
        extras=("plots", "torch"),
        case="ResNet-34",
        uses=("small-images", "images/svhn_small.npz", "resnet34-weights"),
        own=("resnet34-weights",),
    ),
    Experiment(
        id="ood-wrn40",
        chapter=5,
        title="OOD detection with an energy-tuned WideResNet-40",
        minutes=(0.05, 0.1),
        less="The weights of the WideResNet-40 cannot be had.",
        extras=("plots", "torch"),
        case="WideResNet-40",
        uses=("small-images", "wrn40-weights"),
        own=("wrn40-weights",),
    ),
    Experiment(
        id="ood-imagenet30",
        chapter=5,
        title="OOD detection on ImageNet-30",
        minutes=(0.05, 0.05),
        less="The images of ImageNet-30 cannot be had.",
        extras=("plots",),
        case="ImageNet-30",
        own=("images of ImageNet-30",),
    ),
)


class _Table(NamedTuple):
    """A network of the tables: its class, its training sets, and the checkpoints for each."""

    architecture: str
    weights: str
    sets: tuple[str, ...]
    methods: dict[str, tuple[str, ...]]  # ending of a checkpoint → methods that it is for


_CLASSES = {"CIFAR-100": 100, "CIFAR-10": 10, "SVHN": 10}
_PLAIN_AND_TUNED = {"": ("Baseline", "ODIN", "Gram"), "_oecc": ("OECC",)}
_TABLES = {
    "DenseNet-BC-100": _Table("DenseNet", "densenet_bc100", tuple(_CLASSES), _PLAIN_AND_TUNED),
    "ResNet-34": _Table("ResNet", "resnet34", tuple(_CLASSES), _PLAIN_AND_TUNED),
    "WideResNet-40": _Table(
        "WideResNet", "wrn40_energy", ("CIFAR-100", "CIFAR-10"), {"": ("Energy",)}
    ),
}
_NO_IMAGES = (
    "Not run: the images of ImageNet-30 cannot be had; any network and loader of yours goes "
    "through the same detectors, pnml.ood.MSP and pnml.ood.RegretDetector."
)


def run(case: str, scale: Scale, out: Output, progress: Progress) -> Result:
    """AUROC, TNR at TPR 95 % and detection accuracy of every method, alone and with pNML."""
    if case in _TABLES:
        return run_tables(case, subjects_at(scale, case), scale, out, progress)
    progress(1, 1)
    return _printed_alone(case)


def subjects_at(scale: Scale, network: str) -> tuple[Subject, ...]:
    """The networks of a table; at the scale small those of CIFAR-10, to see that all runs."""
    every = subjects(network)
    return tuple(one for one in every if one.ind == "CIFAR-10") if scale == "small" else every


def subjects(network: str) -> tuple[Subject, ...]:
    """The networks of a table, one for each training set and checkpoint."""
    table = _TABLES[network]

    def build(classes: int) -> nn.Module:
        from pnml_experiments.ch5_networks import architectures

        network: nn.Module = getattr(architectures, table.architecture)(classes)
        return network

    return tuple(
        Subject(
            ind,
            _CLASSES[ind],
            f"images/{key}_small.npz",
            f"weights/{table.weights}_{key}{ending}.pth",
            methods,
            build,
        )
        for ind in table.sets
        for key in [ind.replace("-", "").lower()]
        for ending, methods in table.methods.items()
    )


def _printed_alone(ind: str) -> Result:
    """The printed rows of a training set of which neither images nor weights can be had."""
    rows = [
        Row({"network": pair.network, "OOD": pair.ood, "method": method}, value, note=_NO_IMAGES)
        for pair in ood_pairs()
        if pair.ind == ind
        for method, value in (
            (pair.method, pair.plain),
            (f"{pair.method} + pNML", pair.with_pnml),
        )
    ]
    return Result((Table("AUROC, percent", tuple(rows), digits=2),), interval="none")


_AUROC = "AUROC, percent"
