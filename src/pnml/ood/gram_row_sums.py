"""Channel correlations of feature maps, and their deviations from the bounds of training rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pnml.errors import InputError
from pnml.ood.network_logits import logits_in

Tensor = Any
# Keeps the relative distance to a bound of 0 finite.
TINY = 1e-6
# A block of about this many numbers stays in cache through all orders.
_BLOCK_NUMBERS = 2**16


def row_sums(maps: Tensor, orders: Iterable[int]) -> Tensor:
    """Row sums (n, orders, C) of the channels' Gram matrices, from maps (n, C, ...). Eq. (O6).

    Maps are outputs of a layer for n inputs, with C channels. The row sums of order p are the
    signed p-th roots of F^p (F^p)ᵀ 1, with F the map of an input as a matrix (C, positions), F^p
    its entrywise power and 1 a vector of ones. The sum over rows comes first, so that no matrix (C,
    C) is formed. Powers are computed in the precision of the maps, which costs at most their last
    digit; sums over positions and roots are computed in float64.

    >>> import torch
    >>> row_sums(torch.tensor([[[1.0, 2.0], [3.0, 0.0]]]), [1])
    tensor([[[ 8., 12.]]], dtype=torch.float64)
    """
    import torch

    powers = tuple(orders)
    flat = maps.detach().flatten(2) if maps.ndim > 2 else maps.detach().unsqueeze(2)
    flat = flat if flat.dtype == torch.float64 else flat.float()
    n, channels, positions = flat.shape
    # Each channel is divided by its own size, or its 20th powers would overflow or vanish; the
    # size is rounded to a power of 2, so that the division is exact.
    own = flat.abs().amax(dim=2, keepdim=True).clamp_min(torch.finfo(flat.dtype).tiny)
    own = own / (2 * torch.frexp(own).mantissa)
    largest = own.amax(dim=1, keepdim=True)
    shares = (own / largest).transpose(1, 2)  # (n, 1, C)
    sums = flat.new_zeros(n, len(powers), channels, dtype=torch.float64)
    across = max(1, min(positions, _BLOCK_NUMBERS // channels))
    step = max(1, _BLOCK_NUMBERS // (channels * across))
    for i in range(0, n, step):
        some = slice(i, i + step)
        for j in range(0, positions, across):
            block = flat[some, :, j : j + across] / own[some]
            sums[some] += _power_sums(block, shares[some], powers)
    roots = 1 / sums.new_tensor(powers)[:, None]
    size = (own.double() * largest.double()).transpose(1, 2)
    return sums.sign() * sums.abs() ** roots * size


def _power_sums(F: Tensor, shares: Tensor, orders: tuple[int, ...]) -> Tensor:
    """F^p (F^p)ᵀ 1 (n, orders, C) of some maps F; `shares` (n, 1, C) are relative channel sizes."""
    import torch

    out = F.new_empty(len(F), len(orders), F.shape[1])
    power, last = F.clone(), 1
    for k, p in enumerate(orders):
        for _ in range(p - last):
            power *= F
        last = p
        total = torch.bmm(shares**p, power)  # (n, 1, positions)
        out[:, k] = torch.bmm(power, total.transpose(1, 2)).squeeze(2)
    return out


@dataclass
class Bounds:
    """Bounds of Gram row sums: least and greatest of training rows, by predicted class.

    One tensor (classes, orders, channels) for each layer; ±inf for classes never predicted.
    """

    least: list[Tensor]
    greatest: list[Tensor]

    @classmethod
    def empty(cls, sums: list[Tensor], classes: int) -> Bounds:
        """Bounds before the first row: least inf, greatest −inf, for row sums of these shapes."""
        shapes = [(classes, *layer.shape[1:]) for layer in sums]
        return cls(
            [
                layer.new_full(shape, float("inf"))
                for layer, shape in zip(sums, shapes, strict=True)
            ],
            [
                layer.new_full(shape, -float("inf"))
                for layer, shape in zip(sums, shapes, strict=True)
            ],
        )

    def widen(self, sums: list[Tensor], predicted: Tensor) -> None:
        """Widen the bounds to include row sums (n, orders, channels) of each layer, in place.

        `predicted` (n,) are the classes that the network predicts for these rows.
        """
        for layer, least, greatest in zip(sums, self.least, self.greatest, strict=True):
            index = predicted[:, None, None].expand_as(layer)
            least.scatter_reduce_(0, index, layer, "amin")
            greatest.scatter_reduce_(0, index, layer, "amax")

    def deviations(self, sums: list[Tensor], predicted: Tensor, confidence: Tensor) -> Tensor:
        """Deviations (n, layers): relative excess of row sums over their bounds. Eq. (O7).

        Bounds are those of the predicted class (n,). The excess is summed over orders and channels
        and divided by `confidence` (n,), the probability of the predicted class. Infinite if the
        network predicts a class that it predicted for no training row.
        """
        import torch

        deviations = []
        for layer, least, greatest in zip(sums, self.least, self.greatest, strict=True):
            low, high = least[predicted], greatest[predicted]
            below = torch.relu(low - layer) / (low + TINY).abs()
            above = torch.relu(layer - high) / (high + TINY).abs()
            deviations.append((below + above).sum(dim=(1, 2)))
        known = torch.isfinite(self.least[0]).flatten(1).all(dim=1)[predicted]
        out = torch.stack(deviations, dim=1) / confidence[:, None]
        return torch.where(known[:, None], out, torch.full_like(out, float("inf")))


def layers_of(model: Any, layers: Iterable[Any] | None) -> list[Any]:
    """Modules of a network whose outputs give Gram row sums; `layers` are names, modules or None.

    By default all convolutions, or the linear layers except the last if there are none.
    """
    from torch import nn

    from pnml.nn.eval_mode import unwrapped

    by_name = dict(unwrapped(model).named_modules())
    if layers is None:
        kinds = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
        modules: list[Any] = [m for m in by_name.values() if isinstance(m, kinds)]
        linear = [m for m in by_name.values() if isinstance(m, nn.Linear)]
        modules = modules or linear[:-1]
    else:
        layers = list(layers)
        unknown = [n for n in layers if isinstance(n, str) and n not in by_name]
        if unknown:
            raise InputError(
                f"The network has no layer named {unknown[0]!r}; pass names out of "
                "dict(model.named_modules()), or the modules themselves."
            )
        modules = [by_name[n] if isinstance(n, str) else n for n in layers]
    if not modules:
        raise InputError(
            "The network has no convolution and no second linear layer to look at; pass "
            "layers=[...] with the names of those whose outputs are feature maps."
        )
    return modules


@dataclass
class Recorded:
    """Gram row sums and outputs of a network, recorded while it ran."""

    sums: list[Tensor]  # (n, orders, channels) of each recorded layer, in the order they ran
    outputs: list[Any]  # of the whole network, one for each forward pass

    def single_pass(self) -> tuple[list[Tensor], Tensor] | None:
        """Row sums of each layer and logits (n, C), or None unless the network ran exactly once."""
        return (self.sums, logits_in(self.outputs[0])) if len(self.outputs) == 1 else None


@contextmanager
def recorded(model: Any, layers: list[Any], orders: tuple[int, ...]) -> Iterator[Recorded]:
    """Context whose Recorded fills with Gram row sums of these layers while the network runs.

    It also keeps the output of each forward pass of the network. `orders` are the powers of the row
    sums.
    """
    from pnml.nn.eval_mode import unwrapped

    record = Recorded([], [])

    def add_sums(_module: Any, _inputs: Any, output: Any) -> None:
        maps = output[0] if isinstance(output, tuple) else output
        record.sums.append(row_sums(maps, orders))

    handles = [layer.register_forward_hook(add_sums) for layer in layers]
    whole = unwrapped(model)
    handles.append(whole.register_forward_hook(lambda _, __, out: record.outputs.append(out)))
    try:
        yield record
    finally:
        for handle in handles:
            handle.remove()
