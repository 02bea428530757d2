"""MNIST and Fashion-MNIST as they are published, and a small network for them."""

from __future__ import annotations

import gzip
import zlib

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from pnml.errors import InputError
from pnml_experiments.framework.data import data_path
from pnml_experiments.framework.stored_files import VARIABLE

_BYTES = b"\0\0\x08"  # how an IDX file of bytes begins
_BATCH, _RATE = 64, 2e-3


def stored(name: str) -> npt.NDArray[np.uint8]:
    """The array of an IDX file of bytes below the data folder, compressed by gzip."""
    try:
        with gzip.open(data_path(name)) as file:
            content = file.read()
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(
            f"{name} below {VARIABLE} cannot be read ({error}); put the whole file there."
        ) from error
    axes = content[3] if content.startswith(_BYTES) and len(content) > 3 else 0
    start = 4 + 4 * axes
    shape = np.frombuffer(content[4:start].ljust(start - 4, b"\0"), ">u4").astype(int)
    if not axes or len(content) != start + shape.prod():
        raise InputError(f"{name} below {VARIABLE} is no whole IDX file of bytes; fetch it again.")
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)


def pixels(name: str, rows: npt.NDArray[np.intp] | slice = slice(None)) -> Tensor:
    """Images (n, 1, 28, 28) of an IDX file, pixels between 0 and 1."""
    return torch.from_numpy(stored(name)[rows] / np.float32(255))[:, None]


def body(filters: int = 16, hidden: int = 100) -> list[nn.Module]:
    """Two convolutions and a linear layer, from images (n, 1, 28, 28) to hidden units."""
    return [
        nn.Conv2d(1, filters, 4, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(filters, 2 * filters, 4, stride=2, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(2 * filters * 49, hidden),
        nn.ReLU(),
    ]


class SmallCNN(nn.Module):
    """Two convolutions and two linear layers, of which the last sees a hundred features.

    >>> SmallCNN()(torch.zeros(2, 1, 28, 28)).shape
    torch.Size([2, 10])
    """

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(*body())
        self.head = nn.Linear(100, 10)

    def forward(self, x: Tensor) -> Tensor:
        """Logits (n, 10) of images (n, 1, 28, 28)."""
        out: Tensor = self.head(self.body(x))
        return out


def trained(images: Tensor, labels: Tensor, *, epochs: int, seed: int) -> SmallCNN:
    """The network after `epochs` passes of Adam over the images, in eval mode."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = SmallCNN()
        optimizer = torch.optim.Adam(network.parameters(), lr=_RATE)
        with torch.enable_grad():
            for _ in range(epochs):
                for rows in torch.split(torch.randperm(len(images)), _BATCH):
                    loss = nn.functional.cross_entropy(network(images[rows]), labels[rows])
                    optimizer.zero_grad()
                    loss.backward()  # type: ignore[no-untyped-call]
                    optimizer.step()
    return network.eval().requires_grad_(False)
