"""How many inputs and labels fit into memory at once, and a pass that is run again when needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

# A soft step keeps its forward pass, its backward pass and the derivatives between them.
_SOFT_PASSES = 3
# Copies of an input beside what the network keeps: the point, the gradient, the step.
_COPIES = 4


@dataclass(frozen=True)
class Plan:
    """Inputs and labels that are worked on together."""

    rows: int
    labels: int

    @classmethod
    def of(cls, limit: int, each: int, classes: int, soft_steps: int, graph: bool) -> Plan:
        """What fits into a limit of bytes where a network keeps so many for one input.

        Without a graph one label follows the other and nothing is kept of it.

        >>> Plan.of(limit=1000, each=10, classes=4, soft_steps=0, graph=True)
        Plan(rows=20, labels=4)
        >>> Plan.of(limit=30, each=10, classes=4, soft_steps=0, graph=True)
        Plan(rows=1, labels=2)
        """
        passes = 1 + _SOFT_PASSES * soft_steps
        if not graph:
            return cls(max(1, limit // (2 * each)), classes)
        rows = limit // (each * (1 + classes * passes))
        if rows:
            return cls(rows, classes)
        return cls(1, min(classes, max(1, (limit - each) // (each * passes))))


@dataclass(frozen=True)
class Probe:
    """What one input tells about all: bytes kept for its backward pass, classes, dtype."""

    each: int
    classes: int
    dtype: torch.dtype

    @classmethod
    def of(cls, network: Callable[[Tensor], Tensor], weights: Iterable[Tensor], x: Tensor) -> Probe:
        """Run the first input, and count what is kept that is no weight."""
        known = {tensor.data_ptr() for tensor in weights}
        seen: dict[int, int] = {}

        def keep(tensor: Tensor) -> Tensor:
            here, size = tensor.data_ptr(), tensor.numel() * tensor.element_size()
            if here not in known:
                seen[here] = max(size, seen.get(here, 0))
            return tensor.detach()  # a graph that holds its own output is never freed

        hooks = torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor)
        with torch.inference_mode(False), torch.enable_grad(), hooks:
            row = x[:1].detach().clone().requires_grad_()
            logits = network(row)
        each = sum(seen.values()) + _COPIES * row.numel() * row.element_size()
        return cls(max(each, 1), int(logits.shape[1]), logits.dtype)


class Recomputed(torch.autograd.Function):
    """A function of inputs and weights that keeps nothing and runs again for its derivative.

    Rows must not touch each other: those whose outcome nobody asks about are not run again.
    """

    @staticmethod
    def forward(
        ctx: Any, function: Callable[[Tensor], Tensor], x: Tensor, *weights: Tensor
    ) -> Tensor:
        """The function's value at x."""
        ctx.function = function
        ctx.save_for_backward(x, *weights)
        return function(x)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """Derivatives by x and by the weights."""
        x, *weights = ctx.saved_tensors
        needed, asked = ctx.needs_input_grad[1:], gradients[0]
        rows = asked.flatten(1).any(dim=1).nonzero()[:, 0]
        if not len(rows):
            flat = zip((x, *weights), needed, strict=True)
            return None, *(torch.zeros_like(t) if need else None for t, need in flat)
        with torch.enable_grad():
            leaf = x[rows].detach().requires_grad_(needed[0])
            value = ctx.function(leaf)
        wanted = [t for t, need in zip((leaf, *weights), needed, strict=True) if need]
        found = list(torch.autograd.grad(value, wanted, asked[rows], allow_unused=True))
        if needed[0] and found[0] is not None:
            found[0] = torch.zeros_like(x).index_copy_(0, rows, found[0])
        left = iter(found)
        return None, *(next(left) if need else None for need in needed)
