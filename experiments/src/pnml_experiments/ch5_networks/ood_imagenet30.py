"""OOD detection on ImageNet-30, of which neither images nor weights can be had."""

from __future__ import annotations

from pnml_experiments.framework.experiment import Experiment, Progress, Scale
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.printed import ood_pairs
from pnml_experiments.framework.result import Result, Row, Table

EXPERIMENT = Experiment(
    id="ood-imagenet30",
    chapter=5,
    title="OOD detection on ImageNet-30",
    minutes=(0.05, 0.05),
    own=("images of ImageNet-30",),
)

_NOTE = (
    "Not run: the images of ImageNet-30 cannot be had; any network and loader of yours goes "
    "through the same detectors, pnml.ood.MSP and pnml.ood.RegretDetector."
)


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """What was printed, row by row."""
    rows = []
    for pair in ood_pairs():
        if pair.ind != "ImageNet-30":
            continue
        labels = {"network": pair.network, "OOD": pair.ood}
        for method, printed in (
            (pair.method, pair.plain),
            (f"{pair.method} + pNML", pair.with_pnml),
        ):
            rows.append(Row(labels | {"method": method}, printed, note=_NOTE))
    progress(1, 1)
    return Result((Table("AUROC, percent", tuple(rows), digits=2),), interval="none")
