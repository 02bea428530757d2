"""Attacked inputs, what a network makes of them, and the worst of several attacks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from pnml.adversarial.checks import check_labels
from pnml.adversarial.losses import lead
from pnml.adversarial.refiner import logits_of
from pnml.errors import InputError
from pnml.nn.eval_mode import as_in_use


@dataclass(frozen=True)
class Attacked:
    """Inputs that an attack made, and how one network fares on them.

    >>> found = Attacked.of(nn.Identity(), torch.eye(2), [0, 0])
    >>> found.fooled, found.margin, found.accuracy
    (tensor([False,  True]), tensor([ 1., -1.]), 0.5)
    """

    inputs: Tensor  # (n, ...)
    fooled: Tensor  # (n,)  bool
    margin: Tensor  # (n,)  score of the label minus the best of the others
    queries: Tensor | None = None  # (n,)  how many it took; inf where it did not fool

    @classmethod
    def of(cls, model: nn.Module, inputs: Tensor, labels: Any, rows_at_once: int = 256) -> Attacked:
        """How a network fares on inputs, whatever they were made for: transferred attacks.

        >>> Attacked.of(nn.Identity(), torch.eye(2), [0, 0]).fooled
        tensor([False,  True])
        """
        with as_in_use([model]), torch.no_grad():
            rows = torch.split(inputs, rows_at_once)
            scores = torch.cat([logits_of(model, part) for part in rows])
        y = check_labels(labels, len(inputs), scores.shape[1]).to(scores.device)
        return cls(inputs.detach(), scores.argmax(dim=1) != y, lead(scores, y))

    @property
    def accuracy(self) -> float:
        """Share of the inputs that the network gets right."""
        return float((~self.fooled).double().mean())

    def curve(self, at: Sequence[float]) -> list[float]:
        """Share of the inputs that the network gets right after so many queries each.

        >>> fooled, margin = torch.tensor([True, False]), torch.tensor([-1.0, 1.0])
        >>> taken = torch.tensor([20.0, torch.inf])
        >>> Attacked(torch.eye(2), fooled, margin, queries=taken).curve([10, 20])
        [1.0, 0.5]
        """
        if self.queries is None:
            raise InputError(
                "This attack counted no queries, so there is no curve; take one that only asks "
                "for scores or labels, such as square or hop_skip_jump."
            )
        return [float((self.queries > many).double().mean()) for many in at]


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
