"""Attacks through any module that returns scores; an `AdversarialPNML` is attacked end to end."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import repeat
from typing import Any

import torch
from torch import Tensor, nn

from pnml.adversarial.apgd import Ball, Look, climb
from pnml.adversarial.attack_problem import Hunt
from pnml.adversarial.attack_result import Attacked
from pnml.adversarial.checks import check_choice, check_count, is_number
from pnml.adversarial.losses import LOSSES, UNTARGETED, Loss, cross_entropy
from pnml.errors import InputError

# Length of a path of fixed steps, in units of the radius, where no step size is asked for.
_PATH = 2.5


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
    turns, climbed = check_count(steps, "steps"), _loss_of(loss, LOSSES)
    tries = check_count(restarts, "restarts")
    few = None if targets is None else check_count(targets, "targets")
    hunt = Hunt.of(model, x, labels, radius, bounds, rows_at_once)
    aims = hunt.others[:, :few].repeat(1, tries).unbind(dim=1)
    found = hunt.run(aims, hunt.random_starts(seed), climbed, partial(climb, steps=turns))
    return Attacked.of(model, found, hunt.labels, hunt.width)


def untargeted_apgd(
    model: nn.Module,
    x: Tensor,
    labels: Any,
    radius: float,
    *,
    steps: int = 100,
    restarts: int = 1,
    loss: str | Loss = "ce",
    bounds: tuple[float, float] = (0.0, 1.0),
    seed: int = 0,
    rows_at_once: int = 256,
) -> Attacked:
    """Inputs within a radius that a network gets wrong, where Auto-PGD away from the label leads.

    It costs as much as one target of `targeted_apgd`, whose other arguments it shares. Eq. (E10).

    Parameters
    ----------
    loss : {"ce", "margin"} or function, default="ce"
        Cross-entropy, or how far the best other label is above the true one. Eqs. (E16), (E8).

    Examples
    --------
    >>> network = nn.Linear(2, 2, bias=False)
    >>> _ = network.weight.data.copy_(torch.eye(2))
    >>> x = torch.tensor([[0.9, 0.1], [0.6, 0.4]])
    >>> untargeted_apgd(network, x, [0, 0], radius=0.2, steps=10).fooled
    tensor([False,  True])
    """
    turns, climbed = check_count(steps, "steps"), _loss_of(loss, UNTARGETED)
    tries = check_count(restarts, "restarts")
    hunt = Hunt.of(model, x, labels, radius, bounds, rows_at_once)
    aims = repeat(hunt.labels, tries)
    found = hunt.run(aims, hunt.random_starts(seed), climbed, partial(climb, steps=turns))
    return Attacked.of(model, found, hunt.labels, hunt.width)


def pgd(
    model: nn.Module,
    x: Tensor,
    labels: Any,
    radius: float,
    *,
    steps: int = 50,
    step_size: float | None = None,
    restarts: int = 1,
    random_start: bool = True,
    bounds: tuple[float, float] = (0.0, 1.0),
    seed: int = 0,
    rows_at_once: int = 256,
) -> Attacked:
    """Inputs within a radius that a network gets wrong, where fixed steps lead there. Eq. (E16).

    Libraries have this too, but go on with rows that have fallen. FGSM is ``steps=1,
    step_size=radius, random_start=False``.

    Parameters
    ----------
    step_size : float, optional
        By default two and a half times the radius over the number of steps.
    restarts : int
        How often rows that still hold begin again at another random point.
    random_start : bool, default=True
        Begin at a random point, not at the input.

    Examples
    --------
    >>> network = nn.Linear(2, 2, bias=False)
    >>> _ = network.weight.data.copy_(torch.eye(2))
    >>> x = torch.tensor([[0.9, 0.1], [0.6, 0.4]])
    >>> pgd(network, x, [0, 0], 0.2, steps=1, step_size=0.2, random_start=False).fooled
    tensor([False,  True])
    """
    turns, tries = check_count(steps, "steps"), check_count(restarts, "restarts")
    if step_size is not None and not (is_number(step_size, 0.0) and step_size > 0):
        raise InputError(f"step_size is {step_size!r}; pass a number above 0, or None.")
    hunt = Hunt.of(model, x, labels, radius, bounds, rows_at_once)
    size = _PATH * hunt.ball.radius / turns if step_size is None else float(step_size)
    starts = hunt.random_starts(seed) if random_start else repeat(hunt.x)
    ascent = partial(_march, steps=turns, size=size)
    found = hunt.run(repeat(hunt.labels, tries), starts, cross_entropy, ascent)
    return Attacked.of(model, found, hunt.labels, hunt.width)


def _march(
    look: Look, ball: Ball, x: Tensor, start: Tensor, steps: int, size: float
) -> tuple[Tensor, Tensor]:
    """Where the label led least on the way, and by how much; a row that has fallen stops."""
    at, row = ball.project(x, start), torch.arange(len(x), device=x.device)
    found, leads = at.clone(), torch.full((len(x),), torch.inf, device=x.device).double()
    for turn in range(steps + 1):
        seen = look(at, row)
        lower = seen.lead < leads[row]
        found[row[lower]], leads[row[lower]] = at[lower], seen.lead[lower]
        up, on = seen.gradient.sign(), ~seen.fooled
        row, at, up = row[on], at[on], up[on]
        if not len(row) or turn == steps:
            break
        at = ball.project(x[row], at + size * up)
    return found, leads


def _loss_of(loss: Any, known: Mapping[str, Loss]) -> Loss:
    if callable(loss):
        found: Loss = loss
        return found
    return known[check_choice(loss, "loss", tuple(known))]
