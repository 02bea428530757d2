"""The last layer of a network: logits of features, in float64 and at any scale."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional

# A number, or one for each row, (n, 1).
Factor = float | Tensor


class ScaledLogits(Protocol):
    """The head in float64."""

    def __call__(self, features: Tensor, *factors: Factor) -> list[Tensor]:
        """Logits (n, C) of features (n, d) times each of some factors."""
        ...


class Head(Protocol):
    """What makes logits of features."""

    def own_logits(self, features: Tensor) -> Tensor:
        """Logits (..., C) as the network itself gives them."""
        ...

    def outputs(self, width: int) -> int:
        """How many logits there are, of features of this width."""
        ...

    def in_double(self, device: torch.device) -> ScaledLogits:
        """The head in float64 for features on a device."""
        ...


@dataclass(frozen=True)
class LinearHead:
    """A linear layer, or a convolution that looks at one pixel at a time."""

    module: nn.Linear | nn.Conv2d

    @property
    def width(self) -> int:
        """Features that the layer takes."""
        return int(self.module.weight.shape[1])

    def outputs(self, width: int) -> int:
        """Logits that the layer gives."""
        return int(self.module.weight.shape[0])

    def own_logits(self, features: Tensor) -> Tensor:
        """Logits (..., C) as the layer itself gives them."""
        found: Tensor = self.module(features.to(self.module.weight.dtype))
        return found

    def in_double(self, device: torch.device) -> ScaledLogits:
        """One product for all factors: the layer is linear but for its bias."""
        weight = self.module.weight.flatten(1).to(device, torch.float64)
        own = self.module.bias
        bias = weight.new_zeros(()) if own is None else own.to(device, torch.float64)

        def logits(features: Tensor, *factors: Factor) -> list[Tensor]:
            slopes = functional.linear(features, weight)
            return [factor * slopes + bias for factor in factors]

        return logits

    def classes_last(self, values: Tensor) -> Tensor:
        """What the layer takes or gives, with features or classes on the last axis."""
        return values.movedim(-3, -1) if isinstance(self.module, nn.Conv2d) else values


def linear_module(weight: Tensor, bias: Tensor | None) -> nn.Linear:
    """A linear layer with this weight (C, d) and bias (C,), frozen.

    >>> linear_module(torch.eye(2), None)(torch.ones(2))
    tensor([1., 1.])
    """
    module = nn.Linear(weight.shape[1], weight.shape[0], bias is not None, device="meta")
    module.weight = nn.Parameter(weight, requires_grad=False)
    if bias is not None:
        module.bias = nn.Parameter(bias.to(weight), requires_grad=False)
    return module


class CallableHead:
    """Any function from features to logits; it computes as it did on the features it last saw."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        self.function = function
        parameters = function.parameters() if isinstance(function, nn.Module) else ()
        self._like = next(iter(parameters), torch.empty(0)).new_empty(0)  # its dtype and device

    def outputs(self, width: int) -> int:
        """Logits that the function gives of one row of zeros."""
        with torch.no_grad():
            row = torch.zeros(1, width, dtype=torch.float64)
            return self.in_double(row.device)(row, 1.0)[0].shape[-1]

    def own_logits(self, features: Tensor) -> Tensor:
        """Logits (..., C) as the function itself gives them."""
        self._like = features.new_empty(0)
        return self.function(features)

    def in_double(self, device: torch.device) -> ScaledLogits:
        """The function, with logits turned to float64."""

        def logits(features: Tensor, *factors: Factor) -> list[Tensor]:
            scaled = [(factor * features).to(self._like) for factor in factors]
            return [self.function(rows).to(device, torch.float64) for rows in scaled]

        return logits
