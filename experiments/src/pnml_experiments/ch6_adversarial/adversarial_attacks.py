"""Attacks by the protocol of the thesis, what they leave standing, and what was printed of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from pnml.adversarial import AttackBudget, AttackResult, paired_gain, share_held
from pnml.metrics import Estimate
from pnml_experiments.ch6_adversarial.adversarial_subjects import NEEDS, Points
from pnml_experiments.framework.data import data_path
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.printed import numbers
from pnml_experiments.framework.result import in_percent

# Whether each point is still named rightly, (n,).
Held = npt.NDArray[np.bool_]
RADIUS, SEED = 0.3, 0
INTERVAL = "95 %, points drawn again, 2000 times; gains are paired, point by point"
_ROWS = 250


# Auto-PGD alone; other attacks are added by name.
PGD_BUDGET = AttackBudget(
    quick_steps=0, fab_steps=0, square_queries=0, hop_queries=0, joint_steps=0
)


@cache
def printed_accuracy() -> Mapping[tuple[str, ...], float]:
    """Percent in the tables of the thesis, by data, model and attack.

    >>> printed_accuracy()["MNIST", "pNML", "PGD"]
    93.7
    """
    return numbers("adversarial", ["data", "model", "attack"], "accuracy")


def fgsm(model: nn.Module, points: Points, radius: float = RADIUS) -> Tensor:
    """Inputs one step of the whole radius up the cross-entropy."""
    parts = zip(torch.split(points.x, _ROWS), torch.split(points.y, _ROWS), strict=True)
    return torch.cat([_stepped(model, x, x, y, radius, radius, (0.0, 1.0)) for x, y in parts])


def pgd_to_the_end(
    model: nn.Module,
    points: Points,
    radius: float = RADIUS,
    *,
    steps: int = 50,
    step_size: float = 0.01,
    starts: int = 20,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> Tensor:
    """Inputs of the highest cross-entropy after all steps, the best of several starts.

    An attack that stops where it succeeds ends at the brink, from where any step leads back; one
    that is meant for another model goes on.
    """
    draw = torch.Generator().manual_seed(SEED)
    found = []
    for x, y in zip(torch.split(points.x, _ROWS), torch.split(points.y, _ROWS), strict=True):
        best, most = x.clone(), torch.full((len(x),), -torch.inf)
        for _ in range(starts):
            at = x + torch.empty(x.shape).uniform_(-radius, radius, generator=draw)
            at = at.clamp(*bounds)
            for _ in range(steps):
                at = _stepped(model, x, at, y, radius, step_size, bounds)
            with torch.no_grad():
                loss = cross_entropy(model(at), y, reduction="none")
            higher = loss > most
            best[higher], most[higher] = at[higher], loss[higher]
        found.append(best)
    return torch.cat(found)


def _stepped(
    model: nn.Module,
    x: Tensor,
    at: Tensor,
    y: Tensor,
    radius: float,
    step_size: float,
    bounds: tuple[float, float],
) -> Tensor:
    """The next points within the radius of x and the range."""
    with torch.enable_grad():
        leaf = at.detach().clone().requires_grad_()
        (gradient,) = torch.autograd.grad(cross_entropy(model(leaf), y, reduction="sum"), leaf)
    moved = x + (at + step_size * gradient.sign() - x).clamp(-radius, radius)
    return moved.clamp(*bounds)


def kept_inputs(out: Output, key: str, compute: Callable[[], Tensor]) -> Tensor:
    """Attacked inputs, made now or in an earlier run; the key says of what and how."""
    depends: list[Path | str] = [key, *map(data_path, NEEDS)]
    kept = out.arrays("adversarial-inputs", depends, lambda: {"x": compute().numpy()})
    return torch.from_numpy(kept["x"])


def held(out: Output, key: str, compute: Callable[[], AttackResult]) -> Held:
    """Which points an attack leaves standing, found now or in an earlier run."""
    kept = out.piece(key, lambda: (~compute().fooled).int().tolist())
    return np.array(kept, dtype=bool)


def percent(standing: Held) -> Estimate:
    """Percent of the points that stand."""
    return in_percent(share_held(standing))


def gain(defended: Held, static: Held) -> Estimate:
    """Percent of the points that stand with the defence, less those that do without."""
    return in_percent(paired_gain(defended, static))


def in_words(value: Estimate) -> str:
    """What a gain in points of percent says.

    >>> in_words(Estimate(-2.0, -5.0, 1.0))
    'no gain is shown, -2.0 points [-5.0, +1.0].'
    """
    interval = f"{value.value:+.1f} points [{value.low:+.1f}, {value.high:+.1f}]"
    if value.low > 0:
        return f"it gains, {interval}."
    if value.high < 0:
        return f"it loses, {interval}."
    return f"no gain is shown, {interval}."
