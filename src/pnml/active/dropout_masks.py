"""Dropout masks that all rows share: one mask for each model. Eq. (I10)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from pnml.core.arrays import FloatArray

_UNITS = (nn.Dropout, nn.AlphaDropout)
_CHANNELS = (nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.FeatureAlphaDropout)
_SELU = (nn.AlphaDropout, nn.FeatureAlphaDropout)
# Value of a dropped unit of a SELU network: the limit of SELU at minus infinity.
_SATURATION = -1.0507009873554805 * 1.6732632423543772


def dropouts_of(network: nn.Module) -> list[nn.Module]:
    """The modules that draw dropout masks (p > 0), in the order of `network.modules()`.

    >>> len(dropouts_of(nn.Sequential(nn.Dropout(0.5), nn.Dropout(0.0), nn.Linear(2, 2))))
    1
    """
    return [
        module
        for module in network.modules()
        if isinstance(module, _UNITS + _CHANNELS) and module.p > 0
    ]


class Masks:
    """Dropout masks as a function of seed, model, module and call, but not of the batch.

    A model, known by its number, is the network with the same units dropped for all rows.
    """

    def __init__(self, dropouts: list[nn.Module], seed: int) -> None:
        self.dropouts = dropouts
        self.seed = seed
        self.model = 0
        self._calls: Counter[int] = Counter()

    @property
    def calls(self) -> int:
        """Number of calls of dropout modules in the current pass."""
        return self._calls.total()

    def begin(self, model: int) -> None:
        """Start a forward pass with the masks of this model number."""
        self.model = model
        self._calls.clear()

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Context in which the dropout modules, inactive in eval mode, apply the masks."""
        with ExitStack() as stack:
            for number, module in enumerate(self.dropouts):
                handle = module.register_forward_hook(self._hook(number))
                stack.callback(handle.remove)
            # fused transformer layers skip dropout modules
            fused = torch.backends.mha.get_fastpath_enabled()
            stack.callback(torch.backends.mha.set_fastpath_enabled, fused)
            torch.backends.mha.set_fastpath_enabled(False)
            yield

    def _hook(self, number: int) -> Any:
        def drop(module: Any, args: Any, output: Tensor) -> Tensor:
            call = self._calls[number]
            self._calls[number] += 1
            uniform = self._uniform((number, call), _mask_shape(module, output))
            kept = torch.from_numpy(uniform >= module.p).to(output.device)
            return _dropped(module, output, kept)

        return drop

    def _uniform(self, place: tuple[int, int], shape: tuple[int, ...]) -> FloatArray:
        # draws are sequential, so a longer sequence starts with the mask of a shorter one
        return np.random.default_rng([self.seed, self.model, *place]).random(shape)


def _mask_shape(module: nn.Module, values: Tensor) -> tuple[int, ...]:
    """Shape of a mask: one number for each unit, or for each channel, of a row."""
    units = tuple(values.shape[1:])
    if isinstance(module, _CHANNELS):
        return units[:1] + (1,) * (len(units) - 1)
    return units


def _dropped(module: Any, values: Tensor, kept: Tensor) -> Tensor:
    """Values (B, ...) with units dropped as the module does in training."""
    p = float(module.p)
    if not isinstance(module, _SELU):
        return values * (_laid_as(values, kept).div_(1 - p) if p < 1 else 0.0)
    if p == 1:
        return torch.zeros_like(values)
    slope = ((1 - p) * (1 + p * _SATURATION**2)) ** -0.5
    offset = -slope * p * _SATURATION
    moved: Tensor = slope * torch.where(kept, values, _SATURATION) + offset
    return moved


def _laid_as(values: Tensor, kept: Tensor) -> Tensor:
    """The mask as numbers, in memory as a row of the values lies there, or products are slow."""
    if kept.shape != values.shape[1:] or not len(values):
        return kept.to(values.dtype)
    return torch.empty_like(values[0]).copy_(kept)
