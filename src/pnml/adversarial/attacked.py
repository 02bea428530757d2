"""Attacked inputs, what a network makes of them, and the worst of several attacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from pnml.adversarial.losses import lead
from pnml.adversarial.settings import check_labels
from pnml.core.errors import InputError


@dataclass(frozen=True)
class Attacked:
    """Inputs that an attack made, and how one network fares on them."""

    inputs: Tensor  # (n, ...)
    fooled: Tensor  # (n,)  bool
    margin: Tensor  # (n,)  score of the label minus the best of the others

    @classmethod
    def of(cls, model: nn.Module, inputs: Tensor, labels: Any, rows_at_once: int = 256) -> Attacked:
        """How a network fares on inputs, whatever they were made for: transferred attacks.

        >>> Attacked.of(nn.Identity(), torch.eye(2), [0, 0]).fooled
        tensor([False,  True])
        """
        with torch.no_grad():
            scores = torch.cat([model(rows) for rows in torch.split(inputs, rows_at_once)])
        y = check_labels(labels, len(inputs), scores.shape[1]).to(scores.device)
        return cls(inputs.detach(), scores.argmax(dim=1) != y, lead(scores, y))

    @property
    def accuracy(self) -> float:
        """Share of the inputs that the network gets right."""
        return float((~self.fooled).double().mean())


def worst_case(*attacks: Attacked) -> Attacked:
    """For each sample the attack that did the most harm to one network.

    An input that fools counts before one that does not, and then the lower margin.

    >>> first = Attacked.of(nn.Identity(), torch.eye(2), [0, 0])
    >>> second = Attacked.of(nn.Identity(), torch.eye(2).flip(0), [0, 0])
    >>> first.accuracy, worst_case(first, second).accuracy
    (0.5, 0.0)
    """
    shapes = {tuple(attack.inputs.shape) for attack in attacks}
    if len(shapes) != 1:
        raise InputError(
            f"The attacks have inputs of shapes {sorted(shapes)}, but each sample is compared with "
            "itself; pass at least one attack, and all of the same samples."
        )
    fooled = torch.stack([attack.fooled for attack in attacks])  # (k, n)
    margins = torch.stack([attack.margin for attack in attacks])
    best = torch.where(fooled | ~fooled.any(dim=0), margins, torch.inf).argmin(dim=0)
    row = torch.arange(len(best), device=best.device)
    inputs = torch.stack([attack.inputs for attack in attacks])[best, row]
    return Attacked(inputs, fooled[best, row], margins[best, row])
