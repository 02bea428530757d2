"""OOD detection with a DenseNet-BC-100 trained on CIFAR-10, CIFAR-100 or SVHN."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pnml_experiments.ch5_networks.image_subjects import Subject
from pnml_experiments.ch5_networks.network_tables import run_tables
from pnml_experiments.framework.evidence import Claim, Evidence, Verdict, by_count
from pnml_experiments.framework.experiment import Experiment, Progress, Scale
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.result import Result

if TYPE_CHECKING:
    from torch import nn

EXPERIMENT = Experiment(
    id="ood-densenet",
    chapter=5,
    title="OOD detection with a DenseNet-BC-100",
    needs=("small-images", "densenets", "densenets-oecc"),
    uses=("densenet-weights", "images/svhn_small.npz"),
    extras=("plots", "torch"),
    minutes=(4.0, 120.0),
)

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


_AUROC = "AUROC, percent"


def _pnml_improves(method: str) -> Claim:
    def judge(evidence: Evidence) -> Verdict:
        good, of, gains = 0, 0, []
        for row in evidence.rows(_AUROC, method=method):
            labels = {"IND": row.labels["IND"], "OOD": row.labels["OOD"]}
            added = evidence.row(_AUROC, method=f"{method} + pNML", **labels)
            value = added.fair or added.ours
            if row.ours is None or value is None:
                continue
            of += 1
            good += value.value > row.ours.value
            gains.append(value.value - row.ours.value)
        mean = sum(gains) / len(gains)
        said = (
            f"The AUROC rises on {good} of {of} pairs of data sets that can be had, by {mean:.1f} "
            "points on average, with the scale chosen from training rows alone."
        )
        return by_count(good, of, said)

    name = "the maximal probability" if method == "Baseline" else method
    text = f"On a DenseNet, pNML added to {name} detects unknown images better."
    return Claim(5, text, "ood-densenet", judge)


CLAIMS = (
    _pnml_improves("Baseline"),
    _pnml_improves("ODIN"),
    _pnml_improves("Gram"),
    _pnml_improves("OECC"),
)
