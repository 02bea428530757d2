"""All detectors of features and logits on the same networks: mean, far and near sets."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from pnml.metrics import Estimate
from pnml.ood import OODTable, evaluate_ood, fit_detectors_to_features
from pnml_experiments.ch5_networks.feature_sets import FeatureSet, densenet, features
from pnml_experiments.ch5_networks.ood_tables import SEED
from pnml_experiments.framework.experiment import Experiment, Progress, Scale
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.result import Figure, Result, Row, Table, exactly, in_percent

EXPERIMENT = Experiment(
    id="ood-detectors",
    chapter=5,
    title="OOD detectors side by side",
    minutes=(0.6, 15.0),
    extras=("plots", "torch"),
    needs=(
        "features/cifar10_resnet20.npz",
        "features/clinc150_minilm.npz",
        "small-images",
        "densenets",
    ),
    uses=("images-in-full",),
    beyond=True,
)

PNML = "pNML"
_DENSENETS = {"DenseNet, CIFAR-10": "CIFAR-10", "DenseNet, CIFAR-100": "CIFAR-100"}
SUBJECTS = ("ResNet-20", *_DENSENETS, "CLINC150")
# Sets of outliers that resemble the training set.
_NEAR = {
    "ResNet-20": "CIFAR-100",
    "DenseNet, CIFAR-10": "CIFAR-100",
    "DenseNet, CIFAR-100": "CIFAR-10",
    "CLINC150": "out of scope",
}
_METRICS = {"auroc": "AUROC", "fpr95": "FPR95", "aupr_in": "AUPR in", "aupr_out": "AUPR out"}
INTERVAL = "95 %: DeLong for AUROCs and their means, 200 draws of the rows for the others"
_ABOUT = (
    "Near is the other CIFAR set, and for CLINC150 the out-of-scope queries, its only set; far are "
    "all the others. pNML is RegretDetector with its defaults."
)
DETECTOR_REMARK = (
    "All detectors see the same features and the same head, and none sees an outlier: KNN has "
    "k = 50, ViM half of the dimensions, NCI α = 1e-4, GEN γ = 0.1 and the 100 most probable "
    "classes. Mahalanobis and RMD take the labels of the training rows."
)


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """Every detector on every subject: metrics of each set, and means over far and near sets."""
    found: dict[str, dict[str, Any]] = {}
    for i, name in enumerate(SUBJECTS):
        found[name] = out.piece(name, lambda name=name: _piece(name, scale, out))  # type: ignore[misc]
        progress(i + 1, len(SUBJECTS))
    tables = [means_table(found, metric, _ABOUT) for metric in ("auroc", "fpr95")]
    tables += [sets_table(found, metric) for metric in _METRICS]
    figure = Figure("ood-detectors", _CAPTION, lambda: draw(found))
    remarks = (_standing(found), DETECTOR_REMARK, _sizes(found))
    return Result(tuple(tables), (figure,), (SEED,), 1, INTERVAL, remarks)


_CAPTION = "Mean AUROC of each detector over far sets, and over near sets."


def _piece(name: str, scale: Scale, out: Output) -> dict[str, Any]:
    """The records of an evaluation: of each set, and of means, as plain values."""
    ind = _DENSENETS.get(name)
    data = features(name, scale, out) if ind is None else densenet(ind, scale, out)
    counts = sorted({len(rows) for rows in data.outliers.values()})
    sizes = {"train": len(data.train), "test": len(data.test), "outliers": counts}
    return records(evaluated(data, _NEAR[name])) | {"sizes": sizes}


def _sizes(found: Mapping[str, Mapping[str, Any]]) -> str:
    """Numbers of training, test and OOD rows of a subject."""
    said = []
    for name, piece in found.items():
        sizes = piece["sizes"]
        outliers = " or ".join(f"{count:,}" for count in sizes["outliers"])
        said.append(f"{name} {sizes['train']:,}, {sizes['test']:,} and {outliers}")
    return "Training rows, test rows and outliers of a set: " + "; ".join(said) + "."


def records(table: OODTable) -> dict[str, Any]:
    """The rows of an evaluation, and its means, as plain values."""
    return {"sets": table.to_records(), "means": table.means.to_records()}


def evaluated(data: FeatureSet, *near: str) -> OODTable:
    """The evaluation of all detectors on a set of features."""
    detectors = fit_detectors_to_features(
        data.train, data.train_labels, weight=data.weight, bias=data.bias
    )
    return evaluate_ood(detectors, data.test, data.outliers, near=near, seed=SEED)


def means_table(
    found: Mapping[str, Mapping[str, Any]],
    metric: str,
    about: str = "",
    one_set: Collection[str] = ("CLINC150",),
) -> Table:
    """Means of a metric over all sets, and over far and near ones where there are both kinds."""
    rows = []
    for name, piece in found.items():
        for record in piece["means"]:
            if name in one_set and record["sets"] != "all":
                continue
            labels = {"features": name, "detector": record["detector"], "sets": record["sets"]}
            value = _estimate(record, metric)
            rows.append(Row(labels, None, in_percent(value)))
    return Table(f"Mean {_METRICS[metric]}, percent", tuple(rows), about)


def sets_table(found: Mapping[str, Mapping[str, Any]], metric: str) -> Table:
    """A metric of every detector on every set of outliers."""
    rows = [
        Row(
            {"features": name, "OOD": record["ood"], "detector": record["detector"]},
            None,
            in_percent(_estimate(record, metric)),
        )
        for name, piece in found.items()
        for record in piece["sets"]
    ]
    return Table(f"{_METRICS[metric]} of each set, percent", tuple(rows))


def _estimate(record: Mapping[str, Any], metric: str) -> Estimate:
    if f"{metric}_low" not in record:
        return exactly(record[metric])
    return Estimate(record[metric], record[f"{metric}_low"], record[f"{metric}_high"])


def draw(found: Mapping[str, Mapping[str, Any]]) -> Any:
    """Dots of the mean AUROC over far and near sets, one panel for each subject."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, len(found), figsize=(3.2 * len(found), 4), sharey=True)
    for ax, (name, piece) in zip(axes, found.items(), strict=True):
        means = {(r["detector"], r["sets"]): r for r in piece["means"]}
        detectors = list(dict.fromkeys(detector for detector, _ in means))
        for kind, marker, colour in (("far", "o", "C0"), ("near", "s", "C1")):
            chosen = [(i, means[d, kind]) for i, d in enumerate(detectors) if (d, kind) in means]
            if not chosen:
                continue
            places, values = [i for i, _ in chosen], [100 * r["auroc"] for _, r in chosen]
            reach = [[100 * (r["auroc"] - r["auroc_low"]) for _, r in chosen]]
            reach += [[100 * (r["auroc_high"] - r["auroc"]) for _, r in chosen]]
            ax.errorbar(values, places, xerr=reach, fmt=marker, color=colour, label=kind, capsize=2)
        ax.set_yticks(range(len(detectors)), detectors)
        ax.set(title=name, xlabel="mean AUROC, percent")
        ax.grid(axis="x", alpha=0.3)
    axes[0].invert_yaxis()
    axes[0].legend(fontsize="small", loc="lower left")
    return figure


def _standing(found: Mapping[str, Mapping[str, Any]]) -> str:
    """Which detector has the highest mean AUROC, with that of the best other one beside pNML."""
    said = []
    for name, piece in found.items():
        values = {r["detector"]: 100 * r["auroc"] for r in piece["means"] if r["sets"] == "all"}
        own = values.pop(PNML)
        best = max(values, key=values.__getitem__)
        said.append(f"{name} {own:.2f}, {values[best]:.2f} of {best}")
    return "Mean AUROC of pNML, and of the best other detector: " + "; ".join(said) + "."
