"""Paths below the data folder, by what they hold."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from pnml_experiments.framework.printed import lines

VARIABLE = "PNML_DATA"
RESNET20 = "features/cifar10_resnet20.npz"
CLINC = "features/clinc150_minilm.npz"
BANKING = "features/banking77_minilm.npz"
EMNIST = "emnist/emnist47_small.npz"
FASHION_TEST = "fashion_mnist/t10k-images-idx3-ubyte.gz"
MNIST = {
    "train": "mnist/train-images-idx3-ubyte.gz",
    "train labels": "mnist/train-labels-idx1-ubyte.gz",
    "test": "mnist/t10k-images-idx3-ubyte.gz",
    "test labels": "mnist/t10k-labels-idx1-ubyte.gz",
}
UCI = {
    "yacht": "uci/yacht.npz",
    "energy": "uci/energy.npz",
    "concrete": "uci/concrete.npz",
    "housing": "uci/bostonHousing.npz",
    "wine": "uci/wine-quality-red.npz",
    "kin8nm": "uci/kin8nm.npz",
    "power": "uci/power-plant.npz",
    "naval": "uci/naval-propulsion-plant.npz",
    "protein": "uci/protein-tertiary-structure.npz",
}
PMLB_SMALL = (
    "1089_USCrime",
    "195_auto_price",
    "542_pollution",
    "651_fri_c0_100_25",
    "192_vineyard",
    "666_rmftsa_ladata",
)
SHIFT = ("wine", "parkinson", "fire", "fertility", "triazines")
# Tables of the trust study: training rows, ordinary rows and shifted ones; c_ for classes.
TRUST = (
    "baseball",
    "computers",
    "diamonds",
    "flights",
    "movies",
    "parkinson",
    "pol",
    "power",
    "quakes",
    "wind",
    "wine",
)
TRUST_CLASSES = ("c_digits", "c_flights")


def pmlb_path(name: str) -> str:
    """Path of a set of the PMLB collection.

    >>> pmlb_path("banana")
    'pmlb/banana.tsv.gz'
    """
    return f"pmlb/{name}.tsv.gz"


def shift_path(name: str) -> str:
    """Path of a set whose test rows have another distribution than its training rows.

    >>> shift_path("wine")
    'shift/wine.npz'
    """
    return f"shift/{name}.npz"


def trust_paths(name: str) -> tuple[str, ...]:
    """Files of a table of the trust study; those of classes have no half along a component.

    >>> trust_paths("wind")
    ('trust/wind_nat.npz', 'trust/wind_cov.npz')
    """
    shifts = ("nat",) if name in TRUST_CLASSES else ("nat", "cov")
    return tuple(f"trust/{name}_{shift}.npz" for shift in shifts)


def _weights(network: str, *endings: str) -> tuple[str, ...]:
    """Checkpoints of a network on each of its training sets."""
    sets = ("cifar10", "cifar100", "svhn")
    return tuple(f"weights/{network}_{name}{end}.pth" for name in sets for end in endings)


# What an experiment may say that it needs, beside single paths.
GROUPS: dict[str, tuple[str, ...]] = {
    "mnist": tuple(MNIST.values()),
    "fashion-mnist": (FASHION_TEST,),
    "emnist": (EMNIST,),
    "small-images": (
        "images/cifar10_small.npz",
        "images/cifar100_small.npz",
        "images/ood_small.npz",
    ),
    "images-in-full": tuple(
        f"images/{name}.npz" for name in ("cifar10", "cifar100", "svhn", "tiny")
    ),
    "densenets": _weights("densenet_bc100", "")[:2],
    "densenets-oecc": _weights("densenet_bc100", "_oecc")[:2],
    "densenet-weights": _weights("densenet_bc100", "", "_oecc"),
    "resnet34-weights": _weights("resnet34", "", "_oecc"),
    "wrn40-weights": _weights("wrn40_energy", "", "_oecc"),
    "uci-small": tuple(UCI[name] for name in ("yacht", "energy", "concrete")),
    "uci": tuple(UCI.values()),
    "pmlb-small": tuple(map(pmlb_path, PMLB_SMALL)),
    "pmlb": tuple(dict.fromkeys(pmlb_path(line["set"]) for line in lines("pmlb"))),
    "shift": tuple(map(shift_path, SHIFT)),
    "trust-small": trust_paths("quakes"),
    "trust": tuple(path for name in (*TRUST, *TRUST_CLASSES) for path in trust_paths(name)),
}


def find(name: str) -> Path | None:
    """Path of a file below a folder that PNML_DATA names, the first that has it; None if none has.

    Several folders are told apart as those of PATH are.
    """
    folders = filter(None, os.environ.get(VARIABLE, "").split(os.pathsep))
    return next((path for folder in folders if (path := Path(folder, name)).is_file()), None)


def paths(names: Iterable[str]) -> tuple[str, ...]:
    """The paths behind names of groups and paths, each once.

    >>> paths(["fashion-mnist", "images/svhn.npz"])
    ('fashion_mnist/t10k-images-idx3-ubyte.gz', 'images/svhn.npz')
    """
    return tuple(dict.fromkeys(path for name in names for path in GROUPS.get(name, (name,))))
