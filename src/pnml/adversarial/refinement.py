"""Steps of an input towards a label, and what their derivative is taken to be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor


@dataclass(frozen=True)
class Refinement:
    """How far and in how many steps an input is moved, in the units of its entries."""

    strength: float
    steps: int
    step_size: float
    low: float
    high: float

    def moved(self, x: Tensor, at: Tensor, direction: Tensor) -> Tensor:
        """One step from a point near x, projected on the ball around x and the range. Eq. (E1)."""
        away = (at + self.step_size * direction - x).clamp(-self.strength, self.strength)
        return (x + away).clamp(self.low, self.high)


class Backward(Protocol):
    """What stands for the derivative of a step, whose value is always that of Eq. (E1)."""

    @property
    def through_gradient(self) -> bool:
        """Whether the derivative asks how the inner gradient changes."""
        ...

    def step(self, refinement: Refinement, x: Tensor, at: Tensor, gradient: Tensor) -> Tensor:
        """The next point, on the way up the log-odds with this gradient."""
        ...


@dataclass(frozen=True)
class AutogradBackward:
    """The derivative as it is almost everywhere: the sign is constant, the clip is not."""

    through_gradient = False

    def step(self, refinement: Refinement, x: Tensor, at: Tensor, gradient: Tensor) -> Tensor:
        """The next point; entries that are clipped to the range have no derivative."""
        return refinement.moved(x, at, gradient.detach().sign())


@dataclass(frozen=True)
class IdentityBackward:
    """The derivative of doing nothing, known as BPDA. Eq. (E6)."""

    through_gradient = False

    def step(self, refinement: Refinement, x: Tensor, at: Tensor, gradient: Tensor) -> Tensor:
        """The next point, with the derivative of x."""
        hard = refinement.moved(x.detach(), at.detach(), gradient.detach().sign())
        return hard + (x - x.detach())


@dataclass(frozen=True)
class SoftBackward:
    """The derivative of a step along tanh, which sees how the inner gradient turns. Eq. (E7)."""

    softness: float
    through_gradient = True

    def step(self, refinement: Refinement, x: Tensor, at: Tensor, gradient: Tensor) -> Tensor:
        """The next point, with the derivative of the soft step."""
        size = gradient.abs().flatten(1).mean(dim=1)  # (n,)
        size = torch.where(size > 0, size, torch.ones_like(size))
        unit = gradient / size.view(-1, *[1] * (gradient.ndim - 1))
        soft = refinement.moved(x, at, torch.tanh(unit / self.softness))
        hard = refinement.moved(x.detach(), at.detach(), gradient.detach().sign())
        return hard + (soft - soft.detach())
