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
from pnml.nn.eval_mode import as_in_use

# A number, or an array (n, 1) with one for each row.
Factor = float | Tensor


class ScaledLogits(Protocol):
    """The head of a network as a function in float64: logits of features times given factors."""

    def __call__(self, features: Tensor, *factors: Factor) -> list[Tensor]:
        """For each factor, the logits (n, C) of features (n, d) multiplied by that factor.

        A factor is a number, or a tensor (n, 1) with one for each row.
        """
        ...


class Head(Protocol):
    """The head of a network: computes logits from features."""

    def own_logits(self, features: Tensor) -> Tensor:
        """Logits (..., C) of features (..., d), as the network itself gives them."""
        ...

    def outputs(self, width: int) -> int:
        """Number of logits, for features of this width."""
        ...

    def in_double(self, device: torch.device) -> ScaledLogits:
        """The head as a function in float64, for features on this device."""
        ...


@dataclass(frozen=True)
class LinearHead:
    """Head that is a linear layer, or a convolution with a kernel of one pixel.

    `scale` is the factor from the layer's outputs to the logits of the network: 1, or 1 over a
    temperature.
    """

    module: nn.Linear | nn.Conv2d
    scale: float = 1.0  # of the network's logits over those of the layer, as by a temperature

    @property
    def width(self) -> int:
        """Number of features that the layer takes."""
        return int(self.module.weight.shape[1])

    def outputs(self, width: int) -> int:
        """Number of logits that the layer gives."""
        return int(self.module.weight.shape[0])

    def own_logits(self, features: Tensor) -> Tensor:
        """Logits (..., C) of features (..., d): the outputs of the layer times `scale`."""
        rows = features.to(self.module.weight.dtype)
        if isinstance(self.module, nn.Linear):
            logits: Tensor = self.module(rows)
        else:
            logits = functional.linear(rows, *self.affine(self.width))
        return logits if self.scale == 1 else self.scale * logits

    def affine(self, width: int) -> tuple[Tensor, Tensor | None]:
        """Weight (C, d) and bias (C,) or None of the layer, without `scale`; `width` is unused."""
        return self.module.weight.flatten(1), self.module.bias

    def in_double(self, device: torch.device) -> ScaledLogits:
        """The head as a function in float64, on this device; one product serves all factors."""
        return _linear(*self.affine(self.width), self.scale, device)

    def scaled(self, scale: float) -> LinearHead:
        """The head with all logits multiplied by `scale`, beyond the scale it has."""
        return LinearHead(self.module, self.scale * scale)

    def classes_last(self, values: Tensor) -> Tensor:
        """Input or output of the layer, with features or classes moved to the last axis."""
        return values.movedim(-3, -1) if isinstance(self.module, nn.Conv2d) else values


class MergedHead:
    """Head that is a module of several layers but linear as a whole, as a layer with an adapter.

    Its weight and bias are read off its outputs for unit vectors and for zero. `scale` is the
    factor from the module's outputs to the logits of the network.
    """

    def __init__(self, module: nn.Module, scale: float = 1.0) -> None:
        self.module, self.scale = module, scale
        self._known: tuple[Any, tuple[Tensor, Tensor]] | None = None

    def outputs(self, width: int) -> int:
        """Number of logits that the module gives."""
        return int(self.affine(width)[0].shape[0])

    def own_logits(self, features: Tensor) -> Tensor:
        """Logits (..., C) of features (..., d): the outputs of the module times `scale`."""
        with as_in_use([self.module]):
            logits: Tensor = self.module(features)
        return logits if self.scale == 1 else self.scale * logits

    def affine(self, width: int) -> tuple[Tensor, Tensor | None]:
        """Weight (C, d) and bias (C,) of the module without `scale`; `width` is d."""
        version = (width, *weights_version([self.module]))
        if self._known is None or self._known[0] != version:
            like = next(self.module.parameters())
            with as_in_use([self.module]), torch.no_grad():
                bias = self.module(like.new_zeros(1, width))[0]
                weight = (self.module(torch.eye(width).to(like)) - bias).T
            self._known = version, (weight, bias)
        return self._known[1]

    def in_double(self, device: torch.device) -> ScaledLogits:
        """The head as a function in float64, on this device, by its weight and bias."""

        def logits(features: Tensor, *factors: Factor) -> list[Tensor]:
            merged = self.affine(features.shape[-1])
            return _linear(*merged, self.scale, device)(features, *factors)

        return logits

    def scaled(self, scale: float) -> MergedHead:
        """The head with all logits multiplied by `scale`, beyond the scale it has."""
        return MergedHead(self.module, self.scale * scale)

    def classes_last(self, values: Tensor) -> Tensor:
        """The tensor unchanged: features or classes are on the last axis already."""
        return values


def _linear(
    weight: Tensor, bias: Tensor | None, scale: float, device: torch.device
) -> ScaledLogits:
    """Scaled logits of a linear layer in float64, all factors from one product."""
    weight = weight.to(device, torch.float64)
    shift = weight.new_zeros(()) if bias is None else bias.to(device, torch.float64)
    if scale != 1:
        weight, shift = scale * weight, scale * shift

    def logits(features: Tensor, *factors: Factor) -> list[Tensor]:
        slopes = functional.linear(features, weight)
        return [factor * slopes + shift for factor in factors]

    return logits


def weights_version(
    owners: list[nn.Module], *, buffers: bool = False
) -> tuple[tuple[int, int, int], ...]:
    """A key that changes with the weights of some modules, and with their buffers if asked.

    It holds identity, address and number of in-place changes of each tensor.
    """
    weights: list[Tensor] = [weight for owner in owners for weight in owner.parameters()]
    if buffers:
        weights += [buffer for owner in owners for buffer in owner.buffers()]
    return tuple((id(w), w.data_ptr(), 0 if w.is_inference() else w._version) for w in weights)


def linear_module(weight: Tensor, bias: Tensor | None) -> nn.Linear:
    """A frozen linear layer with this weight (C, d) and bias (C,) or None, to be a head.

    >>> linear_module(torch.eye(2), None)(torch.ones(2))
    tensor([1., 1.])
    """
    module = nn.Linear(weight.shape[1], weight.shape[0], bias is not None, device="meta")
    module.weight = nn.Parameter(weight, requires_grad=False)
    if bias is not None:
        module.bias = nn.Parameter(bias.to(weight), requires_grad=False)
    return module


def check_shapes(weight: Tensor, bias: Any) -> None:
    """Raise unless a head's weight has shape (C, d), and its bias (C,) or is None."""
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
        """Logits (..., C) of features (..., d), as the function itself gives them."""
        self._like = features.new_empty(0)
        return self.function(features)

    def in_double(self, device: torch.device) -> ScaledLogits:
        """The head as a function: computes in its own dtype, and gives logits in float64."""

        def logits(features: Tensor, *factors: Factor) -> list[Tensor]:
            scaled = [(factor * features).to(self._like) for factor in factors]
            return [self.function(rows).to(device, torch.float64) for rows in scaled]

        return logits
