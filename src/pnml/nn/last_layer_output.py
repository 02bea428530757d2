"""Output of a network with pNML on its last layer."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from pnml.errors import InputError
from pnml.nn.tasks import MULTICLASS, MULTILABEL, REGRESSION, Task


@dataclass(frozen=True)
class LastLayerOutput:
    """Output of LastLayerPNML: the network's logits, leverage, regret and pNML probabilities.

    Leading axes are those of the inputs: (B,), or (B, T) if the head scores each position. C is the
    number of logits and d that of features; regrets are in nats. At positions that are padding,
    leverage, regret, probabilities and log-loss are NaN. Leverage, regret and probabilities are in
    float64: regrets of confident rows differ below the round-off of float32.

    >>> logits, leverage = torch.tensor([[2.0, 0.0]]), torch.tensor([0.5])
    >>> out = LastLayerOutput(logits, torch.ones(1, 3), leverage, torch.tensor([0.1]), MULTICLASS)
    >>> out.probs.numpy().round(2)
    array([[0.8, 0.2]])
    >>> out.log_loss(torch.tensor([0])).numpy().round(2)
    array([0.22])
    """

    logits: Tensor  # (..., C)  of the network itself
    features: Tensor  # (..., d)  input of the last layer
    leverage: Tensor  # (...)
    regret: Tensor  # (...)  nats
    task: Task = field(default=MULTICLASS, repr=False)

    @cached_property
    def log_prob(self) -> Tensor | None:
        """Log of the pNML probabilities (..., C), from the network's own logits. Eq. (F4).

        For independent yes-or-no labels, the log-probability of yes; None for a regression head.
        """
        if self.task.log_prob is None:
            return None
        rows = self.logits.reshape(-1, self.logits.shape[-1])
        log_prob: Tensor = self.task.log_prob(rows, self.leverage.reshape(-1))
        return log_prob.reshape(self.logits.shape)

    @property
    def probs(self) -> Tensor | None:
        """The pNML probabilities (..., C); None for a regression head."""
        return None if self.log_prob is None else self.log_prob.exp()

    @property
    def relative_regret(self) -> Tensor:
        """Regret (...) divided by log C, to compare networks of different numbers C of classes.

        L yes-or-no labels count as 2^L classes; a regression head has no classes and raises.
        """
        outputs = self.logits.shape[-1]
        if self.task is REGRESSION:
            raise InputError(
                "relative_regret is for classes, but this is a regression head; use regret."
            )
        labels = outputs if self.task is MULTILABEL else math.log2(max(outputs, 2))
        return self.regret / (labels * math.log(2))

    def log_loss(self, labels: Tensor) -> Tensor:
        """Log-loss (...) in nats of the pNML probabilities, for labels (...) counted from 0."""
        classes = self.logits.shape[-1]
        if self.task is not MULTICLASS or self.log_prob is None:
            raise InputError(
                f"log_loss is for one label of several classes, but this is a {self.task.name} "
                "head; use regret, or log_prob where there is one."
            )
        labels = torch.as_tensor(labels, device=self.logits.device)
        if labels.shape == self.regret.shape and not labels.is_floating_point():
            labels = labels.masked_fill(self.leverage.isnan(), 0)  # padding: its loss is NaN
        if labels.shape != self.regret.shape or labels.is_floating_point():
            raise InputError(
                f"The labels are {labels.dtype} of shape {tuple(labels.shape)}, but one whole "
                f"number for each of {tuple(self.regret.shape)} inputs is needed; pass class "
                "indices."
            )
        if bool(((labels < 0) | (labels >= classes)).any()):
            raise InputError(
                f"The labels go from {int(labels.min())} to {int(labels.max())}, but the network "
                f"has {classes} classes; count them from 0 to {classes - 1}."
            )
        return -self.log_prob.gather(-1, labels.long()[..., None]).squeeze(-1)


class DeferredOutput(LastLayerOutput):
    """Output of LastLayerPNML for many rows: `compute()` gives the logits when first read.

    >>> leverage = torch.tensor([0.5])
    >>> out = DeferredOutput(lambda: torch.zeros(1, 2), torch.ones(1, 3), leverage, leverage)
    >>> out.logits.shape
    torch.Size([1, 2])
    """

    def __init__(
        self,
        compute: Callable[[], Tensor],
        features: Tensor,
        leverage: Tensor,
        regret: Tensor,
        task: Task = MULTICLASS,
    ) -> None:
        values = {"features": features, "leverage": leverage, "regret": regret, "task": task}
        self.__dict__.update(values, _compute=compute)

    @cached_property
    def logits(self) -> Tensor:
        """Logits (..., C) of the network itself."""
        logits: Tensor = self.__dict__["_compute"]()
        return logits
