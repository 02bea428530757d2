"""Auto-PGD: sign ascent with momentum that halves its step where it no longer climbs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Self

import torch
from torch import Tensor

# Share of the way that is new, the rest being the last step over again.
_FRESH = 0.75
# A step is too long where the loss rose in no more than this share of the steps.
_RISING = 0.75
# First step in units of the radius, and when the length is looked at, in shares of all steps.
_FIRST_STEP, _FIRST_CHECK, _SHORTER, _LEAST = 2.0, 0.22, 0.03, 0.06


@dataclass(frozen=True)
class Ball:
    """Points within a radius of each input, entry by entry, and within the range."""

    radius: float
    low: float
    high: float

    def project(self, x: Tensor, points: Tensor) -> Tensor:
        """The nearest such points."""
        near = x + (points - x).clamp(-self.radius, self.radius)
        return near.clamp(self.low, self.high)


@dataclass(frozen=True)
class Seen:
    """What the network says at some points."""

    loss: Tensor  # (n,)
    gradient: Tensor  # (n, ...)
    lead: Tensor  # (n,)  of the true label; below 0 where it lost
    fooled: Tensor  # (n,)  bool


# What the network says at points (k, ...) of some of the rows (k,).
Look = Callable[[Tensor, Tensor], Seen]


@dataclass(frozen=True)
class Climb:
    """Rows on their way up. Every field has one entry for each row."""

    row: Tensor  # which sample this is
    x: Tensor
    at: Tensor
    before: Tensor
    gradient: Tensor
    step: Tensor
    loss: Tensor
    best_at: Tensor
    best_gradient: Tensor
    best: Tensor  # highest loss
    best_checked: Tensor  # highest loss when the step was last looked at
    rises: Tensor  # since then
    halved: Tensor  # whether it was halved then

    def rows(self, chosen: Tensor) -> Self:
        """Some of the rows."""
        return type(self)(*(getattr(self, field.name)[chosen] for field in fields(self)))


def checks(steps: int) -> list[int]:
    """For each step, how many there were since the last look at its length; 0: do not look.

    >>> [(turn, since) for turn, since in enumerate(checks(100)) if since][:3]
    [(21, 22), (40, 19), (56, 16)]
    """
    every, last = max(int(_FIRST_CHECK * steps), 1), 0
    looks = [0] * steps
    while last + every <= steps:
        last += every
        looks[last - 1] = every
        every = max(every - max(int(_SHORTER * steps), 1), max(int(_LEAST * steps), 1))
    return looks


def climb(look: Look, ball: Ball, x: Tensor, start: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    """Points (n, ...) that fool, or else where the label led least, and that lead (n,). Eq. (E10).

    A row that fools is done.
    """
    now, seen = _begun(look, ball, x, start)
    found, leads = now.at.clone(), seen.lead.clone()
    now = now.rows(~seen.fooled)
    for turn, since in enumerate(checks(steps)):
        if not len(now.row):
            break
        now = _stepped(now, ball, _FRESH if turn else 1.0)
        seen = look(now.at, now.row)
        lower = seen.fooled | (seen.lead < leads[now.row])
        found[now.row[lower]], leads[now.row[lower]] = now.at[lower], seen.lead[lower]
        now = _noted(now, seen).rows(~seen.fooled)
        now = _checked(now, since) if since else now
    return found, leads


def _begun(look: Look, ball: Ball, x: Tensor, start: Tensor) -> tuple[Climb, Seen]:
    at, row = ball.project(x, start), torch.arange(len(x), device=x.device)
    seen = look(at, row)
    step = torch.full((len(x),), _FIRST_STEP * ball.radius, dtype=x.dtype, device=x.device)
    climb = Climb(
        row=row,
        x=x,
        at=at,
        before=at,
        gradient=seen.gradient,
        step=step,
        loss=seen.loss,
        best_at=at,
        best_gradient=seen.gradient,
        best=seen.loss,
        best_checked=seen.loss,
        rises=torch.zeros_like(row),
        halved=torch.ones_like(row, dtype=torch.bool),
    )
    return climb, seen


def _stepped(now: Climb, ball: Ball, fresh: float) -> Climb:
    """A step along the sign of the gradient, with some of the last step in it."""
    ahead = ball.project(now.x, now.at + _wide(now.step, now.at) * now.gradient.sign())
    momentum = fresh * (ahead - now.at) + (1 - fresh) * (now.at - now.before)
    return replace(now, at=ball.project(now.x, now.at + momentum), before=now.at)


def _noted(now: Climb, seen: Seen) -> Climb:
    """The rows with what was seen where they are."""
    better = seen.loss > now.best
    wide = _wide(better, now.at)
    return replace(
        now,
        gradient=seen.gradient,
        loss=seen.loss,
        rises=now.rises + (seen.loss > now.loss),
        best=torch.where(better, seen.loss, now.best),
        best_at=torch.where(wide, now.at, now.best_at),
        best_gradient=torch.where(wide, seen.gradient, now.best_gradient),
    )


def _checked(now: Climb, since: int) -> Climb:
    """Rows that do not climb go back to their best point, with half the step."""
    seldom = now.rises <= _RISING * since
    halve = seldom | (~now.halved & (now.best <= now.best_checked))
    wide = _wide(halve, now.at)
    return replace(
        now,
        step=torch.where(halve, now.step / 2, now.step),
        at=torch.where(wide, now.best_at, now.at),
        gradient=torch.where(wide, now.best_gradient, now.gradient),
        best_checked=now.best,
        rises=torch.zeros_like(now.rises),
        halved=halve,
    )


def _wide(values: Tensor, like: Tensor) -> Tensor:
    """One value a row, (n, 1, ...), beside inputs (n, ...)."""
    return values.view(-1, *[1] * (like.ndim - 1))
