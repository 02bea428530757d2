"""OOD detection with DenseNets and all of their training images: tables and detectors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pnml_experiments.ch5_networks.ood_detectors import (
    DETECTOR_REMARK,
    INTERVAL,
    evaluated,
    means_table,
    records,
    sets_table,
)
from pnml_experiments.ch5_networks.ood_tables import (
    METRICS,
    SEED,
    estimate,
    measured,
    three_tables,
)
from pnml_experiments.framework.experiment import Experiment, Progress, Scale
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.printed import ood_pairs
from pnml_experiments.framework.result import Result, Row, Table, exactly

EXPERIMENT = Experiment(
    id="ood-all-images",
    chapter=5,
    title="OOD detection with a DenseNet-BC-100 and all training images",
    minutes=(1.0, 20.0),
    less="10,000 images of SVHN and 2,000 of each noise; ODIN, Gram and OECC are left out.",
    extras=("plots", "torch"),
    needs=(
        "densenets",
        "small-images",
        "images-in-full",
    ),
    beyond=True,
)
NETWORK, METHOD = "DenseNet-BC-100", "Baseline"
# Set that a network was trained on → the set of outliers that is near.
NEAR = {"CIFAR-100": "CIFAR-10", "CIFAR-10": "CIFAR-100"}
_ABOUT = (
    "Baseline is the maximal probability. With pNML, ours takes the head at the unit features, "
    "s = 1, as the research code does; fair is LastLayerPNML with its defaults: the s that is "
    "chosen from training rows alone, and regions of the predicted class."
)
_ABOUT_DETECTORS = (
    "Near is CIFAR-10 to CIFAR-100 and CIFAR-100 to CIFAR-10, far are all other sets. pNML is "
    "RegretDetector with its defaults."
)
_REMARKS = (
    (
        "The images are public copies whose digests are checked. Tiny-ImageNet was resized and "
        "cropped anew, and the digits of SVHN were cut out of the full pictures anew."
    ),
)


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """AUROC, TNR at TPR 95 % and detection accuracy, without pNML and with it."""
    found: dict[str, dict[str, Any]] = {}
    for i, ind in enumerate(NEAR):
        found[ind] = out.piece(ind, lambda ind=ind: _piece(ind, scale, out))  # type: ignore[misc]
        progress(i + 1, len(NEAR))
    rows = {metric: _rows(metric, found) for metric in METRICS}
    detectors = {f"DenseNet, {ind}": piece["detectors"] for ind, piece in found.items()}
    tables = (
        *three_tables(rows, _ABOUT),
        _networks(found),
        *(means_table(detectors, metric, _ABOUT_DETECTORS) for metric in ("auroc", "fpr95")),
        sets_table(detectors, "auroc"),
    )
    return Result(tables, (), (SEED,), 1, INTERVAL, (*_REMARKS, DETECTOR_REMARK))


def _piece(ind: str, scale: Scale, out: Output) -> dict[str, Any]:
    """Results of one network as plain JSON values."""
    from pnml_experiments.ch5_networks.feature_sets import densenet

    data = densenet(ind, scale, out)
    scores = _Scores(data)
    usual = scores.of(data.test)
    sets = {}
    for name, features in data.outliers.items():
        there = scores.of(features)
        sets[name] = {
            kind: measured(getattr(usual, kind), getattr(there, kind))
            for kind in ("plain", "thesis", "fair")
        }
    logits = data.test @ data.weight.T + data.bias
    return {
        "sets": sets,
        "detectors": records(evaluated(data, NEAR[ind])),
        "accuracy": 100 * float(np.mean(logits.argmax(axis=1) == data.test_labels)),
        "scale": scores.scale,
        "training images": len(data.train),
        "test images": len(data.test),
        "outliers": {name: len(features) for name, features in data.outliers.items()},
    }


class _Scores:
    """Scores of the maximal probability on features, alone and with pNML."""

    def __init__(self, data: Any) -> None:
        from pnml.nn.head import linear_module
        from pnml_experiments.ch5_networks.feature_extraction import Extraction
        from pnml_experiments.ch5_networks.ood_methods import MethodScores

        head = linear_module(*map(_tensor, (data.weight, data.bias)))
        self._scores = MethodScores(Extraction(head, data.train, None, None, {}))

    @property
    def scale(self) -> float | None:
        """The scale that was chosen from training features."""
        return self._scores.scale

    def of(self, features: Any) -> Any:
        """Outlier scores of features: plain, thesis and fair."""
        from pnml_experiments.ch5_networks.feature_extraction import Seen

        return self._scores.scores(METHOD, Seen(features, None, None))


def _tensor(values: Any) -> Any:
    import torch

    return torch.from_numpy(np.ascontiguousarray(values))


def _rows(metric: str, found: Mapping[str, Mapping[str, Any]]) -> list[Row]:
    """Two rows for each pair of data sets: the method alone, and with pNML."""
    printed = {
        (pair.ind, pair.ood): pair
        for pair in ood_pairs()
        if (pair.network, pair.metric, pair.method) == (NETWORK, metric, METHOD)
    }
    rows = []
    for ind, piece in found.items():
        for ood, kinds in piece["sets"].items():
            pair, labels = printed.get((ind, ood)), {"IND": ind, "OOD": ood}
            before, after = (None, None) if pair is None else (pair.plain, pair.with_pnml)
            plain, thesis, fair = (estimate(kinds[k], metric) for k in ("plain", "thesis", "fair"))
            note = (
                f"{piece['training images']:,} training images, {piece['test images']:,} test "
                f"images and {piece['outliers'][ood]:,} outliers."
            )
            rows += [
                Row(labels | {"method": METHOD}, before, plain, None, note),
                Row(
                    labels | {"method": f"{METHOD} + pNML"},
                    after,
                    thesis,
                    fair,
                    note,
                ),
            ]
    return rows


def _networks(found: Mapping[str, Mapping[str, Any]]) -> Table:
    """Accuracy and scale of each network."""
    rows = [
        Row({"trained on": ind, "number": number}, None, exactly(piece[key]))
        for ind, piece in found.items()
        for number, key in (
            ("accuracy on the test images, percent", "accuracy"),
            ("scale s chosen", "scale"),
        )
        if piece[key] is not None
    ]
    return Table("The networks", tuple(rows), digits=4)
