"""The last epochs of a robust network, through the defence or without it, by the same recipe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from pnml.adversarial import AdversarialPNML
from pnml.adversarial.attack_losses import label_margin
from pnml_experiments.framework.output import Arrays, Output

RADIUS = 0.3
_BATCH = 100


@dataclass(frozen=True)
class Recipe:
    """How a network is trained further; of two recipes only the strength need differ."""

    strength: float  # of the defence that attack and loss go through; 0: without it
    images: int
    epochs: int
    steps: int = 5
    step_size: float = 0.1
    rate: float = 1e-3
    seed: int = 0
    drawn: int | None = None  # images of an epoch, drawn anew in each; None: all of them


def seen_through(network: nn.Module, strength: float) -> nn.Module:
    """The network as an attacker who ignores the clip sees it, defended where that has strength."""
    return AdversarialPNML(network, strength, backward="identity") if strength else network


def pushed(model: nn.Module, x: Tensor, y: Tensor, recipe: Recipe, draw: torch.Generator) -> Tensor:
    """Inputs whose label leads by little: a few large steps down the margin, Eq. (E8)."""
    low, high = (x - RADIUS).clamp(min=0), (x + RADIUS).clamp(max=1)
    at = x + torch.empty(x.shape).uniform_(-RADIUS, RADIUS, generator=draw)
    for _ in range(recipe.steps):
        at = at.clamp(low, high).requires_grad_()
        (gradient,) = torch.autograd.grad(label_margin(model(at), y).sum(), at)
        at = at.detach() - recipe.step_size * gradient.sign()
    return at.clamp(low, high)


def tuned(
    network: nn.Module,
    images: Tensor,
    labels: Tensor,
    recipe: Recipe,
    out: Output,
    depends: tuple[Path | str, ...],
    tell: Callable[[int], None] = lambda done: None,
) -> nn.Module:
    """The network after its last epochs, in eval mode; each epoch is kept when it is finished."""
    for epoch in range(recipe.epochs):

        def compute(epoch: int = epoch) -> Arrays:
            _one_epoch(network, images, labels, recipe, epoch)
            return {name: value.numpy().copy() for name, value in network.state_dict().items()}

        kept = out.arrays("adversarial-tuned", (*depends, f"{recipe} {epoch}"), compute)
        network.load_state_dict({name: torch.from_numpy(value) for name, value in kept.items()})
        tell(1)
    return network.eval().requires_grad_(False)


def _one_epoch(
    network: nn.Module, images: Tensor, labels: Tensor, recipe: Recipe, epoch: int
) -> None:
    """One pass of Adam over attacked images, at a rate that falls from epoch to epoch."""
    model = seen_through(network, recipe.strength)
    draw = torch.Generator().manual_seed(recipe.seed + 1000 * epoch)
    rate = recipe.rate * (1 - epoch / recipe.epochs)
    descent = torch.optim.Adam(network.parameters(), lr=rate)
    with torch.enable_grad():
        order = torch.randperm(len(images), generator=draw)[: recipe.drawn]
        for rows in torch.split(order, _BATCH):
            x, y = images[rows], labels[rows]
            network.requires_grad_(False)
            attacked = pushed(model, x, y, recipe, draw)
            network.requires_grad_(True)
            descent.zero_grad()
            cross_entropy(model(attacked), y).backward()  # type: ignore[no-untyped-call]
            descent.step()
    network.requires_grad_(False)
