"""Output of a network whose last layers are refitted for every label."""

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
    """Genies of n rows: the log-probability of each label, by the network refitted with it.

    `log_genie` (n, C) holds them, `regret` (n,) the log of the sum of these probabilities in nats,
    `error` (n,) a bound on the numerical error of the regret (NaN if unknown), `converged` (n,)
    whether that error is within the tolerance.
    """

    log_genie: FloatArray  # (n, C)  of each label, by the model trained with that label
    regret: FloatArray  # (n,)  nats
    error: FloatArray  # (n,)  of the regret; NaN if unknown
    converged: npt.NDArray[np.bool_]  # (n,)

    @classmethod
    def uncertified(cls, log_genie: FloatArray) -> Genies:
        """Genies from log-probabilities (n, C), with an unknown error: NaN, not converged.

        >>> Genies.uncertified(np.log([[0.8, 0.3]])).regret.round(4)
        array([0.0953])
        """
        n = len(log_genie)
        # genies that did not converge may sum to a little less than 1
        regret = np.maximum(logsumexp(log_genie, axis=1), 0.0)
        return cls(log_genie, regret, np.full(n, np.nan), np.zeros(n, dtype=bool))

    @classmethod
    def joined(cls, parts: list[Genies], classes: int) -> Genies:
        """The genies of the rows of all parts, in order; of no rows if there are no parts."""
        empty = cls(np.zeros((0, classes)), np.zeros(0), np.zeros(0), np.zeros(0, dtype=bool))
        names = ("log_genie", "regret", "error", "converged")
        every = [empty, *parts]
        return cls(*(np.concatenate([getattr(part, name) for part in every]) for name in names))


@dataclass(frozen=True)
class RefitOutput:
    """Output of RefitLastLayerPNML: the network's logits, genies of all labels, and regret.

    Leading axes are those of the inputs: (B,), or (B, T) if the head scores each position.
    Everything but logits and features is in float64, and NaN at padding.

    >>> ten = torch.tensor([[0.9, 0.2]]).double().log()
    >>> one = torch.zeros(1).double()
    >>> out = RefitOutput(ten, ten, ten, ten.exp().sum(1).log(), one, one == 0)
    >>> out.probs.numpy().round(3)
    array([[0.818, 0.182]])
    >>> out.log_loss(torch.tensor([0])).numpy().round(3)
    array([0.201])
    """

    logits: Tensor  # (..., C)  of the network itself
    features: Tensor  # (..., d)  input of the last layer
    log_genie: Tensor  # (..., C)  log-probability of each label after training with that label
    regret: Tensor  # (...)  nats
    error: Tensor  # (...)  bound on the error of the regret, in nats; NaN after fine-tuning
    converged: Tensor  # (...)  whether the error is within the tolerance

    @classmethod
    def of(
        cls, logits: Tensor, features: Tensor, genies: Genies, kept: Tensor | None = None
    ) -> RefitOutput:
        """A `RefitOutput` from the logits (..., C) and features (..., d) of a network, and genies.

        `genies` has one row for each position that was refitted. `kept` is a mask of shape (...),
        True at these positions; the rows of `genies` are in the order of its True entries. None
        means that all positions were refitted. Where `kept` is False, as at padding, `log_genie`,
        `regret` and `error` of the output are NaN and `converged` is False.
        """
        shape, device = logits.shape[:-1], logits.device

        def shaped(values: npt.NDArray[np.generic]) -> Tensor:
            there = torch.as_tensor(values, device=device)
            if kept is None:
                return there.reshape(*shape, *values.shape[1:])
            nothing = False if there.dtype is torch.bool else torch.nan
            whole = torch.full((*shape, *values.shape[1:]), nothing, dtype=there.dtype)
            whole = whole.to(device)
            whole[kept.to(device)] = there
            return whole

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
        """Log of the pNML probabilities (..., C): the genies divided by their sum."""
        return torch.log_softmax(self.log_genie, dim=-1)

    @property
    def probs(self) -> Tensor:
        """The pNML probabilities (..., C)."""
        return self.log_prob.exp()

    @property
    def relative_regret(self) -> Tensor:
        """Regret (...) as a fraction of log C, its largest possible value for C classes."""
        return self.regret / math.log(max(self.logits.shape[-1], 2))

    def log_loss(self, labels: Tensor) -> Tensor:
        """Log-loss (...) in nats of the pNML probabilities, for labels (...) counted from 0."""
        classes = self.logits.shape[-1]
        counted = ~self.regret.isnan()
        indices = class_labels(labels, self.regret.shape, classes, "The output", counted)
        return -self.log_prob.gather(-1, indices.to(self.log_prob.device)[..., None]).squeeze(-1)
