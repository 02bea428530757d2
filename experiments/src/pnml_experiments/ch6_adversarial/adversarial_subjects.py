"""Digits of MNIST to attack, and the networks under attack."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from pnml_experiments.ch5_networks.image_subjects import spread
from pnml_experiments.framework.data import data_path, with_weights
from pnml_experiments.framework.mnist import body, pixels, stored, trained
from pnml_experiments.framework.output import Arrays, Output
from pnml_experiments.framework.stored_files import MNIST

PGD_TRAINED = "weights/mnist_cnn_pgd.pth"
NEEDS = (*MNIST.values(), PGD_TRAINED)
# Settings are chosen on the last images of the test set, which no table is of.
_APART = 2_000


@dataclass(frozen=True)
class Points:
    """Images (n, 1, 28, 28) between 0 and 1, and their labels (n,)."""

    x: Tensor
    y: Tensor

    def __len__(self) -> int:
        return len(self.y)


def digits(count: int) -> Points:
    """Some digits of the test set, evenly spread; `count` of them."""
    return _points("test", slice(None, -_APART), count)


def held_out_digits(count: int) -> Points:
    """Digits of the part of the test set that no table uses; `count` of them."""
    return _points("test", slice(-_APART, None), count)


def training_digits(count: int) -> Points:
    """The first digits of the training set."""
    return _points("train", slice(count), count)


def _points(part: str, among: slice, count: int) -> Points:
    labels = stored(MNIST[f"{part} labels"]).astype(np.int64)
    rows = np.arange(len(labels))[among]
    rows = rows[spread(len(rows), count)]
    return Points(pixels(MNIST[part], rows), torch.from_numpy(labels[rows]))


def cnn() -> nn.Sequential:
    """The network of the stored weights."""
    return nn.Sequential(*body(), nn.Linear(100, 10))


def printed_network(seed: int = 0) -> nn.Sequential:
    """The network of the thesis before any training.

    Two convolutions with 32 and 64 filters of 5 × 5 and a layer of 1,024. The maximum is taken
    before the ReLU, and channels are stored last: the same function in less time.

    >>> sum(part.numel() for part in printed_network().parameters())
    3274634
    """
    torch.manual_seed(seed)
    network = nn.Sequential(
        nn.Conv2d(1, 32, 5, padding=2),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.Conv2d(32, 64, 5, padding=2),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(7 * 7 * 64, 1024),
        nn.ReLU(),
        nn.Linear(1024, 10),
    )
    return network.to(memory_format=torch.channels_last)  # type: ignore[call-overload,no-any-return]


class Blocks(nn.Module):
    """Blocks of 2 × 2 pixels as channels; unlike PixelUnshuffle, of no images too.

    >>> Blocks()(torch.zeros(0, 1, 30, 30)).shape
    torch.Size([0, 4, 15, 15])
    """

    def forward(self, x: Tensor) -> Tensor:
        """Images (n, 1, h, w) → (n, 4, h / 2, w / 2)."""
        n, _, h, w = x.shape
        blocks = x.reshape(n, h // 2, 2, w // 2, 2).permute(0, 2, 4, 1, 3)
        return blocks.reshape(n, 4, h // 2, w // 2)


def in_blocks(network: nn.Sequential) -> nn.Sequential:
    """The same function; its first convolution sees blocks of 2 × 2 pixels as channels.

    The derivative by the image, which a refinement takes ten times, is twice as fast so.
    """
    first, *rest = network
    if not isinstance(first, nn.Conv2d) or first.bias is None:
        raise TypeError("the first layer is no convolution with a bias")
    kernel, bias = first.weight.detach(), first.bias.detach()  # (16, 1, 4, 4), (16,)
    blocks = nn.Conv2d(4, len(kernel), 2)
    blocks.weight.data = kernel.view(-1, 2, 2, 2, 2).permute(0, 2, 4, 1, 3).flatten(1, 2).clone()
    blocks.bias = nn.Parameter(bias.clone())
    same = nn.Sequential(nn.ZeroPad2d(1), Blocks(), blocks, *rest)
    return same.train(network.training).requires_grad_(False)


def robust_network() -> nn.Sequential:
    """The network that was trained with PGD within 0.3, as it was published."""
    network = cnn()
    with_weights(network, PGD_TRAINED)
    return in_blocks(network)


def standard_network(out: Output, images: int, epochs: int) -> nn.Sequential:
    """The same network trained on clean digits, on the spot."""

    def compute() -> Arrays:
        clean = training_digits(images)
        network = trained(clean.x, clean.y, epochs=epochs, seed=0)
        return {name: value.numpy() for name, value in network.state_dict().items()}

    files = [data_path(MNIST[name]) for name in ("train", "train labels")]
    kept = out.arrays("adversarial-standard", [*files, f"{images} {epochs}"], compute)
    network = cnn()
    state = zip(network.state_dict(), kept.values(), strict=True)
    network.load_state_dict({name: torch.from_numpy(value) for name, value in state})
    return in_blocks(network.eval())
