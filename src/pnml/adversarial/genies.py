"""Log-probabilities with all their digits, and which of them is the genie of a label."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional


def log_odds(logits: Tensor, labels: Tensor) -> Tensor:
    """Log-odds (n,) of one label (n,) for each row of logits (n, C), in float64. Eq. (E2).

    The gradient of the loss is a negative number times theirs, and never rounds to zero as that
    of a loss of 1e-20 does.

    >>> log_odds(torch.tensor([[3.0, 1.0]]), torch.tensor([0]))
    tensor([2.], dtype=torch.float64)
    """
    z, at = logits.double(), labels[:, None]
    others = z.scatter(1, at, -torch.inf)
    return z.gather(1, at)[:, 0] - others.logsumexp(dim=1)


def log_probs(logits: Tensor) -> Tensor:
    """Log-probabilities (n, C), in float64; that of the most probable class has all its digits.

    >>> log_probs(torch.tensor([[50.0, 0.0]]))
    tensor([[-1.9287e-22, -5.0000e+01]], dtype=torch.float64)
    """
    top = logits.argmax(dim=1)
    sure = functional.logsigmoid(log_odds(logits, top))
    first = functional.one_hot(top, logits.shape[1]).bool()
    return torch.where(first, sure[:, None], logits.double().log_softmax(dim=1))


class Genie(Protocol):
    """Which probabilities at the refined inputs count as that of a label told."""

    def told(self, logits: Tensor, label: int) -> Tensor:
        """What the logits (n, C) at the inputs refined towards a label say, (n, k)."""
        ...

    def gathered(self, parts: Sequence[Tensor]) -> Tensor:
        """What several labels say together."""
        ...


class OwnGenie:
    """A label's genie is its probability at the input refined towards it. Eq. (E3)."""

    def told(self, logits: Tensor, label: int) -> Tensor:
        """Log-probability (n, 1) of the label itself."""
        labels = torch.full_like(logits[:, 0], label, dtype=torch.long)
        return functional.logsigmoid(log_odds(logits, labels))[:, None]

    def gathered(self, parts: Sequence[Tensor]) -> Tensor:
        """The labels side by side."""
        return torch.cat(list(parts), dim=1)


class ClassGenie:
    """A label's genie is its best probability at any of the refined inputs. Eq. (E4)."""

    def told(self, logits: Tensor, label: int) -> Tensor:
        """Log-probabilities (n, C) of all labels."""
        return log_probs(logits)

    def gathered(self, parts: Sequence[Tensor]) -> Tensor:
        """The best of each label."""
        return reduce(torch.maximum, parts)


GENIES: dict[str, Genie] = {"own": OwnGenie(), "class": ClassGenie()}
