"""The networks that are trained anew in every round of active learning, and how."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from pnml_experiments.ch5_networks.architectures import ResNet

BATCH = 128  # inputs that go through a network at once when it is judged


@dataclass(frozen=True)
class Training:
    """Adam on batches that go round and round the labelled rows."""

    steps: int  # of an epoch
    batch: int
    rate: float = 1e-3
    decay: float = 1e-2
    epochs: int = 1
    patience: int = 0  # epochs without a better validation before it stops; 0: all epochs


def digit_cnn(
    width: int = 32, hidden: int = 128, classes: int = 10, drop: float = 0.5
) -> nn.Module:
    """Two blocks of 5×5 convolution, dropout, max-pooling and ReLU, and two linear layers.

    >>> digit_cnn(4, 8)(torch.zeros(2, 1, 28, 28)).shape
    torch.Size([2, 10])
    """
    return nn.Sequential(
        *_block(1, width, 5, drop),
        *_block(width, 2 * width, 5, drop),
        nn.Flatten(),
        nn.Linear(32 * width, hidden),
        nn.Dropout(drop),
        nn.Linear(hidden, classes),
    )


def letter_cnn(
    width: int = 32, hidden: int = 512, classes: int = 47, drop: float = 0.5
) -> nn.Module:
    """Three blocks of 3×3 convolution, dropout, max-pooling and ReLU, and two linear layers.

    >>> letter_cnn(4, 8)(torch.zeros(2, 1, 28, 28)).shape
    torch.Size([2, 47])
    """
    return nn.Sequential(
        *_block(1, width, 3, drop),
        *_block(width, 2 * width, 3, drop),
        *_block(2 * width, 4 * width, 3, drop),
        nn.Flatten(),
        nn.Linear(4 * width, hidden),
        nn.Dropout(drop),
        nn.Linear(hidden, classes),
    )


def picture_resnet(width: int = 64, classes: int = 10, drop: float = 0.5) -> nn.Module:
    """A ResNet-18 with dropout after its first three stages and before its last layer.

    >>> picture_resnet(4)(torch.zeros(1, 3, 32, 32)).shape
    torch.Size([1, 10])
    """
    network = ResNet(classes, blocks=(2, 2, 2, 2), width=width)
    for name in ("layer1", "layer2", "layer3", "linear"):
        part = network.get_submodule(name)
        parts = (nn.Dropout(drop), part) if name == "linear" else (part, nn.Dropout(drop))
        network.add_module(name, nn.Sequential(*parts))
    return network


class BitDropout(nn.Dropout):
    """Dropout of half the units, which takes its coin tosses from the bits of random bytes.

    The same law as ``nn.Dropout(0.5)`` with other draws, in a fifth of its time on a processor.

    >>> BitDropout(0.5)(torch.ones(100)).unique()
    tensor([0., 2.])
    """

    def forward(self, values: Tensor) -> Tensor:
        """The values, half of them 0 and the others doubled while it trains."""
        dense = values.is_contiguous() or values.is_contiguous(memory_format=torch.channels_last)
        if not self.training or self.p != 0.5 or values.device.type != "cpu" or not dense:
            return super().forward(values)
        tosses = torch.randint(256, (-(-values.numel() // 8),), dtype=torch.uint8).numpy()
        kept = torch.from_numpy(np.unpackbits(tosses, count=values.numel())).to(values.dtype)
        # the mask lies in memory as the values do, or the product would be slow
        return values * kept.mul_(2).as_strided(values.shape, values.stride())


def quick(build: Callable[[], nn.Module]) -> nn.Module:
    """A network of convolutions that trains and runs in half the time: channels last, bit dropout.

    Its function is that of `build()`, up to rounding and to the draws of its dropout.

    >>> quick(lambda: digit_cnn(4, 8))(torch.zeros(2, 1, 28, 28)).shape
    torch.Size([2, 10])
    """
    network = build()
    for name, module in list(network.named_modules()):
        if type(module) is nn.Dropout:
            network.set_submodule(name, BitDropout(module.p))
    return network.to(memory_format=torch.channels_last)  # type: ignore[call-overload,no-any-return]


def trained(
    build: Callable[[], nn.Module],
    x: Tensor,
    y: Tensor,
    training: Training,
    seed: int,
    validation: tuple[Tensor, Tensor] | None = None,
) -> nn.Module:
    """A fresh network after training on rows x, y, in eval mode; a function of the seed."""
    devices = [x.device] if x.device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices), torch.enable_grad():
        torch.manual_seed(seed)
        network = build().to(x.device)
        descent = torch.optim.Adam(
            network.parameters(), lr=training.rate, weight_decay=training.decay
        )
        best = _Best(training.patience)
        for _ in range(training.epochs):
            _epoch(network.train(), descent, x, y, training)
            network.eval()
            if validation is not None and best.is_over(network, _loss(network, *validation)):
                network.load_state_dict(best.state)
                break
    return network.eval().requires_grad_(False)


class _Best:
    """The weights of the least validation loss so far."""

    def __init__(self, patience: int) -> None:
        self.patience = patience
        self.loss, self.since = float("inf"), 0
        self.state: dict[str, Tensor] = {}

    def is_over(self, network: nn.Module, loss: float) -> bool:
        """Whether there was no better epoch for too long."""
        if loss < self.loss or not self.state:
            self.loss, self.since, self.state = loss, 0, deepcopy(network.state_dict())
        else:
            self.since += 1
        return 0 < self.patience <= self.since


def _epoch(
    network: nn.Module, descent: torch.optim.Optimizer, x: Tensor, y: Tensor, training: Training
) -> None:
    turn = torch.randperm(training.steps * training.batch) % len(x)  # every row equally often
    for rows in torch.split(turn.to(x.device), training.batch):
        descent.zero_grad()
        cross_entropy(network(x[rows]), y[rows]).backward()  # type: ignore[no-untyped-call]
        descent.step()


def _loss(network: nn.Module, x: Tensor, y: Tensor) -> float:
    with torch.no_grad():
        parts = zip(torch.split(x, BATCH), torch.split(y, BATCH), strict=True)
        total = sum(float(cross_entropy(network(a), b, reduction="sum")) for a, b in parts)
    return total / len(x)


def _block(channels: int, out: int, kernel: int, drop: float) -> list[nn.Module]:
    return [nn.Conv2d(channels, out, kernel), nn.Dropout(drop), nn.MaxPool2d(2), nn.ReLU()]
