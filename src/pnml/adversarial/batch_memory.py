"""Batch sizes that fit into memory, and recomputation in the backward pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

# Passes kept by a soft step: forward, backward, and the derivatives between them.
_SOFT_PASSES = 3
# Copies of an input in addition to what the network keeps: point, gradient, step.
_COPIES = 4


@dataclass(frozen=True)
class BatchPlan:
    """Number of inputs, and of labels refined towards at once, that fit into memory."""

    rows: int
    labels: int

    @classmethod
    def of(
        cls, limit: int, bytes_per_input: int, classes: int, soft_steps: int, graph: bool
    ) -> BatchPlan:
        """The largest batch within a limit of bytes.

        `soft_steps` is the number of refinement steps whose second derivatives are kept, and
        `graph` says whether gradients are needed. Without a graph the labels are processed one
        after the other and nothing is kept.

        >>> BatchPlan.of(1000, bytes_per_input=10, classes=4, soft_steps=0, graph=True)
        BatchPlan(rows=20, labels=4)
        >>> BatchPlan.of(30, bytes_per_input=10, classes=4, soft_steps=0, graph=True)
        BatchPlan(rows=1, labels=2)
        """
        passes = 1 + _SOFT_PASSES * soft_steps
        if not graph:
            return cls(max(1, limit // (2 * bytes_per_input)), classes)
        rows = limit // (bytes_per_input * (1 + classes * passes))
        if rows:
            return cls(rows, classes)
        return cls(1, min(classes, max(1, (limit - bytes_per_input) // (bytes_per_input * passes))))


@dataclass(frozen=True)
class MemoryProbe:
    """Memory of one input: bytes kept for its backward pass, classes and dtype of the logits."""

    bytes_per_input: int
    classes: int
    dtype: torch.dtype

    @classmethod
    def of(
        cls, network: Callable[[Tensor], Tensor], weights: Iterable[Tensor], x: Tensor
    ) -> MemoryProbe:
        """Memory of the first input of x: bytes saved for the backward pass, without weights.

        `network` is a function from inputs to logits, which runs once.
        """
        weight_addresses = {tensor.data_ptr() for tensor in weights}
        saved: dict[int, int] = {}  # address → bytes

        def keep(tensor: Tensor) -> Tensor:
            address, size = tensor.data_ptr(), tensor.numel() * tensor.element_size()
            if address not in weight_addresses:
                saved[address] = max(size, saved.get(address, 0))
            return tensor.detach()  # a graph that holds its own output is never freed

        hooks = torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor)
        with torch.inference_mode(False), torch.enable_grad(), hooks:
            row = x[:1].detach().clone().requires_grad_()
            logits = network(row)
        total = sum(saved.values()) + _COPIES * row.numel() * row.element_size()
        return cls(max(total, 1), int(logits.shape[1]), logits.dtype)


class Recomputed(torch.autograd.Function):
    """Function that saves memory: it keeps no graph and runs again in the backward pass.

    Rows must be independent: a row whose output has no gradient is not run again.
    """

    @staticmethod
    def forward(
        ctx: Any, function: Callable[[Tensor], Tensor], x: Tensor, *weights: Tensor
    ) -> Tensor:
        """The value function(x), without a graph; `weights` are its other trainable tensors."""
        ctx.function = function
        ctx.save_for_backward(x, *weights)
        return function(x)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients by x and by the weights, or None where not needed; the function runs again."""
        x, *weights = ctx.saved_tensors
        needed, output_gradient = ctx.needs_input_grad[1:], gradients[0]
        rows = output_gradient.flatten(1).any(dim=1).nonzero()[:, 0]
        if not len(rows):
            flat = zip((x, *weights), needed, strict=True)
            return None, *(torch.zeros_like(t) if need else None for t, need in flat)
        with torch.enable_grad():
            leaf = x[rows].detach().requires_grad_(needed[0])
            value = ctx.function(leaf)
        wanted = [t for t, need in zip((leaf, *weights), needed, strict=True) if need]
        computed = list(
            torch.autograd.grad(value, wanted, output_gradient[rows], allow_unused=True)
        )
        if needed[0] and computed[0] is not None:
            computed[0] = torch.zeros_like(x).index_copy_(0, rows, computed[0])
        remaining = iter(computed)
        return None, *(next(remaining) if need else None for need in needed)
