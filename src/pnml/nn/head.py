"""The last layer of a network: logits of features, in float64 and at any scale."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from pnml.errors import InputError

# A number, or an array (n, 1) with one for each row.
Factor = float | Tensor


class ScaledLogits(Protocol):
    """The head of a network in float64, with scaled logits."""

    def __call__(self, features: Tensor, *factors: Factor) -> list[Tensor]:
        """Logits (n, C) of features (n, d) times each of some factors."""
        ...


class Head(Protocol):
    """The head of a network: computes logits from features."""

    def own_logits(self, features: Tensor) -> Tensor:
        """Logits (..., C) as the network itself gives them."""
        ...

    def outputs(self, width: int) -> int:
        """Number of logits, for features of this width."""
        ...

    def in_double(self, device: torch.device) -> ScaledLogits:
        """The head in float64 for features on a device."""
        ...


@dataclass(frozen=True)
class LinearHead:
    """Head that is a linear layer, or a convolution with a kernel of one pixel."""

    module: nn.Linear | nn.Conv2d

    @property
    def width(self) -> int:
        """Number of features that the layer takes."""
        return int(self.module.weight.shape[1])

    def outputs(self, width: int) -> int:
        """Number of logits that the layer gives."""
        return int(self.module.weight.shape[0])

    def own_logits(self, features: Tensor) -> Tensor:
        """Logits (..., C) as the layer itself gives them."""
        logits: Tensor = self.module(features.to(self.module.weight.dtype))
        return logits

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
        """Input or output of the layer, with features or classes moved to the last axis."""
        return values.movedim(-3, -1) if isinstance(self.module, nn.Conv2d) else values


def linear_module(weight: Tensor, bias: Tensor | None) -> nn.Linear:
    """A linear layer to be a head, with this weight (C, d) and bias (C,), frozen.

    >>> linear_module(torch.eye(2), None)(torch.ones(2))
    tensor([1., 1.])
    """
    module = nn.Linear(weight.shape[1], weight.shape[0], bias is not None, device="meta")
    module.weight = nn.Parameter(weight, requires_grad=False)
    if bias is not None:
        module.bias = nn.Parameter(bias.to(weight), requires_grad=False)
    return module


def check_shapes(weight: Tensor, bias: Any) -> None:
    """Raise unless a head's weight (C, d) and bias (C,) fit; a bias of None always does."""
    if weight.ndim != 2 or (bias is not None and np.shape(bias) != weight.shape[:1]):
        raise InputError(
            f"The weight has shape {tuple(weight.shape)} and the bias {np.shape(bias)}, but a "
            "head of C classes and d features has (C, d) and (C,); pass them so."
        )


class CallableHead:
    """Head that is any function from features to logits.

    It gets features in the dtype and on the device of those it last saw.
    """

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        self.function = function
        parameters = function.parameters() if isinstance(function, nn.Module) else ()
        self._like = next(iter(parameters), torch.empty(0)).new_empty(0)  # its dtype and device

    def outputs(self, width: int) -> int:
        """Number of logits that the function gives for a row of zeros."""
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
