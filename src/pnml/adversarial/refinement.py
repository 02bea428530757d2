"""Steps of an input towards a label, and the derivatives that stand for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor


@dataclass(frozen=True)
class Refinement:
    """Size and number of the steps, in the units of the input."""

    strength: float
    steps: int
    step_size: float
    low: float
    high: float

    def moved(self, x: Tensor, point: Tensor, direction: Tensor) -> Tensor:
        """One step from a point near x, projected onto ball and range. Eq. (E1)."""
        away = (point + self.step_size * direction - x).clamp(-self.strength, self.strength)
        return (x + away).clamp(self.low, self.high)


class Backward(Protocol):
    """The derivative used for a step; the value of the step is always that of Eq. (E1)."""

    @property
    def through_gradient(self) -> bool:
        """Whether the derivative involves the change of the inner gradient."""
        ...

    def step(self, refinement: Refinement, x: Tensor, point: Tensor, gradient: Tensor) -> Tensor:
        """The next point, one step up the log-odds with this gradient."""
        ...


@dataclass(frozen=True)
class AutogradBackward:
    """The derivative almost everywhere: the sign is constant, the clip is not."""

    through_gradient = False

    def step(self, refinement: Refinement, x: Tensor, point: Tensor, gradient: Tensor) -> Tensor:
        """The next point; entries that are clipped to the range have no derivative."""
        return refinement.moved(x, point, gradient.detach().sign())


@dataclass(frozen=True)
class IdentityBackward:
    """The derivative of the identity, known as BPDA. Eq. (E6)."""

    through_gradient = False

    def step(self, refinement: Refinement, x: Tensor, point: Tensor, gradient: Tensor) -> Tensor:
        """The next point, with the derivative of x."""
        hard = refinement.moved(x.detach(), point.detach(), gradient.detach().sign())
        return hard + (x - x.detach())


@dataclass(frozen=True)
class SoftBackward:
    """The derivative of a tanh step, which includes the change of the inner gradient. Eq. (E7)."""

    softness: float
    through_gradient = True

    def step(self, refinement: Refinement, x: Tensor, point: Tensor, gradient: Tensor) -> Tensor:
        """The next point, with the derivative of the soft step."""
        scale = gradient.abs().flatten(1).mean(dim=1)  # (n,)
        scale = torch.where(scale > 0, scale, torch.ones_like(scale))
        unit = gradient / scale.view(-1, *[1] * (gradient.ndim - 1))
        soft = refinement.moved(x, point, torch.tanh(unit / self.softness))
        hard = refinement.moved(x.detach(), point.detach(), gradient.detach().sign())
        return hard + (soft - soft.detach())
