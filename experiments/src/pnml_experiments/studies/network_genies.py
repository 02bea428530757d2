"""Genies of a whole network under a Gaussian posterior: ACNML, one step of influence, linearised.

With w the weights in standard deviations from the trained ones, the genie of a label y is the
network that maximises log p(y | x, w) − ½‖w‖²: the normal density stands for the training rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, grad_and_value, vmap

_CHUNK = 4  # inputs that are handled together
_GROW, _SHRINK = 1.5, 0.25  # of a step that raised the objective, and of one that did not


@dataclass(frozen=True)
class Posterior:
    """Independent normals around the weights of a trained network in eval mode."""

    network: nn.Module
    mean: Tensor  # (P,)  all weights in one row
    spread: Tensor  # (P,)  their standard deviations

    @classmethod
    def of(cls, network: nn.Module, precision: Tensor) -> Posterior:
        """The posterior with precisions (P,) around the weights of a network."""
        return cls(network, flat_weights(network), precision.rsqrt())

    def logits(self, w: Tensor, x: Tensor) -> Tensor:
        """Logits (C,) of one input at w (P,), in standard deviations from the mean."""
        weights = dict(self.network.named_parameters())
        # one split, whose gradient is one concatenation
        sizes = [each.numel() for each in weights.values()]
        parts = torch.split(self.mean + self.spread * w, sizes)
        named = {
            name: part.reshape(each.shape)
            for (name, each), part in zip(weights.items(), parts, strict=True)
        }
        out: Tensor = functional_call(self.network, named, (x[None],))[0]
        return out


class Genies(NamedTuple):
    """Output of the genies of some inputs, in float64."""

    log_prob: Tensor  # (n, C)  pNML probabilities
    excess: Tensor  # (n,)  the sum of the genies less 1; the regret is its log1p


def flat_weights(network: nn.Module) -> Tensor:
    """All weights of a network in one row."""
    return torch.cat([weight.detach().flatten() for weight in network.parameters()])


def normalised(own: Tensor, log_genie: Tensor) -> Genies:
    """Genies divided by their sum, from log-probabilities (n, C) of the network and of the genies.

    >>> own, genie = torch.tensor([[0.9, 0.1]]).log(), torch.tensor([[0.95, 0.3]]).log()
    >>> normalised(own, genie).excess
    tensor([0.2500], dtype=torch.float64)
    """
    own, log_genie = own.double(), log_genie.double()
    # summed without the 1, of which sure networks miss less than round-off
    excess = (own.exp() * torch.expm1(log_genie - own)).sum(dim=-1)
    return Genies(log_genie - torch.logsumexp(log_genie, dim=-1, keepdim=True), excess)


def fisher(network: nn.Module, inputs: Tensor) -> Tensor:
    """Diagonal (P,) of the mean Fisher information of inputs, labels weighed by the network."""
    posterior = Posterior(network, flat_weights(network), torch.ones(()))
    total = torch.zeros_like(posterior.mean)
    for x in torch.split(inputs, _CHUNK):
        g, log_p = _gradients(posterior, x)
        total += torch.einsum("nc,ncp->p", log_p.exp(), g.square())
    return total / len(inputs)


def influence(posterior: Posterior, inputs: Tensor) -> Genies:
    """Genies after θ_y = θ̂ + H⁻¹ ∇ log p(y | x, θ̂), with the posterior precision as H."""

    def genies(x: Tensor) -> tuple[Tensor, Tensor]:
        g, own = _gradients(posterior, x)
        moved = vmap(vmap(posterior.logits, (0, None)))(g, x)
        return own, _of_own_label(moved)

    return _in_chunks(genies, inputs)


def acnml(posterior: Posterior, inputs: Tensor, *, steps: int, rate: float = 1.0) -> Genies:
    """Genies after so many steps of gradient ascent from the trained weights.

    A step that does not raise the objective of its input and label is taken back, and the next
    is shorter.
    """
    return _in_chunks(lambda x: _ascent(posterior, x, steps, rate), inputs)


def linearised(posterior: Posterior, inputs: Tensor) -> Genies:
    """Genies of the network whose logits are linear in its weights, around the trained ones."""

    def genies(x: Tensor) -> tuple[Tensor, Tensor]:
        logits, covariance = logit_covariances(posterior, x)
        return logits.log_softmax(dim=-1), log_genies(logits, covariance)

    return _in_chunks(genies, inputs)


def logit_covariances(posterior: Posterior, x: Tensor) -> tuple[Tensor, Tensor]:
    """Logits (n, C) of inputs, and their covariances (n, C, C) where they are linear in w."""
    g, own = _gradients(posterior, x)
    # log p_y = z_y − log Σ exp z: its slopes fix those of the logits up to a common shift,
    # which changes no probability
    return own.double(), torch.einsum("ncp,nkp->nck", g, g).double()


def log_genies(logits: Tensor, covariance: Tensor, steps: int = 50) -> Tensor:
    """Log of the genies (n, C) of logits (n, C) that move with a covariance (n, C, C).

    The genie of y maximises log softmax(z + A v)_y − ½ vᵀ A v; there v = e_y − softmax(z + A v).
    Newton's method, halved until the objective rises.
    """
    A, labels = covariance[:, None], torch.eye(logits.shape[-1], dtype=logits.dtype)
    z = logits[:, None].expand(-1, len(labels), -1)  # (n, label, class)
    v = torch.zeros_like(z)

    def objective(v: Tensor) -> Tensor:
        moved = torch.einsum("nick,nyk->nyc", A, v)
        return _own(z + moved) - 0.5 * (v * moved).sum(dim=-1)

    for _ in range(steps):
        p = (z + torch.einsum("nick,nyk->nyc", A, v)).softmax(dim=-1)
        residual = labels - p - v
        curved = torch.diag_embed(p) - p[..., None] * p[..., None, :]
        newton = torch.eye(len(labels), dtype=z.dtype) + curved @ A
        step = torch.linalg.solve(newton, residual[..., None])[..., 0]
        v = _halved(objective, v, step)
        if float(residual.abs().max()) < 1e-10:
            break
    return _own(z + torch.einsum("nick,nyk->nyc", A, v))


def _halved(objective: Callable[[Tensor], Tensor], v: Tensor, step: Tensor) -> Tensor:
    """v plus the step, halved row by row until the objective does not fall."""
    before, size = objective(v), torch.ones(v.shape[:-1], dtype=v.dtype)
    for _ in range(30):
        falls = objective(v + size[..., None] * step) < before - 1e-12
        if not bool(falls.any()):
            break
        size = torch.where(falls, size / 2, size)
    return v + size[..., None] * step


def _ascent(posterior: Posterior, x: Tensor, steps: int, rate: float) -> tuple[Tensor, Tensor]:
    """Log-probabilities (n, C) of the network, and of each label by its own genie."""

    def objective(w: Tensor, x: Tensor, label: Tensor) -> tuple[Tensor, Tensor]:
        log_p = posterior.logits(w, x).log_softmax(dim=0) @ label
        return log_p - 0.5 * w @ w, log_p

    slope = vmap(vmap(grad_and_value(objective, has_aux=True), (0, None, 0)), (0, 0, None))
    labels = _labels(posterior, x)
    w = torch.zeros(len(x), len(labels), len(posterior.mean))
    g, (value, log_p) = slope(w, x, labels)
    own, size = log_p, torch.full_like(value, rate)
    for _ in range(steps):
        tried = torch.addcmul(w, g, size[..., None])
        new_g, (new_value, new_log_p) = slope(tried, x, labels)
        falls = new_value <= value
        tried[falls], new_g[falls] = w[falls], g[falls]
        w, g = tried, new_g
        value, log_p = (
            torch.where(falls, *pair) for pair in ((value, new_value), (log_p, new_log_p))
        )
        size = size * torch.where(falls, _SHRINK, _GROW)
    return own, log_p


def _gradients(posterior: Posterior, x: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients (n, C, P) of the log-probabilities of all labels in w, and these (n, C)."""

    def log_prob(w: Tensor, x: Tensor, label: Tensor) -> tuple[Tensor, Tensor]:
        log_p = posterior.logits(w, x).log_softmax(dim=0) @ label
        return log_p, log_p

    slope = vmap(vmap(grad(log_prob, has_aux=True), (None, None, 0)), (None, 0, None))
    g, log_p = slope(torch.zeros_like(posterior.mean), x, _labels(posterior, x))
    return g, log_p


def _labels(posterior: Posterior, x: Tensor) -> Tensor:
    return torch.eye(posterior.network(x[:1]).shape[-1])


def _own(logits: Tensor) -> Tensor:
    """Log-probabilities (n, C) of each label by its own logits (n, C, C)."""
    return logits.log_softmax(dim=-1).diagonal(dim1=-2, dim2=-1)


def _of_own_label(moved: Tensor) -> Tensor:
    return _own(moved.double())


def _in_chunks(genies: Callable[[Tensor], tuple[Tensor, Tensor]], inputs: Tensor) -> Genies:
    parts: Iterator[Genies] = (normalised(*genies(x)) for x in torch.split(inputs, _CHUNK))
    log_prob, excess = zip(*parts, strict=True)
    return Genies(torch.cat(log_prob), torch.cat(excess))
