"""Networks that pool the logits of their last layer: one row of features for each input."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from pnml.errors import InputError
from pnml.nn.batches import call, tensors_in
from pnml.nn.head import LinearHead, MergedHead
from pnml.nn.returned_logits import Agreement, agreement_with, refuse_too_few


@dataclass(frozen=True)
class PooledNetwork:
    """A network that pools its head's logits over positions; gives pooled features and logits.

    It returns an average, or one position, as decoders do that classify by the last token that is
    not padding. The head is linear, so the logits of an average are those of the averaged features.
    The weight of each position is the derivative of the returned logits by the logits of the
    position, in every forward pass. `name` is that of the head in the model.
    """

    model: nn.Module
    head: LinearHead | MergedHead
    name: str

    @property
    def modules(self) -> list[nn.Module]:
        """The model."""
        return [self.model]

    def run(self, given: Any) -> tuple[Tensor, Tensor]:
        """Pooled features (B, d) and logits (B, C) of an input of B rows."""
        found = self._found(given)
        if found is None or found[1].scale != 1:
            raise InputError(
                f'The network returned no average of the logits that its layer "{self.name}" gives '
                "at each position, as it did before; pass two functions layer=(features, head)."
            )
        return found[0], self.head.own_logits(found[0])

    def settled(self, given: Any) -> tuple[PooledNetwork, tuple[Tensor, Tensor]] | None:
        """Run a first input to find the scale: pair (network, (features, logits)), or None.

        The scale is the factor from the pooled logits of the layer `name` to those that the network
        returns. The network in the result is a copy that applies it; features (B, d) and logits
        (B, C) are the pooled ones of the input. None if what the network returns is not pooled from
        logits of the layer; InputError if the input has too few rows to tell a scale other than 1.
        """
        found = self._found(given)
        if found is None:
            return None
        if not found[1].enough:
            refuse_too_few(self.name)
        network = replace(self, head=self.head.scaled(found[1].scale))
        return network, (found[0], network.head.own_logits(found[0]))

    def _found(self, given: Any) -> tuple[Tensor, Agreement] | None:
        """Pooled features (B, d), and how the returned logits follow from them; else None."""
        # derivatives do not exist in inference mode
        with torch.inference_mode(False), torch.set_grad_enabled(torch.is_grad_enabled()):
            features, leaf, returned = self._watched(given)
            for values in returned:
                pooled = self._pooled(features, leaf, values)
                if pooled is not None:
                    return pooled
        return None

    def _watched(self, given: Any) -> tuple[Tensor, Tensor, list[Tensor]]:
        """Features, logits that derivatives are taken by, and what the network returned."""
        runs: list[tuple[Tensor, Tensor]] = []

        def replaced(_: nn.Module, args: Any, kwargs: Any, output: Tensor) -> Tensor:
            torch.set_grad_enabled(True)  # till the model returns
            leaf = output.detach().clone().requires_grad_()
            runs.append((args[0] if args else kwargs["input"], leaf))
            return leaf.clone()  # which the network may change in place

        handle = self.head.module.register_forward_hook(replaced, with_kwargs=True)
        before = torch.is_grad_enabled()
        try:
            returned = list(tensors_in(call(self.model, given)))
        finally:
            torch.set_grad_enabled(before)
            handle.remove()
        if len(runs) != 1:
            raise InputError(
                f'The layer "{self.name}" ran {len(runs)} times in one forward pass, but it must '
                "run once; pass layer=(features, head), two functions that do it in two steps."
            )
        return *runs[0], returned

    def _pooled(
        self, features: Tensor, leaf: Tensor, values: Tensor
    ) -> tuple[Tensor, Agreement] | None:
        """Pooled features if these values are pooled logits, and the agreement; None if not."""
        features, logits = self.head.classes_last(features), self.head.classes_last(leaf)
        rows, classes = logits.shape[0], logits.shape[-1]
        if values.numel() != rows * classes or not values.requires_grad:
            return None
        values = values.reshape(rows, classes)
        # a difference of two classes is the same after log-softmax
        with torch.enable_grad():
            one = values[:, 0] if classes == 1 else values[:, 0] - values[:, 1]
        slopes: Tensor | None = torch.autograd.grad(
            one.sum(), leaf, retain_graph=True, allow_unused=True
        )[0]
        if slopes is None:
            return None
        weights = self.head.classes_last(slopes)[..., 0].flatten(1)  # (B, positions)
        total = weights.sum(1, keepdim=True)
        if not bool((total > 0).all()):
            return None
        shares = (weights / total).to(features.dtype)[..., None]
        flat = features.flatten(1, -2).masked_fill(shares == 0, 0.0)  # padding may be NaN
        pooled = (shares * flat).sum(1)
        found = agreement_with(self.head, pooled.detach(), values.detach())
        return None if found is None else (pooled, found)
