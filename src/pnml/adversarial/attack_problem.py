"""What all attacks share: rows within a ball, led towards aims until they fall."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from pnml.adversarial.apgd import Ball, Look, Seen
from pnml.adversarial.checks import (
    check_bounds,
    check_count,
    check_inputs,
    check_labels,
    check_length,
    check_module,
)
from pnml.adversarial.losses import Loss, lead
from pnml.adversarial.refiner import logits_of
from pnml.errors import InputError
from pnml.nn.batches import refuse_other_device
from pnml.nn.eval_mode import as_in_use

# (look, ball, inputs, where to begin) → points (n, ...), and what the label led by there (n,)
Ascent = Callable[[Look, Ball, Tensor, Tensor], tuple[Tensor, Tensor]]
# (scores (n, C), labels (n,)) → (n,): below 0 where an attack has what it wants
Lead = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Hunt:
    """A network and rows to be attacked, checked."""

    model: nn.Module
    x: Tensor  # (n, ...)
    labels: Tensor  # (n,)
    scores: Tensor  # (n, C)  where nothing is changed
    ball: Ball
    width: int  # rows that are attacked together

    @classmethod
    def of(
        cls, model: Any, x: Any, labels: Any, radius: Any, bounds: Any, rows_at_once: Any
    ) -> Hunt:
        """What a user asks for."""
        pair = check_bounds(bounds)
        ball = Ball(check_length(radius, "radius", pair), *pair)
        width, points = check_count(rows_at_once, "rows_at_once"), check_inputs(x, pair).detach()
        refuse_other_device(check_module(model), points)
        if not len(points):
            raise InputError("There is nothing to attack, since x has no rows; pass some inputs.")
        scores = scores_of(model, points, width)
        y = check_labels(labels, len(points), scores.shape[1]).to(scores.device)
        return cls(model, points, y, scores, ball, width)

    @property
    def others(self) -> Tensor:
        """The other labels (n, C − 1) of each row, highest score first."""
        own = self.scores.scatter(1, self.labels[:, None], torch.inf)
        return own.argsort(dim=1, descending=True)[:, 1:]

    def run(
        self,
        aims: Iterable[Tensor],
        starts: Iterable[Tensor],
        loss: Loss,
        ascent: Ascent,
        led: Lead = lead,
    ) -> Tensor:
        """Inputs (n, ...) where a row has fallen, or else where its label led least.

        Rows that are wrong from the start stay as they are; a row that falls is done.
        """
        found, leads = self.x.clone(), led(self.scores, self.labels).double()
        left = leads >= 0
        with as_in_use([self.model]), _fixed(self.model):
            for aim, start in zip(aims, starts, strict=False):
                if not left.any():
                    break
                for rows in torch.split(left.nonzero()[:, 0], self.width):
                    look = looking(self.model, self.labels[rows], aim[rows], loss, led)
                    at, lowest = ascent(look, self.ball, self.x[rows], start[rows])
                    lower = lowest < leads[rows]
                    found[rows[lower]], leads[rows[lower]] = at[lower], lowest[lower]
                left &= leads >= 0
        return found

    def random_starts(self, seed: int) -> Iterable[Tensor]:
        """Random points of the ball (n, ...), for ever."""
        draw, r = torch.Generator().manual_seed(int(seed)), self.ball.radius
        while True:
            yield self.x + torch.empty(self.x.shape).uniform_(-r, r, generator=draw).to(self.x)


def scores_of(model: nn.Module, x: Tensor, width: int) -> Tensor:
    """What a network as in use says of inputs, (n, C), without gradients."""
    with as_in_use([model]), torch.no_grad():
        return torch.cat([logits_of(model, rows) for rows in torch.split(x, width)])


@contextmanager
def _fixed(model: nn.Module) -> Iterator[None]:
    """Weights that nobody asks the derivative by; it is cheaper so."""
    learning = [weight for weight in model.parameters() if weight.requires_grad]
    for weight in learning:
        weight.requires_grad_(False)
    try:
        yield
    finally:
        for weight in learning:
            weight.requires_grad_(True)


def looking(model: nn.Module, labels: Tensor, aims: Tensor, loss: Loss, led: Lead) -> Look:
    """Loss, gradient and lead at points, for a network, true labels and aims."""

    def look(points: Tensor, rows: Tensor) -> Seen:
        with torch.inference_mode(False), torch.enable_grad():
            leaf = points.detach().clone().requires_grad_()
            scores, y = logits_of(model, leaf), labels[rows]
            value = loss(scores, y, aims[rows])
            if not value.requires_grad:
                raise InputError(
                    "The model's scores have no gradient by its input, which the attack follows; "
                    "pass a network without torch.no_grad or detach inside."
                )
            (gradient,) = torch.autograd.grad(value.sum(), leaf)
        leads = led(scores.detach(), y).double()
        return Seen(value.detach(), gradient, leads, leads < 0)

    return look
