"""What all attacks share: a network, rows to attack, and a loop over target labels and starts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from pnml.adversarial.apgd_ascent import Ball, Evaluate, PointValues
from pnml.adversarial.attack_losses import Loss, label_margin
from pnml.adversarial.attack_result import AttackResult
from pnml.adversarial.checks import (
    check_bounds,
    check_count,
    check_inputs,
    check_labels,
    check_length,
    check_module,
)
from pnml.adversarial.refinement import logits_of
from pnml.errors import InputError
from pnml.nn.batches import refuse_other_device
from pnml.nn.eval_mode import as_in_use

# (evaluate, ball, inputs, starts) → points (n, ...) and the margins (n,) there
Ascent = Callable[[Evaluate, Ball, Tensor, Tensor], tuple[Tensor, Tensor]]
# (scores (n, C), labels (n,)) → (n,): below 0 where the attack has succeeded
Margin = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class AttackProblem:
    """The problem of an attack: a network and the rows to attack, checked."""

    model: nn.Module
    x: Tensor  # (n, ...)
    labels: Tensor  # (n,)
    scores: Tensor  # (n, C)  of the clean inputs
    ball: Ball
    batch_size: int  # rows attacked together

    @classmethod
    def of(
        cls, model: Any, x: Any, labels: Any, radius: Any, bounds: Any, rows_at_once: Any
    ) -> AttackProblem:
        """The problem given by a user's arguments."""
        pair = check_bounds(bounds)
        ball = Ball(check_length(radius, "radius", pair), *pair)
        size, points = check_count(rows_at_once, "rows_at_once"), check_inputs(x, pair).detach()
        refuse_other_device(check_module(model), points)
        if not len(points):
            raise InputError("There is nothing to attack, since x has no rows; pass some inputs.")
        scores = scores_of(model, points, size)
        y = check_labels(labels, len(points), scores.shape[1]).to(scores.device)
        return cls(model, points, y, scores, ball, size)

    def part(self, rows: Tensor, model: nn.Module) -> AttackProblem:
        """Some rows (k,) against a network with the same scores, for instance other gradients.

        The clean scores are reused; a random network is run again.
        """
        x = self.x[rows]
        scores = scores_of(model, x, self.batch_size) if is_random(model) else self.scores[rows]
        return replace(self, model=model, x=x, labels=self.labels[rows], scores=scores)

    @property
    def correct(self) -> Tensor:
        """Rows (k,) that the network classifies correctly before the attack."""
        return (self.scores.argmax(dim=1) == self.labels).nonzero()[:, 0]

    @property
    def other_labels(self) -> Tensor:
        """The other labels (n, C − 1) of each row, highest score first."""
        own = self.scores.scatter(1, self.labels[:, None], torch.inf)
        return own.argsort(dim=1, descending=True)[:, 1:]

    def run(
        self,
        targets: Iterable[Tensor],
        starts: Iterable[Tensor],
        loss: Loss,
        ascent: Ascent,
        margin: Margin = label_margin,
    ) -> Tensor:
        """Inputs (n, ...) of least margin, over all target labels and starts.

        Rows that are wrong from the start are not changed; a row stops once it is misclassified.
        """
        inputs, margins = self.x.clone(), margin(self.scores, self.labels).double()
        active = margins >= 0
        with as_in_use([self.model]), _frozen(self.model):
            for target, start in zip(targets, starts, strict=False):
                if not active.any():
                    break
                for rows in torch.split(active.nonzero()[:, 0], self.batch_size):
                    evaluate = evaluator(self.model, self.labels[rows], target[rows], loss, margin)
                    points, lowest = ascent(evaluate, self.ball, self.x[rows], start[rows])
                    lower = lowest < margins[rows]
                    inputs[rows[lower]], margins[rows[lower]] = points[lower], lowest[lower]
                active &= margins >= 0
        return inputs

    def result(self, inputs: Tensor) -> AttackResult:
        """How the network does on attacked inputs (n, ...)."""
        return AttackResult.of(self.model, inputs, self.labels, self.batch_size)

    def random_starts(self, seed: int) -> Iterable[Tensor]:
        """Endless random points (n, ...) of the ball."""
        generator, r = torch.Generator().manual_seed(int(seed)), self.ball.radius
        while True:
            noise = torch.empty(self.x.shape).uniform_(-r, r, generator=generator)
            yield self.x + noise.to(self.x)


def is_random(model: nn.Module) -> bool:
    """Whether an attacked network answers differently at each pass; a plain one does not."""
    return bool(getattr(model, "is_random", False))


def scores_of(model: nn.Module, x: Tensor, batch_size: int) -> Tensor:
    """Scores (n, C) of a problem's inputs by the attacked network, without gradients."""
    with as_in_use([model]), torch.no_grad():
        return torch.cat([logits_of(model, rows) for rows in torch.split(x, batch_size)])


@contextmanager
def _frozen(model: nn.Module) -> Iterator[None]:
    """Weights without gradients, which an attack does not need."""
    trainable = [weight for weight in model.parameters() if weight.requires_grad]
    for weight in trainable:
        weight.requires_grad_(False)
    try:
        yield
    finally:
        for weight in trainable:
            weight.requires_grad_(True)


def evaluator(
    model: nn.Module, labels: Tensor, targets: Tensor, loss: Loss, margin: Margin
) -> Evaluate:
    """What an attack problem evaluates at points: loss, gradient and margin of the network."""

    def evaluate(points: Tensor, rows: Tensor) -> PointValues:
        with torch.inference_mode(False), torch.enable_grad():
            leaf = points.detach().clone().requires_grad_()
            scores, y = logits_of(model, leaf), labels[rows]
            value = loss(scores, y, targets[rows])
            if not value.requires_grad:
                raise InputError(
                    "The model's scores have no gradient by its input, which the attack follows; "
                    "pass a network without torch.no_grad or detach inside."
                )
            (gradient,) = torch.autograd.grad(value.sum(), leaf)
        margins = margin(scores.detach(), y).double()
        return PointValues(value.detach(), gradient, margins, margins < 0)

    return evaluate
