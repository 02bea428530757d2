"""What a network's last layer, dropout and other networks say of an input, to compare genies with.

Each gives the probabilities (n, C) of inputs, and a score (n,) of its own, high for unknown ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import pi

import torch
from torch import Tensor, nn

from pnml_experiments.studies.network_genies import Genies, log_genies, normalised

PASSES = 30  # of dropout


@dataclass(frozen=True)
class HeadPosterior:
    """Normal posterior of the last layer: the curvature of its training loss, not cut to blocks."""

    network: nn.Sequential
    covariance: Tensor  # (C, d, C, d)  of weights and bias

    @classmethod
    def of(cls, network: nn.Sequential, curvature: Tensor, penalty: float) -> HeadPosterior:
        """With the curvature (C, d, C, d) of all training rows and a penalty of every weight."""
        C, d = curvature.shape[:2]
        square = curvature.reshape(C * d, C * d) + penalty * torch.eye(C * d).double()
        inverse = torch.cholesky_inverse(torch.linalg.cholesky(square))
        return cls(network, inverse.reshape(C, d, C, d))

    def logits(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Logits (n, C) of inputs and their covariances (n, C, C)."""
        rows = features(self.network, x)
        told = torch.einsum("cdke,ne->ncdk", self.covariance, rows)
        covariance = torch.einsum("ncdk,nd->nck", told, rows)
        return self.network(x).double(), covariance

    def laplace(self, x: Tensor) -> Tensor:
        """Probabilities (n, C) over the posterior, each logit shrunk by its variance."""
        logits, covariance = self.logits(x)
        variance = covariance.diagonal(dim1=-2, dim2=-1)
        return (logits / (1 + pi / 8 * variance).sqrt()).softmax(dim=-1)

    def acnml(self, x: Tensor) -> Genies:
        """Genies that move the last layer alone, at their maximum."""
        logits, covariance = self.logits(x)
        return normalised(logits.log_softmax(dim=-1), log_genies(logits, covariance))


def features(network: nn.Sequential, x: Tensor) -> Tensor:
    """What the last layer sees (n, d), and a one for its bias."""
    rows: Tensor = network[:-1](x).double()
    return torch.cat([rows, torch.ones(len(rows), 1).double()], dim=1)


def head_curvature(network: nn.Sequential, inputs: Tensor) -> Tensor:
    """Hessian (C, d, C, d) of the summed log-loss of inputs in the last layer; it has no labels."""
    rows = features(network, inputs)
    p = network(inputs).double().softmax(dim=-1)
    C, d = p.shape[1], rows.shape[1]
    out = torch.zeros(C, d, C, d).double()
    for c in range(C):
        for k in range(c + 1):
            weight = p[:, c] * (float(c == k) - p[:, k])
            out[c, :, k] = out[k, :, c] = (rows * weight[:, None]).T @ rows
    return out


def dropout(network: nn.Sequential, x: Tensor, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Probabilities averaged over passes with dropout, and how far the passes disagree."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network.train()
        try:
            return averaged(network(x) for _ in range(PASSES))
        finally:
            network.eval()


def averaged(logits: Iterable[Tensor]) -> tuple[Tensor, Tensor]:
    """Mean probabilities (n, C) of several logits, and their mutual information (n,) in nats.

    >>> both = torch.tensor([[[9.0, -9.0]], [[-9.0, 9.0]]])
    >>> averaged(both)[1].numpy().round(3)
    array([0.693])
    """
    log_p = torch.stack([each.double().log_softmax(dim=-1) for each in logits])
    mean = log_p.exp().mean(dim=0)
    inner = -(log_p.exp() * log_p).sum(dim=-1).mean(dim=0)
    return mean, torch.special.entr(mean).sum(dim=-1) - inner
