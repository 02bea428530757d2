"""Attacks of other packages, which are loaded when one of them is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from pnml.adversarial.attack_problem import Hunt
from pnml.adversarial.attack_result import Attacked
from pnml.adversarial.checks import check_count
from pnml.errors import InputError
from pnml.nn.eval_mode import as_in_use

# The range that these packages take for granted.
_RANGE = (0.0, 1.0)


def fab(
    model: nn.Module,
    x: Tensor,
    labels: Any,
    radius: float,
    *,
    steps: int = 100,
    targets: int | None = None,
    bounds: tuple[float, float] = (0.0, 1.0),
    seed: int = 0,
    rows_at_once: int = 256,
) -> Attacked:
    """Inputs within a radius that a network gets wrong, found by the boundary attack FAB-T.

    The work is that of the package pyautoattack. Arguments are those of `targeted_apgd`; inputs
    lie between 0 and 1.

    Examples
    --------
    >>> network = torch.nn.Linear(2, 2, bias=False)
    >>> _ = network.weight.data.copy_(9 * torch.eye(2))
    >>> fab(network, torch.tensor([[0.9, 0.1], [0.6, 0.5]]), [0, 0], 0.2, steps=10).fooled
    tensor([False,  True])
    """
    library = package("pyautoattack.fab_pt", "pyautoattack")
    turns = check_count(steps, "steps")
    hunt = _unit_range(Hunt.of(model, x, labels, radius, bounds, rows_at_once), "FAB")
    most = hunt.scores.shape[1] - 1
    attack = library.FABAttack_PT(
        model,
        n_iter=turns,
        eps=hunt.ball.radius,
        seed=int(seed),
        targeted=True,
        device=hunt.x.device,
        n_target_classes=most if targets is None else min(most, check_count(targets, "targets")),
    )
    found = hunt.x.clone()
    with as_in_use([model]), chance(seed):
        for rows in torch.split(right(hunt), hunt.width):
            found[rows] = attack.perturb(hunt.x[rows], hunt.labels[rows])
    return Attacked.of(model, hunt.ball.project(hunt.x, found), hunt.labels, hunt.width)


def square(
    model: nn.Module,
    x: Tensor,
    labels: Any,
    radius: float,
    *,
    queries: int = 5000,
    bounds: tuple[float, float] = (0.0, 1.0),
    seed: int = 0,
    rows_at_once: int = 256,
) -> Attacked:
    """Inputs within a radius that a network gets wrong, found by asking for scores alone.

    The Square attack of the package pyautoattack: squares of an image are changed at random.
    The outcome counts its queries, so it has a `curve`. Inputs are images (n, c, h, w) between
    0 and 1.

    Examples
    --------
    >>> network = nn.Sequential(nn.Flatten(), nn.Linear(64, 2, bias=False))
    >>> _ = network[1].weight.data.copy_(torch.eye(2).repeat_interleave(32, dim=1))
    >>> x = torch.full((2, 1, 8, 8), 0.5)
    >>> x[0, :, :4], x[1, :, :4] = 0.95, 0.55
    >>> square(network, x, [0, 0], 0.2, queries=100).fooled
    tensor([False,  True])
    """
    library = package("pyautoattack.square", "pyautoattack")
    many = check_count(queries, "queries")
    hunt = _unit_range(Hunt.of(model, x, labels, radius, bounds, rows_at_once), "Square")
    if hunt.x.ndim != 4:
        raise InputError(
            f"Square takes images (n, c, h, w), but the inputs have shape {tuple(hunt.x.shape)}; "
            "leave this attack out."
        )
    attack = library.SquareAttack(
        model, n_queries=many, eps=hunt.ball.radius, device=hunt.x.device, resc_schedule=False
    )
    found, taken = hunt.x.clone(), torch.zeros(len(hunt.x), device=hunt.x.device)
    with as_in_use([model]), torch.no_grad(), chance(seed):
        for rows in torch.split(right(hunt), hunt.width):
            attack.init_hyperparam(hunt.x[rows])
            taken[rows], found[rows] = attack.attack_single_run(hunt.x[rows], hunt.labels[rows])
    return counted(hunt, found, taken)


def counted(hunt: Hunt, found: Tensor, taken: Tensor) -> Attacked:
    """How the network fares on what an attack found with so many queries (n,)."""
    outcome = Attacked.of(hunt.model, hunt.ball.project(hunt.x, found), hunt.labels, hunt.width)
    spent = torch.where(outcome.fooled, taken, torch.inf)
    return Attacked(outcome.inputs, outcome.fooled, outcome.margin, spent)


def _unit_range(hunt: Hunt, name: str) -> Hunt:
    if (hunt.ball.low, hunt.ball.high) != _RANGE:
        raise InputError(
            f"{name} takes inputs between 0 and 1, but the bounds are {hunt.ball.low:g} and "
            f"{hunt.ball.high:g}; scale the inputs, or leave this attack out."
        )
    return hunt


def right(hunt: Hunt) -> Tensor:
    """Rows that the network gets right before anything is changed."""
    return (hunt.scores.argmax(dim=1) == hunt.labels).nonzero()[:, 0]


def package(name: str, package: str) -> Any:
    """A module of an optional package."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != package:
            raise
        raise ModuleNotFoundError(
            f"This attack needs {package}, which is not installed; run pip install "
            '"pnml[adversarial]".',
            name=error.name,
        ) from error


@contextmanager
def chance(seed: int) -> Iterator[None]:
    """The global draws of other packages from a seed, and as they were afterwards."""
    state = np.random.get_state()  # noqa: NPY002
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(seed))
        np.random.seed(int(seed) % 2**32)  # noqa: NPY002
        try:
            yield
        finally:
            np.random.set_state(state)  # noqa: NPY002
