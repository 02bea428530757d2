"""The network inside the defence: its logits, and inputs refined along its gradients."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from pnml.adversarial.genies import log_odds
from pnml.adversarial.refinement import Backward, Refinement
from pnml.errors import InputError
from pnml.nn.batches import tensors_in


def logits_of(model: nn.Module, x: Tensor) -> Tensor:
    """What a network says of inputs (n, ...), checked to be logits (n, C)."""
    given = next(tensors_in(model(x)), None)
    if given is None or given.ndim != 2 or len(given) != len(x) or given.shape[1] < 2:
        got = "no tensor" if given is None else f"a tensor of shape {tuple(given.shape)}"
        raise InputError(
            f"The model makes {got} of {len(x)} inputs, but labels are compared; pass a network "
            "with logits (n, C) of at least 2 classes."
        )
    return given


def needs_graph(model: nn.Module, x: Tensor) -> bool:
    """Whether someone may ask for a derivative by the input or by the weights."""
    learning = any(weight.requires_grad for weight in model.parameters())
    return torch.is_grad_enabled() and (x.requires_grad or learning)


class Inner:
    """Refined inputs of some rows; the gradients of all labels share one forward pass."""

    def __init__(
        self, model: nn.Module, refinement: Refinement, backward: Backward, x: Tensor
    ) -> None:
        self.model, self.refinement, self.backward, self.x = model, refinement, backward, x
        self._soft = backward.through_gradient and needs_graph(model, x)
        self._shared = self._run(x)
        logits = self._shared[1]
        if not torch.isfinite(logits.detach()).all():
            raise InputError(
                "The network's logits are NaN or infinite for some of these inputs, so there is "
                "no way up; look at its weights, or drop those rows."
            )
        self.classes = int(logits.shape[1])

    def refined(self, label: int) -> Tensor:
        """The inputs refined towards one label. Eq. (E1)."""
        at = self.x
        for step in range(self.refinement.steps):
            leaf, logits = self._run(at) if step else self._shared
            gradient = self._gradient(leaf, logits, label)
            at = self.backward.step(self.refinement, self.x, at, gradient)
        return at

    def _run(self, at: Tensor) -> tuple[Tensor, Tensor]:
        """The points as the root of a graph of their own, unless the one outside goes on."""
        with torch.inference_mode(False), torch.enable_grad():
            go_on = self._soft and at.requires_grad
            leaf = at if go_on else at.detach().clone().requires_grad_()
            return leaf, logits_of(self.model, leaf)

    def _gradient(self, leaf: Tensor, logits: Tensor, label: int) -> Tensor:
        """Gradient of the log-odds of the label; rows do not touch each other, so a sum will do."""
        with torch.inference_mode(False), torch.enable_grad():
            labels = torch.full((len(logits),), label, device=logits.device)
            odds = log_odds(logits, labels).sum()
            found = None
            if odds.requires_grad:
                (found,) = torch.autograd.grad(
                    odds, leaf, retain_graph=True, create_graph=self._soft, allow_unused=True
                )
        if found is None:
            raise InputError(
                "The model's logits have no gradient by its input, along which it is refined; "
                "pass a network without torch.no_grad, detach or integers inside."
            )
        return found
