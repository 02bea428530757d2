"""OOD detection with a DenseNet-BC-100 trained on CIFAR-10, CIFAR-100 or SVHN."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pnml_experiments.ch5_networks.image_subjects import Subject
from pnml_experiments.ch5_networks.network_tables import run_tables
from pnml_experiments.framework.experiment import Progress, Scale
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.result import Result

if TYPE_CHECKING:
    from torch import nn

PLAIN, TUNED = ("Baseline", "ODIN", "Gram"), ("OECC",)


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """AUROC, TNR at TPR 95 % and detection accuracy of Baseline, ODIN, Gram and OECC."""
    return run_tables("DenseNet-BC-100", subjects(), scale, out, progress)


def subjects() -> tuple[Subject, ...]:
    """The networks of the table, plain and OECC-tuned."""
    found = []
    for ind, key, classes in (
        ("CIFAR-100", "cifar100", 100),
        ("CIFAR-10", "cifar10", 10),
        ("SVHN", "svhn", 10),
    ):
        images, weights = f"images/{key}_small.npz", f"weights/densenet_bc100_{key}"
        found += [
            Subject(ind, classes, images, f"{weights}.pth", PLAIN, _network),
            Subject(ind, classes, images, f"{weights}_oecc.pth", TUNED, _network),
        ]
    return tuple(found)


def _network(classes: int) -> nn.Module:
    from pnml_experiments.ch5_networks.architectures import DenseNet

    return DenseNet(classes)
