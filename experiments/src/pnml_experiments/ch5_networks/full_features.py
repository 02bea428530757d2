"""Features of the DenseNets for image sets at their printed size, computed once and kept.

``python -m pnml_experiments.ch5_networks.full_features TARGET`` writes ``features/NETWORK/SET.npz``
below a folder that PNML_DATA may name; it can be stopped at any time and goes on when run again.
It reads what ``python -m pnml_experiments.ch5_networks.full_images`` wrote.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import numpy as np

from pnml.errors import InputError
from pnml.runtime.fingerprint import fingerprint
from pnml_experiments.ch5_networks.image_subjects import NOISE_SEED, ImageSet, Labels, Subject
from pnml_experiments.ch5_networks.kept_features import Features, checked, kept
from pnml_experiments.framework import data
from pnml_experiments.framework.data import data_path
from pnml_experiments.framework.stored_files import find

_SAMPLE_SEED = 0
# Most images of each set: noise is all alike, so a few of it will do.
_MOST = {"train": None, "test": None, "gaussian": 2_000, "uniform": 2_000}
_MOST_OUTLIERS = 10_000
_NOISE = {"gaussian": data.gaussian_noise, "uniform": data.uniform_noise}
_PRINTED_NOISE = 10_000  # images of noise in the thesis
# The same for the network of SVHN, which is there to confirm and not to compare with print.
_MOST_OF_SVHN = {"train": 6_000, "test": 3_000}
_MOST_OUTLIERS_OF_SVHN = 500
# Set, as files name it → its file and the array in it.
_FILES = {
    "cifar10": ("images/cifar10.npz", "x_test"),
    "cifar100": ("images/cifar100.npz", "x_test"),
    "svhn": ("images/svhn.npz", "x_test"),
    "tiny_resize": ("images/tiny.npz", "tiny_resize"),
    "tiny_sharp": ("images/tiny.npz", "tiny_sharp"),
    "tiny_crop": ("images/tiny.npz", "tiny_crop"),
}
# Set of outliers, as the thesis names it → as files name it.
OUTLIERS = {
    "CIFAR-10": "cifar10",
    "CIFAR-100": "cifar100",
    "SVHN": "svhn",
    "Imagenet (R)": "tiny_resize",
    "Imagenet (C)": "tiny_crop",
    "Gaussian": "gaussian",
    "Uniform": "uniform",
}
# The same beside print, whose small images were not smoothed.
PRINTED_OUTLIERS = OUTLIERS | {
    "Imagenet (R)": "tiny_sharp",
    "Imagenet (R), smoothed": "tiny_resize",
}


def sets_of(subject: Subject) -> tuple[str, ...]:
    """Names of files for a network: training images, test images, and each set of outliers."""
    return ("train", "test", *(file for name, file in OUTLIERS.items() if name != subject.ind))


def are_here(subject: Subject) -> bool:
    """Whether weights and images at printed size are below PNML_DATA: own ones and all outliers."""
    own = {_own_file(subject, part)[0] for part in ("train", "test")}
    others = {_FILES[name][0] for name in sets_of(subject) if name in _FILES}
    return all(data.is_here(file) for file in (subject.weights, *own, *others))


def images_of(subject: Subject, name: str) -> ImageSet:
    """The images of a set, or some of them, drawn once for all."""
    return _images(subject, name, _most(subject, name))


def all_images(subject: Subject, name: str) -> ImageSet:
    """All images of a set that the thesis has; of noise, as many as there."""
    return _images(subject, name, _PRINTED_NOISE if name in _NOISE else None)


def _images(subject: Subject, name: str, most: int | None) -> ImageSet:
    if name in _NOISE:
        return ImageSet(name, _NOISE[name](most or 0, NOISE_SEED))
    file, key = _own_file(subject, name) if name in ("train", "test") else _FILES[name]
    arrays = data.arrays(file)
    if key not in arrays:
        raise InputError(
            f"{data_path(file)} has no images called {key}, so an older release made it; make it "
            "again with python -m pnml_experiments.ch5_networks.full_images."
        )
    images = arrays[key]
    return ImageSet(name, images[_rows(len(images), most)])


def labels_of(subject: Subject, name: str) -> Labels:
    """The labels of the training or test images that `images_of` gives."""
    file, _ = _own_file(subject, name)
    labels = data.arrays(file)[f"y_{name}"]
    return labels[_rows(len(labels), _most(subject, name))].astype(np.intp)


def all_labels(subject: Subject, name: str) -> Labels:
    """The labels of all training or test images."""
    file, _ = _own_file(subject, name)
    return data.arrays(file)[f"y_{name}"].astype(np.intp)


def _rows(n: int, most: int | None) -> Labels:
    """Rows of a sample in rising order; all of them where there are not more."""
    if most is None:
        return np.arange(n)
    return np.sort(np.random.default_rng(_SAMPLE_SEED).permutation(n)[:most])


def _most(subject: Subject, name: str) -> int | None:
    if subject.ind == "SVHN":
        return _MOST_OF_SVHN.get(name, _MOST_OUTLIERS_OF_SVHN)
    return _MOST.get(name, _MOST_OUTLIERS)


def _own_file(subject: Subject, part: str) -> tuple[str, str]:
    name = subject.ind.replace("-", "").lower()
    file = f"{name}_train" if (name, part) == ("svhn", "train") else name
    return f"images/{file}.npz", f"x_{part}"


def features_of(
    subject: Subject, name: str, target: Path, tell: Callable[[int], None] = lambda more: None
) -> Features:
    """Features of a set: from a file below PNML_DATA, else from one below a folder, else computed.

    A stored file must be that of the images and weights below PNML_DATA, and unchanged.
    """
    images = images_of(subject, name)
    origin = fingerprint(data_path(subject.weights), images.fingerprint)
    place = f"features/{subject.key}/{name}.npz"
    stored = find(place)
    if stored is not None:
        tell(len(images.images))
        return checked(stored, origin)
    path = target / place
    path.parent.mkdir(parents=True, exist_ok=True)
    return kept(path, origin, images.images, _function(subject), tell)


@cache
def _function(subject: Subject) -> Callable[[np.ndarray], Features]:
    from pnml_experiments.ch5_networks.quick_features import feature_function

    loaded: list[Callable[[np.ndarray], Features]] = []

    def compute(images: np.ndarray) -> Features:
        if not loaded:  # a file that is complete needs no network
            loaded.append(feature_function(subject))
        return loaded[0](images)

    return compute


def main() -> None:
    """Compute all features of the networks that are named."""
    fill_files(__doc__, sets_of, lambda one, name, target: len(features_of(one, name, target)))


def fill_files(
    about: str | None,
    sets: Callable[[Subject], Iterable[str]],
    fill: Callable[[Subject, str, Path], int],
) -> None:
    """A command that computes the files of the DenseNets and image sets that are named.

    `fill` makes the file of a network and a set below a folder, and gives its number of images.
    """
    from pnml_experiments.ch5_networks.ood_networks import subjects

    known = {one.key: one for one in subjects("DenseNet-BC-100")}
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("target", type=Path, help="folder that PNML_DATA may name")
    parser.add_argument(
        "networks", nargs="+", choices=known, metavar="NETWORK", help=", ".join(known)
    )
    parser.add_argument("--sets", nargs="+", metavar="SET", help="the sets; all by default")
    given = parser.parse_args()
    for key in given.networks:
        for name in given.sets or sets(known[key]):
            begun = time.process_time()
            try:
                count = fill(known[key], name, given.target)
            except InputError as error:
                parser.exit(2, f"{error}\n")
            spent = time.process_time() - begun
            sys.stdout.write(f"{key} {name}: {count:,} images, {spent:.0f} s of a core\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
