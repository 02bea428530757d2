"""Auto-PGD: sign gradient ascent with momentum that halves its step when progress stalls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Self

import torch
from torch import Tensor

# Share of a step that follows the gradient; the rest repeats the previous step.
_GRADIENT_SHARE = 0.75
# The step is too long if the loss rose in at most this share of the steps since the checkpoint.
_RISING = 0.75
# First step in units of the radius; spacing of checkpoints, in shares of all steps.
_FIRST_STEP, _FIRST_CHECK, _SHORTER, _LEAST = 2.0, 0.22, 0.03, 0.06


@dataclass(frozen=True)
class Ball:
    """Points that an attack may reach: entries within `radius` of the input and in [low, high]."""

    radius: float
    low: float
    high: float

    def project(self, x: Tensor, points: Tensor) -> Tensor:
        """Points (n, ...) moved to the nearest allowed ones around the inputs x (n, ...)."""
        near = x + (points - x).clamp(-self.radius, self.radius)
        return near.clamp(self.low, self.high)


@dataclass(frozen=True)
class PointValues:
    """Loss, gradient and margin of the attacked network at points of an Auto-PGD ascent."""

    loss: Tensor  # (n,)
    gradient: Tensor  # (n, ...)
    margin: Tensor  # (n,)  of the true label; below 0 where the attack has succeeded
    fooled: Tensor  # (n,)  bool: the attack has succeeded


# (points (k, ...), rows (k,)) → values of the network at these points of these rows
Evaluate = Callable[[Tensor, Tensor], PointValues]


@dataclass(frozen=True)
class ApgdState:
    """State of the Auto-PGD ascent. Every field has one entry for each active row."""

    row: Tensor  # index of the sample
    x: Tensor
    point: Tensor
    previous: Tensor
    gradient: Tensor
    step: Tensor
    loss: Tensor
    best_point: Tensor
    best_gradient: Tensor
    best: Tensor  # highest loss
    best_checked: Tensor  # highest loss at the last checkpoint
    rises: Tensor  # steps since the last checkpoint in which the loss rose
    halved: Tensor  # whether the step was halved at the last checkpoint

    def rows(self, keep: Tensor) -> Self:
        """The state of the active rows that a boolean mask selects."""
        return type(self)(*(getattr(self, field.name)[keep] for field in fields(self)))


def checkpoints(steps: int) -> list[int]:
    """For each step of Auto-PGD, the steps since the last checkpoint if it is one; otherwise 0.

    At a checkpoint, a row without progress halves its step length.

    >>> [(turn, since) for turn, since in enumerate(checkpoints(100)) if since][:3]
    [(21, 22), (40, 19), (56, 16)]
    """
    every, last = max(int(_FIRST_CHECK * steps), 1), 0
    since = [0] * steps
    while last + every <= steps:
        last += every
        since[last - 1] = every
        every = max(every - max(int(_SHORTER * steps), 1), max(int(_LEAST * steps), 1))
    return since


def auto_pgd(
    evaluate: Evaluate, ball: Ball, x: Tensor, start: Tensor, steps: int
) -> tuple[Tensor, Tensor]:
    """Auto-PGD ascent: points (n, ...) of least margin, and these margins (n,). Eq. (E10).

    The ascent starts at `start` (n, ...) and stays in the ball around the inputs x (n, ...);
    `evaluate` gives the loss to maximise, its gradient and the margin. A row stops as soon as the
    network is fooled.
    """
    state, values = _initial_state(evaluate, ball, x, start)
    points, margins = state.point.clone(), values.margin.clone()
    state = state.rows(~values.fooled)
    for turn, since in enumerate(checkpoints(steps)):
        if not len(state.row):
            break
        state = _momentum_step(state, ball, _GRADIENT_SHARE if turn else 1.0)
        values = evaluate(state.point, state.row)
        lower = values.fooled | (values.margin < margins[state.row])
        rows = state.row[lower]
        points[rows], margins[rows] = state.point[lower], values.margin[lower]
        state = _with_values(state, values).rows(~values.fooled)
        state = _with_adapted_step(state, since) if since else state
    return points, margins


def _initial_state(
    evaluate: Evaluate, ball: Ball, x: Tensor, start: Tensor
) -> tuple[ApgdState, PointValues]:
    point, row = ball.project(x, start), torch.arange(len(x), device=x.device)
    values = evaluate(point, row)
    step = torch.full((len(x),), _FIRST_STEP * ball.radius, dtype=x.dtype, device=x.device)
    state = ApgdState(
        row=row,
        x=x,
        point=point,
        previous=point,
        gradient=values.gradient,
        step=step,
        loss=values.loss,
        best_point=point,
        best_gradient=values.gradient,
        best=values.loss,
        best_checked=values.loss,
        rises=torch.zeros_like(row),
        halved=torch.ones_like(row, dtype=torch.bool),
    )
    return state, values


def _momentum_step(state: ApgdState, ball: Ball, gradient_share: float) -> ApgdState:
    """A step along the sign of the gradient, mixed with the previous step."""
    point = state.point
    ahead = ball.project(state.x, point + _as_column(state.step, point) * state.gradient.sign())
    move = gradient_share * (ahead - point) + (1 - gradient_share) * (point - state.previous)
    return replace(state, point=ball.project(state.x, point + move), previous=point)


def _with_values(state: ApgdState, values: PointValues) -> ApgdState:
    """The state with the loss and gradient of its current points."""
    better = values.loss > state.best
    better_entry = _as_column(better, state.point)
    return replace(
        state,
        gradient=values.gradient,
        loss=values.loss,
        rises=state.rises + (values.loss > state.loss),
        best=torch.where(better, values.loss, state.best),
        best_point=torch.where(better_entry, state.point, state.best_point),
        best_gradient=torch.where(better_entry, values.gradient, state.best_gradient),
    )


def _with_adapted_step(state: ApgdState, since: int) -> ApgdState:
    """At a checkpoint, rows without progress return to their best point with half the step."""
    seldom = state.rises <= _RISING * since
    halve = seldom | (~state.halved & (state.best <= state.best_checked))
    halve_entry = _as_column(halve, state.point)
    return replace(
        state,
        step=torch.where(halve, state.step / 2, state.step),
        point=torch.where(halve_entry, state.best_point, state.point),
        gradient=torch.where(halve_entry, state.best_gradient, state.gradient),
        best_checked=state.best,
        rises=torch.zeros_like(state.rises),
        halved=halve,
    )


def _as_column(values: Tensor, like: Tensor) -> Tensor:
    """One value for each row, (n, 1, ...), to broadcast against inputs (n, ...)."""
    return values.view(-1, *[1] * (like.ndim - 1))
