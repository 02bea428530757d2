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
    """Checked arguments of an attack: network, rows to attack, and the ball of allowed changes."""

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
        """The problem from the arguments of `targeted_apgd`, which are checked here.

        The network runs once over the clean inputs, `rows_at_once` inputs at a time.
        """
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
        """The problem of some rows (k,) only, against a model that gives the same scores.

        The model may have other gradients. Clean scores are reused; a random network is run again.
        """
        x = self.x[rows]
        scores = scores_of(model, x, self.batch_size) if is_random(model) else self.scores[rows]
        return replace(self, model=model, x=x, labels=self.labels[rows], scores=scores)

    @property
    def correct(self) -> Tensor:
        """Indices (k,) of the rows that the network classifies correctly before the attack."""
        return (self.scores.argmax(dim=1) == self.labels).nonzero()[:, 0]

    @property
    def other_labels(self) -> Tensor:
        """All labels but the true one for each row, (n, C − 1), highest clean score first."""
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

        Each pair of target labels (n,) and starting points (n, ...) gets one `ascent`, which
        maximises `loss`. Rows whose margin is below 0 from the start are not changed; a row stops
        once its margin is below 0, by default once it is misclassified.
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
        """AttackResult of the network on attacked inputs (n, ...)."""
        return AttackResult.of(self.model, inputs, self.labels, self.batch_size)

    def random_starts(self, seed: int) -> Iterable[Tensor]:
        """Endless iterator over random points (n, ...), uniform within the radius of the inputs."""
        generator, r = torch.Generator().manual_seed(int(seed)), self.ball.radius
        while True:
            noise = torch.empty(self.x.shape).uniform_(-r, r, generator=generator)
            yield self.x + noise.to(self.x)


def is_random(model: nn.Module) -> bool:
    """Whether two passes of a network over one input may differ, as those of AveragedPNML do."""
    return bool(getattr(model, "is_random", False))


def scores_of(model: nn.Module, x: Tensor, batch_size: int) -> Tensor:
    """Scores (n, C) of inputs (n, ...) by a network in eval mode, without gradients."""
    with as_in_use([model]), torch.no_grad():
        return torch.cat([logits_of(model, rows) for rows in torch.split(x, batch_size)])


@contextmanager
def _frozen(model: nn.Module) -> Iterator[None]:
    """Context in which the weights need no gradients, since an attack does not use them."""
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
    """Function from points (k, ...) and row indices (k,) to loss, gradient and margin there.

    Row indices point into `labels` and `targets` (n,).
    """

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
