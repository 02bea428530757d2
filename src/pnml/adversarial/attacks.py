"""The attack that tests the defence: Auto-PGD towards every other label, through the refinement."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from pnml.adversarial.apgd import Ball, Look, Seen, climb
from pnml.adversarial.attacked import Attacked
from pnml.adversarial.inner import logits_of
from pnml.adversarial.losses import LOSSES, Loss, lead
from pnml.adversarial.settings import (
    check_bounds,
    check_choice,
    check_count,
    check_inputs,
    check_labels,
    check_length,
    check_module,
)
from pnml.core.errors import InputError
from pnml.nn.batches import refuse_other_device
from pnml.nn.network import as_in_use


def targeted_apgd(
    model: nn.Module,
    x: Tensor,
    labels: Any,
    radius: float,
    *,
    steps: int = 100,
    restarts: int = 1,
    targets: int | None = None,
    loss: str | Loss = "dlr",
    bounds: tuple[float, float] = (0.0, 1.0),
    seed: int = 0,
    rows_at_once: int = 256,
) -> Attacked:
    """Inputs within a radius that a network gets wrong, where Auto-PGD finds them. Eq. (E10).

    Each row is led towards every other label in turn, the likeliest first, until one of them wins.
    It goes through any module that returns scores; an `AdversarialPNML` is attacked end to end.

    Parameters
    ----------
    model : torch.nn.Module
        Inputs (n, ...) → scores (n, C); it runs as in use, whatever its mode.
    x : tensor of shape (n, ...)
    labels : array-like of shape (n,)
        The true classes.
    radius : float
        Largest change of an entry.
    steps, restarts : int
        Steps for each target, and how often all targets are tried from another random point.
    targets : int, optional
        How many other labels are tried; by default all.
    loss : {"dlr", "margin"} or function, default="dlr"
        What is climbed, Eqs. (E8), (E9): a function takes scores (n, C), labels and targets (n,).
    bounds : (float, float)
        Least and greatest value of an input.
    seed : int
        Seed of the random starting points.
    rows_at_once : int
        Rows that are attacked together; the result does not depend on it but for rounding.

    Examples
    --------
    >>> network = nn.Linear(2, 2, bias=False)
    >>> _ = network.weight.data.copy_(torch.eye(2))
    >>> x = torch.tensor([[0.9, 0.1], [0.6, 0.4]])
    >>> targeted_apgd(network, x, [0, 0], radius=0.2, steps=10).fooled
    tensor([False,  True])
    """
    pair = check_bounds(bounds)
    ball = Ball(check_length(radius, "radius", pair), *pair)
    turns, width = check_count(steps, "steps"), check_count(rows_at_once, "rows_at_once")
    tries, climbed = check_count(restarts, "restarts"), _loss_of(loss)
    points = check_inputs(x, pair).detach()
    refuse_other_device(check_module(model), points)
    with as_in_use([model]):
        scores = _scores(model, points, width)
        y = check_labels(labels, len(points), scores.shape[1]).to(scores.device)
        ranked = _others(scores, y)
        if targets is not None:
            ranked = ranked[:, : check_count(targets, "targets")]
        found, leads = points.clone(), lead(scores, y)
        left = scores.argmax(dim=1) == y
        draw = torch.Generator().manual_seed(int(seed))
        for aim in ranked.repeat(1, tries).unbind(dim=1):
            noise = torch.empty(points.shape).uniform_(-ball.radius, ball.radius, generator=draw)
            for rows in torch.split(left.nonzero()[:, 0], width):
                start = points[rows] + noise[rows.cpu()].to(points)
                look = _look(model, y[rows], aim[rows], climbed)
                at, lowest = climb(look, ball, points[rows], start, turns)
                lower = lowest < leads[rows]
                found[rows[lower]], leads[rows[lower]] = at[lower], lowest[lower]
            left &= leads >= 0
            if not left.any():
                break
        return Attacked.of(model, found, y, width)


def _look(model: nn.Module, labels: Tensor, targets: Tensor, loss: Loss) -> Look:
    """Loss, gradient and lead at points, for a network, true labels and targets."""

    def look(points: Tensor, rows: Tensor) -> Seen:
        with torch.inference_mode(False), torch.enable_grad():
            leaf = points.detach().clone().requires_grad_()
            scores, y = model(leaf), labels[rows]
            value = loss(scores, y, targets[rows])
            if not value.requires_grad:
                raise InputError(
                    "The model's scores have no gradient by its input, which the attack follows; "
                    "pass a network without torch.no_grad or detach inside."
                )
            (gradient,) = torch.autograd.grad(value.sum(), leaf)
        said = scores.detach()
        return Seen(value.detach(), gradient, lead(said, y), said.argmax(dim=1) != y)

    return look


def _scores(model: nn.Module, x: Tensor, width: int) -> Tensor:
    if not len(x):
        raise InputError("There is nothing to attack, since x has no rows; pass some inputs.")
    with torch.no_grad():
        return torch.cat([logits_of(model, rows) for rows in torch.split(x, width)])


def _others(scores: Tensor, labels: Tensor) -> Tensor:
    """The other labels (n, C − 1) of each row, highest score first."""
    own = scores.scatter(1, labels[:, None], torch.inf)
    return own.argsort(dim=1, descending=True)[:, 1:]


def _loss_of(loss: Any) -> Loss:
    if callable(loss):
        found: Loss = loss
        return found
    return LOSSES[check_choice(loss, "loss", tuple(LOSSES))]
