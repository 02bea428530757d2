"""OOD detection with a ResNet-34 trained on CIFAR-10, CIFAR-100 or SVHN."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pnml_experiments.ch5_networks.image_subjects import Subject
from pnml_experiments.ch5_networks.network_tables import run_tables
from pnml_experiments.framework.experiment import Experiment, Progress, Scale
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.result import Result

if TYPE_CHECKING:
    from torch import nn

EXPERIMENT = Experiment(
    id="ood-resnet34",
    chapter=5,
    title="OOD detection with a ResNet-34",
    uses=("small-images", "images/svhn_small.npz", "resnet34-weights"),
    extras=("plots", "torch"),
    minutes=(0.05, 0.1),
    own=("resnet34-weights",),
)


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """The three tables; rows whose weights are not there are listed with what was printed."""
    return run_tables("ResNet-34", subjects(), scale, out, progress)


def subjects() -> tuple[Subject, ...]:
    """The networks of the table, where someone has their weights."""
    found = []
    for ind, classes in (("CIFAR-100", 100), ("CIFAR-10", 10), ("SVHN", 10)):
        key = ind.replace("-", "").lower()
        images, weights = f"images/{key}_small.npz", f"weights/resnet34_{key}"
        plain = ("Baseline", "ODIN", "Gram")
        found += [
            Subject(ind, classes, images, f"{weights}.pth", plain, _network),
            Subject(ind, classes, images, f"{weights}_oecc.pth", ("OECC",), _network),
        ]
    return tuple(found)


def _network(classes: int) -> nn.Module:
    from pnml_experiments.ch5_networks.architectures import ResNet

    return ResNet(classes)
