"""Accurate log-probabilities, and the genie of each label: the learner that knows the label."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional


def log_odds(logits: Tensor, labels: Tensor) -> Tensor:
    """Log-odds (n,) of labels (n,) from logits (n, C): log of p / (1 − p) of a label. Eq. (E2).

    The gradient of the cross-entropy is a negative multiple of the gradient of the log-odds, which
    does not round to zero even if the cross-entropy is 1e-20.

    >>> log_odds(torch.tensor([[3.0, 1.0]]), torch.tensor([0]))
    tensor([2.], dtype=torch.float64)
    """
    z, column = logits.double(), labels[:, None]
    others = z.scatter(1, column, -torch.inf)
    return z.gather(1, column)[:, 0] - others.logsumexp(dim=1)


def log_probs(logits: Tensor) -> Tensor:
    """Log-probabilities (n, C) of logits (n, C) in float64; the largest is accurate even near 0.

    >>> log_probs(torch.tensor([[50.0, 0.0]]))
    tensor([[-1.9287e-22, -5.0000e+01]], dtype=torch.float64)
    """
    top = logits.argmax(dim=1)
    sure = functional.logsigmoid(log_odds(logits, top))
    first = functional.one_hot(top, logits.shape[1]).bool()
    return torch.where(first, sure[:, None], logits.double().log_softmax(dim=1))


class Genie(Protocol):
    """A genie: the rule that scores labels by their log-probabilities at refined inputs."""

    def scores(self, logits: Tensor, label: int) -> Tensor:
        """Log-probabilities (n, k) from the logits (n, C) at the inputs refined towards a label.

        k is 1, for this label alone, or C, for all labels.
        """
        ...

    def combine(self, parts: Sequence[Tensor]) -> Tensor:
        """One tensor of scores from those of several labels, or of several groups of labels."""
        ...


class OwnGenie:
    """The genie of a label: its probability at the input refined towards it. Eq. (E3)."""

    def scores(self, logits: Tensor, label: int) -> Tensor:
        """Log-probability (n, 1) of the label."""
        labels = torch.full_like(logits[:, 0], label, dtype=torch.long)
        return functional.logsigmoid(log_odds(logits, labels))[:, None]

    def combine(self, parts: Sequence[Tensor]) -> Tensor:
        """The scores (n, number of labels), side by side."""
        return torch.cat(list(parts), dim=1)


class ClassGenie:
    """The genie of a label: its best probability at any refined input. Eq. (E4)."""

    def scores(self, logits: Tensor, label: int) -> Tensor:
        """Log-probabilities (n, C) of all labels."""
        return log_probs(logits)

    def combine(self, parts: Sequence[Tensor]) -> Tensor:
        """The scores (n, C): for each label, the largest of all parts."""
        return reduce(torch.maximum, parts)


GENIES: dict[str, Genie] = {"own": OwnGenie(), "class": ClassGenie()}
