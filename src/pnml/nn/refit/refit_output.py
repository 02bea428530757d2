"""What a network says of each input when its last layers are trained once for every label."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import torch
from scipy.special import logsumexp
from torch import Tensor

from pnml.core.arrays import FloatArray
from pnml.nn.refit.labels import class_labels


@dataclass(frozen=True)
class Genies:
    """What the refits of some rows gave."""

    log_genie: FloatArray  # (n, C)  of each label, by the model trained with that label
    regret: FloatArray  # (n,)  nats
    error: FloatArray  # (n,)  of the regret; NaN where nothing is known of it
    converged: npt.NDArray[np.bool_]  # (n,)

    @classmethod
    def uncertified(cls, log_genie: FloatArray) -> Genies:
        """Genies that carry no word on how far they are from the best ones.

        >>> Genies.uncertified(np.log([[0.8, 0.3]])).regret.round(4)
        array([0.0953])
        """
        n = len(log_genie)
        # genies that were not trained to the end may add up to a little less than 1
        regret = np.maximum(logsumexp(log_genie, axis=1), 0.0)
        return cls(log_genie, regret, np.full(n, np.nan), np.zeros(n, dtype=bool))

    @classmethod
    def joined(cls, parts: list[Genies], classes: int) -> Genies:
        """The rows of all parts, in order."""
        nothing = cls(np.zeros((0, classes)), np.zeros(0), np.zeros(0), np.zeros(0, dtype=bool))
        names = ("log_genie", "regret", "error", "converged")
        every = [nothing, *parts]
        return cls(*(np.concatenate([getattr(part, name) for part in every]) for name in names))


@dataclass(frozen=True)
class RefitOutput:
    """The network's own outputs beside the genies of all labels, their regret and probabilities.

    Leading axes are those of the inputs: (B,), or (B, T) where the head judges each position.
    What is ours is in float64.

    >>> ten = torch.tensor([[0.9, 0.2]]).double().log()
    >>> one = torch.zeros(1).double()
    >>> out = RefitOutput(ten, ten, ten, ten.exp().sum(1).log(), one, one == 0)
    >>> out.probs.numpy().round(3)
    array([[0.818, 0.182]])
    >>> out.log_loss(torch.tensor([0])).numpy().round(3)
    array([0.201])
    """

    logits: Tensor  # (..., C)  as the network gave them
    features: Tensor  # (..., d)  what its last layer saw
    log_genie: Tensor  # (..., C)  log-probability of each label after training with that label
    regret: Tensor  # (...)  nats
    error: Tensor  # (...)  how far the regret may be off, in nats; NaN after fine-tuning
    converged: Tensor  # (...)  whether that is within the tolerance asked for

    @classmethod
    def of(cls, logits: Tensor, features: Tensor, genies: Genies) -> RefitOutput:
        """The outputs of a network with the genies of their rows."""
        shape, device = logits.shape[:-1], logits.device

        def shaped(values: npt.NDArray[np.generic]) -> Tensor:
            return torch.as_tensor(values, device=device).reshape(*shape, *values.shape[1:])

        return cls(
            logits,
            features,
            shaped(genies.log_genie),
            shaped(genies.regret),
            shaped(genies.error),
            shaped(genies.converged),
        )

    @cached_property
    def log_prob(self) -> Tensor:
        """Log of the pNML probabilities (..., C): the genies over their sum."""
        return torch.log_softmax(self.log_genie, dim=-1)

    @property
    def probs(self) -> Tensor:
        """The pNML probabilities (..., C)."""
        return self.log_prob.exp()

    @property
    def relative_regret(self) -> Tensor:
        """Regret as a fraction of log C, its largest possible value."""
        return self.regret / math.log(max(self.logits.shape[-1], 2))

    def log_loss(self, labels: Tensor) -> Tensor:
        """Log-loss (...) in nats of the pNML probabilities, for labels (...) counted from 0."""
        classes = self.logits.shape[-1]
        found = class_labels(labels, self.regret.shape, classes, "The output")
        return -self.log_prob.gather(-1, found.to(self.log_prob.device)[..., None]).squeeze(-1)
