"""Rivals of the open-set table whose networks are trained with unknown classes too, on digits."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from pnml_experiments.ch5_networks.open_set import Scored
from pnml_experiments.framework.mnist import SmallCNN
from pnml_experiments.framework.output import Arrays

UNKNOWN = -1  # label of a row of no class
ENTROPIC, SPHERE, DISCREPANCY = "Entropic Open-Set", "Objectosphere", "Max. Discrepancy"
SPHERE_NORM = "Objectosphere, times the norm"
# Settings of the papers, or of their published training scripts for MNIST.
LEAST_NORM, NORM_WEIGHT = 50.0, 1e-4
MARGIN = 1.2
_RATE, _BATCH, _ROWS_AT_ONCE = 2e-3, 64, 500
# From images (n, 1, 28, 28) and labels (n,) to the mean loss of a batch.
Loss = Callable[[Tensor, Tensor], Tensor]


class TwoHeads(nn.Module):
    """The network with a second linear layer beside the last one.

    >>> first, second = TwoHeads(SmallCNN())(torch.zeros(2, 1, 28, 28))
    >>> first.shape, second.shape
    (torch.Size([2, 10]), torch.Size([2, 10]))
    """

    def __init__(self, network: SmallCNN) -> None:
        super().__init__()
        self.body = network.body
        self.heads = nn.ModuleList([network.head, nn.Linear(100, 10)])

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Logits (n, 10) of both heads."""
        features = self.body(x)
        first, second = (head(features) for head in self.heads)
        return first, second


def entropic_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean log-loss of known rows, and log-loss of the uniform distribution of unknown ones.

    >>> logits = torch.tensor([[3.0, 0.0], [0.0, 0.0]])
    >>> entropic_loss(logits[1:], torch.tensor([UNKNOWN])).exp().round().item()
    2.0
    """
    logs = logits.log_softmax(dim=1)
    own = logs.gather(1, labels.clamp(min=0)[:, None])[:, 0]
    return -torch.where(labels == UNKNOWN, logs.mean(dim=1), own).mean()


def norm_loss(features: Tensor, labels: Tensor) -> Tensor:
    """Mean square of what known features lack of the least norm, and of the norm of unknown ones.

    >>> norm_loss(torch.tensor([[3.0, 4.0]]), torch.tensor([UNKNOWN])).item()
    25.0
    """
    norm = features.norm(dim=1)
    lacking = (LEAST_NORM - norm).clamp(min=0)
    return torch.where(labels == UNKNOWN, norm, lacking).square().mean()


def discrepancy_loss(first: Tensor, second: Tensor, labels: Tensor) -> Tensor:
    """Log-losses of both heads on known rows, and what their entropies lack to be a margin apart.

    On unknown rows the first head is to be unsure where the second is sure.

    >>> even, sure = torch.zeros(1, 10), torch.eye(10)[:1] * 1e3
    >>> discrepancy_loss(even, sure, torch.tensor([UNKNOWN])).item()
    0.0
    """
    unknown = labels == UNKNOWN
    total = first.new_zeros(())
    if not unknown.all():
        known = labels[~unknown]
        total = total + cross_entropy(first[~unknown], known)
        total = total + cross_entropy(second[~unknown], known)
    if unknown.any():
        apart = (_entropy(first[unknown]) - _entropy(second[unknown])).mean()
        total = total + (MARGIN - apart).clamp(min=0)
    return total


def _entropy(logits: Tensor) -> Tensor:
    logs = logits.log_softmax(dim=1)
    return -(logs.exp() * logs).sum(dim=1)


def trained_networks(
    digits: Tensor, labels: Tensor, letters: Tensor, *, epochs: int, seed: int
) -> tuple[SmallCNN, SmallCNN, TwoHeads]:
    """Networks of the three rivals, in eval mode: each sees all digits and letters in each epoch.

    That of two heads sees digits alone for as many epochs before.
    """
    images = torch.cat([digits, letters])
    told = torch.cat([labels, torch.full((len(letters),), UNKNOWN)])
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        torch.manual_seed(seed)
        entropic, sphere, heads = SmallCNN(), SmallCNN(), TwoHeads(SmallCNN())

        def by_entropy(x: Tensor, y: Tensor) -> Tensor:
            return entropic_loss(entropic(x), y)

        def by_norm(x: Tensor, y: Tensor) -> Tensor:
            features = sphere.body(x)
            spread = NORM_WEIGHT * norm_loss(features, y)
            return entropic_loss(sphere.head(features), y) + spread

        def by_heads(x: Tensor, y: Tensor) -> Tensor:
            first, second = heads(x)
            return discrepancy_loss(first, second, y)

        _train(entropic, by_entropy, images, told, epochs)
        _train(sphere, by_norm, images, told, epochs)
        _train(heads, by_heads, digits, labels, epochs)
        _train(heads, by_heads, images, told, epochs)
    for network in (entropic, sphere, heads):
        network.eval().requires_grad_(False)
    return entropic, sphere, heads


def _train(network: nn.Module, loss: Loss, images: Tensor, labels: Tensor, epochs: int) -> None:
    """Adam over all rows, as the network without unknown classes is trained."""
    descent = torch.optim.Adam(network.parameters(), lr=_RATE)
    for _ in range(epochs):
        for rows in torch.split(torch.randperm(len(images)), _BATCH):
            descent.zero_grad()
            loss(images[rows], labels[rows]).backward()  # type: ignore[no-untyped-call]
            descent.step()


def answers(networks: tuple[SmallCNN, SmallCNN, TwoHeads], images: Tensor) -> dict[str, Scored]:
    """Confidence and class by each rival; two heads are sure where their probabilities agree."""
    entropic, sphere, heads = networks
    parts = torch.split(images, _ROWS_AT_ONCE)
    with torch.no_grad():
        logits = torch.cat([entropic(part) for part in parts])
        features = torch.cat([sphere.body(part) for part in parts])
        pairs = [heads(part) for part in parts]
        one, two = (torch.cat([pair[i] for pair in pairs]).double().softmax(1) for i in (0, 1))
        by_norm = sphere.head(features).double().softmax(1)
    plain, named = by_norm.max(dim=1)
    return {
        ENTROPIC: _scored(*logits.double().softmax(1).max(dim=1)),
        SPHERE: _scored(plain, named),
        SPHERE_NORM: _scored(plain * features.double().norm(dim=1), named),
        DISCREPANCY: _scored(-(one - two).abs().sum(dim=1), (one + two).argmax(dim=1)),
    }


def _scored(confidence: Tensor, named: Tensor) -> Scored:
    return Scored(confidence.numpy(), named.numpy())


def as_arrays(found: Mapping[str, Mapping[str, Scored]]) -> Arrays:
    """Answers by set and rival as named arrays; `from_arrays` reads them."""
    return {
        f"{where}: {name}: {field}": values
        for where, each in found.items()
        for name, scored in each.items()
        for field, values in vars(scored).items()
    }


def from_arrays(arrays: Arrays, where: str) -> dict[str, Scored]:
    """Answers of all rivals on one set."""
    names = dict.fromkeys(key.split(": ")[1] for key in arrays if key.startswith(f"{where}: "))
    return {
        name: Scored(arrays[f"{where}: {name}: confidence"], arrays[f"{where}: {name}: named"])
        for name in names
    }
