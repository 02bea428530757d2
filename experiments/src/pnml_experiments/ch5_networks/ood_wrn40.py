"""OOD detection with an energy-tuned WideResNet-40 trained on CIFAR-10 or CIFAR-100."""

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
    id="ood-wrn40",
    chapter=5,
    title="OOD detection with an energy-tuned WideResNet-40",
    uses=("small-images", "wrn40-weights"),
    extras=("plots", "torch"),
    minutes=(0.05, 0.1),
    own=("wrn40-weights",),
)


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """The three tables; rows whose weights are not there are listed with what was printed."""
    return run_tables("WideResNet-40", subjects(), scale, out, progress)


def subjects() -> tuple[Subject, ...]:
    """The networks of the table, where someone has their weights."""
    return tuple(
        Subject(
            ind,
            classes,
            f"images/{key}_small.npz",
            f"weights/wrn40_energy_{key}.pth",
            ("Energy",),
            _network,
        )
        for ind, key, classes in (("CIFAR-100", "cifar100", 100), ("CIFAR-10", "cifar10", 10))
    )


def _network(classes: int) -> nn.Module:
    from pnml_experiments.ch5_networks.architectures import WideResNet

    return WideResNet(classes)
