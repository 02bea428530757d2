"""What a network's layers and its last layer make of images, in one pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pnml_experiments.ch5_networks.image_subjects import Subject, head_of
from pnml_experiments.ch5_networks.quick_features import BATCH, runner
from pnml_experiments.framework.data import Images

if TYPE_CHECKING:
    from torch import Tensor, nn

Sums = npt.NDArray[np.float64]
ORDERS = 10


class Layers(NamedTuple):
    """What is kept of a few images."""

    features: npt.NDArray[np.float32]  # (n, d)
    sums: Sums  # (n, orders, channels of all layers), before the root of Eq. (O6)


def layer_function(subject: Subject) -> tuple[Callable[[Images], Layers], list[int]]:
    """A function of images, and how many channels each of the layers has that Gram looks at."""
    network = subject.network()
    run = runner(_recording(network))

    def compute(images: Images) -> Layers:
        features, sums = [], []
        for i in range(0, len(images), BATCH):
            *maps, seen = run(next(subject.batches(images[i : i + BATCH])))
            features.append(seen)
            sums.append(raw_sums(maps))
        return Layers(np.concatenate(features), np.concatenate(sums))

    return compute, [layer.out_channels for layer in _layers(network)]


def raw_sums(maps: list[npt.NDArray[np.float32]]) -> Sums:
    """Row sums (n, orders, all channels) of the Gram matrices of maps (n, C, ...) of each layer.

    >>> raw_sums([np.array([[[1.0, 2.0], [3.0, 0.0]]], "f")])[0, 0]
    array([ 8., 12.])
    """
    import torch

    from pnml.ood.gram_row_sums import row_sums

    orders = np.arange(1, ORDERS + 1)
    found = [row_sums(torch.from_numpy(one), orders.tolist()).numpy() for one in maps]
    roots = np.concatenate(found, axis=2)
    return np.asarray(np.sign(roots) * np.abs(roots) ** orders[:, None])


def _layers(network: nn.Module) -> list[Any]:
    from pnml.ood.gram_row_sums import layers_of

    return layers_of(network, None)


def _recording(network: nn.Module) -> nn.Module:
    """The network, but it gives the maps of all its convolutions and what its last layer saw."""
    from torch import nn

    class Recording(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = network
            self._found: list[Tensor] = []
            for layer in _layers(network):
                layer.register_forward_hook(lambda _, __, out: self._found.append(out))
            head = head_of(network)
            head.register_forward_pre_hook(lambda _, given: self._found.append(given[0]))

        def forward(self, x: Tensor) -> tuple[Tensor, ...]:
            self._found.clear()
            self.network(x)
            return tuple(self._found)

    return Recording().eval()
