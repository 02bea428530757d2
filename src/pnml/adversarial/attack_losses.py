"""Losses that attacks maximise: how far a target label is above the true one."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

# (scores (n, C), labels (n,), targets (n,)) → (n,), to maximise
Loss = Callable[[Tensor, Tensor, Tensor], Tensor]
# Keeps the ratio finite if all scores are equal.
_TINY = 1e-12


def margin(scores: Tensor, labels: Tensor, targets: Tensor) -> Tensor:
    """Loss of an attack: score of the target minus that of the label, (n,). Eq. (E8).

    >>> margin(torch.tensor([[3.0, 1.0]]), torch.tensor([0]), torch.tensor([1]))
    tensor([-2.])
    """
    pair = scores.gather(1, torch.stack([targets, labels], dim=1))
    return pair[:, 0] - pair[:, 1]


def logit_ratio(scores: Tensor, labels: Tensor, targets: Tensor) -> Tensor:
    """Loss of an attack: the margin over the spread of the scores, (n,): DLR. Eq. (E9).

    DLR is the difference-of-logits ratio; the spread is the largest score minus the mean of the
    third and fourth. With fewer than four classes it is the plain margin: with three, the ratio
    towards the last class is constant.

    >>> scores = torch.tensor([[3.0, 1.0, 0.0, -1.0]])
    >>> logit_ratio(scores, torch.tensor([0]), torch.tensor([1]))
    tensor([-0.5714])
    """
    if scores.shape[1] < 4:
        return margin(scores, labels, targets)
    top = scores.topk(4, dim=1).values
    spread = top[:, 0] - top[:, 2:].mean(dim=1)
    return margin(scores, labels, targets) / (spread + _TINY)


def label_margin(scores: Tensor, labels: Tensor) -> Tensor:
    """Score of the label minus the best other, (n,); an attack has succeeded below 0. Eq. (E8).

    >>> label_margin(torch.tensor([[3.0, 1.0, 2.0]]), torch.tensor([0]))
    tensor([1.])
    """
    at = labels[:, None]
    others = scores.scatter(1, at, -torch.inf)
    return scores.gather(1, at)[:, 0] - others.amax(dim=1)


def cross_entropy(scores: Tensor, labels: Tensor, _: Tensor) -> Tensor:
    """Loss of an attack: cross-entropy (n,) of the true label in nats. Eq. (E16).

    >>> cross_entropy(torch.tensor([[0.0, 0.0]]), torch.tensor([0]), torch.tensor([1]))
    tensor([0.6931])
    """
    return functional.cross_entropy(scores, labels, reduction="none")


def _negative_margin(scores: Tensor, labels: Tensor, _: Tensor) -> Tensor:
    return -label_margin(scores, labels)


LOSSES: dict[str, Loss] = {"dlr": logit_ratio, "margin": margin}
UNTARGETED: dict[str, Loss] = {"ce": cross_entropy, "margin": _negative_margin}
