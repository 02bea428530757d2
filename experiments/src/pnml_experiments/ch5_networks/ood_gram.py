"""OOD detection with DenseNets and all images: Baseline, Gram and OECC, alone and with pNML."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pnml_experiments.ch5_networks import full_features
from pnml_experiments.ch5_networks.image_subjects import RECORDED, Subject
from pnml_experiments.ch5_networks.network_tables import (
    ABOUT,
    MADE_AS_PRINTED,
    REMARKS,
    SMALL,
    Found,
    choices,
    numbers,
    rows_of,
)
from pnml_experiments.ch5_networks.ood_networks import subjects_at
from pnml_experiments.ch5_networks.ood_tables import INTERVAL, SEED, three_tables
from pnml_experiments.framework.experiment import Experiment, Progress, Scale, counted
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.result import Result

if TYPE_CHECKING:
    from pnml_experiments.ch5_networks.feature_extraction import Extraction

EXPERIMENT = Experiment(
    id="ood-gram",
    chapter=5,
    title="OOD detection with a DenseNet-BC-100 and all images: Baseline, Gram and OECC",
    minutes=(1.3, 480.0),
    less=(
        "Without ODIN, which is in ood-odin; without Imagenet (R) through the networks tuned on "
        "CIFAR-10 and SVHN, which is still to be run; and without what cannot be had: the images "
        "of LSUN and iSUN, and plain weights for SVHN."
    ),
    extras=("plots", "torch"),
    needs=("densenets", "images-in-full"),
    uses=("densenets-oecc", "weights/densenet_bc100_svhn_oecc.pth", "images/svhn_train.npz"),
)
NETWORK = "DenseNet-BC-100"
_METHODS = ("Baseline", *sorted(RECORDED))
_ODIN = "ODIN, which takes a gradient and many more passes for each image, is in ood-odin."

_PRECISION = (
    "The stored features and deviations are in single precision and come from a quicker program "
    "for the same formulas. On 1,250 images, 50 of each set and network, its scores of Gram agree "
    "with those of the code here (ONNX Runtime and the row sums of pnml.ood) to 2.5e-4 of "
    "themselves."
)


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """AUROC, TNR at TPR 95 % and detection accuracy of each method, alone and with pNML."""
    known = (one for one in subjects_at(scale, NETWORK) if full_features.are_here(one))
    ready = [_without_odin(one) for one in known]
    tell = counted(progress, sum(_work(one, scale) for one in ready if one.key not in out))
    pieces = {one.key: out.piece(one.key, _piece(one, scale, out, tell)) for one in ready}
    found: dict[str, Found] = {}
    for one in ready:
        found.setdefault(one.ind, {}).update(pieces[one.key]["methods"])
    sizes: dict[str, dict[str, int]] = {}
    for one in ready:  # networks of one training set may have seen other sets
        sizes.setdefault(one.ind, {}).update(pieces[one.key]["sizes"])
    rows = {
        metric: [row for row in listed if row.labels["method"].split(" + ")[0] in _METHODS]
        for metric, listed in rows_of(NETWORK, found, sizes, MADE_AS_PRINTED).items()
    }
    tables = (*three_tables(rows, ABOUT), choices(ready, pieces))
    return Result(
        tables,
        (),
        (SEED,),
        1,
        INTERVAL,
        (*REMARKS[1:], _ODIN, _PRECISION) + (SMALL,) * (scale == "small"),
    )


def _without_odin(subject: Subject) -> Subject:
    return replace(subject, methods=tuple(m for m in subject.methods if m in _METHODS))


def _work(subject: Subject, scale: Scale) -> int:
    """Images that go through the network."""
    from pnml_experiments.ch5_networks.gram_files import images_of_set, sets_of_layers

    names = sets_of_layers(subject)
    few = scale == "small"
    return sum(len(images_of_set(subject, name, few=few).images) for name in names)


def _piece(
    subject: Subject, scale: Scale, out: Output, tell: Callable[[int], None]
) -> Callable[[], dict[str, Any]]:
    def compute() -> dict[str, Any]:
        found = _extraction(subject, scale, out, tell)
        labels = full_features.all_labels(subject, "test")[: len(found.sets["test"].features)]
        return numbers(subject, found, labels, subject.classes)

    return compute


def _extraction(
    subject: Subject, scale: Scale, out: Output, tell: Callable[[int], None]
) -> Extraction:
    """Features and Gram deviations of all images, read from files where these are complete."""
    from pnml_experiments.ch5_networks.feature_extraction import Extraction, Seen
    from pnml_experiments.ch5_networks.gram_files import HELD, GramFiles, sets_of_layers
    from pnml_experiments.ch5_networks.image_subjects import head_of

    files = GramFiles(subject, out.cache, tell, few=scale == "small")
    train = files.training["features"]
    validation = files.seen(HELD)[1].astype(np.float64)
    names = {file: name for name, file in full_features.PRINTED_OUTLIERS.items()} | {"test": "test"}
    sets = {}
    for file in sets_of_layers(subject):
        if file in names:
            features, deviations = files.seen(file)
            sets[names[file]] = Seen(features, deviations.astype(np.float64), None)
    return Extraction(head_of(subject.network()), train, validation, None, sets)
