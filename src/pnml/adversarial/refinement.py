"""Steps that refine an input towards a label, and the refiner that takes them for all labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn

from pnml.adversarial.genies import log_odds
from pnml.errors import InputError
from pnml.nn.batches import tensors_in


@dataclass(frozen=True)
class Refinement:
    """Settings of a refinement: size and number of its steps, in the units of the input.

    A refinement moves an input, step by step, so that a label becomes more probable.
    """

    strength: float  # largest change of an entry
    steps: int
    step_size: float
    low: float  # least value of an input
    high: float  # greatest value of an input

    def moved(self, x: Tensor, point: Tensor, direction: Tensor) -> Tensor:
        """The point (n, ...) one step along `direction` from a point near x. Eq. (E1).

        It is clipped to a change of x by at most the strength, and to the range of inputs.
        """
        away = (point + self.step_size * direction - x).clamp(-self.strength, self.strength)
        return (x + away).clamp(self.low, self.high)


class Backward(Protocol):
    """A refinement step with some derivative; its value is always that of Eq. (E1)."""

    @property
    def through_gradient(self) -> bool:
        """Whether the derivative needs second derivatives of the network."""
        ...

    def step(self, refinement: Refinement, x: Tensor, point: Tensor, gradient: Tensor) -> Tensor:
        """The next point (n, ...): one step from `point` that raises the log-odds of a label.

        `x` is the input that is refined, and `gradient` that of the log-odds at `point`.
        """
        ...


@dataclass(frozen=True)
class AutogradBackward:
    """Refinement step with its true derivative, in which the sign of the gradient is constant."""

    through_gradient = False

    def step(self, refinement: Refinement, x: Tensor, point: Tensor, gradient: Tensor) -> Tensor:
        """The next point (n, ...); entries that are clipped to the range have derivative 0."""
        return refinement.moved(x, point, gradient.detach().sign())


@dataclass(frozen=True)
class IdentityBackward:
    """Refinement step with the derivative of the identity, known as BPDA. Eq. (E6)."""

    through_gradient = False

    def step(self, refinement: Refinement, x: Tensor, point: Tensor, gradient: Tensor) -> Tensor:
        """The next point (n, ...), with derivative 1 by x."""
        hard = refinement.moved(x.detach(), point.detach(), gradient.detach().sign())
        return hard + (x - x.detach())


@dataclass(frozen=True)
class SoftBackward:
    """Refinement step with the derivative of a smooth step, tanh instead of sign. Eq. (E7).

    The derivative runs through the inner gradient, so it needs second derivatives of the network.
    `softness` divides the gradient within the tanh.
    """

    softness: float
    through_gradient = True

    def step(self, refinement: Refinement, x: Tensor, point: Tensor, gradient: Tensor) -> Tensor:
        """The next point (n, ...), with the derivative of the smooth step."""
        scale = gradient.abs().flatten(1).mean(dim=1)  # (n,)
        scale = torch.where(scale > 0, scale, torch.ones_like(scale))
        unit = gradient / scale.view(-1, *[1] * (gradient.ndim - 1))
        soft = refinement.moved(x, point, torch.tanh(unit / self.softness))
        hard = refinement.moved(x.detach(), point.detach(), gradient.detach().sign())
        return hard + (soft - soft.detach())


def logits_of(model: nn.Module, x: Tensor) -> Tensor:
    """Output of a network for inputs (n, ...) to refine, checked to be logits (n, C)."""
    logits = next(tensors_in(model(x)), None)
    if logits is None or logits.ndim != 2 or len(logits) != len(x) or logits.shape[1] < 2:
        got = "no tensor" if logits is None else f"a tensor of shape {tuple(logits.shape)}"
        raise InputError(
            f"The model makes {got} of {len(x)} inputs, but labels are compared; pass a network "
            "with logits (n, C) of at least 2 classes."
        )
    return logits


def needs_graph(model: nn.Module, x: Tensor) -> bool:
    """Whether a pass must keep its graph: gradients are on, and the input or a weight needs one."""
    trainable = any(weight.requires_grad for weight in model.parameters())
    return torch.is_grad_enabled() and (x.requires_grad or trainable)


class InputRefiner:
    """Refines inputs x towards labels; the first step of all labels shares one forward pass."""

    def __init__(
        self, model: nn.Module, refinement: Refinement, backward: Backward, x: Tensor
    ) -> None:
        self.model, self.refinement, self.backward, self.x = model, refinement, backward, x
        self._soft = backward.through_gradient and needs_graph(model, x)
        self._shared = self._run(x)
        logits = self._shared[1]
        if not torch.isfinite(logits.detach()).all():
            raise InputError(
                "The network's logits are NaN or infinite for some of these inputs, so there is "
                "no way up; look at its weights, or drop those rows."
            )
        self.classes = int(logits.shape[1])

    def refined(self, label: int) -> Tensor:
        """The inputs (n, ...) refined towards one label. Eq. (E1)."""
        point = self.x
        for step in range(self.refinement.steps):
            leaf, logits = self._run(point) if step else self._shared
            gradient = self._gradient(leaf, logits, label)
            point = self.backward.step(self.refinement, self.x, point, gradient)
        return point

    def _run(self, point: Tensor) -> tuple[Tensor, Tensor]:
        """Points and their logits; the points start a new graph unless gradients flow through."""
        with torch.inference_mode(False), torch.enable_grad():
            connected = self._soft and point.requires_grad
            leaf = point if connected else point.detach().clone().requires_grad_()
            return leaf, logits_of(self.model, leaf)

    def _gradient(self, leaf: Tensor, logits: Tensor, label: int) -> Tensor:
        """Gradient of the log-odds of the label; rows are independent, so their sum is enough."""
        with torch.inference_mode(False), torch.enable_grad():
            labels = torch.full((len(logits),), label, device=logits.device)
            odds = log_odds(logits, labels).sum()
            gradient = None
            if odds.requires_grad:
                (gradient,) = torch.autograd.grad(
                    odds, leaf, retain_graph=True, create_graph=self._soft, allow_unused=True
                )
        if gradient is None:
            raise InputError(
                "The model's logits have no gradient by its input, along which it is refined; "
                "pass a network without torch.no_grad, detach or integers inside."
            )
        return gradient
