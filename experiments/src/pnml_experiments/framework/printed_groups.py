"""Cells of the printed tables in groups: their number, our rows for them, and what is missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Group:
    """Cells of a printed table that can be had, or cannot, for the same reason."""

    entry: str  # id in the catalogue
    experiment: str
    table: str  # beginning of the title of the rows that hold the printed cells
    cells: int
    part: str = ""  # which cells of the table, where it has several groups
    missing: str = ""  # the one thing without which they cannot be made; empty if obtainable
    needed: str = ""  # what a run at the printed size takes
    unsaid: str = ""  # what the size depends on and print does not say; empty if it says all
    scales: tuple[str, ...] = ("printed",)  # those that have the printed size
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # label → its values


_KNOWN = ("CIFAR-100", "CIFAR-10")
_NO_SUN = ("iSUN", "LSUN (R)", "LSUN (C)")
_HAD = ("Imagenet (R)", "Imagenet (C)", "Uniform", "Gaussian", "SVHN", "CIFAR-10", "CIFAR-100")
_PLAIN = ("Baseline", "Baseline + pNML", "ODIN", "ODIN + pNML", "Gram", "Gram + pNML")
_TUNED = ("OECC", "OECC + pNML")
_AUROC, _TNR, _ACCURACY = (
    "AUROC, percent",
    "TNR at TPR 95 %, percent",
    "Detection accuracy, percent",
)
_CELEBA = "the images of CelebA, with which rivals were trained, and of LSUN"


def _densenet(entry: str, table: str) -> tuple[Group, ...]:
    name, both = "ood-densenet", ("stored", "printed")
    return (
        Group(
            entry,
            "ood-gram",
            table,
            40,
            "CIFAR sets, Baseline and Gram",
            needed="all images through every layer of two networks",
            scales=both,
            where={"IND": _KNOWN, "OOD": _HAD, "method": (*_PLAIN[:2], *_PLAIN[4:])},
        ),
        Group(
            entry,
            "ood-gram",
            table,
            20,
            "CIFAR sets, OECC",
            needed="all images through every layer of two tuned networks",
            scales=both,
            where={"IND": _KNOWN, "OOD": _HAD, "method": _TUNED},
        ),
        Group(
            entry,
            "ood-odin",
            table,
            20,
            "CIFAR sets, ODIN",
            needed="a gradient of each image and a pass for each chosen step, two networks",
            scales=both,
            where={"IND": _KNOWN, "OOD": _HAD, "method": _PLAIN[2:4]},
        ),
        Group(
            entry,
            "ood-gram",
            table,
            12,
            "SVHN, OECC",
            needed="all images through every layer of the network tuned on SVHN",
            scales=both,
            where={"IND": ("SVHN",), "OOD": _HAD, "method": _TUNED},
        ),
        Group(
            entry,
            name,
            table,
            36,
            "SVHN, other methods",
            missing="the weights of the DenseNet trained on SVHN",
            where={"IND": ("SVHN",), "OOD": _HAD, "method": _PLAIN},
        ),
        Group(
            entry,
            name,
            table,
            72,
            "LSUN and iSUN",
            missing="the images of LSUN and iSUN",
            where={"OOD": _NO_SUN},
        ),
    )


def _resnet34(entry: str, table: str) -> Group:
    missing = "the weights of the ResNet-34 networks"
    return Group(entry, "ood-resnet34", table, 200, missing=missing)


_LABELS = "Labels to reach an accuracy"
_STRATEGIES = ("random", "core-set", "BALD", "DIAL")

GROUPS: tuple[Group, ...] = (
    Group("table-uci-sets", "uci-double-descent", "Sizes of the sets", 27),
    Group("table-shift-sets", "shift", "Sizes of the sets", 15),
    Group("table-shift", "shift", "Distribution shift, RMSE", 40),
    Group(
        "table-pmlb",
        "pmlb",
        "0.3 training rows per column",
        245,
        "49 sets, at the number of training rows nearest to print",
        unsaid="the number of training rows",
        scales=("stored", "printed"),
    ),
    Group("table-pmlb", "pmlb", "0.3 training", 5, "1191_BNG_pbc", missing="the set 1191_BNG_pbc"),
    *_densenet("table-ood-densenet", _AUROC),
    _resnet34("table-ood-resnet34", _AUROC),
    Group(
        "table-ood-wrn40", "ood-wrn40", "", 96, missing="the weights of the WideResNet-40 networks"
    ),
    Group(
        "table-ood-imagenet30", "ood-imagenet30", _AUROC, 32, missing="the images of ImageNet-30"
    ),
    Group(
        "table-open-set-cifar10",
        "open-set-resnet20",  # its rows are of another network, so none counts
        "",
        24,
        "Max-prob and pNML on SVHN and noise",
        needed="all images through the DenseNet, noise of mean 0 and variance 1, and refits",
    ),
    Group(
        "table-open-set-cifar10",
        "open-set-resnet20",
        "",
        102,
        "other methods, and LSUN",
        missing=f"{_CELEBA}; weights of a DenseNet trained with cosines",
    ),
    Group(
        "table-open-set-cifar100",
        "open-set-clinc150",
        "",
        126,
        missing="the weights of the WideResNet-16 networks",
    ),
    Group("table-open-set-celeba", "open-set-mnist", "", 126, missing="the images of CelebA"),
    Group("table-ablation", "ablation-table", "By the number of tuned layers, log base 10", 12),
    Group(
        "table-defences",
        "adversarial-mnist",
        "Accuracy, percent",
        16,
        "MNIST",
        needed="100 epochs of training with attacks of 40 steps, 20 starts and all 10,000 digits",
    ),
    Group(
        "table-defences",
        "adversarial-mnist",
        "",
        53,
        "CIFAR-10 and ImageNet",
        missing="the weights of the robust networks on CIFAR-10 and ImageNet",
    ),
    Group(
        "table-refinement",
        "adversarial-curves",
        "",
        3,
        missing="the weights of the robust network on CIFAR-10",
    ),
    Group(
        "table-active-mnist",
        "dial-mnist-ood",
        _LABELS,
        12,
        needed="six seeds of the published network, one pick a round",
        where={"accuracy, %": ("85", "75", "65"), "strategy": _STRATEGIES},
    ),
    Group(
        "table-active-emnist",
        "dial-emnist-ood",
        _LABELS,
        12,
        missing="the official split of EMNIST",
        where={"accuracy, %": ("40", "30", "25"), "strategy": _STRATEGIES},
    ),
    Group(
        "table-active-cifar10",
        "dial-cifar10",
        _LABELS,
        12,
        needed="a GPU",
        where={"strategy": _STRATEGIES},
    ),
    *_densenet("table-tnr-densenet", _TNR),
    *_densenet("table-accuracy-densenet", _ACCURACY),
    _resnet34("table-tnr-resnet34", _TNR),
    _resnet34("table-accuracy-resnet34", _ACCURACY),
    Group(
        "table-attack-steps",
        "adversarial-curves",
        "",
        18,
        missing="the weights of the robust network on CIFAR-10",
    ),
)
