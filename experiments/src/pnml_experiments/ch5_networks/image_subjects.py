"""Trained networks on their own images, and the images that are strange to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pnml_experiments.framework import data
from pnml_experiments.framework.data import Images

if TYPE_CHECKING:
    from torch import Tensor, nn

Labels = npt.NDArray[np.intp]
# The methods of the tables that need more of a network than its features and logits.
MOVED, RECORDED = {"ODIN"}, {"Gram", "OECC"}
_BATCH = 32


@dataclass(frozen=True)
class Subject:
    """A network with published weights, and the images that it was trained on."""

    ind: str  # as the thesis names them
    classes: int
    images: str  # file with x_train and x_test, below the data folder
    weights: str  # checkpoint, below the data folder
    methods: tuple[str, ...]  # of the tables, that these weights are for
    build: Callable[[int], nn.Module]
    mean: tuple[float, ...] = (125.3 / 255, 123.0 / 255, 113.9 / 255)
    std: tuple[float, ...] = (63.0 / 255, 62.1 / 255, 66.7 / 255)

    @property
    def key(self) -> str:
        """Short name, for files."""
        return Path(self.weights).stem

    @property
    def is_here(self) -> bool:
        """Whether its weights and its images are below the data folder."""
        return data.is_here(self.weights) and data.is_here(self.images)

    def network(self) -> nn.Module:
        """The network with its weights, in eval mode."""
        return data.with_weights(self.build(self.classes), self.weights)

    def shown_classes(self) -> Labels:
        """The classes of which there are training images, in rising order."""
        return np.unique(data.arrays(self.images)["y_train"]).astype(np.intp)

    def network_of_shown_classes(self) -> nn.Module:
        """The network without the outputs of classes that no training image at hand is of."""
        from torch import nn

        network, shown = self.network(), self.shown_classes()
        head = head_of(network)
        if len(shown) < head.out_features:
            head.weight = nn.Parameter(head.weight[shown], requires_grad=False)
            head.bias = nn.Parameter(head.bias[shown], requires_grad=False)
            head.out_features = len(shown)
        return network

    def batches(self, images: Images) -> Iterator[Tensor]:
        """Images as the network wants them, a few at a time."""
        import torch

        mean, std = torch.tensor(self.mean), torch.tensor(self.std)
        for start in range(0, len(images), _BATCH):
            part = torch.from_numpy(images[start : start + _BATCH]).float() / 255
            yield ((part - mean) / std).permute(0, 3, 1, 2).contiguous()


def head_of(network: nn.Module) -> nn.Linear:
    """The last linear layer of a network."""
    from torch import nn

    return [part for part in network.modules() if isinstance(part, nn.Linear)][-1]


@dataclass(frozen=True)
class Sizes:
    """How many images of each kind are used, None for all; and which steps ODIN may choose."""

    train: int | None
    others: int | None
    epsilons: tuple[float, ...]


SIZES = {
    # more training images than the 342 features of a DenseNet
    "small": Sizes(450, 30, (0.0, 0.0014)),
    "full": Sizes(None, None, (0.0, 0.0005, 0.001, 0.0014, 0.002, 0.0024, 0.005, 0.01)),
}
NOISE_SEED = 0
_STORED = "images/ood_small.npz"
# Name in the thesis → key in the stored file.
_SETS = {"Imagenet (R)": "tiny_resize", "Imagenet (C)": "tiny_crop", "SVHN": "svhn"}
_CIFAR = {"CIFAR-10": "images/cifar10_small.npz", "CIFAR-100": "images/cifar100_small.npz"}


@dataclass(frozen=True)
class ImageSet:
    """Images under a name."""

    name: str
    images: Images

    @property
    def fingerprint(self) -> str:
        """What tells these images from any others."""
        return sha256(np.ascontiguousarray(self.images).data).hexdigest()


@dataclass(frozen=True)
class OwnImages:
    """Training images, test images of the classes that those show, and the labels of the latter."""

    train: ImageSet
    test: ImageSet
    labels: Labels  # (n,)  positions among the classes shown
    classes: int  # shown


def own_images(subject: Subject, sizes: Sizes) -> OwnImages:
    """Images that the network is at home with."""
    stored = data.arrays(subject.images)
    shown = subject.shown_classes()
    known = np.flatnonzero(np.isin(stored["y_test"], shown))
    known = known[spread(len(known), sizes.others)]
    train = stored["x_train"][spread(len(stored["x_train"]), sizes.train)]
    return OwnImages(
        ImageSet("train", train),
        ImageSet("test", stored["x_test"][known]),
        np.searchsorted(shown, stored["y_test"][known]),
        len(shown),
    )


def strange_images(subject: Subject, sizes: Sizes) -> list[ImageSet]:
    """All sets of outliers that are at hand, in the order of the thesis."""
    stored = data.arrays(_STORED)
    found = [
        ImageSet(name, stored[key][spread(len(stored[key]), sizes.others)])
        for name, key in _SETS.items()
        if name != subject.ind
    ]
    count = max(len(one.images) for one in found)
    found[2:2] = [
        ImageSet("Uniform", data.uniform_noise(count, NOISE_SEED)),
        ImageSet("Gaussian", data.gaussian_noise(count, NOISE_SEED)),
    ]
    for name, file in _CIFAR.items():
        if name != subject.ind:
            test = data.arrays(file)["x_test"]
            found.append(ImageSet(name, test[spread(len(test), sizes.others)]))
    return found


def spread(n: int, count: int | None) -> Labels:
    """Positions of this many out of n rows, evenly: stored images may come sorted by class.

    >>> spread(10, 4)
    array([0, 2, 5, 7])
    >>> len(spread(3, None))
    3
    """
    return np.arange(n) if count is None or count >= n else np.arange(count) * n // count
